# Sourced by the long shell tests: what must hold, and whether anything was wrong. The script defines `show_logs`, for what never came to hold.
# shellcheck shell=bash

wrong=0

# check WHAT COMMAND [ARG]...: one thing that must hold.
check() {
    if "${@:2}"; then
        echo "ok: $1"
    else
        echo "WRONG: $1"
        wrong=1
    fi
}

# await WHAT COMMAND [ARG]...: a thing that must come to hold within two minutes; else the test ends here.
await() {
    local until=$((SECONDS + 120))
    while ((SECONDS < until)); do
        "${@:2}" >/dev/null 2>&1 && echo "ok: $1" && return
        sleep 0.2
    done
    echo "WRONG: $1, after two minutes"
    wrong=1
    "${@:2}" || true
    show_logs
    exit 1
}
