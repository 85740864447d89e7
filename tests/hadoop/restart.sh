#!/usr/bin/env bash
# restart.sh [--jobtracker java|ours] [--kills N] [--trackers N] [--maps N] [--market] [--files hdfs]
#
# The JobTracker gets SIGKILL N times (2) while stock TaskTrackers (1) run a stock word count of so many maps (20) and two reduces, at moments that
# differ from run to run, and is started again at once. The stock client, which is told to wait (mapreduce.jobclient.retry.policy.enabled),
# must end with success, and the output must be, byte for byte, what a run without kills gives. Prints how long after each kill the RPC port
# was open and the first heartbeat was answered, how many attempts were launched and how long the job took.
#
# Under ours one attempt alone of every task may have been launched, and it must have succeeded; after one more SIGKILL the stock client
# must still be told counters, events and tasks of the job. With --market the job is signed and paid for, and every charge is checked to the
# last digit: none twice, none missing. Under java (with mapred.jobtracker.restart.recover) attempts are only counted. With --files hdfs all
# files of the job lie in a stock HDFS with two DataNodes, and nothing may be left of it in the staging and system directories. Ends with 1
# when anything was wrong.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"
. "$LIVE_DIR/market.sh"
jobtracker=ours kills=2 trackers=1 maps=20 market= on_hdfs=
while (($# > 0)); do
    case $1 in
    --jobtracker) jobtracker=$2 ;;
    --kills) kills=$2 ;;
    --trackers) trackers=$2 ;;
    --maps) maps=$2 ;;
    --files)
        [[ $2 == hdfs ]] || fail "restart.sh: --files hdfs, not $2"
        on_hdfs=1
        ;;
    --market)
        market=yes
        shift
        continue
        ;;
    *) fail "restart.sh: unknown option $1" ;;
    esac
    shift 2
done
[[ -z $market || $jobtracker == ours ]] || fail "restart.sh: only ours has the market"
reduces=2

words() { python3 "$LIVE_DIR/restart_words.py" "$@"; }

# Prints each launch that TaskTrackers were told, the attempt's id may come twice.
launched_attempts() { grep -ho 'LaunchTaskAction (registerTask): attempt_[0-9]*_[0-9]*_[mr]_[0-9]*_[0-9]*' "$CLUSTER"/worker-*.log; }

# Whether at least so many maps were done.
maps_are_done() {
    local done
    kill -0 "$client" 2>/dev/null || { cat "$CLUSTER/client.log"; fail "the client has ended"; }
    done=$(grep -hoE 'Task attempt_[0-9]+_[0-9]+_m_[0-9]+_[0-9]+ is done' "$CLUSTER"/worker-*.log | sed 's/_[0-9]* is done//' | sort -u | wc -l)
    ((done > $1))
}

# Prints the time, ms since 1970, when a TaskTracker first had an answer again: ours tells it, the TaskTracker of the Java one.
first_answer_ms() {
    local line
    if [[ $jobtracker == ours ]]; then
        line=$(grep -m 1 ' is back$' "$CLUSTER/jobtracker.log" | sed -E 's/\x1b\[[0-9;]*m//g') || return 1
        date -d "${line%% *}" +%s%3N
    else
        line=$(grep -h 'Recieved ReinitTrackerAction' "$CLUSTER"/worker-*.log | sort | awk -v after="$killed_at" 'substr($0, 1, 23) > after' | head -n 1)
        [[ -n $line ]] || return 1
        line=${line:0:23}
        date -d "${line/,/.}" +%s%3N
    fi
}
has_first_answer() { first_answer_ms >/dev/null; }

"$LIVE_DIR/fetch-jars.sh"
options=()
if [[ -n $market ]]; then
    market_create
    sed -i 's/^alice 100\./alice 100000./' "$CLUSTER/hadoop.budget"
    cp "$CLUSTER/hadoop.budget" "$CLUSTER/budget-at-start"
else
    cluster_create mapred.jobtracker.restart.recover=true
fi
input=$CLUSTER/in output=$CLUSTER/out/words
if [[ -n $on_hdfs ]]; then
    hdfs_create 2
    hdfs_for_jobs alice
    input=/user/alice/in output=/user/alice/words
fi
cluster_start_jobtracker "$jobtracker"
for ((tracker = 1; tracker <= trackers; tracker++)); do
    cluster_start_tasktracker "worker-$tracker"
done
cluster_wait_trackers "$trackers"
[[ -z $market ]] || read -ra options < <(scheduler alice --job)
words make "$maps" "$CLUSTER/in"
chmod -R a+rX "$CLUSTER/in"
mkdir -m 1777 "$CLUSTER/out"
[[ -z $on_hdfs ]] || fs_shell alice -put "$CLUSTER/in" "$input"

CLIENT_LIMIT_S=900
began_ms=$(date +%s%3N)
hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" wordcount \
    -Dmapreduce.jobclient.retry.policy.enabled=true -Dmapred.map.tasks.speculative.execution=false \
    -Dmapred.reduce.tasks.speculative.execution=false -Dmapred.reduce.tasks=$reduces "${options[@]}" \
    "$input" "$output" >"$CLUSTER/client.log" 2>&1 &
