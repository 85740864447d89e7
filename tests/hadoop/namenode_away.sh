#!/usr/bin/env bash
# namenode_away.sh [--maps N] [--away-s N] [CHECK...]
#
# The NameNode of a stock HDFS with two DataNodes goes away and returns at the same port, under our daemon, two stock TaskTrackers and stock
# clients, whose word counts have so many maps (40) and read and write there. Checks, all of them unless some are named:
#
#   start       The daemon, and a built-in tasktracker, start while there is no NameNode: a submission waits until there is one
#   killed      SIGKILL in the middle of a job, started again after so many seconds (20)
#   stopped     SIGSTOP in the middle of a job for as long
#   safe-mode   the NameNode enters its safe mode in the middle of a job, and leaves it
#   restarted   SIGKILL to the NameNode and to the daemon, which is started again first, with mapreduce.jt.hdfs.monitor.enable
#
# In each the job must end with success and the right output; meanwhile calls and heartbeats must be answered as ever, /readyz must give the
# reason, and afterwards nothing of the job may be left in the system and staging directories. Prints how many attempts there were, and how
# long calls took while the NameNode was away. Ends with 1 when anything was wrong.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"
. "$LIVE_DIR/../verdicts.sh"
maps=40 away_s=20 reduces=2
while [[ ${1:-} == --* ]]; do
    case $1 in
    --maps) maps=$2 ;;
    --away-s) away_s=$2 ;;
    *) fail "namenode_away.sh: unknown option $1" ;;
    esac
    shift 2
