#!/usr/bin/env bash
# Shows that isolated.sh keeps what it runs away from the rest of the machine, and tidies up behind it.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
isolated=$LIVE_DIR/isolated.sh

same() {
    [[ $2 == "$3" ]] || fail "$1: expected '$2', got '$3'"
}

# Somebody outside who must survive; a name of its own, so that it can be told from others.
sleep 3417 &
bystander=$!
trap 'kill "$bystander" 2>/dev/null || true' EXIT
disown "$bystander"

same "the user inside" alice "$("$isolated" --user alice id -un)"
same "a host inside" 127.0.0.1 "$("$isolated" --host worker-7 getent hosts worker-7 | cut -d' ' -f1)"
same "the status" 7 "$("$isolated" bash -c 'exit 7' && echo 0 || echo $?)"
same "the kill in the path" "$LIVE_DIR/bin/kill" "$("$isolated" bash -c 'type -P kill')"
same "processes seen from outside" 0 "$("$isolated" bash -c 'cat /proc/[0-9]*/cmdline' | tr '\0' ' ' | grep -c 'sleep 3417' || true)"

disk=$(mktemp -d)
# shellcheck disable=SC2016
same "what fits on a disk" 1048576 "$("$isolated" --disk 1 "$disk" bash -c 'cat /dev/zero >"$0/zeros" 2>/dev/null; stat -c %s "$0/zeros"' "$disk")"
rmdir "$disk" || fail "the disk is seen outside"

# The group to be killed begins with 1, which some versions of kill take for "everybody".
same "the killer of such a group" alive "$("$isolated" bash -c 'env kill -9 -1234567 2>/dev/null; echo alive')"
"$isolated" env kill -9 -1 >/dev/null 2>&1 || true
kill -0 "$bystander" || fail "the process outside was killed"

# A group of its own is ended by the form that a TaskTracker uses.
# shellcheck disable=SC2016
same "the group after the kill" gone "$("$isolated" bash -c '
    setsid sleep 3418 & group=$!
    until [ "$(ps -o pgid= -p $group | tr -d " ")" = "$group" ]; do sleep 0.01; done
    env kill -9 "-$group"
    wait "$group"
    env kill -0 "-$group" 2>/dev/null || echo gone')"

# What is started inside ends with the script's process.
"$isolated" sleep 3419 &
inside=$!
disown "$inside"
running() { grep -lsa 'sleep.3419' /proc/[0-9]*/cmdline | grep -qv "^/proc/$inside/"; }
stopped() { ! grep -qsa '^sleep.3419' /proc/[0-9]*/cmdline; }
wait_until 10 "the command inside" running
kill -KILL "$inside"
wait_until 10 "the end of the command inside" stopped
echo "isolated_test ... ok"
