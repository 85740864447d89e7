# Sourced by run.sh and full.sh: counts what passes and what fails.
# shellcheck shell=bash

passed=0 failed=0

# step NAME COMMAND [ARG]...: one thing that passes or fails.
step() {
    local name=$1 began=$SECONDS
    shift
    echo "=== $name"
    if "$@"; then
        passed=$((passed + 1))
        echo "=== $name: ok ($((SECONDS - began)) s)"
    else
        failed=$((failed + 1))
        echo "=== $name: FAILED ($((SECONDS - began)) s)"
    fi
}