client=$!

ports=() answers=()
for ((kill = 1; kill <= kills; kill++)); do
    wait_until 400 "the maps before the kill number $kill" maps_are_done $((maps * kill / (kills + 1)))
    words knock "$RPC_PORT" >"$CLUSTER/port.$kill" &
    knocker=$!
    wait_until 60 "a connection to see the kill by" test -s "$CLUSTER/port.$kill"
    sleep "$(printf '0.%03d' $((RANDOM % 1000)))"
    mv "$CLUSTER/jobtracker.log" "$CLUSTER/jobtracker.log.$kill"
    killed_ms=$(date +%s%3N)
    killed_at=$(date -d "@${killed_ms:0:-3}.${killed_ms: -3}" '+%F %T,%3N')
    cluster_stop jobtracker KILL
    wait_until 30 "the ports of the killed one to be free" cluster_ports_are_free
    cluster_start_jobtracker "$jobtracker"
    wait "$knocker"
    wait_until 60 "the trackers to come back" has_first_answer
    ports+=($(($(tail -n 1 "$CLUSTER/port.$kill") - killed_ms)))
    answers+=($(($(first_answer_ms) - killed_ms)))
    echo "kill $kill: port open after ${ports[-1]} ms, first heartbeat answered after ${answers[-1]} ms"
done

status=0
wait "$client" || status=$?
((status == 0)) || { cat "$CLUSTER/client.log"; fail "the stock client ended with $status"; }
took_s=$((($(date +%s%3N) - began_ms) / 1000))
[[ -z $on_hdfs ]] || fs_shell alice -get "$output" "$CLUSTER/out/words" >"$CLUSTER/get.log" 2>&1 || fail "no output: $(cat "$CLUSTER/get.log")"
words check "$CLUSTER/in" $reduces "$CLUSTER/out/words"
wanted=$((maps + reduces + 2))
launched=$(launched_attempts | wc -l)

# Prints least, median and most.
spread() { printf '%s\n' "$@" | sort -n | awk '{ all[NR] = $1 } END { print all[1] " / " all[int((NR + 1) / 2)] " / " all[NR] }'; }
figures() {
    echo "ms from kill to open port, least / median / most: $(spread "${ports[@]}")"
    echo "ms from kill to the first answered heartbeat:     $(spread "${answers[@]}")"
    echo "the job took $took_s s under the $jobtracker JobTracker"
    echo "$kills kills: $launched attempts for $wanted tasks, the client ended with success, the output is right"
}
if [[ $jobtracker == java ]]; then
    figures
    exit
fi

told=$(cluster_state "SELECT count(*) FROM attempt")
((told == wanted && launched == wanted)) ||
    fail "$told attempts were launched ($launched by the TaskTrackers' logs), not $wanted: one for each task, a setup and a cleanup"
again=$(cluster_state "SELECT count(*) FROM attempt WHERE state <> 'SUCCEEDED' OR attempt NOT LIKE '%\_0' ESCAPE '\'")
((again == 0)) || fail "$again attempts were not the first of their task, or did not succeed"
[[ $(cluster_state "SELECT state FROM job") == SUCCEEDED ]] || fail "the job did not succeed"
[[ $(cluster_state "SELECT count(*) FROM pending_kill_job") == 0 ]] || sleep 2
[[ $(cluster_state "SELECT count(*) FROM pending_kill_job") == 0 ]] || fail "not all trackers have heard of the end"
id=$(cluster_state "SELECT job FROM job")
[[ -z $on_hdfs ]] || wait_until 30 "the files of $id to be removed" hdfs_has_no_files_of "$id" alice
if [[ -n $market ]]; then
    market_wait_idle alice
    scheduler alice info=alice >"$CLUSTER/alice.xml"
    python3 "$LIVE_DIR/bill.py" "$CLUSTER/state/state.db" "$CLUSTER/budget-at-start" "alice=$CLUSTER/alice.xml"
    words ticks "$CLUSTER/state/state.db" alice $((ALLOC_INTERVAL_S * 1000)) "$kills"
fi

# Once more, when the job is over: clients may still ask about it.
cluster_stop jobtracker KILL
wait_until 30 "the ports of the killed one to be free" cluster_ports_are_free
mv "$CLUSTER/jobtracker.log" "$CLUSTER/jobtracker.log.last"
cluster_start_jobtracker ours
job_client() { hadoop alice org.apache.hadoop.mapred.JobClient "$@" 2>>"$CLUSTER/client.log"; }
job_client -status "$id" | grep -q 'Map input records=' || fail "the counters of $id are gone after a restart"
events=$(job_client -events "$id" 0 1000 | grep -c SUCCEEDED) || true
((events == wanted)) || fail "$events events of $id are told after a restart, not $wanted"
completed=$(job_client -list-attempt-ids "$id" map completed | grep -c "^attempt_") || true
((completed == maps)) || fail "$completed maps of $id are told of after a restart, not $maps"
figures
