#!/usr/bin/env bash
# deadlines.sh: jobs with deadlines by a stock client on two stock TaskTrackers, under the constraint scheduler in whole tasks. Three whose
# deadlines are in the reverse order of their submission all end in time; one is rejected with its text at the client, and admitted with the
# earliest deadline and a second; one is late on purpose and stands behind the others, which end in time. Against ours only.
# Ends with a line `N passed, N failed`.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

# What a map is believed to take: the start of a JVM on a busy machine, and its sleep.
MAP_MS=9000
SLEEP_MS=1500

"$LIVE_DIR/fetch-jars.sh"
cluster_create mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.ConstraintScheduler mapred.constraint-scheduler.model=whole
cluster_start_jobtracker ours
cluster_start_tasktracker worker-1
cluster_start_tasktracker worker-2
cluster_wait_trackers 2

passed=0 failed=0
verdict() {
    if "${@:2}"; then
        echo "$1 ... ok"
        passed=$((passed + 1))
    else
        echo "$1 ... FAILED"
        failed=$((failed + 1))
    fi
}

# job NAME MAPS DEADLINE_S MAP_MS SLEEP_MS: runs a job to its end; notes when it began and ended, seconds since 1970.
job() {
    local status=0
    date +%s >"$CLUSTER/$1.began"
    hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" sleep -Dmapred.job.deadline.ms=$(($3 * 1000)) \
        -Dmapred.job.deadline.map.task.ms="$4" -Dmapred.job.deadline.reduce.task.ms="$MAP_MS" -m "$2" -r 1 -mt "$5" -rt 100 \
        >"$CLUSTER/$1.log" 2>&1 || status=$?
    date +%s >"$CLUSTER/$1.ended"
    return "$status"
}

accepted() { grep -q 'Running job: job_' "$CLUSTER/$1.log"; }

# in_time NAME DEADLINE_S: what a client shows at the end comes up to two seconds later, and its JVM starts before it submits.
in_time() {
    local took=$(($(<"$CLUSTER/$1.ended") - $(<"$CLUSTER/$1.began")))
    echo "$1 took $took s, its deadline is $2 s"
    grep -q 'Job complete: job_' "$CLUSTER/$1.log" && ((took <= $2 + 4))
}

ended_before() { (($(<"$CLUSTER/$1.ended") <= $(<"$CLUSTER/$2.ended"))); }

# The stock client's list has the scheduling information of each job.
is_late() {
    hadoop alice org.apache.hadoop.mapred.JobClient -list >"$CLUSTER/list" 2>&1
    grep -q "LATE). Maps" "$CLUSTER/list"
}

rejected() {
    ! job refused 40 60 "$MAP_MS" "$SLEEP_MS" &&
        grep -oE 'Job job_[0-9_]+ rejected by the constraint scheduler: deadline 60.0 s needs [0-9]+ map slots, [0-9]+ free( until [0-9:]+ UTC)?; earliest feasible deadline now [0-9.]+ s' \
            "$CLUSTER/refused.log"
}

# --- three deadlines in the reverse order of submission ---
job last 6 240 "$MAP_MS" "$SLEEP_MS" &
last=$!
wait_until 60 "the first job" accepted last
job middle 4 150 "$MAP_MS" "$SLEEP_MS" &
middle=$!
wait_until 60 "the second job" accepted middle
job first 2 60 "$MAP_MS" "$SLEEP_MS" &
first=$!
wait_until 60 "the third job" accepted first
verdict "a deadline that cannot be kept is rejected at the client" rejected
earliest=$(sed -nE 's/.*earliest feasible deadline now ([0-9]+)\.[0-9] s.*/\1/p' "$CLUSTER/refused.log" | head -n 1)
# Rounded up, and a second.
again=$((${earliest:-0} + 2))
job again 40 "$again" "$MAP_MS" "$SLEEP_MS" &
resubmitted=$!
wait_until 60 "the job that was rejected" accepted again
verdict "the earliest one and a second is admitted" accepted again
for process in "$first" "$middle" "$last"; do wait "$process" || true; done
verdict "the first deadline is kept" in_time first 60
verdict "the second deadline is kept" in_time middle 150
verdict "the third deadline is kept" in_time last 240
verdict "the jobs end in the order of their deadlines" eval 'ended_before first middle && ended_before middle last'
wait "$resubmitted" || true
verdict "the deadline that was taken from the text is kept" in_time again "$again"

# --- one that is late on purpose ---
job late 12 20 800 20000 &
late=$!
wait_until 60 "the late job" accepted late
job due 4 120 "$MAP_MS" "$SLEEP_MS" &
due=$!
wait_until 60 "the job beside it" accepted due
verdict "its client reads that a job is late" wait_until 60 "LATE in the list" is_late
wait "$due" || true
verdict "beside a late job a deadline is kept" in_time due 120
verdict "the late job is behind it" eval '! grep -q "Job complete" "$CLUSTER/late.log"'
verdict "the late job ends too" wait "$late"

echo "$passed passed, $failed failed"
((failed == 0))
