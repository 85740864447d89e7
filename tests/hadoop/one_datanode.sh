#!/usr/bin/env bash
# one_datanode.sh [--worker HOST]
#
# A stock HDFS with one DataNode and one worker at a time on its host, under our JobTracker: a built-in tasktracker runs a streaming job of the
# stock client and one of ours, then a stock TaskTracker a word count. Each output is checked against one worked out without Hadoop, and each map
# must be data-local by the job's counters. --worker gives the workers another host name (default worker-1, the DataNode's): then all
# fail. Ends with a line `N passed, N failed`, and 1 when any failed.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"

host=worker-1
case ${1:-} in
--worker) host=${2:?a host} ;;
'') ;;
*) fail "usage: one_datanode.sh [--worker HOST]" ;;
esac
export CLUSTER FILES=hdfs LC_ALL=C
passed=0 failed=0

# Runs the jobs at one time, each by a user of its name.
run_jobs() {
    local name why
    for name in "$@"; do
        JOB_USER=$name "$LIVE_DIR/jobs/run_one.sh" "$name" "$CLUSTER/jobs/$name" >"$CLUSTER/$name.why" 2>&1 &
        running[$name]=$!
    done
    for name in "$@"; do
        if wait "${running[$name]}"; then
            echo "$name ... ok ($kind worker, $(sed -n 's/.*: Data-local map tasks = //p' "$CLUSTER/jobs/$name/counters") maps, each data-local)"
            passed=$((passed + 1))
        else
            echo "$name ... FAILED ($kind worker)"
            cat "$CLUSTER/$name.why"
            failed=$((failed + 1))
        fi
    done
}
declare -A running=()

"$LIVE_DIR/fetch-jars.sh"
find_java
# A tracker reports the end of a task at once, not seconds later.
cluster_create mapreduce.tasktracker.outofband.heartbeat=true
hdfs_create 1
hdfs_for_jobs
for name in streaming submitted wordcount; do
    python3 "$LIVE_DIR/jobs/make_input.py" text "$CLUSTER/inputs/$name/in"
done
fs_shell "$DAEMON_USER" -D dfs.umaskmode=000 -put "$CLUSTER"/inputs/* /user
cluster_start_jobtracker ours
kind=built-in
cluster_start_worker "$host"
run_jobs streaming submitted
cluster_stop "$host"
mv "$CLUSTER/$host" "$CLUSTER/built-in"
kind=stock
cluster_start_serving_tasktracker "$host"
run_jobs wordcount
echo "$passed passed, $failed failed"
((failed == 0))
