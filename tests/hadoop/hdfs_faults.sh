#!/usr/bin/env bash
# hdfs_faults.sh [CHECK...]
#
# What a stock HDFS with two DataNodes refuses or has lost, under our daemon, whose user is not its superuser, and a built-in tasktracker. Checks,
# all of them unless some are named:
#
#   quota      a user's home, and then the system directory, is full by its quota of names or of space: clients of both kinds are refused in
#              words that name it, nothing of the submission is left, other users' jobs run
#   history    the history folder may not be written: jobs end, the log has one line, /metrics counts; written once it may be
#   scheme     an output on a file system that we do not know, for our client and for our worker
#   full       DataNodes without room: an attempt that writes fails with a line that says what and where
#   corrupt    a damaged replica of an input: the job is right; all replicas damaged: the attempt fails, path and block are named
#
# Ends with 1 when anything was wrong.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
DAEMON_USER=mapred HDFS_USER=hdfs
. "$LIVE_DIR/hdfs_cluster.sh"
. "$LIVE_DIR/../verdicts.sh"
checks=("$@")
[[ ${#checks[@]} -gt 0 ]] || checks=(quota history scheme full corrupt)
for name in "${checks[@]}"; do
    [[ " quota history scheme full corrupt " == *" $name "* ]] || fail "hdfs_faults.sh: no check is called $name"
done
PROGRAM=$(our_program)
STREAMING_JAR=$HADOOP_LIB/hadoop-streaming-1.2.1.jar

show_logs() { note "$(tail -n 20 "$CLUSTER/jobtracker.log")"; }

# ours_submits USER OUTPUT [OPTION]...: a job that copies $input by $mapper, submitted by our client; what that says is in $CLUSTER/said.
input=/user/alice/in mapper=cat
ours_submits() {
    local user=$1 output=$2
    shift 2
    env -u HADOOP_KEY HOME="$CLUSTER" timeout "$CLIENT_LIMIT_S" "$PROGRAM" job submit --conf "$CLUSTER/conf" --user "$user" --input "$input" \
        --output "$output" --mapper "$mapper" --reducer NONE --streaming-jar "$STREAMING_JAR" -D mapred.map.max.attempts=1 -D mapred.map.tasks=1 \
        "$@" >"$CLUSTER/said" 2>&1
}

# The same by the stock client.
stock_submits() {
    local user=$1 output=$2
    shift 2
    hadoop "$user" org.apache.hadoop.util.RunJar "$STREAMING_JAR" -D mapred.map.max.attempts=1 -D mapred.map.tasks=1 -D mapred.reduce.tasks=0 "$@" \
        -input "$input" -output "$output" -mapper "$mapper" >"$CLUSTER/said" 2>&1
}

# said PATTERN: whether the client said so.
said() {
    grep -qE "$1" "$CLUSTER/said" && return 0
    cat "$CLUSTER/said"
    return 1
}

# fails PATTERN COMMAND [ARG]...: whether a client fails, in such words.
fails() {
    local pattern=$1
    shift
    ! "$@" || { echo "it succeeded"; return 1; }
    said "$pattern"
}

# succeeds COMMAND [ARG]...: whether a client succeeds.
succeeds() {
    "$@" && return 0
    cat "$CLUSTER/said"
    return 1
}

# is_copy OUTPUT: whether it is the input.
is_copy() {
    rm -rf "$CLUSTER/copy"
    fs_shell "$HDFS_USER" -get "$1" "$CLUSTER/copy" >"$CLUSTER/get.log" 2>&1 || { cat "$CLUSTER/get.log"; return 1; }
    diff <(cat "$CLUSTER"/copy/part-* | tr -d '\t' | sort) <(sort "$CLUSTER/in/text")
}

# The id of the job that the client has named, and what its failed attempts said.
job_said() { grep -osm 1 'job_[0-9]*_[0-9]*' "$CLUSTER/said"; }
reason() { cluster_state "SELECT group_concat(diagnostics) FROM attempt WHERE job = '$(job_said)' AND state = 'FAILED'"; }

# reason_is PATTERN: whether the failed attempts of the job said so.
reason_is() {
    local reason
    reason=$(reason)
    echo "   ${reason:0:400}"
    grep -qE "$1" <<<"$reason"
}

jobs_known() { cluster_state 'SELECT count(*) FROM job'; }

# Folders of jobs, anywhere.
leftovers() { fs_shell "$HDFS_USER" -lsr /mapred/system /user 2>>"$CLUSTER/listed.log" | grep -E '/(system|\.staging)/job_' || true; }
is_tidy() {
    local left
    left=$(leftovers)
    [[ -z $left ]] || { echo "$left"; return 1; }
}

metric() { curl --silent --max-time 10 "http://127.0.0.1:$HTTP_PORT/metrics" | sed -n "s/^$1 //p"; }
metric_is_at_least() { (($(metric "$1") >= $2)); }

# refused_by_quota WHAT: submissions of alice's while that is full.
refused_by_quota() {
    local what=$1 before
    before=$(jobs_known)
    check "quota: $what is full: the stock client is refused" fails '(NSQuota|DSQuota)ExceededException' stock_submits alice /user/alice/refused
    check "quota: $what is full: our client is refused" fails 'uota.*exceeded' ours_submits alice /user/alice/refused
    sed 's/^/   /' "$CLUSTER/said" | cut -c 1-400
    check "quota: $what is full: no job is there" test "$(jobs_known)" == "$before"
    check "quota: $what is full: nothing of it is left" is_tidy
}

check_quota() {
    local names
    # Both staging directories are there already: what fails is in them.
    check "quota: jobs run before" succeeds ours_submits alice /user/alice/before
    await "quota: nothing is left of them" is_tidy
    names=$(fs_shell "$HDFS_USER" -count /user/alice | awk '{ print $1 + $2 }')
    hdfs_admin -setQuota "$names" /user/alice
    refused_by_quota "the quota of names of a home"
    check "quota: another user's job runs" succeeds ours_submits bob /user/bob/meanwhile
    check "quota: its output is right" is_copy /user/bob/meanwhile
    hdfs_admin -clrQuota /user/alice
    hdfs_admin -setSpaceQuota 1 /user/alice
    refused_by_quota "the quota of space of a home"
    hdfs_admin -clrSpaceQuota /user/alice
    await "quota: nothing is left of bob's" is_tidy
    names=$(fs_shell "$HDFS_USER" -count /mapred/system | awk '{ print $1 + $2 }')
    hdfs_admin -setQuota "$names" /mapred/system
    refused_by_quota "the quota of the system directory"
    hdfs_admin -clrQuota /mapred/system
    check "quota: jobs run afterwards" succeeds ours_submits alice /user/alice/after
    check "quota: their output is right" is_copy /user/alice/after
}

check_history() {
    local job
    fs_shell "$HDFS_USER" -mkdir /history
    # Not the daemon's.
    fs_shell "$HDFS_USER" -chmod 755 /history
    cluster_stop jobtracker TERM
    wait_until 30 "the daemon's ports to be free" cluster_ports_are_free
    set_property hadoop.job.history.location /history
    cluster_start_jobtracker ours
    await "history: the daemon serves" readyz_is_ok
    check "history: a job ends with success" succeeds ours_submits alice /user/alice/unwritten
    job=$(job_said)
    await "history: /metrics counts the failure" metric_is_at_least jobtracker_history_write_failures_total 1
    check "history: and the job that waits" test "$(metric jobtracker_histories_waiting)" == 1
    grep "cannot write the history of $job" "$CLUSTER/jobtracker.log" | sed -E 's/^/   /; s/\x1b\[[0-9;]*m//g'
    check "history: one line says where and why" test "$(grep -c "cannot write the history of $job.*/history belongs to hdfs" "$CLUSTER/jobtracker.log")" == 1
    check "history: another job ends, too" succeeds ours_submits bob /user/bob/unwritten
    fs_shell "$HDFS_USER" -chown "$DAEMON_USER" /history
    await "history: both are written once it may be" metric_is_at_least jobtracker_histories_written_total 2
    check "history: one line for each job" test "$(grep -c 'cannot write the history of' "$CLUSTER/jobtracker.log")" == 2
}

readyz_is_ok() { curl --silent --max-time 10 "http://127.0.0.1:$HTTP_PORT/readyz" | grep -q '^ok'; }

# set_property KEY VALUE: of the daemon, from its next start on.
set_property() {
    sed -i "s|</configuration>|<property><name>$1</name><value>$2</value></property></configuration>|" "$CLUSTER/conf/mapred-site.xml"
}

check_scheme() {
    local job client
    check "scheme: our client refuses it" fails 'unknown file system "s3"' ours_submits alice s3://bucket/out
    sed 's/^/   /' "$CLUSTER/said"
    # One of Java's, which the stock client lets pass and a stock TaskTracker could write to.
    stock_submits alice ramfs://memory/out &
    client=$!
    wait_until 60 "the job of the stock client" job_said >"$CLUSTER/job"
    job=$(job_said)
    await "scheme: the job of a stock client waits for stock TaskTrackers, and says why" is_explained "$job" 'unknown file system "ramfs"'
    check "scheme: a built-in tasktracker gets nothing of it" test "$(cluster_state "SELECT count(*) FROM attempt WHERE job = '$job'")" == 0
    hadoop alice org.apache.hadoop.mapred.JobClient -kill "$job" >"$CLUSTER/kill.log" 2>&1
    wait "$client" || true
    check "scheme: it can be killed" job_is "$job" KILLED
    await "scheme: nothing is left of it" is_tidy
}

is_explained() { "$PROGRAM" explain "$1" --server "127.0.0.1:$HTTP_PORT" | grep -F "$2"; }

# Starts the DataNodes again; so many bytes of their disks are not for HDFS.
restart_datanodes() {
    local number
    for number in 1 2; do
        cluster_stop "datanode-$number"
        sed -i -e '/dfs.datanode.du.reserved/d' -e "s|</configuration>|  <property><name>dfs.datanode.du.reserved</name><value>$1</value></property>\n&|" \
            "$CLUSTER/datanode-$number/conf/hdfs-site.xml"
    done
    wait_until 30 "the DataNodes' ports to be free" datanodes_are_gone
    datanode_starts=$(hdfs_registrations)
    hdfs_start_datanode 1
    hdfs_start_datanode 2
    hdfs_wait_datanodes $((datanode_starts + 2))
}

datanodes_are_gone() {
    local ports
    ports=$(printf '%04X|%04X' "$(datanode_port 1)" "$(datanode_port 2)")
    ! grep -qiE "^ *[0-9]+: [0-9A-F]+:($ports) [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6
}

check_full() {
    local job mapper="sh $CLUSTER/waits.sh"
    # It waits before it reads.
    rm -f "$CLUSTER/gate"
    printf 'until [ -e %s/gate ]; do sleep 0.2; done\nexec cat\n' "$CLUSTER" >"$CLUSTER/waits.sh"
    ours_submits alice /user/alice/full --detach || { cat "$CLUSTER/said"; fail "no job"; }
    job=$(job_said)
    wait_until 60 "the map of $job to run" has_running "$job"
    restart_datanodes $((1 << 50))
    touch "$CLUSTER/gate"
    await "full: the job ends, failed" job_is "$job" FAILED
    check "full: its attempt says what and where" reason_is '/user/alice/full/.*(could only be replicated to 0 nodes|cannot be written)'
    mapper=cat
    check "full: our client says it, too" fails 'could only be replicated to 0 nodes' ours_submits alice /user/alice/refused
    sed 's/^/   /' "$CLUSTER/said" | cut -c 1-400
    restart_datanodes 0
    check "full: with room again a job runs" succeeds ours_submits alice /user/alice/room
    check "full: its output is right" is_copy /user/alice/room
    await "full: nothing is left of all these" is_tidy
}

has_running() { (($(cluster_state "SELECT count(*) FROM attempt WHERE job = '$1' AND role = 'work' AND state = 'RUNNING'") > 0)); }
job_is() { [[ $(cluster_state "SELECT state FROM job WHERE job = '$1'") == "$2" ]]; }

# damage FILE NUMBER...: flips a byte of the replica of a file of one block on these DataNodes.
damage() {
    local number block
    for number in "${@:2}"; do
        block=$(hdfs_damage "$1" "$number") || fail "no replica of $1 on the DataNode $number"
    done
    echo "$block"
}

check_corrupt() {
    local block number input
    mkdir "$CLUSTER/rotten"
    for number in 1 2; do
        shuf --random-source=<(yes "$number") "$CLUSTER/in/text" >"$CLUSTER/rotten/$number"
    done
    chmod -R a+rX "$CLUSTER/rotten"
    fs_shell alice -put "$CLUSTER/rotten" /user/alice/rotten
    block=$(damage "$CLUSTER/rotten/1" 1)
    input=/user/alice/rotten/1
    check "corrupt: one replica of the input is damaged: jobs end right, also the one that meets it" are_right_until_met "$block"
    block=$(damage "$CLUSTER/rotten/2" 1 2)
    input=/user/alice/rotten/2
    check "corrupt: all replicas are damaged: the job fails" fails . ours_submits alice /user/alice/lost
    check "corrupt: the attempt names path and block" reason_is "/user/alice/rotten/2.*$block"
    check "corrupt: no output is there" test -z "$(fs_shell alice -lsr /user/alice/lost 2>/dev/null | grep 'part-')"
}

# Which replica is read first is chance: jobs until the NameNode hears of the damaged one.
are_right_until_met() {
    local number
    for ((number = 1; number <= 12; number++)); do
        succeeds ours_submits alice "/user/alice/mended-$number" && is_copy "/user/alice/mended-$number" || return 1
        ! grep -q "addToCorruptReplicasMap: $1 added as corrupt" "$CLUSTER/namenode.log" || return 0
    done
    echo "no job has met it"
    return 1
}

"$LIVE_DIR/fetch-jars.sh"
cluster_create
hdfs_create 2
hdfs_for_jobs alice bob
fs_shell "$HDFS_USER" -chmod 755 /user/alice
mkdir "$CLUSTER/in"
seq -f 'line %.0f of the input' 2000 >"$CLUSTER/in/text"
chmod -R a+rX "$CLUSTER/in"
fs_shell alice -put "$CLUSTER/in" /user/alice/in
cluster_start_jobtracker ours
cluster_start_worker worker-1
cluster_wait_trackers 1

for check in "${checks[@]}"; do
    "check_$check"
done
exit $wrong
