#!/usr/bin/env bash
# policies.sh [JOB]...: one mix of jobs (default wordcount, sleep, streaming) by a stock client on a stock TaskTracker under each policy, which
# changes while the daemon runs: fifo, capacity, fair, dynamic, fifo. A long job lives through all of it and runs each task once. An edited
# capacity-scheduler.xml is taken over by mradmin -refreshQueues, an edited allocation file by itself. Against ours only.
# Ends with a line `N passed, N failed`.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/market.sh"

names=("$@")
[[ ${#names[@]} -gt 0 ]] || names=(wordcount sleep streaming)
LONG_MAPS=16

"$LIVE_DIR/fetch-jars.sh"
market_create mapred.queue.names=default,lab
sed -i '/taskScheduler/d' "$CLUSTER/extra.xml"
cluster_conf localhost "$CLUSTER/conf"
export CLUSTER

# capacities DEFAULT LAB: the capacity of both queues, percent.
capacities() {
    local queue=mapred.capacity-scheduler.queue
    cat >"$CLUSTER/conf/capacity-scheduler.xml" <<FILE
<configuration>
  <property><name>$queue.default.capacity</name><value>$1</value></property>
  <property><name>$queue.default.supports-priority</name><value>true</value></property>
  <property><name>$queue.lab.capacity</name><value>$2</value></property>
</configuration>
FILE
}

# allocations MAPS: the minimum of the pool that alice's jobs are in.
allocations() {
    cat >"$CLUSTER/conf/fair-scheduler.xml" <<FILE
<allocations>
  <pool name="alice"><minMaps>$1</minMaps></pool>
</allocations>
FILE
}

capacities 60 40
allocations 1
cluster_start_jobtracker ours
cluster_start_tasktracker worker-1
cluster_wait_trackers 1
program=$(our_program)

# Prints the ids of the jobs in the file $1, what a client said.
job_ids() { sed -n 's/.*Running job: \(job_[0-9_]*\).*/\1/p' "$1"; }

use() { "$program" scheduler use "$1" --conf "$CLUSTER/conf"; }

rules() {
    "$program" scheduler show --conf "$CLUSTER/conf" >"$CLUSTER/show"
    grep -q "$1" "$CLUSTER/show" || {
        cat "$CLUSTER/show"
        return 1
    }
}

runs() {
    JOB_OPTIONS=$options "$LIVE_DIR/jobs/run_one.sh" "$2" "$CLUSTER/jobs/$1-$2"
}

# The queue's text names its capacity.
has_capacity() {
    hadoop alice org.apache.hadoop.mapred.JobQueueClient -info default >"$CLUSTER/info" 2>&1
    grep -q "$1" "$CLUSTER/info" || {
        cat "$CLUSTER/info"
        return 1
    }
}

json() { curl -sf "http://127.0.0.1:$HTTP_PORT/scheduler?format=json"; }

has_minimum() { json | python3 -c "
import json, sys
found = [group for group in json.load(sys.stdin)['groups'] if group['name'] == 'alice']
sys.exit(0 if found and found[0]['pool']['minimum']['map'] == $1 else 1)"; }

# policy NAME CLASS NUMBER: takes it, runs the mix under it.
policy() {
    local name
    [[ $3 == 1 ]] || check "use $1" use "$1"
    check "show names $1" rules "$2"
    case $1 in
    capacity)
        check "the queue has its capacity" has_capacity '60.0%'
        capacities 70 30
        check "mradmin -refreshQueues" hadoop "$DAEMON_USER" org.apache.hadoop.mapred.tools.MRAdmin -refreshQueues
        check "the edited capacity is in force" has_capacity '70.0%'
        ;;
    fair)
        check "the pool has its minimum" has_minimum 1
        allocations 2
        ;;
    esac
    for name in "${names[@]}"; do
        options=
        [[ $1 != dynamic ]] || options=$(scheduler alice --job)
        check "$name under $1" runs "$3-$1" "$name"
    done
    [[ $1 != fair ]] || check "the edited allocation file is in force" wait_until 30 "a minimum of 2 maps" has_minimum 2
}

lives_through_all() {
    local job events
    job=$(job_ids "$CLUSTER/long.log")
    ((long_status == 0)) || {
        tail -n 20 "$CLUSTER/long.log"
        return 1
    }
    hadoop alice org.apache.hadoop.mapred.JobClient -events "$job" 0 1000 >"$CLUSTER/events" 2>&1
    events=$(grep -cE '^(SUCCEEDED|FAILED|KILLED|OBSOLETE|TIPFAILED) ' "$CLUSTER/events")
    # Besides its maps: a setup, a reduce, a cleanup; each once and well.
    [[ $events == $((LONG_MAPS + 3)) && $(grep -c '^SUCCEEDED ' "$CLUSTER/events") == "$events" ]] || {
        cat "$CLUSTER/events"
        return 1
    }
}

hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" sleep -Dmapred.job.priority=VERY_LOW \
    -m "$LONG_MAPS" -r 1 -mt 8000 -rt 100 >"$CLUSTER/long.log" 2>&1 &
long=$!
wait_until 60 "the long job" job_ids "$CLUSTER/long.log"

policy fifo JobQueueTaskScheduler 1
policy capacity CapacityTaskScheduler 2
policy fair FairScheduler 3
policy dynamic DynamicPriorityScheduler 4
policy fifo JobQueueTaskScheduler 5
long_status=0
wait "$long" || long_status=$?
check "a long job lives through all of it, each task once" lives_through_all

echo "$passed passed, $failed failed"
((failed == 0))
