# Sourced by run.sh and full.sh: runs steps and test binaries, counts what passes, fails and is skipped, and prints how long each took.
# shellcheck shell=bash

passed=0 failed=0 skipped=0

# step NAME COMMAND [ARG]...: one thing that passes or fails.
step() {
    local name=$1 verdict=ok
    shift
    echo "=== $name"
    begin_timing
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        verdict=FAILED
    fi
    echo "=== $name: $verdict ($(timing))"
}

# skip_step NAME REASON: one thing that cannot be tried here, which continuous integration must not leave out.
skip_step() {
    if [[ ${CI:-} == true ]]; then
        failed=$((failed + 1))
        echo "=== $1: FAILED, it cannot run: $2"
    else
        skipped=$((skipped + 1))
        echo "=== SKIPPED $1: $2"
    fi
}

# test_binary NAME PROGRAM: runs all tests of a binary. A test that cannot run here prints a line `SKIPPED name: reason` and counts as
# skipped, not as passed; a binary that ends before it reports counts as one failed test.
test_binary() {
    local name=$1 program=$2 log status=0 counts
    log=$(mktemp)
    echo "=== $name"
    begin_timing
    "$program" 2>&1 | tee "$log" || status=$?
    read -r -a counts < <(awk '
        /^SKIPPED / { skipped++ }
        /^test result: / { passed += $4; failed += $6 }
        END { print passed - skipped, failed + 0, skipped + 0 }' "$log")
    rm "$log"
    ((status == 0 || counts[1] > 0)) || counts=(0 1 0)
    passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
    echo "=== $name: ${counts[0]} passed, ${counts[1]} failed, ${counts[2]} skipped ($(timing))"
}

# Prints the last line and ends with 1 when anything failed.
print_totals() {
    echo "$passed passed, $failed failed, $skipped skipped"
    ((failed == 0))
}

begin_timing() {
    began_s=$SECONDS began_cpu_s=$(cpu_s)
}

# Prints what has passed since begin_timing: by the clock, and of CPU in commands that have ended.
timing() {
    echo "$((SECONDS - began_s)) s, $(($(cpu_s) - began_cpu_s)) s of CPU"
}

# Prints the seconds of CPU that all ended children of this process have used. A subshell has children of its own, so the kernel is asked.
cpu_s() {
    local fields
    read -r fields <"/proc/$process_of_steps/stat"
    # Behind the name, which may hold spaces: cutime and cstime.
    read -r -a fields <<<"${fields##*) }"
    echo $(((fields[13] + fields[14]) / CLOCK_TICKS))
}

CLOCK_TICKS=$(getconf CLK_TCK)
process_of_steps=$BASHPID
