#!/usr/bin/env bash
# cut-off.sh: a default stock streaming client, which waits for nobody, while our JobTracker gets SIGKILL and is started again at once with
# jobtracker.restart.hold-client-kills-ms. The client asks for the end of its own job, as it does whenever it loses its connection, and ends
# with an error; the job must go on all the same, and its output be right. A kill by `hadoop job -kill` in that time ends a job.
# Ends with 1 when anything was wrong.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
maps=8

ask_state() {
    python3 - "$CLUSTER/state/state.db" "$1" <<'PYTHON'
import sqlite3, sys
row = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]).fetchone()
print(row[0] if row else "")
PYTHON
}
job_state_is() { [[ $(ask_state "SELECT state FROM job ORDER BY accept_order DESC LIMIT 1") == "$1" ]]; }
some_maps_are_done() { (($(ask_state "SELECT count(*) FROM attempt WHERE role = 'work' AND state = 'SUCCEEDED'") >= 2)); }

# submit OUTPUT: a streaming job with a slow mapper, in the background; sets client.
submit() {
    hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar" -D mapred.reduce.tasks=1 \
        -D mapred.map.tasks.speculative.execution=false -input "$CLUSTER/in" -output "$CLUSTER/out/$1" \
        -mapper "$CLUSTER/slow_cat" -reducer cat >"$CLUSTER/client-$1.log" 2>&1 &
    client=$!
}
restart() {
    mv "$CLUSTER/jobtracker.log" "$CLUSTER/jobtracker.log.$1"
    cluster_stop jobtracker KILL
    cluster_start_jobtracker ours
}

"$LIVE_DIR/fetch-jars.sh"
cluster_create jobtracker.restart.hold-client-kills-ms=30000
cluster_start_jobtracker ours
cluster_start_tasktracker worker-1
cluster_wait_trackers 1
python3 "$LIVE_DIR/restart_words.py" make $maps "$CLUSTER/in"
printf '#!/bin/sh\ncat\nsleep 3\n' >"$CLUSTER/slow_cat"
chmod 755 "$CLUSTER/slow_cat"
chmod -R a+rX "$CLUSTER/in"
mkdir -m 1777 "$CLUSTER/out"

submit words
wait_until 120 "two maps" some_maps_are_done
restart 1
status=0
wait "$client" || status=$?
((status != 0)) || fail "the client has not noticed anything"
grep -q killJob "$CLUSTER/client-words.log" || fail "the client did not ask for the end of its job"
wait_until 30 "the line on the kill that is held back" grep -q 'its user alice sent it as the first call of a new connection' "$CLUSTER/jobtracker.log"
echo "the client asked for the end of its job and ended with $status"
wait_until 200 "the end of the job" job_state_is SUCCEEDED
diff <(sort "$CLUSTER"/in/*) <(sed 's/\t$//' "$CLUSTER"/out/words/part-00000 | sort) >/dev/null || fail "the output is not right"
echo "the job went on and ended well, its output is right"

submit killed
wait_until 120 "the second job" job_state_is RUNNING
sleep 5
restart 2
id=$(ask_state "SELECT job FROM job ORDER BY accept_order DESC LIMIT 1")
hadoop alice org.apache.hadoop.mapred.JobClient -kill "$id" >"$CLUSTER/kill.log" 2>&1 || fail "hadoop job -kill failed"
wait_until 60 "the end of the killed job" job_state_is KILLED
wait "$client" || true
echo "a kill by hadoop job -kill was taken at its word"
