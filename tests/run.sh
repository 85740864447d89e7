#!/usr/bin/env bash
# Runs all tests of the short tier: formatting, lints, documentation, unit tests, and the live ones with stock Hadoop, which are skipped
# loudly where Hadoop cannot run (never when CI=true). Most tests wait more than they compute, so LANES of them (4) run at one time, the
# live ones from the start, and the unit tests are built beside the others. Prints how long each step and each binary took, and at the end a
# line `N passed, N failed, N skipped`; 1 when any failed.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
. tests/steps.sh

lanes=${LANES:-4}
# Names of what runs in a lane, by process; a process leads a group of its own.
declare -A running=()
scratch=$(mktemp -d)
trap end_running EXIT

# linted COMMAND [ARG]...: cargo with clippy as the compiler. It does both in one pass, where `cargo clippy` takes one of its own. Tests that
# run beside it come first.
linted() {
    CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ RUSTC_WORKSPACE_WRAPPER=clippy-driver nice cargo "$@"
}

# build_tests LIST [OPTION]...: builds and lints test binaries, writes a line `NAME PROGRAM` for each to LIST.
build_tests() {
    local list=$1
    shift
    linted test --no-run "$@" 2>&1 | tee "$list.log" || return 1
    sed -nE 's#^ *Executable (unittests )?(.*)\.rs \((.*)\)$#\2 \3#p' "$list.log" | sed -E 's#^((tests|examples)/[^ ]*)/main #\1 #; s#^tests/##' >"$list"
    [[ -s $list ]]
}

build_live_tests() {
    # With the programs that the tests start, and the load generator; as the tests are built later, so that nothing is built twice.
    build_tests "$scratch/live" --test live_hadoop && linted build --bins --example load --example hdfs
}

# The tests of the library are the longest to build, and documentation needs a core too: both beside tests that wait.
unit_tests() {
    step "build and lints of the unit tests" build_tests "$scratch/unit" --lib
    RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" step "documentation" nice cargo doc --quiet --no-deps --document-private-items
    [[ ! -s $scratch/unit ]] || test_binaries "$scratch/unit"
}

# start NAME COMMAND [ARG]...: steps and test binaries in a lane of their own; what they print and count is kept until they end.
start() {
    local out=$scratch/${1//\//-} name=$1
    shift
    set -m
    (
        passed=0 failed=0 skipped=0 process_of_steps=$BASHPID
        "$@"
        echo "$passed $failed $skipped" >"$out.counts"
    ) >"$out.out" 2>&1 </dev/null &
    running[$!]=$name
    set +m
}

# Waits until one lane ends, prints its output in one piece and adds its counts.
finish() {
    local process='' out counts=(0 1 0)
    wait -n -p process "${!running[@]}"
    out=$scratch/${running[$process]//\//-}
    unset "running[$process]"
    cat "$out.out"
    # A group that was killed has counted nothing.
    [[ ! -s $out.counts ]] || read -r -a counts <"$out.counts"
    passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
}

# test_binaries LIST: one after the other.
test_binaries() {
    local name program
    while read -r name program; do
        test_binary "$name" "$program"
    done <"$1"
}

# The binaries of a list, but the live ones and benchmarks; those that compute most come first, so that others wait beside them.
run_tests() {
    local name program
    while read -r name program; do
        ((${#running[@]} < lanes)) || finish
        start "$name" test_binary "$name" "$program"
    done < <(grep '^simulation ' "$1"; grep -vE '^(simulation |live_hadoop |benches/)' "$1")
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
step "build and lints of the program" build_live_tests
[[ ! -s $scratch/live ]] || start live_hadoop test_binaries "$scratch/live"
step "build and lints of the tests" build_tests "$scratch/tests" --test '*' --examples --bench '*'
start "unit tests" unit_tests
[[ ! -s $scratch/tests ]] || run_tests "$scratch/tests"
step "random jobs" live_script random.sh --jobs 1000
step "a bidding load that is killed" live_script bidding.sh --kills 5 --first-kills 3
while ((${#running[@]} > 0)); do
    finish
done

echo "all in $SECONDS s"
print_totals
