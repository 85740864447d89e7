#!/usr/bin/env bash
# commands.sh [--jobtracker java|ours] [--record FOLDER]
#
# Asks everything that the stock JobClient and JobQueueClient can ask, about a job that ended, one that was killed, one that runs and one that
# never was. What they print is compared with recorded/commands/, as it was under the Java JobTracker, or with --record written to FOLDER;
# ids, times, ports and sizes are left out. Ends with a line `N passed, N failed`, and 1 when any failed.
#
# To record anew: commands.sh --jobtracker java --record tests/hadoop/recorded/commands
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/misbehaving.sh"
. "$LIVE_DIR/asking.sh"
asking_arguments "$@"

"$LIVE_DIR/fetch-jars.sh"
# One map at a time: what happened first is then always the same.
MAP_SLOTS=1
cluster_create
cluster_start_jobtracker "$jobtracker"
cluster_start_tasktracker worker-1
cluster_wait_trackers 1
asking_begin

# Everything that only reads, about the job $1, which shows as far as $2 says: whole, or the server's own part of a job that moves.
ask_about() {
    local kind state
    ask jobs -status "$1"
    ask jobs -counter "$1" 'org.apache.hadoop.mapred.JobInProgress$Counter' TOTAL_LAUNCHED_MAPS
    ask jobs -counter "$1" no.such.group NOTHING
    ask jobs -events "$1" 0 100
    ask jobs -events "$1" 1 2
    ask jobs -events "$1" 50 10
    for kind in map reduce setup cleanup; do
        for state in running completed; do
            ask jobs -list-attempt-ids "$1" "$kind" "$state"
        done
    done
}

# How far tasks have come, and what they counted, changes while they run.
of_running_job() {
    local theirs='^\t(Map-Reduce Framework|File(System| Input Format| Output Format) ?Counters)'
    awk -v theirs="$theirs" '/^\t[^\t]/ { skip = $0 ~ theirs } !/^\t/ { skip = 0 } !skip' "$answers/$topic.txt" |
        sed -E 's/^((map|reduce)\(\) completion: |Counters: ).*/\1SOME/' >"$answers/$topic.without"
    mv "$answers/$topic.without" "$answers/$topic.txt"
}

# The tracker may be told that the job is over before it has told that the killed map is: its event is left out, and the rest put in order.
of_killed_job() {
    grep -vE '^(TIPFAILED attempt_START_[0-9]+_m_000000_0 |Number of events )' "$answers/$topic.txt" |
        awk '/^(SUCCEEDED|KILLED|TIPFAILED) attempt_/ { print | "sort"; events = 1; next } events { close("sort"); events = 0 } { print; fflush() }' \
            >"$answers/$topic.ordered"
    mv "$answers/$topic.ordered" "$answers/$topic.txt"
}

has_ended() { client -list all 2>/dev/null | grep -qP "^$1\t[235]\t"; }

topic=empty
ask jobs -list
ask jobs -list all
ask queues -info default -showJobs

note "the jobs"
job_submit "$CLUSTER/finished" 2 pass 1 pass
FINISHED=$JOB
wait_client "$CLIENT"
job_submit "$CLUSTER/killed" 1 gate 1 pass
KILLED=$JOB
job_await_attempts "$CLUSTER/killed" 1 'm_*_0'
topic=killed
ask jobs -kill "$KILLED"
wait_client "$CLIENT" || true
job_submit "$CLUSTER/running" 1 gate 1 pass
RUNNING=$JOB
job_await_attempts "$CLUSTER/running" 1 'm_*_0'

note "the cluster"
topic=cluster
ask jobs -list
ask jobs -list all
ask jobs -list-active-trackers
ask jobs -list-blacklisted-trackers
ask queues -list
ask queues -info default
ask queues -info default -showJobs
# Not with -showJobs: the Java FIFO scheduler then lists the jobs of all queues.
ask queues -info nowhere
ask queues -showacls

note "the running job"
topic=running
ask_about "$RUNNING"
ask jobs -kill-task "${RUNNING/job/attempt}_m_000000_0"
wait_until 60 "the event of the killed attempt" has_event "$RUNNING" KILLED m_000000_0
job_await_attempts "$CLUSTER/running" 1 'm_*_1'
ask jobs -fail-task "${RUNNING/job/attempt}_m_000000_1"
wait_until 60 "the event of the failed attempt" has_event "$RUNNING" FAILED m_000000_1
job_await_attempts "$CLUSTER/running" 1 'm_*_2'
ask jobs -events "$RUNNING" 0 100
ask jobs -counter "$RUNNING" 'org.apache.hadoop.mapred.JobInProgress$Counter' TOTAL_LAUNCHED_MAPS
ask jobs -list-attempt-ids "$RUNNING" map running
ask jobs -kill-task "${RUNNING/job/attempt}_m_000000_0"
ask jobs -fail-task "${RUNNING/job/attempt}_m_000000_1"
ask jobs -kill-task "${RUNNING/job/attempt}_m_000000_7"
ask jobs -kill-task "${RUNNING/job/attempt}_m_000099_0"
ask jobs -set-priority "$RUNNING" HIGH
ask jobs -set-priority "$RUNNING" URGENT
ask jobs -list
of_running_job

note "the job that ended"
topic=finished
ask_about "$FINISHED"
ask jobs -kill "$FINISHED"
ask jobs -kill-task "${FINISHED/job/attempt}_m_000000_0"
ask jobs -fail-task "${FINISHED/job/attempt}_m_000000_0"
ask jobs -set-priority "$FINISHED" LOW
ask jobs -list all

note "the killed job"
topic=killed
ask_about "$KILLED"
ask jobs -kill "$KILLED"
ask jobs -set-priority "$KILLED" LOW
of_killed_job

note "a job that never was"
topic=unknown
ask_about "$UNKNOWN"
ask queues -info nowhere -showJob
ask queues -info
ask queues -nonsense
ask jobs -list some
ask jobs -status
ask jobs -status nonsense
ask jobs -events "$UNKNOWN" x 2
ask jobs -kill-task nonsense
ask jobs -list-attempt-ids "$UNKNOWN" nonsense running
ask jobs -nonsense
submit_to nowhere
ask jobs -kill "$UNKNOWN"
ask jobs -kill-task "${UNKNOWN/job/attempt}_m_000000_0"
ask jobs -fail-task "${UNKNOWN/job/attempt}_m_000000_0"
ask jobs -set-priority "$UNKNOWN" LOW
ask jobs -set-priority "$UNKNOWN" URGENT

judge_topics commands empty cluster running finished killed unknown