done
checks=("$@")
[[ ${#checks[@]} -gt 0 ]] || checks=(start killed stopped safe-mode restarted)
for name in "${checks[@]}"; do
    [[ " start killed stopped safe-mode restarted " == *" $name "* ]] || fail "namenode_away.sh: no check is called $name"
done
# The longest that a call may take on a machine that does something else, too, ms.
CALL_LIMIT_MS=2000
JOB_LIMIT_S=600

show_logs() { note "$(tail -n 20 "$CLUSTER/jobtracker.log")"; }

# submit NAME [-D KEY=VALUE]...: a stock word count with that output, in the background; sets name and client, and job once the client has
# said its id (has_id).
submit() {
    name=$1 job=
    shift
    CLIENT_LIMIT_S=$JOB_LIMIT_S hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" wordcount \
        -Dmapreduce.jobclient.retry.policy.enabled=true -Dmapred.reduce.tasks=$reduces "$@" /user/alice/in "/user/alice/$name" \
        >"$CLUSTER/$name.log" 2>&1 &
    client=$!
}

has_id() {
    job=$(grep -osm 1 'job_[0-9]*_[0-9]*' "$CLUSTER/$name.log") && return 0
    kill -0 "$client" 2>/dev/null || { cat "$CLUSTER/$name.log"; fail "the client of $name has ended"; }
    return 1
}

# Prints how many maps of the job are done.
maps_done() {
    cluster_state "SELECT count(*) FROM attempt
        WHERE job = '$job' AND attempt LIKE '%\_m\_%' ESCAPE '\' AND role = 'work' AND state = 'SUCCEEDED'"
}
has_maps_done() { (($(maps_done) >= $1)); }

await_third() {
    wait_until 60 "the id of $name" has_id
    wait_until 240 "a third of the maps of $name" has_maps_done $((maps / 3))
}

# Waits for the job's end: the client ended with success, and the output is right to the byte.
ends_right() {
    local status=0
    wait "$client" || status=$?
    ((status == 0)) || { tail -n 20 "$CLUSTER/$name.log"; echo "the client ended with $status"; return 1; }
    fs_shell alice -get "/user/alice/$name" "$CLUSTER/$name" >"$CLUSTER/get.log" 2>&1 || { cat "$CLUSTER/get.log"; return 1; }
    python3 "$LIVE_DIR/restart_words.py" check "$CLUSTER/in" $reduces "$CLUSTER/$name"
}

attempts() {
    cluster_state "SELECT group_concat(count || ' ' || lower(state), ', ') FROM
        (SELECT count(*) AS count, state FROM attempt WHERE job = '$job' GROUP BY state ORDER BY state)"
}

is_tidy() { hdfs_has_no_files_of "$job" alice; }

# The ends of all checks alike.
check_end() {
    check "$name: the job ends with success and the right output" ends_right
    await "$name: nothing is left of it in the system and staging directories" is_tidy
    await "$name: /readyz says ok" is_ready
    echo "   $name: $(attempts) of $((maps + reduces + 2)) tasks"
}

# Whether /readyz answers $1 with a text like $2.
readyz() {
    local code
    code=$(curl --silent --max-time 10 --output "$CLUSTER/readyz" --write-out '%{http_code}' "http://127.0.0.1:$HTTP_PORT/readyz") || return 1
    [[ $code == "$1" ]] && grep -qE "$2" "$CLUSTER/readyz" && return 0
    echo "/readyz: $code $(cat "$CLUSTER/readyz")"
    return 1
}
is_ready() { readyz 200 '^ok'; }

# Whether a submission is refused by an exception like $1.
is_refused() {
    "$LIVE_DIR/ask_jobtracker.py" "$RPC_PORT" refusal "hdfs://$NAMENODE/user/alice/.staging" >"$CLUSTER/refusal" 2>&1
    grep -qE "$1" "$CLUSTER/refusal" && return 0
    cat "$CLUSTER/refusal"
    return 1
}

heartbeats() { curl --silent --max-time 10 "http://127.0.0.1:$HTTP_PORT/metrics" | sed -n 's/^jobtracker_heartbeats_total //p'; }

trackers_are() {
    local counts
    read -ra counts < <("$LIVE_DIR/ask_jobtracker.py" "$RPC_PORT" status) && [[ ${counts[0]} == "$1" ]]
}

# Calls the daemon for so many seconds of an outage that has begun, and checks the answers.
check_answers() {
    local seconds=$1 before after answers
    before=$(heartbeats)
    read -ra answers < <("$LIVE_DIR/ask_jobtracker.py" "$RPC_PORT" pace "$seconds")
    after=$(heartbeats)
    echo "   $name: ${answers[0]} calls in $seconds s, the longest ${answers[1]} ms; $((after - before)) heartbeats"
    check "$name: no call takes $CALL_LIMIT_MS ms" test "${answers[1]}" -lt $CALL_LIMIT_MS
    check "$name: heartbeats are answered, at least one a second" test $((after - before)) -ge "$seconds"
    check "$name: no tracker is lost" trackers_are "$trackers"
}

kill_namenode() {
    cluster_stop namenode KILL
    wait_until 10 "the NameNode's port to be free" namenode_is_gone
}

namenode_is_gone() { ! grep -qiE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "${HDFS_PORTS[0]}") [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6; }

check_start() {
    local began_ms submit_later=(-Ddfs.client.retry.policy.enabled=true -Ddfs.client.retry.policy.spec=1000,300)
    cluster_stop jobtracker TERM
    kill_namenode
    wait_until 30 "the daemon's ports to be free" cluster_ports_are_free
    began_ms=$(date +%s%3N)
    cluster_start_jobtracker ours
    echo "   start: the ports are open $(($(date +%s%3N) - began_ms)) ms after the start of the daemon"
    check "start: /readyz gives the reason" readyz 503 "no job can be submitted: the files of jobs cannot be reached: .*$NAMENODE.*Connection refused"
    # It stays: stock jobs have no task for it.
    cluster_start_worker worker-3
    trackers=$((trackers + 1))
    await "start: stock TaskTrackers return, and a built-in one registers" trackers_are $trackers
    check "start: a submission gets a SafeModeException" is_refused '^org.apache.hadoop.mapred.SafeModeException: .*the files of jobs'
    submit start "${submit_later[@]}"
    sleep 5
    check "start: a stock client waits" kill -0 "$client"
    hdfs_start_namenode
    wait_until 60 "the id of $name" has_id
    check_end
}

check_killed() {
    submit killed
    await_third
    kill_namenode
    check_answers "$away_s"
    check "killed: a submission gets a SafeModeException" is_refused '^org.apache.hadoop.mapred.SafeModeException: .*cannot connect'
    check "killed: /readyz gives the reason" readyz 503 "the files of jobs cannot be reached: .*$NAMENODE"
    hdfs_start_namenode
    check_end
}

check_stopped() {
    submit stopped
    await_third
    cluster_signal namenode STOP
    check_answers "$away_s"
    check "stopped: /readyz gives the reason" readyz 503 "the files of jobs cannot be reached: .*$NAMENODE"
    cluster_signal namenode CONT
    check_end
}

check_safe-mode() {
    local done refused refusal
    submit safe-mode
    await_third
    check "safe-mode: it is entered" hdfs_admin -safemode enter
    done=$(maps_done)
    refused=0
    refusal=$(hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" wordcount \
        /user/alice/in /user/alice/refused 2>&1) || refused=$?
    check "safe-mode: a submission is refused for it" grep -q 'SafeModeException' <<<"$refused $refusal"
    await "safe-mode: the running job maps on" has_maps_done $((done + 2))
    await "safe-mode: /readyz gives the reason" readyz 503 'the files of jobs cannot be reached: .*safe mode'
    check_answers 5
    check "safe-mode: it is left" hdfs_admin -safemode leave
    check_end
    submit after-safe-mode
    wait_until 60 "the id of $name" has_id
    check_end
}

check_restarted() {
    local done
    local watch='<property><name>mapreduce.jt.hdfs.monitor.enable</name><value>true</value></property>'
    sed -i "s|</configuration>|$watch&|" "$CLUSTER/conf/mapred-site.xml"
    submit restarted
    await_third
    kill_namenode
    cluster_stop jobtracker KILL
    wait_until 30 "the daemon's ports to be free" cluster_ports_are_free
    done=$(cluster_state "SELECT group_concat(attempt) FROM attempt WHERE job = '$job' AND state = 'SUCCEEDED'")
    cluster_start_jobtracker ours
    await "restarted: the trackers return" trackers_are "$trackers"
    check_answers 10
    check "restarted: /readyz gives the reason" readyz 503 "the files of jobs cannot be reached: .*$NAMENODE"
    hdfs_start_namenode
    check_end
    check "restarted: the files for its trackers are left alone" test -z "$(grep -E 'miss tokens|rewrote' "$CLUSTER/jobtracker.log")"
    check "restarted: no task runs again that was done" never_again "$done"
}

# never_again ATTEMPT,...: whether each of their tasks has that attempt alone.
never_again() {
    local attempt again
    for attempt in ${1//,/ }; do
        again=$(cluster_state "SELECT count(*) FROM attempt WHERE attempt LIKE '${attempt%_*}\_%' ESCAPE '\'")
        ((again == 1)) || { echo "$again attempts of the task of $attempt"; return 1; }
    done
}

"$LIVE_DIR/fetch-jars.sh"
cluster_create mapred.jobtracker.restart.recover=true mapreduce.jt.hdfs.monitor.interval.ms=1000
hdfs_create 2
hdfs_for_jobs alice
cluster_start_jobtracker ours
trackers=2
cluster_start_tasktracker worker-1
cluster_start_tasktracker worker-2
cluster_wait_trackers $trackers
python3 "$LIVE_DIR/restart_words.py" make "$maps" "$CLUSTER/in"
chmod -R a+rX "$CLUSTER/in"
fs_shell alice -put "$CLUSTER/in" /user/alice/in

for check in "${checks[@]}"; do
    "check_$check"
done
exit $wrong
