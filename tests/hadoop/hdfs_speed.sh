#!/usr/bin/env bash
# hdfs_speed.sh [--mb N] [--small N] [--submissions N] [--stop-s N] [--copy-mb N] [--rounds N]
#
# What this program takes beside Java's on one stock HDFS (a NameNode, two DataNodes, replication 2), all in one run. The JobTrackers take
# turns: CPU of the daemon for each of N submissions; heartbeats of 100 faked trackers at 200 a second while the NameNode is stopped
# (SIGSTOP) for N seconds and a job goes on, or jobs end with a copy of their history in HDFS; in N rounds N small jobs (2 maps, 1 reduce) of
# the stock client on a stock TaskTracker, under ours on the built-in one too. Under ours a streaming word count (tr, uniq -c) over N MB on both kinds
# of worker. A file of N MB written and read by our client and by FsShell, N rounds. CPU is that of whole process trees. Prints a line for
# each figure as it comes, then a table of medians with the load averages. Fails when outputs differ. Needs release builds for figures
# that count: cargo build --release --bins --example load --example hdfs.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"

mb=1000 small=3 submissions=100 stop_s=10 copy_mb=200 rounds=3 OURS_OPTIONS=()
while [[ $# -ge 2 ]]; do
    case $1 in
    --mb) mb=$2 ;;
    --small) small=$2 ;;
    --submissions) submissions=$2 ;;
    --stop-s) stop_s=$2 ;;
    --copy-mb) copy_mb=$2 ;;
    --rounds) rounds=$2 ;;
    *) break ;;
    esac
    shift 2
done
[[ $# -eq 0 ]] || fail "unknown option $1"

"$LIVE_DIR/fetch-jars.sh"
find_java
export LC_ALL=C
MAP_SLOTS=2 REDUCE_SLOTS=1 CLIENT_LIMIT_S=7200
HDFS_PROGRAM=$(hdfs_program)
generator=$(load_generator)
# Whatever makes Hadoop's processes quick is left as Java has it; the other live tests want them to start quickly.
JAVA_OPTIONS=("$JAVA_EXPORTS" --add-opens=java.base/java.lang=ALL-UNNAMED -Djava.net.preferIPv4Stack=true -XX:-UsePerfData)
STREAMING=$HADOOP_LIB/hadoop-streaming-1.2.1.jar

cluster_create "mapred.child.java.opts=-Xmx200m $JAVA_EXPORTS" io.sort.mb=100 mapred.reduce.parallel.copies=5 tasktracker.http.threads=40
hdfs_create 2
hdfs_for_jobs alice load
# Every figure: WHAT, WHO, WALL, CPU, UNIT OF CPU, LOAD AVERAGE, by tabs.
figures=$CLUSTER/figures
load_average() { cut -d ' ' -f 1 /proc/loadavg; }
figure() {
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$(load_average)" >>"$figures"
    printf '%-46s %-30s %-26s %s, load average %s\n' "$1" "$2" "$3" "$4" "$(load_average)"
}

# The daemon below the script that isolates it: inner PID. It has children of its own now and then.
inner() {
    local pid=$1
    until [[ $(cat "/proc/$pid/comm") =~ ^(java|jobtracker)$ ]]; do
        pid=$(pgrep -P "$pid" | head -n 1)
    done
    echo "$pid"
}

# User and system time so far of the daemon $1 alone, s.
cpu_of() {
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.2f\n", ($12 + $13) / hz }' "/proc/$(inner "${CLUSTER_PIDS[$1]}")/stat"
}

# A fresh JobTracker on ports of its own.
change_jobtracker() {
    [[ -z ${CLUSTER_PIDS[jobtracker]:-} ]] || cluster_stop jobtracker TERM
    read -r RPC_PORT HTTP_PORT < <(free_ports 2)
    cluster_conf localhost "$CLUSTER/conf"
    cluster_start_jobtracker "$1"
    JOBTRACKER=$1
    # Java opens its ports before it can answer a heartbeat.
    [[ $1 == ours ]] || wait_until "$DAEMON_START_S" "the JobTracker" grep -q 'Starting RUNNING' "$CLUSTER/jobtracker.log"
}

change_worker() {
    [[ -z ${CLUSTER_PIDS[worker-1]:-} ]] || cluster_stop worker-1
    rm -rf "$CLUSTER/worker-1"
    case $1 in
    ours) cluster_start_worker worker-1 ;;
    stock) cluster_start_tasktracker worker-1 ;;
    esac
    WORKER=$1
    cluster_wait_trackers 1
}

