#!/usr/bin/env bash
# jobs.sh [--jobtracker java|ours] [--trackers N] [--record FOLDER] NAME...|all
#
# Runs stock example jobs by a stock client on stock TaskTrackers, under the Java JobTracker or ours (default ours), and checks each job's
# output against one worked out without Hadoop. What the client shows at the end is compared with recorded/NAME.txt, as it was under the Java
# JobTracker, or with --record written to FOLDER/NAME.txt. Ends with a line `N passed, N failed`, and 1 when any failed.
#
# To record anew: jobs.sh --jobtracker java --trackers 2 --record tests/hadoop/recorded all
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

ALL=(wordcount grep sort secondarysort join multifilewc sleep streaming)
usage="usage: jobs.sh [--jobtracker java|ours] [--trackers N] [--record FOLDER] ${ALL[*]}|all"

jobtracker=ours trackers=1 record=
while [[ ${1:-} == --* ]]; do
    [[ $# -ge 2 ]] || fail "$usage"
    case $1 in
    --jobtracker) jobtracker=$2 ;;
    --trackers) trackers=$2 ;;
    --record) record=$2 ;;
    *) fail "$usage" ;;
    esac
    shift 2
done
names=("$@")
[[ ${names[*]} != all ]] || names=("${ALL[@]}")
[[ ${#names[@]} -gt 0 && $trackers =~ ^[1-4]$ ]] || fail "$usage"
for name in "${names[@]}"; do
    [[ " ${ALL[*]} " == *" $name "* ]] || fail "no job is called $name; $usage"
done
[[ -z $record ]] || mkdir -p "$record"

"$LIVE_DIR/fetch-jars.sh"
cluster_create
export CLUSTER
cluster_start_jobtracker "$jobtracker"
for ((number = 1; number <= trackers; number++)); do
    cluster_start_tasktracker "worker-$number"
done
cluster_wait_trackers "$trackers"

passed=0 failed=0
for name in "${names[@]}"; do
    began=$SECONDS
    folder=$CLUSTER/jobs/$name
    recorded=$LIVE_DIR/recorded/$name.txt
    if ! why=$("$LIVE_DIR/jobs/run_one.sh" "$name" "$folder" 2>&1); then
        verdict=FAILED
    elif [[ -n $record ]]; then
        cp "$folder/record" "$record/$name.txt"
        verdict=recorded
    elif ! why=$(diff "$recorded" "$folder/record" 2>&1); then
        why="not what the Java JobTracker gave (recorded <, now >):"$'\n'"$why"
        verdict=FAILED
    else
        verdict=ok
    fi
    echo "$name ... $verdict ($((SECONDS - began)) s, $jobtracker JobTracker)"
    if [[ $verdict == FAILED ]]; then
        echo "$why"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
