#!/usr/bin/env bash
# restart.sh [--kills N] [--trackers N] [--maps N]
#
# Our JobTracker gets SIGKILL N times (2) while stock TaskTrackers (1) run a stock job of so many maps (20) and two reduces, at moments that
# differ from run to run, and is started again at once. The stock client, which is told to wait (mapreduce.jobclient.retry.policy.enabled),
# must end with success; of every task one attempt alone may have been launched, and it must have succeeded. After one more SIGKILL the stock
# client must still be told counters, events and tasks of the job. Prints how long after each start the first tracker was back. Ends with 1 when
# anything was wrong.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
kills=2 trackers=1 maps=20
while (($# > 0)); do
    case $1 in
    --kills) kills=$2 ;;
    --trackers) trackers=$2 ;;
    --maps) maps=$2 ;;
    *) fail "restart.sh: unknown option $1" ;;
    esac
    shift 2
done
reduces=2 map_ms=1500 reduce_ms=500

# Prints the first column of the first row of a query.
ask_state() {
    python3 - "$CLUSTER/state/state.db" "$1" <<'PYTHON'
import sqlite3, sys
print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]).fetchone()[0])
PYTHON
}

# Whether at least so many maps are done.
maps_are_done() {
    (($(ask_state "SELECT count(*) FROM attempt WHERE state = 'SUCCEEDED' AND role = 'work' AND attempt LIKE '%\_m\_%' ESCAPE '\'") >= $1))
}

"$LIVE_DIR/fetch-jars.sh"
cluster_create
cluster_start_jobtracker ours
for ((tracker = 1; tracker <= trackers; tracker++)); do
    cluster_start_tasktracker "worker-$tracker"
done
cluster_wait_trackers "$trackers"

CLIENT_LIMIT_S=600
hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" sleep \
    -Dmapreduce.jobclient.retry.policy.enabled=true -Dmapred.map.tasks.speculative.execution=false \
    -Dmapred.reduce.tasks.speculative.execution=false \
    -m "$maps" -r "$reduces" -mt "$map_ms" -rt "$reduce_ms" >"$CLUSTER/client.log" 2>&1 &
client=$!

for ((kill = 1; kill <= kills; kill++)); do
    wait_until 300 "the maps before the kill number $kill" maps_are_done $((maps * kill / (kills + 1)))
    sleep "$(printf '0.%03d' $((RANDOM % 1000)))"
    mv "$CLUSTER/jobtracker.log" "$CLUSTER/jobtracker.log.$kill"
    cluster_stop jobtracker KILL
    started_ms=$(date +%s%3N)
    cluster_start_jobtracker ours
    wait_until 60 "the trackers to come back" grep -q ' is back$' "$CLUSTER/jobtracker.log"
    back_ms=$(date +%s%3N)
    echo "kill $kill: the first tracker was back $((back_ms - started_ms)) ms after the start, at the latest"
done

status=0
wait "$client" || status=$?
((status == 0)) || { cat "$CLUSTER/client.log"; fail "the stock client ended with $status"; }

launched=$(ask_state "SELECT count(*) FROM attempt")
wanted=$((maps + reduces + 2))
((launched == wanted)) || fail "$launched attempts were launched, not $wanted: one for each task, a setup and a cleanup"
again=$(ask_state "SELECT count(*) FROM attempt WHERE state <> 'SUCCEEDED' OR attempt NOT LIKE '%\_0' ESCAPE '\'")
((again == 0)) || fail "$again attempts were not the first of their task, or did not succeed"
[[ $(ask_state "SELECT state FROM job") == SUCCEEDED ]] || fail "the job did not succeed"
[[ $(ask_state "SELECT count(*) FROM kill_debt") == 0 ]] || sleep 2
[[ $(ask_state "SELECT count(*) FROM kill_debt") == 0 ]] || fail "not all trackers have heard of the end"

# Once more, when the job is over: clients may still ask about it.
cluster_stop jobtracker KILL
mv "$CLUSTER/jobtracker.log" "$CLUSTER/jobtracker.log.last"
cluster_start_jobtracker ours
id=$(ask_state "SELECT job FROM job")
job_client() { hadoop alice org.apache.hadoop.mapred.JobClient "$@" 2>>"$CLUSTER/client.log"; }
job_client -status "$id" | grep -q 'Map input records=' || fail "the counters of $id are gone after a restart"
events=$(job_client -events "$id" 0 1000 | grep -c SUCCEEDED) || true
((events == wanted)) || fail "$events events of $id are told after a restart, not $wanted"
completed=$(job_client -list-attempt-ids "$id" map completed | grep -c "^attempt_") || true
((completed == maps)) || fail "$completed maps of $id are told of after a restart, not $maps"
echo "$kills kills: $launched attempts for $wanted tasks, the client ended with success"
