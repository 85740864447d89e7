#!/usr/bin/env bash
# swap.sh [--trackers N] [--maps N] [--files hdfs]
#
# One JobTracker takes the place of the other under running stock TaskTrackers (2) and a stock client that is told to wait
# (mapreduce.jobclient.retry.policy.enabled), in the middle of a stock streaming job of so many maps (30) and one reduce:
#
#   in           the Java one is killed, ours goes on
#   back         ours is stopped, the Java one (mapred.jobtracker.restart.recover) goes on
#   there-again  from the Java one to ours, back, and to ours again
#
# Each job must keep its id and end with success and the right output, the client too; no attempt that we launch may have a number that was
# used before. With --files hdfs the files of jobs, inputs and outputs lie in a stock HDFS with two DataNodes, and nothing of a job may be left in its
# staging and system directories. Prints what each leg took; ends with a line `N passed, N failed`, and 1 when any failed.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"
trackers=2 maps=30 on_hdfs=
while (($# > 0)); do
    case $1 in
    --trackers) trackers=$2 ;;
    --maps) maps=$2 ;;
    --files)
        [[ $2 == hdfs ]] || fail "swap.sh: --files hdfs, not $2"
        on_hdfs=1
        ;;
    *) fail "swap.sh: unknown option $1" ;;
    esac
    shift 2
done
export LC_ALL=C

# Each task notes its attempt when it begins and when it has done its work, whoever the JobTracker is.
write_job() {
    local number
    mkdir -p "$1/in"
    for ((number = 1; number <= maps; number++)); do
        printf 'map%d both\n' "$number" >"$1/in/$number.txt"
    done
    cat >"$1/map.sh" <<SCRIPT
echo "\$mapred_task_id" >>$1/begun
sleep 2
tr ' ' '\n'
echo "\$mapred_task_id" >>$1/ended
SCRIPT
    cat >"$1/reduce.sh" <<SCRIPT
echo "\$mapred_task_id" >>$1/begun
uniq -c
echo "\$mapred_task_id" >>$1/ended
SCRIPT
    : >"$1/begun"
    : >"$1/ended"
    chmod -R a+rwX "$1"
    input=$1/in output=$1/out
    if [[ -n $on_hdfs ]]; then
        input=/user/alice/${1##*/}/in output=/user/alice/${1##*/}/out
        fs_shell alice -put "$1/in" "$input"
    fi
}

start_client() {
    CLIENT_LIMIT_S=600 hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar" \
        -Dmapreduce.jobclient.retry.policy.enabled=true -Dmapreduce.jobclient.retry.policy.spec=2000,60,5000,60 -Dmapred.reduce.tasks=1 \
        -input "$input" -output "$output" -mapper "sh $job/map.sh" -reducer "sh $job/reduce.sh" >"$job/client.log" 2>&1 &
    client=$!
}

# swap_to java|ours [SIGNAL]: the JobTracker gets the signal (KILL), the other one its ports and folders.
swap_to() {
    local began_ms
    swaps=$((swaps + 1))
    cluster_stop jobtracker "${2:-KILL}"
    # A Java one dies a moment after the process that holds its namespace.
    wait_until 30 "the ports of the $jobtracker one to be free" cluster_ports_are_free
    mv "$CLUSTER/jobtracker.log" "$CLUSTER/before-swap-$swaps.log"
    began_ms=$(date +%s%3N)
    cluster_start_jobtracker "$1"
    jobtracker=$1
    echo "  $1 listens $(($(date +%s%3N) - began_ms)) ms after its start"
}

# Whether at least $1 attempts have done their work since line $2 of the notes.
has_done() { (($(wc -l <"$job/ended") >= $1 + $2)); }

# Waits until a third of the maps has been done under the present JobTracker.
wait_for_third() {
    local before
    before=$(wc -l <"$job/ended")
    wait_until 180 "a third of the maps under $jobtracker" has_done $((maps / 3)) "$before"
}

# judge STATUS: of the job at hand, whose client has ended with that status.
judge() {
    local id ids
    (($1 == 0)) || { tail -n 20 "$job/client.log"; echo "the client ended with $1"; return 1; }
    [[ -z $on_hdfs ]] || fs_shell alice -get "$output" "$job/out" || return 1
    cat "$job"/out/part-* | sed -E 's/^ *([0-9]+) ([^\t]*)\t*$/\2 \1/' | sort >"$job/result"
    { printf 'both %d\n' "$maps"; for ((number = 1; number <= maps; number++)); do echo "map$number 1"; done; } | sort >"$job/expected"
    diff "$job/expected" "$job/result" || { echo "the output is wrong"; return 1; }
    ids=$(sed -E 's/^attempt_([0-9]+_[0-9]+)_.*/job_\1/' "$job/begun" | sort -u)
    id=$(sed -n 's/.*Running job: \(job_[0-9_]*\).*/\1/p' "$job/client.log" | head -n 1)
    [[ $ids == "$id" ]] || { echo "attempts of $ids, the client submitted $id"; return 1; }
    # Numbers from 1000 on are ours: none may have begun twice.
    ids=$(grep -E '_[0-9]{4,}$' "$job/begun" | sort | uniq -d)
    [[ -z $ids ]] || { echo "began twice: $ids"; return 1; }
    [[ -z $on_hdfs ]] || wait_until 30 "the files of $id to be removed" hdfs_has_no_files_of "$id" alice
}

# Prints how many attempts have begun, by the thousand of their numbers.
thousands() {
    sed -E 's/.*_([0-9]+)$/\1/' "$job/begun" | awk '{ count[int($1 / 1000)]++ } END { for (t in count) printf " %d from _%d;", count[t], t * 1000 }'
}

leg_in() {
    wait_for_third
    swap_to ours
}

leg_back() {
    wait_for_third
    swap_to java TERM
}

leg_there-again() {
    wait_for_third
    swap_to ours
    wait_for_third
    swap_to java TERM
    wait_for_third
    swap_to ours
}

"$LIVE_DIR/fetch-jars.sh"
cluster_create mapred.jobtracker.restart.recover=true
if [[ -n $on_hdfs ]]; then
    hdfs_create 2
    hdfs_for_jobs alice
fi
swaps=0
jobtracker=java
cluster_start_jobtracker java
for ((tracker = 1; tracker <= trackers; tracker++)); do
    cluster_start_tasktracker "worker-$tracker"
done
cluster_wait_trackers "$trackers"

passed=0 failed=0
# The leg, and under whom it begins: the one that the leg before has left.
for leg in in back there-again; do
    job=$CLUSTER/jobs/$leg
    write_job "$job"
    began=$SECONDS
    start_client
    "leg_$leg"
    status=0
    wait "$client" || status=$?
    if why=$(judge "$status" 2>&1); then
        verdict=ok
        passed=$((passed + 1))
    else
        verdict=FAILED
        failed=$((failed + 1))
    fi
    echo "$leg ... $verdict ($((SECONDS - began)) s;$(thousands) for $((maps + 1)) tasks)"
    [[ $verdict == ok ]] || echo "$why"
done
echo "$passed passed, $failed failed"
((failed == 0))
