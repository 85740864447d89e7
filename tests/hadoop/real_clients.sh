#!/usr/bin/env bash
# real_clients.sh [--jobtracker java|ours]... [--keep FOLDER] [PROGRAM]...
#
# Runs what users of Hadoop 1 ran, as it was published, under the Java JobTracker and then under ours (default both), each with two stock
# TaskTrackers and an HDFS of its own on their hosts. A program is a file below real_clients/:
#
#   pig        Pig 0.12.1: three jobs, a script that fails with and without -stop_on_failure, Ctrl-C
#   hive       Hive 0.12: loads, joins, a map-join, CTAS, partitions, a failing TRANSFORM and its address, an unknown queue, Ctrl-C
#   mahout     Mahout 0.9: RecommenderJob
#   mrjob      mrjob 0.7.4: two steps with a combiner and counters, a step that fails
#   luigi      luigi 3.5.2: contrib.hadoop, a job and one that fails
#   daemonlog  hadoop daemonlog
#   nmap       the script hadoop-jobtracker-info of nmap
#
# Each checks status and output against what they must be. Then everything that it left is compared: output, what the client printed, and what
# the JobTracker says of each job, by name: state, tasks and counters. real_clients/alike.py names what may differ, and why. Rumen and
# `job -history` are in history.sh, patterns of further collectors in src/web/stock/tests/collectors.rs.
#
# Prints a line `SKIPPED what: reason` for a program that this machine cannot have, unless CI is true, which must have all. With --keep the texts
# are left in FOLDER. Ends with a line `N passed, N failed`, and 1 when any failed.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"

ALL=(pig hive mahout mrjob luigi daemonlog nmap)
usage="usage: real_clients.sh [--jobtracker java|ours]... [--keep FOLDER] [${ALL[*]}]..."
jobtrackers=() keep=
while [[ ${1:-} == --* ]]; do
    case $1 in
    --jobtracker) jobtrackers+=("${2:?$usage}") ;;
    --keep) keep=$(mkdir -p "${2:?$usage}" && realpath "$2") ;;
    *) fail "$usage" ;;
    esac
    shift 2
done
[[ ${#jobtrackers[@]} -gt 0 ]] || jobtrackers=(java ours)
names=("$@")
[[ ${#names[@]} -gt 0 ]] || names=("${ALL[@]}")
for name in "${names[@]}"; do
    [[ " ${ALL[*]} " == *" $name "* ]] || fail "no program is called $name; $usage"
done

export LC_ALL=C.UTF-8 TZ=UTC
# Tasks of Hive and Mahout need more than those of examples.
CHILD_HEAP=-Xmx200m
CLIENT_LIMIT_S=400
MAP_SLOTS=1 REDUCE_SLOTS=1
CLIENTS_DIR=$LIVE_DIR/real_clients
FETCHED=${CARGO_TARGET_DIR:-$PROJECT_DIR/target}/real-clients
[[ $FETCHED == /* ]] || FETCHED=$PWD/$FETCHED
texts=${keep:-$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-clients.XXXXXX")}

. "$CLIENTS_DIR/running.sh"
for name in "${ALL[@]}"; do
    # shellcheck source=/dev/null
    . "$CLIENTS_DIR/$name.sh"
done

# Runs all programs under the JobTracker $1, and leaves what is compared in $texts/$1.
run_under() {
    local name
    # Reports at once instead of each few seconds; Hive kills a job by POST to its page, which 1.2.1 takes only when told so.
    cluster_create mapreduce.tasktracker.outofband.heartbeat=true jobclient.completion.poll.interval=500 webinterface.private.actions=true \
        "mapred.child.java.opts=$CHILD_HEAP -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData ${JAVA_OPTIONS[*]:0:2}"
    hdfs_create 2
    hdfs_for_jobs alice
    cluster_start_jobtracker "$1"
    cluster_start_serving_tasktracker worker-1
    cluster_start_serving_tasktracker worker-2
    cluster_wait_trackers 2
    for name in "${names[@]}"; do
        run_program "$1" "$name"
    done
}

"$LIVE_DIR/fetch-jars.sh"
find_java
# What runs under a JobTracker is a process of its own, which ends its daemons.
trap 'kill $(jobs -pr) 2>/dev/null; wait; exit 143' INT TERM
failed=0 present=()
for name in "${names[@]}"; do
    if why=$("${name}_fetch" 2>&1); then
        present+=("$name")
    elif [[ ${CI:-} == true ]]; then
        failed=$((failed + 1))
        echo "$name: FAILED, this machine does not have it: $why"
    else
        echo "SKIPPED $name: ${why//$'\n'/ }"
    fi
done
names=("${present[@]}")
((${#names[@]} > 0)) || jobtrackers=()
for jobtracker in "${jobtrackers[@]}"; do
    note "programs under the JobTracker $jobtracker"
    rm -rf "${texts:?}/$jobtracker"
    # In the background, since a shell whose end is asked for lets it pass over what goes wrong in it.
    (run_under "$jobtracker") &
    wait $! || fail "the programs did not come to an end under the JobTracker $jobtracker"
done
status=0
python3 "$CLIENTS_DIR/alike.py" "$texts" "$failed" "${jobtrackers[@]}" -- "${names[@]}" || status=$?
[[ -n $keep ]] || rm -rf "$texts"
exit "$status"
