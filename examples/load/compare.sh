#!/usr/bin/env bash
# compare.sh [--quick] [--scheduler fifo|dynamic|capacity|fair] [SERVER]... -- [LOAD [OPTION]...]
#
# Puts each SERVER (java, ours; default both) under each load, every time a fresh JobTracker with a folder of its own, and prints one table.
# With a LOAD after --, only that one. --quick: small sizes, a minute or two for ours. Build first:
#   cargo build --release && cargo build --release --example load
# --scheduler: that one rules, with the queues of the load's --queues (accounts under dynamic, to go with --signed; pools under fair). Java
# has fifo, and capacity and fair where JOBTRACKER_SCHEDULERS_JAR names what tests/hadoop/build-schedulers.sh made.
# Java needs the stock jars: tests/hadoop/fetch-jars.sh, or JOBTRACKER_HADOOP_HOME. JOBTRACKER_KEEP_ROWS=FILE keeps the rows as JSON.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
# shellcheck source=../../tests/hadoop/environment.sh
. "$project/tests/hadoop/environment.sh"
generator=${CARGO_TARGET_DIR:-$project/target}/release/examples/load
[[ -x $generator ]] || fail "no $generator: cargo build --release --example load"

LOADS=(
    "idle --trackers 10"
    "idle --trackers 100 --rate 500"
    "idle --trackers 1000"
    "idle --trackers 4000"
    "idle --trackers 100 --finished-jobs 200"
    "tasks --jobs 3 --maps 3000 --reduces 30 --rounds 2"
    "tasks --jobs 1000 --maps 8 --reduces 1 --rounds 2"
    "hold --trackers 100 --jobs 10,100,1000"
    "open --trackers 500 --rate 1000"
    "submit --clients 1"
    "submit --clients 4"
    "ready --maps 100000"
    "status"
    "info"
    "memory"
    "array"
    "array --room 1 --waiting-items 0"
)
QUICK_LOADS=(
    "idle --trackers 100 --seconds 2"
    "tasks --jobs 3 --maps 500 --reduces 5"
    "hold --trackers 20 --jobs 5,50 --seconds 2"
    "open --trackers 100 --rate 300 --seconds 5"
    "submit --jobs 50"
    "ready --maps 10000"
    "status --seconds 2"
    "info --seconds 2"
    "memory --trackers 400 --maps 2000 --jobs 50"
    "array --workers 20 --items 5000 --waiting-items 10000"
)

servers=() scheduler=''
while (($# > 0)); do
    case $1 in
    --quick) LOADS=("${QUICK_LOADS[@]}") ;;
    --)
        shift
        (($# == 0)) || LOADS=("$*")
        break
        ;;
    --scheduler)
        scheduler=${2:-}
        [[ $scheduler =~ ^(fifo|dynamic|capacity|fair)$ ]] || fail "--scheduler '$scheduler': fifo, dynamic, capacity or fair"
        shift
        ;;
    java | ours) servers+=("$1") ;;
    *) fail "$1: java, ours, --quick, --scheduler or --" ;;
    esac
    shift
done
((${#servers[@]} > 0)) || servers=(ours java)

rows=${JOBTRACKER_KEEP_ROWS:-}
if [[ -z $rows ]]; then
    rows=$(mktemp)
    trap 'rm -f "$rows"' EXIT
fi
# The cluster's folder becomes the working directory below.
: >"$rows"
rows=$(realpath "$rows")

# scheduled_cluster QUEUES: a scratch cluster with so many queues under the wanted scheduler; nothing limits their jobs.
scheduled_cluster() {
    local queues=() number
    for ((number = 0; number < $1; number++)); do queues+=("queue-$number"); done
    local names
    names=$(IFS=,; echo "${queues[*]:-default}")
    EXTRA_JAR=${JOBTRACKER_SCHEDULERS_JAR:-}
    case $scheduler in
    fifo) cluster_create "mapred.queue.names=$names" ;;
    dynamic)
        # shellcheck source=../../tests/hadoop/market.sh
        . "$project/tests/hadoop/market.sh"
        market_create
        for number in "${queues[@]}"; do
            echo "$number 1000 0.5" >>"$CLUSTER/hadoop.budget"
            echo "$number user key-of-$number" >>"$CLUSTER/hadoop.acl"
        done
        ;;
    fair)
        cluster_create "mapred.queue.names=$names" mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.FairScheduler \
            mapred.fairscheduler.poolnameproperty=mapred.job.queue.name
        ;;
    capacity)
        cluster_create "mapred.queue.names=$names" mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.CapacityTaskScheduler
        capacities "${queues[@]:-default}" >"$CLUSTER/conf/capacity-scheduler.xml"
        ;;
    esac
}