# loaded LOAD [OPTION]...: a load of the generator; leaves its rows in $CLUSTER/rows.
loaded() {
    "$generator" --jobtracker "127.0.0.1:$RPC_PORT" --pid "$(inner "${CLUSTER_PIDS[jobtracker]}")" --server "$JOBTRACKER" --json "$@" >"$CLUSTER/rows"
}

# row FORMAT: what a Python format makes of the first row.
row() {
    python3 -c 'import json, sys; print(sys.argv[1].format(**json.loads(open(sys.argv[2]).readline())))' "$1" "$CLUSTER/rows"
}

measure_submissions() {
    loaded submit --jobs "$submissions" --clients 1
    figure "submitJob" "$JOBTRACKER JobTracker" "p50 $(row '{p50_us}') us" "$(row '{cpu_us:.0f}') us CPU"
}

# stopped WHAT [OPTION]...: heartbeats while the NameNode is stopped.
stopped() {
    local what=$1
    shift
    loaded open --trackers 100 --rate 200 --seconds "$stop_s" --stop-pid "$(inner "${CLUSTER_PIDS[namenode]}")" "$@"
    figure "$what" "$JOBTRACKER JobTracker" "p50 $(row '{p50_us}'), p99 $(row '{p99_us}') us" "$(row '{count} heartbeats, {cpu_us:.0f} us CPU')"
}

# measured WHAT COMMAND [ARG]...: runs it and leaves in figures how long it took and what the worker's tree took.
measured() {
    local what=$1 measuring began ended nodes_before nodes_after
    shift
    nodes_before=$(nodes_cpu)
    python3 "$LIVE_DIR/measure_tree.py" "${CLUSTER_PIDS[worker-1]}" "$CLUSTER/begun" "$CLUSTER/stop" >"$CLUSTER/taken" &
    measuring=$!
    wait_until 60 "the first measurement" test -e "$CLUSTER/begun"
    began=$EPOCHREALTIME
    "$@"
    ended=$EPOCHREALTIME
    nodes_after=$(nodes_cpu)
    touch "$CLUSTER/stop"
    wait "$measuring"
    rm "$CLUSTER/stop" "$CLUSTER/begun"
    figure "$what" "$JOBTRACKER JobTracker, $WORKER worker" "$(awk "BEGIN { printf \"%.2f s\", $ended - $began }")" \
        "$(awk -v nodes="$(awk "BEGIN { print $nodes_after - $nodes_before }")" \
            '{ printf "%.2f s CPU of the worker, %.2f s of JobTracker and HDFS, %d MB", $1, nodes, $2 }' "$CLUSTER/taken")"
}

# What the daemons beside the worker have taken so far, s.
nodes_cpu() {
    local name
    for name in jobtracker namenode datanode-1 datanode-2; do cpu_of "$name"; done | awk '{ sum += $1 } END { print sum }'
}

# wordcount INPUT [OPTION]...: a streaming job of the stock client; sets output, a folder of its own: the Java JobTracker may still write the
# copy of a history into the one before.
jobs_run=0
wordcount() {
    local input=$1
    shift
    output=out-$((++jobs_run))
    hadoop alice org.apache.hadoop.util.RunJar "$STREAMING" "$@" -D mapred.reduce.tasks=1 -input "$input" -output "$output" \
        -mapper "tr -s '[:space:]' '\n'" -reducer 'uniq -c' >"$CLUSTER/client.log" 2>&1 || {
        tail -n 20 "$CLUSTER/client.log" >&2
        return 1
    }
}

