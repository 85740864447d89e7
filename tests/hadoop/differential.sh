#!/usr/bin/env bash
# differential.sh [--three-levels] [--scheduler fifo|capacity|fair --source FOLDER|--jar JAR] [OPTION]...
#
# Feeds the Java JobTracker and ours, started side by side, the same scripted submissions and heartbeats over IPC, and compares the answers action
# by action, and what clients see. No TaskTracker runs. Options go to the load generator: `--seeds N`, `--first-seed N`, `--only "seed 7"`,
# `--only-random`, ... Ends with a line `N scripts alike, N different`, and 1 when any differed; each of these is shown, cut down to what matters.
#
# With --three-levels the hosts stand in racks of two data centres, /d1/r1, /d1/r2 and /d2/r1, and mapred.task.cache.levels is 3: a map may be
# given to a host, to a rack or to a data centre that has its input before it is given to any.
#
# With --scheduler only grants are compared, under random settings of that scheduler, and ours is the engine in the load generator. The originals
# are compiled from the source tree or the git folder of Hadoop 1.2.1 given by --source (see build-schedulers.sh), or were, into the jar given by
# --jar. `--record FILE` keeps what they granted. Their clock is the script's: updates, delays and preemption come when it says so, jobs
# are initialised at once when their limits allow it.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
generator=$(load_generator)

scheduler='' source='' jar='' levels=2 options=()
while (($# > 0)); do
    case $1 in
    --three-levels) levels=3 ;;
    --scheduler | --source | --jar)
        [[ $# -ge 2 ]] || fail "$1 needs a value"
        declare "${1#--}=$2"
        shift
        ;;
    *) options+=("$1") ;;
    esac
    shift
done
[[ -z $source$jar || -n $scheduler ]] || fail "--source and --jar go with --scheduler"
[[ -z $scheduler || -n $source$jar ]] || fail "the Capacity and the Fair scheduler are not published as jars:" \
    "give --source with a source tree of Hadoop 1.2.1, or --jar with what build-schedulers.sh has made of one"

"$LIVE_DIR/fetch-jars.sh"
if [[ -n $source ]]; then
    jar=${jar:-$HADOOP_HOME_DIR/schedulers.jar}
    "$LIVE_DIR/build-schedulers.sh" "$source" "$jar"
fi
[[ -z $jar || -f $jar ]] || fail "there is no $jar"
# Time decides nothing: no tracker and no launch expires. Hosts stand in two racks, or in three of two data centres.
cluster_create
both=$CLUSTER
for property in jobtracker.fifo.compatible=true mapred.tasktracker.expiry.interval=86400000 "topology.script.file.name=$both/racks.sh" \
    "mapred.task.cache.levels=$levels"; do
    printf '  <property><name>%s</name><value>%s</value></property>\n' "${property%%=*}" "${property#*=}" >>"$both/extra.xml"
done
racks='*.1|*.2) echo /rack-1;; *) echo /rack-2;;'
# Every path as deep as the others, or Java's topology refuses the host.
((levels == 2)) || racks='*.1) echo /d1/r1;; *.2) echo /d1/r2;; *) echo /d2/r1;;'
cat >"$both/racks.sh" <<RACKS
#!/bin/sh
for host; do case \$host in $racks esac; done
RACKS
chmod 755 "$both/racks.sh"

# Starts a JobTracker with a folder of its own; prints nothing, sets RPC_PORT.
start() {
    CLUSTER=$both/$1
    mkdir -p "$CLUSTER"
    cp "$both/extra.xml" "$CLUSTER/extra.xml"
    read -r RPC_PORT HTTP_PORT < <(free_ports 2)
    cluster_conf localhost "$CLUSTER/conf"
    mkdir -m 1777 "$CLUSTER/staging"
    cluster_start_jobtracker "$1"
    CLUSTER_PIDS[$1]=${CLUSTER_PIDS[jobtracker]}
    unset "CLUSTER_PIDS[jobtracker]"
}

if [[ -n $scheduler ]]; then
    EXTRA_JAR=$(realpath "$jar")
    read -r control _ < <(free_ports 1)
    for property in mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.SteppedScheduler "stepped.scheduler.port=$control" \
        mapred.queue.names=a,b,c,d,e,f mapred.jobtracker.completeuserjobs.maximum=5; do
        printf '  <property><name>%s</name><value>%s</value></property>\n' "${property%%=*}" "${property#*=}" >>"$both/extra.xml"
    done
    options+=(--scheduler "$scheduler" --control "127.0.0.1:$control")
fi

start java
java=127.0.0.1:$RPC_PORT
# It opens its ports before it can answer a heartbeat.
wait_until "$DAEMON_START_S" "the JobTracker" grep -q "Starting RUNNING" "$CLUSTER/jobtracker.log"
if [[ -z $scheduler ]]; then
    start ours
    options+=(--ours "127.0.0.1:$RPC_PORT")
fi
CLUSTER=$both
"$generator" differential --java "$java" "${options[@]}"