# Prints a capacity-scheduler.xml in which each QUEUE has as much as the others.
capacities() {
    echo '<configuration>'
    echo '<property><name>mapred.capacity-scheduler.maximum-system-jobs</name><value>1000000</value></property>'
    local queue percent
    # A hair more: the original adds in 32-bit floats, and below 100 % it does not start.
    percent=$(python3 -c "print(100.05 / $#)")
    for queue; do
        echo "<property><name>mapred.capacity-scheduler.queue.$queue.capacity</name><value>$percent</value></property>"
    done
    echo '</configuration>'
}

# Runs one load against one fresh server; a process of its own, since the cluster ends with its shell.
one() (
    local server=$1 pid child
    shift
    # shellcheck source=../../tests/hadoop/cluster.sh
    . "$project/tests/hadoop/cluster.sh"
    # Java with the heap, collector and compiler it would have in use, not those of the small live tests; the last -Xmx holds.
    local option options=(-Xmx4096m)
    for option in "${JAVA_OPTIONS[@]}"; do
        case $option in
        -XX:+UseSerialGC | -XX:TieredStopAtLevel=1) ;;
        *) options+=("$option") ;;
        esac
    done
    JAVA_OPTIONS=("${options[@]}")
    local market=()
    if [[ $1 == info* ]]; then
        [[ $server == ours ]] || return 0
        # shellcheck source=../../tests/hadoop/market.sh
        . "$project/tests/hadoop/market.sh"
        market_create
        local user
        for user in bidder-{1..100}; do
            echo "$user 1000 0.5" >>"$CLUSTER/hadoop.budget"
            echo "$user user key-of-$user" >>"$CLUSTER/hadoop.acl"
        done
        market=(--http "127.0.0.1:$HTTP_PORT" --acl "$CLUSTER/hadoop.acl")
    elif [[ $1 == array* ]]; then
        [[ $server == ours ]] || return 0
        cluster_create
        market=(--http "127.0.0.1:$HTTP_PORT")
    elif [[ -n $scheduler ]]; then
        [[ $* =~ --queues[\ =]([0-9]+) ]] || true
        scheduled_cluster "${BASH_REMATCH[1]:-0}"
    else
        # The splits of a million maps take more than the default allows.
        cluster_create mapreduce.jobtracker.split.metainfo.maxsize=-1
    fi
    cd "$CLUSTER"
    cluster_start_jobtracker "$server"
    # Java opens its ports before it can answer a heartbeat.
    [[ $server == ours ]] || wait_until "$DAEMON_START_S" "the JobTracker" grep -q "Starting RUNNING" "$CLUSTER/jobtracker.log"
    # Java runs below the script that isolates it.
    pid=${CLUSTER_PIDS[jobtracker]}
    while child=$(pgrep -P "$pid" | head -n 1) && [[ -n $child ]]; do pid=$child; done
    note "$server: $*"
    # shellcheck disable=SC2068
    "$generator" --jobtracker "127.0.0.1:$RPC_PORT" --pid "$pid" --server "$server" --json $@ "${market[@]}" >>"$rows"
)

for load in "${LOADS[@]}"; do
    for server in "${servers[@]}"; do
        one "$server" "$load" || note "$server: $load failed"
    done
done
"$generator" table <"$rows"
