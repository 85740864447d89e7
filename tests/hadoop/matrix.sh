#!/usr/bin/env bash
# matrix.sh [--jobtracker java|ours]... [--workers stock|ours|mixed]... [--client stock|ours]...
#
# Runs the same streaming jobs in each cell of {JobTracker} x {workers} x {client} (default: every one) and compares output bytes and the
# framework's counters of every cell with those of the first one that ran. Mixed: one stock TaskTracker and one built-in tasktracker on each job,
# fetching map output from each other. Ends with a line `N agree, N differ`, and 1 when any differs.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

usage="usage: matrix.sh [--jobtracker java|ours]... [--workers stock|ours|mixed]... [--client stock|ours]..."
jobtrackers=() workers=() clients=()
while [[ ${1:-} == --* ]]; do
    [[ $# -ge 2 ]] || fail "$usage"
    case $1 in
    --jobtracker) jobtrackers+=("$2") ;;
    --workers) workers+=("$2") ;;
    --client) clients+=("$2") ;;
    *) fail "$usage" ;;
    esac
    shift 2
done
[[ $# -eq 0 ]] || fail "$usage"
[[ ${#jobtrackers[@]} -gt 0 ]] || jobtrackers=(java ours)
[[ ${#workers[@]} -gt 0 ]] || workers=(stock ours mixed)
[[ ${#clients[@]} -gt 0 ]] || clients=(stock ours)

JOBS=(plain combiner maponly)
JOBS_DIR=$LIVE_DIR/jobs
PROGRAM=$(our_program)
# Of the framework's counters, those that tell of the machine and not of the job.
UNLIKE='CPU time|Physical memory|Virtual memory|Total committed heap'
"$LIVE_DIR/fetch-jars.sh"

# Submits the job $2 by the client $1; prints what the client says.
submit() {
    local mapper='python3 count_mapper.py' reducer='python3 count_reducer.py' combiner='' reduces=2
    case $2 in
    combiner) combiner=$reducer ;;
    maponly) reduces=0 ;;
    esac
    if [[ $1 == stock ]]; then
        local words=(-D "mapred.reduce.tasks=$reduces" -D mapred.map.tasks=2 -input "$PWD/in" -output "$PWD/out" -mapper "$mapper")
        words+=(-file "$JOBS_DIR/count_mapper.py" -file "$JOBS_DIR/count_reducer.py")
        if [[ $reduces == 0 ]]; then words+=(-reducer NONE); else words+=(-reducer "$reducer"); fi
        [[ -z $combiner ]] || words+=(-combiner "$combiner")
        hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar" "${words[@]}" 2>&1
    else
        local words=(--conf "$CLUSTER/conf" --user alice -D mapred.map.tasks=2 --input "$PWD/in" --output "$PWD/out" --mapper "$mapper")
        words+=(--file "$JOBS_DIR/count_mapper.py" "$JOBS_DIR/count_reducer.py" --streaming-jar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar")
        if [[ $reduces == 0 ]]; then words+=(--reducer NONE); else words+=(--reducer "$reducer" --reduces "$reduces"); fi
        [[ -z $combiner ]] || words+=(--combiner "$combiner")
        "$PROGRAM" job submit "${words[@]}" 2>&1
    fi
}

# Runs the job $2 by the client $1 in the folder $3; leaves what is compared in `record` there.
run_job() {
    mkdir -p "$3"
    cd "$3"
    python3 "$JOBS_DIR/make_input.py" text in
    local began=$SECONDS job
    submit "$1" "$2" >said || { cat said; return 1; }
    job=$(grep -oE 'job_[0-9]+_[0-9]+' said | head -n 1)
    {
        for part in out/part-*; do echo "${part##*/} $(sha1sum <"$part")"; done
        "$PROGRAM" job counters "$job" --conf "$CLUSTER/conf" --json | python3 -c '
import json, re, sys
for counter in sorted(json.load(sys.stdin), key=lambda counter: counter["name"]):
    # The length of the paths of a cell is in the size of its splits.
    if counter["group"] == "Map-Reduce Framework" and not re.match(sys.argv[1] + "|SPLIT_RAW_BYTES", counter["name"]):
        print(counter["name"], counter["value"])
' "$UNLIKE"
    } >record
    echo "$((SECONDS - began))" >seconds
}

records=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-matrix.XXXXXX")
agree=0 differ=0
for jobtracker in "${jobtrackers[@]}"; do
    for kind in "${workers[@]}"; do
        # One cluster at a time; its end is that of this subshell.
        (
            cluster_create
            export CLUSTER
            cluster_start_jobtracker "$jobtracker"
            case $kind in
            stock) cluster_start_tasktracker worker-1; cluster_start_tasktracker worker-2 ;;
            ours) cluster_start_worker worker-1; cluster_start_worker worker-2 ;;
            mixed) cluster_start_tasktracker worker-1; cluster_start_worker worker-2 ;;
            *) fail "$usage" ;;
            esac
            cluster_wait_trackers 2
            for client in "${clients[@]}"; do
                for name in "${JOBS[@]}"; do
                    cell=$jobtracker-$kind-$client-$name
                    if why=$(run_job "$client" "$name" "$CLUSTER/$cell" 2>&1); then
                        cp "$CLUSTER/$cell/record" "$records/$cell"
                        cp "$CLUSTER/$cell/seconds" "$records/$cell.seconds"
                    else
                        echo "$why" >"$records/$cell.why"
                    fi
                done
            done
        ) || note "the cluster of $jobtracker JobTracker and $kind workers failed"
        for client in "${clients[@]}"; do
            for name in "${JOBS[@]}"; do
                cell=$jobtracker-$kind-$client-$name
                verdict=agrees
                [[ -f $records/$cell ]] || verdict="FAILED $(cat "$records/$cell.why" 2>/dev/null)"
                [[ $verdict != agrees || -f $records/first-$name ]] || cp "$records/$cell" "$records/first-$name"
                [[ $verdict != agrees ]] || why=$(diff "$records/first-$name" "$records/$cell") || verdict="DIFFERS"$'\n'"$why"
                echo "$name: $jobtracker JobTracker, $kind workers, $client client ... $verdict ($(cat "$records/$cell.seconds" 2>/dev/null || echo -) s)"
                if [[ $verdict == agrees ]]; then agree=$((agree + 1)); else differ=$((differ + 1)); fi
            done
        done
    done
done
rm -r "$records"
echo "$agree agree, $differ differ"
((differ == 0))