check_output() {
    rm -f "$CLUSTER/output"
    ours alice get "/user/alice/$output/part-00000" "$CLUSTER/output" >"$CLUSTER/ours.out"
    sha1sum <"$CLUSTER/output" >"$CLUSTER/output.sum"
    [[ -f $CLUSTER/$1.sum ]] || cp "$CLUSTER/output.sum" "$CLUSTER/$1.sum"
    cmp "$CLUSTER/output.sum" "$CLUSTER/$1.sum" || fail "the output of $1 is another one"
    ours alice delete "/user/alice/$output" >"$CLUSTER/ours.out"
}

small_jobs() {
    local number
    for ((number = 0; number < small; number++)); do
        measured "small job" wordcount small -D mapred.map.tasks=2
        check_output small
    done
}

# copied WHAT WHO COMMAND [ARG]...
copied() {
    local what=$1 who=$2 TIMEFORMAT='%R %U %S' times
    shift 2
    times=$({ time "$@" >"$CLUSTER/copied.out" 2>&1; } 2>&1) || fail "$what by $who: $(tail -n 5 "$CLUSTER/copied.out")"
    figure "$what of $copy_mb MB" "$who" "$(awk -v mb="$copy_mb" '{ printf "%.0f MB/s", mb / $1 }' <<<"$times")" \
        "$(awk '{ printf "%.2f s CPU", $2 + $3 }' <<<"$times")"
}

copies() {
    local round
    for ((round = 0; round < rounds; round++)); do
        copied write ours ours alice put "$CLUSTER/copy" /user/alice/of-ours
        copied write FsShell fs_shell alice -put "$CLUSTER/copy" of-stock
        copied read ours ours alice get /user/alice/of-stock "$CLUSTER/by-ours"
        copied read FsShell fs_shell alice -get of-ours "$CLUSTER/by-stock"
        cmp "$CLUSTER/copy" "$CLUSTER/by-ours"
        cmp "$CLUSTER/copy" "$CLUSTER/by-stock"
        rm "$CLUSTER/by-ours" "$CLUSTER/by-stock"
        ours alice delete /user/alice/of-ours >"$CLUSTER/ours.out"
        ours alice delete /user/alice/of-stock >"$CLUSTER/ours.out"
    done
}

echo "--- copies"
head -c "${copy_mb}000000" /dev/urandom >"$CLUSTER/copy"
chmod a+r "$CLUSTER/copy"
copies
rm "$CLUSTER/copy"

mkdir "$CLUSTER/small"
awk 'BEGIN { for (line = 0; line < 600; line++) printf "word-%d of line %d\n", line % 50, line % 7 }' >"$CLUSTER/small/text"
ours alice put "$CLUSTER/small/text" /user/alice/small/text >"$CLUSTER/ours.out"

for server in java ours; do
    echo "--- the $server JobTracker with faked trackers"
    change_jobtracker "$server"
    measure_submissions
    change_jobtracker "$server"
    stopped "heartbeat, NameNode stopped, a job goes on" --jobs 1
    change_jobtracker "$server"
    stopped "heartbeat, NameNode stopped, jobs end" --jobs 40 --history-copies "hdfs://$NAMENODE/user/load/history"
done
# By turns: the machine may have other work.
for ((round = 0; round < rounds; round++)); do
    for server in java ours; do
        echo "--- the $server JobTracker with a stock TaskTracker"
        change_jobtracker "$server"
        change_worker stock
        small_jobs
    done
done
if [[ $mb != 0 ]]; then
    python3 "$LIVE_DIR/jobs/make_text.py" "$mb" "$CLUSTER/text"
    ours alice put "$CLUSTER/text" /user/alice/large/text >"$CLUSTER/ours.out"
    rm "$CLUSTER/text"
    measured "word count of $mb MB" wordcount large
    check_output large
fi
echo "--- our JobTracker with the built-in tasktracker"
change_jobtracker ours
change_worker ours
small_jobs
if [[ $mb != 0 ]]; then
    measured "word count of $mb MB" wordcount large
    check_output large
fi

echo "--- medians"
python3 "$LIVE_DIR/medians.py" "$figures"
