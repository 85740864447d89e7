#!/usr/bin/env bash
# faults.sh [--jobtracker java|ours] [--record FOLDER] NAME...|all
#
# Lets tasks, their JVMs and TaskTrackers fail in the middle of streaming jobs, and people change their minds. Each fault is a file below
# faults/: it says how its job must end. What ran, how often and with which end is compared with recorded/faults/NAME.txt, as it was under the
# Java JobTracker, or with --record written to FOLDER/NAME.txt. After each, no slot may be held and nothing of the job may be left in
# the system directory, the staging directory and on the trackers. Ends with a line `N passed, N failed`, and 1 when any failed.
#
# To record anew: faults.sh --jobtracker java --record tests/hadoop/recorded/faults all
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/misbehaving.sh"
. "$LIVE_DIR/faults/judge.sh"

ALL=()
for file in "$LIVE_DIR"/faults/on/*.sh; do
    file=${file##*/}
    ALL+=("${file%.sh}")
done
usage="usage: faults.sh [--jobtracker java|ours] [--record FOLDER] ${ALL[*]}|all"

jobtracker=ours record=
while [[ ${1:-} == --* ]]; do
    [[ $# -ge 2 ]] || fail "$usage"
    case $1 in
    --jobtracker) jobtracker=$2 ;;
    --record) record=$2 ;;
    *) fail "$usage" ;;
    esac
    shift 2
done
names=("$@")
[[ ${names[*]} != all ]] || names=("${ALL[@]}")
[[ ${#names[@]} -gt 0 ]] || fail "$usage"
for name in "${names[@]}"; do
    [[ " ${ALL[*]} " == *" $name "* ]] || fail "no fault is called $name; $usage"
done
[[ -z $record ]] || mkdir -p "$record"

WORKERS=(worker-1 worker-2)
# As short as two busy cores allow: a launch that takes longer counts as lost too.
EXPIRY_MS=20000
FAULT_LIMIT_S=240
DISK_MB=16

"$LIVE_DIR/fetch-jars.sh"
# A tracker whose disk is full asks for no tasks, so that only what runs there already fails; what that leaves behind when it is removed is
# less than this.
MIN_SPACE_BYTES=1048576
cluster_create "mapred.tasktracker.expiry.interval=$EXPIRY_MS" "mapred.local.dir.minspacestart=$MIN_SPACE_BYTES"
cluster_start_jobtracker "$jobtracker"

# Starts the trackers that the last fault left dead, and waits until those and no others are known.
mend() {
    local worker dead=()
    for worker in "${WORKERS[@]}"; do
        [[ -n ${CLUSTER_PIDS[$worker]:-} ]] && kill -0 "${CLUSTER_PIDS[$worker]}" 2>/dev/null || dead+=("$worker")
    done
    # First, since until it counts as lost a dead one is counted in place of its successor.
    wait_until "$DAEMON_START_S" "the dead trackers to be lost" cluster_counts_are "$((${#WORKERS[@]} - ${#dead[@]})) 0 0"
    for worker in "${dead[@]}"; do
        cluster_start_tasktracker "$worker"
    done
    wait_until "$DAEMON_START_S" "all trackers" cluster_counts_are "${#WORKERS[@]} 0 0"
}

# A fault in a process of its own: what fails in it ends only it, and a tracker it starts ends with it.
judged() {
    local end=$((SECONDS + FAULT_LIMIT_S)) status=0 judge
    fault_judge "$1" "$CLUSTER/faults/$1" "$CLUSTER/record" >"$CLUSTER/why" 2>&1 &
    judge=$!
    while kill -0 "$judge" 2>/dev/null; do
        if ((SECONDS >= end)); then
            echo "not over after $FAULT_LIMIT_S s" >>"$CLUSTER/why"
            kill "$judge" 2>/dev/null || true
            break
        fi
        sleep 0.2
    done
    wait "$judge" || status=$?
    return "$status"
}

passed=0 failed=0
for name in "${names[@]}"; do
    began=$SECONDS recorded=$LIVE_DIR/recorded/faults/$name.txt verdict=ok
    rm -f "$CLUSTER/record"
    mend
    if ! judged "$name"; then
        verdict=FAILED
    elif [[ -n $record ]]; then
        cp "$CLUSTER/record" "$record/$name.txt"
        verdict=recorded
    elif ! diff "$recorded" "$CLUSTER/record" >"$CLUSTER/why" 2>&1; then
        sed -i '1i not what happened under the Java JobTracker (recorded <, now >):' "$CLUSTER/why"
        verdict=FAILED
    fi
    echo "$name ... $verdict ($((SECONDS - began)) s, $jobtracker JobTracker)"
    if [[ $verdict == FAILED ]]; then
        cat "$CLUSTER/why"
        [[ ! -f $CLUSTER/record ]] || sed 's/^/    now: /' "$CLUSTER/record"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
