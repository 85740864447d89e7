#!/usr/bin/env bash
# jobs.sh [--jobtracker java|ours] [--trackers N] [--record] NAME...|all
#
# Runs stock example jobs by a stock client on stock TaskTrackers, under the Java JobTracker or ours (default ours), and checks each job's
# output against one worked out without Hadoop. What the client shows at the end is compared with recorded/NAME.txt, which --record writes
# (of the Java JobTracker only). Ends with a line `N passed, N failed`, and 1 when any failed.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

ALL=(wordcount grep sort secondarysort join multifilewc sleep streaming)
usage="usage: jobs.sh [--jobtracker java|ours] [--trackers N] [--record] ${ALL[*]}|all"

jobtracker=ours trackers=1 record=
while [[ ${1:-} == --* ]]; do
    case $1 in
    --jobtracker)
        jobtracker=${2:-}
        shift
        ;;
    --trackers)
        trackers=${2:-}
        shift
        ;;
    --record) record=1 ;;
    *) fail "$usage" ;;
    esac
    shift
done
names=("$@")
[[ ${names[*]} != all ]] || names=("${ALL[@]}")
[[ ${#names[@]} -gt 0 && $trackers =~ ^[1-4]$ ]] || fail "$usage"
for name in "${names[@]}"; do
    [[ " ${ALL[*]} " == *" $name "* ]] || fail "no job is called $name; $usage"
done
[[ -z $record || $jobtracker == java ]] || fail "only what the Java JobTracker gives is worth recording"

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
        cp "$folder/record" "$recorded"
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
