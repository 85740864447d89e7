#!/usr/bin/env bash
# Runs all tests of the short tier: formatting, lints, documentation, unit tests, and the live ones with stock Hadoop, which are skipped
# loudly where Hadoop cannot run (never when CI=true). Most tests wait more than they compute, so LANES test binaries (3) run at one time, the
# live ones from the start. Prints how long each step and each binary took, and at the end a line `N passed, N failed, N skipped`; 1 when any
# failed.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
. tests/steps.sh

lanes=${LANES:-3}
# Names of the test binaries that run, by process; a process leads a group of its own.
declare -A running=()
scratch=$(mktemp -d)
trap end_running EXIT

# build_tests LIST [OPTION]...: builds test binaries, writes a line `NAME PROGRAM` for each to LIST.
build_tests() {
    local list=$1
    shift
    cargo test --no-run "$@" 2>&1 | tee "$list.log" || return 1
    sed -nE 's#^ *Executable (unittests )?(.*)\.rs \((.*)\)$#\2 \3#p' "$list.log" | sed -E 's#^((tests|examples)/[^ ]*)/main #\1 #; s#^tests/##' >"$list"
    [[ -s $list ]]
}

build_live_tests() {
    # With the programs that the tests start, and the load generator; as the tests are built later, so that nothing is built twice.
    build_tests "$scratch/live" --test live_hadoop && cargo build --bins --example load --example hdfs
}

# start_binary NAME PROGRAM: in the background; what it prints and counts is kept until it ends.
start_binary() {
    local out=$scratch/${1//\//-}
    set -m
    (
        passed=0 failed=0 skipped=0 process_of_steps=$BASHPID
        test_binary "$1" "$2"
        echo "$passed $failed $skipped" >"$out.counts"
    ) >"$out.out" 2>&1 </dev/null &
    running[$!]=$1
    set +m
}

# Waits until one of them ends, prints its output in one piece and adds its counts.
finish_binary() {
    local process='' out counts=(0 1 0)
    wait -n -p process "${!running[@]}"
    out=$scratch/${running[$process]//\//-}
    unset "running[$process]"
    cat "$out.out"
    # A group that was killed has counted nothing.
    [[ ! -s $out.counts ]] || read -r -a counts <"$out.counts"
    passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
}

# The binaries of a list, but the live ones; those that compute most come first, so that others wait beside them.
run_tests() {
    local name program
    while read -r name program; do
        ((${#running[@]} < lanes)) || finish_binary
        start_binary "$name" "$program"
    done < <(grep '^simulation ' "$1"; grep -vE '^(simulation|live_hadoop) ' "$1")
}

end_running() {
    local process
    for process in "${!running[@]}"; do
        kill -TERM -- "-$process" 2>/dev/null
    done
    rm -rf "$scratch"
}

# live_script NAME [ARG]...: a script of tests/hadoop with what cargo has built here.
live_script() {
    local script=$1
    shift
    JOBTRACKER_PROGRAM=$target/debug/jobtracker JOBTRACKER_LOAD=$target/debug/examples/load "tests/hadoop/$script" "$@"
}

step "formatting" cargo fmt --check
step "build of the live tests" build_live_tests
[[ ! -s $scratch/live ]] || start_binary $(<"$scratch/live")
step "lints" cargo clippy --quiet --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" step "documentation" cargo doc --quiet --no-deps
step "build of the tests" build_tests "$scratch/tests"
[[ ! -s $scratch/tests ]] || run_tests "$scratch/tests"
step "random jobs" live_script random.sh --jobs 1000
step "a bidding load that is killed" live_script bidding.sh --kills 5 --first-kills 3
while ((${#running[@]} > 0)); do
    finish_binary
done

echo "all in $SECONDS s"
print_totals
