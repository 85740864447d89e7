#!/usr/bin/env bash
# Runs all tests of the short tier: formatting, lints, documentation, unit tests, and the live ones with stock Hadoop, which are skipped
# loudly where Hadoop cannot run (never when CI=true). Ends with a line `N passed, N failed`; 1 when any failed.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
. tests/steps.sh

# Runs the tests and counts each of them.
count_tests() {
    local log=$target/tests.log counts status=0
    echo "=== tests"
    cargo test --no-fail-fast 2>&1 | tee "$log" || status=$?
    counts=$(awk '/^test result: / { passed += $4; failed += $6 } END { print passed + 0, failed + 0 }' "$log")
    passed=$((passed + ${counts% *}))
    failed=$((failed + ${counts#* }))
    # What did not compile, or ended before it could report, has no line of its own.
    if [[ $status -ne 0 && ${counts#* } -eq 0 ]]; then
        failed=$((failed + 1))
    fi
}

random_jobs() {
    # The tests build it as a test only.
    cargo build --quiet --example load && tests/hadoop/random.sh --jobs 1000
}

killed_bidding() {
    cargo build --quiet --bins --example load && tests/hadoop/bidding.sh --kills 5 --first-kills 3
}

step "formatting" cargo fmt --check
step "lints" cargo clippy --quiet --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" step "documentation" cargo doc --quiet --no-deps
count_tests
step "random jobs" random_jobs
step "a bidding load that is killed" killed_bidding

echo "$passed passed, $failed failed"
((failed == 0))
