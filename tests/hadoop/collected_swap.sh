#!/usr/bin/env bash
# collected_swap.sh [--maps N] [--keep FILE]
#
# A collector (stock_pages/collect.py) reads jobtracker.jsp, /jmx, /metrics?format=json and jobdetails.jsp each second while the Java JobTracker
# gives place to ours in the middle of a job of so many maps (40) on two built-in workers, and ours to the Java one again: it may miss
# samples only while nobody listens, and sees no number of the job fall; numbers that count since a start of a daemon begin again at a swap. No
# TaskTracker of Java's runs. Ends with a line `N missed, N fell without cause`, and 1 unless both are 0.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
usage="usage: collected_swap.sh [--maps N] [--keep FILE]"
maps=40 keep=
while (($# > 0)); do
    case $1 in
    --maps) maps=${2:?$usage} ;;
    --keep) keep=${2:?$usage} ;;
    *) fail "$usage" ;;
    esac
    shift 2
done
export LC_ALL=C.UTF-8

"$LIVE_DIR/fetch-jars.sh"
find_java
cluster_create mapred.jobtracker.restart.recover=true
printf 'jobtracker.sink.file.class=org.apache.hadoop.metrics2.sink.FileSink\n' >"$CLUSTER/conf/hadoop-metrics2.properties"
PROGRAM=$(our_program)
mkdir -p "$CLUSTER/job/in"
for ((number = 1; number <= maps; number++)); do
    printf 'map%d both\n' "$number" >"$CLUSTER/job/in/$number.txt"
done

printf '%s\n' 'sleep 2' "tr ' ' '\\n'" >"$CLUSTER/words.sh"

page() { curl --silent --show-error --max-time 20 "http://127.0.0.1:$HTTP_PORT$1"; }
has_workers() { [[ $(page '/machines.jsp?type=active' | grep -c '/">tracker_') -ge 2 ]]; }
complete() { page "/jobdetails.jsp?format=json&jobid=$JOB" | python3 -c 'import json, sys; print(json.load(sys.stdin)["mapTaskSummary"]["taskStats"]["numFinishedTasks"])'; }
has_complete() { (($(complete 2>/dev/null || echo 0) >= $1)); }
has_succeeded() { [[ $(page "/jobdetails.jsp?format=json&jobid=$JOB" | tr -d '\n ') == *'"jobStatus":"Succeeded"'* ]]; }

# swap_to java|ours [SIGNAL]
swap_to() {
    local stopped_ms
    stopped_ms=$(date +%s%3N)
    cluster_stop jobtracker "${2:-KILL}"
    wait_until 30 "the ports to be free" cluster_ports_are_free
    mv "$CLUSTER/jobtracker.log" "$CLUSTER/before-$1.log"
    cluster_start_jobtracker "$1"
    wait_until 30 "a page of $1" page_answers
    echo "$1 $stopped_ms $(date +%s%3N)" >>"$CLUSTER/swaps"
}
page_answers() { page /jobtracker.jsp 2>/dev/null | grep -q 'Cluster Summary'; }

cluster_start_jobtracker java
cluster_start_worker worker-1
cluster_start_worker worker-2
wait_until "$DAEMON_START_S" "two workers" has_workers
JOB=$(env -u HADOOP_KEY HOME="$CLUSTER" "$PROGRAM" job submit --detach --conf "$CLUSTER/conf" --user alice --input "$CLUSTER/job/in" --output "$CLUSTER/job/out" \
    --mapper "sh $CLUSTER/words.sh" --reducer 'uniq -c' --reduces 1 2>"$CLUSTER/submit.log" </dev/null)
[[ $JOB == job_* ]] || fail "no id of the job: $(cat "$CLUSTER/submit.log")"
python3 "$LIVE_DIR/stock_pages/collect.py" "127.0.0.1:$HTTP_PORT" "$JOB" "$CLUSTER/samples" &
collector=$!
wait_until 120 "a third of the maps under Java's" has_complete $((maps / 3))
swap_to ours
wait_until 120 "two thirds of the maps under ours" has_complete $((2 * maps / 3))
swap_to java TERM
wait_until 180 "the end of $JOB" has_succeeded
sleep 2
kill "$collector"
[[ -z $keep ]] || cp "$CLUSTER/samples" "$keep"
sort "$CLUSTER"/job/out/part-* | awk '{ print $2, $1 }' | sort >"$CLUSTER/result"
{ printf 'both %d\n' "$maps"; for ((number = 1; number <= maps; number++)); do echo "map$number 1"; done; } | sort | diff - "$CLUSTER/result" >&2 || fail "the output is wrong"
python3 "$LIVE_DIR/stock_pages/collect.py" judge "$CLUSTER/samples" "$CLUSTER/swaps"
