#!/usr/bin/env bash
# hdfs_jobs.sh [NAME]...
#
# Runs stock example jobs by stock clients on two stock TaskTrackers and a stock HDFS with two DataNodes on their hosts, replication 2, under the
# Java JobTracker and then, on the same files, under ours: pi, the tera suite, randomwriter with sort and its check, join, streaming, word count
# and mrbench. Each output is checked against one worked out without Hadoop; then output and counters, those of places included, are
# compared. Every map whose input has a place must be data-local; but none is of `far`, a word count while a tracker runs on the second
# host only and all replicas are on the first. Ends with a line `N agree, N differ`, and 1 when any differs.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"

ALL=(far tera sort join mrbench pi streaming wordcount)
names=("$@")
[[ ${#names[@]} -gt 0 ]] || names=("${ALL[@]}")
for name in "${names[@]}"; do
    [[ " ${ALL[*]} " == *" $name "* ]] || fail "no job is called $name; usage: hdfs_jobs.sh [${ALL[*]}]..."
done

JOBS_DIR=$LIVE_DIR/jobs
# Jobs that run at a time: their clients, too, are processes of this machine.
AT_ONCE=3
export CLUSTER FILES=hdfs LC_ALL=C

# Each job has a user, in whose home its input lies under a relative path.
make_inputs() {
    local name homes=()
    for name in "${names[@]}"; do
        mkdir -p "$CLUSTER/inputs/$name"
        # shellcheck source=/dev/null
        (cd "$CLUSTER/inputs/$name" && . "$JOBS_DIR/$name.sh" && prepare)
        [[ $name == far ]] || homes+=("$CLUSTER/inputs/$name")
    done
    # All may write into these homes, since one user makes them. While there is one DataNode, replicas are on the first host.
    [[ ! -d $CLUSTER/inputs/far ]] || fs_shell "$DAEMON_USER" -D dfs.umaskmode=000 -D dfs.replication=1 -put "$CLUSTER/inputs/far" /user
    hdfs_start_datanode 2
    hdfs_wait_datanodes 2
    ((${#homes[@]} == 0)) || fs_shell "$DAEMON_USER" -D dfs.umaskmode=000 -put "${homes[@]}" /user
}

# Runs the job $2 under the JobTracker $1; leaves in its folder what is compared, or why there is none.
run_job() {
    local began=$SECONDS folder=$CLUSTER/jobs/$1/$2
    if JOB_USER=$2 "$LIVE_DIR/jobs/run_one.sh" "$2" "$folder" >"$folder.why" 2>&1; then
        echo "$((SECONDS - began))" >"$folder.seconds"
    fi
}

# Runs all jobs under the JobTracker $1.
run_jobs() {
    local name
    mkdir -p "$CLUSTER/jobs/$1"
    cluster_start_jobtracker "$1"
    cluster_start_serving_tasktracker worker-2
    [[ " ${names[*]} " != *' far '* ]] || run_job "$1" far
    cluster_start_serving_tasktracker worker-1
    for name in "${names[@]}"; do
        [[ $name != far ]] || continue
        (($(jobs -pr | wc -l) < AT_ONCE)) || wait -n || true
        run_job "$1" "$name" &
    done
    wait
}

# Stops the JobTracker $1 and its trackers; its outputs leave HDFS, but for random data, which the next one's jobs sort.
end_jobtracker() {
    local name
    for name in worker-1 worker-2 jobtracker; do
        cluster_stop "$name"
        mv "$CLUSTER/$name.log" "$CLUSTER/$1-$name.log"
    done
    mv "$CLUSTER/worker-1" "$CLUSTER/$1-worker-1"
    mv "$CLUSTER/worker-2" "$CLUSTER/$1-worker-2"
    if fs_shell "$DAEMON_USER" -mv /user/sort/out /user/sort/old >"$CLUSTER/mv.out" 2>&1; then
        export RANDOM_DATA=old/random
    fi
    fs_shell "$DAEMON_USER" -rmr '/user/*/out' >"$CLUSTER/rmr.out" 2>&1 || true
}

# Says how many of the maps of each job of the folder $1 were data-local.
local_maps() {
    awk '/^== job/ { if (NR > 1) print near "/" maps; near = maps = 0 }
        / Data-local map tasks = / { near = $NF }
        / Launched map tasks = / { maps = $NF }
        END { print near "/" maps }' "$1/counters" | xargs
}

"$LIVE_DIR/fetch-jars.sh"
find_java
# A tracker reports the end of a task at once, not seconds later.
cluster_create mapreduce.tasktracker.outofband.heartbeat=true
hdfs_create 2
hdfs_for_jobs 1
make_inputs
run_jobs java
end_jobtracker java
run_jobs ours

agree=0 differ=0
for name in "${names[@]}"; do
    java=$CLUSTER/jobs/java/$name ours=$CLUSTER/jobs/ours/$name verdict=
    for folder in "$java" "$ours"; do
        [[ -f $folder.seconds ]] || verdict+="FAILED in $folder"$'\n'"$(tail -n 20 "$folder.why" 2>/dev/null || true)"$'\n'
    done
    if [[ -z $verdict ]] && ! why=$(diff "$java/record" "$ours/record"); then
        verdict="DIFFERS (java <, ours >)"$'\n'"$why"
    fi
    if [[ -n $verdict ]]; then
        differ=$((differ + 1))
        echo "$name ... $verdict"
        continue
    fi
    agree=$((agree + 1))
    echo "$name ... agrees: $(grep -c '^== job' "$ours/counters") jobs, $(grep -c ' = ' "$ours/counters") counters," \
        "$(sed '1,/^== files/d; /^== output/,$d' "$ours/record" | wc -l) files; data-local maps: java $(local_maps "$java"), ours" \
        "$(local_maps "$ours"); java $(cat "$java.seconds") s, ours $(cat "$ours.seconds") s"
done
echo "$agree agree, $differ differ"
((differ == 0))
