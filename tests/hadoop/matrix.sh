#!/usr/bin/env bash
# matrix.sh [--jobtracker java|ours]... [--workers stock|ours|mixed]... [--client stock|ours]... [--files hdfs] [--record FOLDER] [JOB]...
#
# Runs the same streaming jobs in each cell of {JobTracker} x {workers} x {client} (default: every one) and compares the bytes of all output files
# and the framework's counters with those in recorded/matrix, which Hadoop alone left. Mixed: a stock TaskTracker and a built-in one
# on each job, fetching map output from each other. Ends with a line `N agree, N differ`, and 1 when any differs. With --record nothing is
# compared: what the first of the cells gives goes into the folder. With --files hdfs all files of jobs lie in a stock
# HDFS with two DataNodes on the hosts of the workers, the numbers of data-local maps are compared, too, and the first of the cells is what the
# others are compared with.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"

usage="usage: matrix.sh [--jobtracker java|ours]... [--workers stock|ours|mixed]... [--client stock|ours]... [--files hdfs] [--record FOLDER] [JOB]..."
jobtrackers=() workers=() clients=() record= on_hdfs=
while [[ ${1:-} == --* ]]; do
    [[ $# -ge 2 ]] || fail "$usage"
    case $1 in
    --jobtracker) jobtrackers+=("$2") ;;
    --workers) workers+=("$2") ;;
    --client) clients+=("$2") ;;
    --files) [[ $2 == hdfs ]] || fail "$usage"; on_hdfs=1 ;;
    --record) record=$(mkdir -p "$2" && realpath "$2") ;;
    *) fail "$usage" ;;
    esac
    shift 2
done
[[ ${#jobtrackers[@]} -gt 0 ]] || jobtrackers=(java ours)
[[ ${#workers[@]} -gt 0 ]] || workers=(stock ours mixed)
[[ ${#clients[@]} -gt 0 ]] || clients=(stock ours)
jobs=("$@")
[[ ${#jobs[@]} -gt 0 ]] || jobs=(plain combiner maponly shipped fields zipped packed lines keyed)

JOBS_DIR=$LIVE_DIR/jobs
RECORDED=$LIVE_DIR/recorded/matrix
PROGRAM=$(our_program)
# Jobs that run at a time: their clients, too, are processes of this machine.
AT_ONCE=4
"$LIVE_DIR/fetch-jars.sh"
find_java
export LC_ALL=C

# Sets what the job $1 is, in words that both clients are told in their own way.
describe() {
    input=text mapper='python3 count_mapper.py' reducer='python3 count_reducer.py' combiner='' reduces=1 format=text
    properties=() files=("$JOBS_DIR/count_mapper.py" "$JOBS_DIR/count_reducer.py")
    # Counters that depend, for this job, on more than the job.
    vague=
    case $1 in
    plain) reduces=2 ;;
    combiner) combiner=$reducer reduces=2 ;;
    maponly) reducer=NONE reduces=0 ;;
    shipped) mapper='python3 filter_mapper.py' files+=("$JOBS_DIR/filter_mapper.py" "$CLUSTER/input/stop_words.txt") ;;
    fields)
        # Equal keys come in no certain order, so their values are alike.
        mapper='python3 field_mapper.py' reducer='uniq -c' reduces=3 files=("$JOBS_DIR/field_mapper.py")
        properties=(stream.num.map.output.key.fields=2 num.key.fields.for.partition=1
            mapred.output.key.comparator.class=org.apache.hadoop.mapred.lib.KeyFieldBasedComparator
            "mapred.text.key.comparator.options=-k1,1 -k2,2nr")
        ;;
    zipped) input=zipped ;;
    packed)
        properties=(mapred.compress.map.output=true)
        # Each zlib packs in its own way.
        vague='Map output materialized|Reduce shuffle bytes'
        ;;
    lines) input=lines.txt mapper=cat reducer=cat format=nline properties=(mapred.line.input.format.linespermap=60) files=() ;;
    keyed) input=keyed.txt mapper=cat reducer=org.apache.hadoop.mapred.lib.IdentityReducer reduces=2 format=keyvalue files=() ;;
    *) fail "no job is called $1" ;;
    esac
}

# Makes what the jobs read.
make_inputs() {
    mkdir "$CLUSTER/input"
    cd "$CLUSTER/input"
    python3 "$JOBS_DIR/make_input.py" text text
    mkdir zipped
    cp text/part-0.txt text/part-1.txt zipped
    gzip -n zipped/*
    cp text/part-0.txt lines.txt
    awk '{ printf "%s %d\t%s\n", $1, NR, $2 }' text/part-1.txt >keyed.txt
    printf 'budget\nshare\nqueue\n' >stop_words.txt
}

# Submits the described job by the client $1; prints what the client says.
submit() {
    local words=(-D mapred.map.tasks=2) property file in=$CLUSTER/input out=$PWD/out
    [[ -z $on_hdfs ]] || in=/user/alice/input out=/user/alice/${PWD##*/}
    for property in "${properties[@]}"; do words+=(-D "$property"); done
    if [[ $1 == stock ]]; then
        words+=(-D "mapred.reduce.tasks=$reduces" -input "$in/$input" -output "$out" -mapper "$mapper" -reducer "$reducer")
        [[ -z $combiner ]] || words+=(-combiner "$combiner")
        for file in "${files[@]}"; do words+=(-file "$file"); done
        case $format in
        nline) words+=(-inputformat org.apache.hadoop.mapred.lib.NLineInputFormat) ;;
        keyvalue) words+=(-inputformat KeyValueTextInputFormat) ;;
        esac
        [[ ${properties[*]} != *num.key.fields* ]] || words+=(-partitioner org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner)
        hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar" "${words[@]}" 2>&1
    else
        words+=(--conf "$CLUSTER/conf" --user alice --input "$in/$input" --output "$out" --mapper "$mapper" --reducer "$reducer")
        words+=(--reduces "$reduces" --input-format "$format" --streaming-jar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar")
        [[ -z $combiner ]] || words+=(--combiner "$combiner")
        for file in "${files[@]}"; do words+=(--file "$file"); done
        [[ ${properties[*]} != *num.key.fields* ]] || words+=(--partitioner keyfield)
        env -u HADOOP_KEY HOME="$CLUSTER" timeout "$CLIENT_LIMIT_S" "$PROGRAM" job submit "${words[@]}" 2>&1
    fi
}

# Runs the job $2 by the client $1 in the folder $3; leaves what is compared in `record` there.
run_job() {
    local began=$SECONDS job
    describe "$2"
    mkdir -p "$3"
    cd "$3"
    submit "$1" >said || { cat said; return 1; }
    job=$(grep -oE 'job_[0-9]+_[0-9]+' said | head -n 1)
    [[ -z $on_hdfs ]] || fs_shell alice -get "/user/alice/${PWD##*/}" out >get.out 2>&1 || { cat get.out; return 1; }
    # The Java JobTracker leaves the history of a job beside its output.
    (cd out && find . -path ./_logs -prune -o -type f -printf '%P\n' | sort | xargs sha1sum) >files
    "$PROGRAM" job counters "$job" --conf "$CLUSTER/conf" --json >counters.json
    if [[ -n $on_hdfs ]]; then
        # Each host has all of the input.
        python3 "$JOBS_DIR/certain_counters.py" counters.json 0 "$vague" 'local map tasks' >counters
    else
        python3 "$JOBS_DIR/certain_counters.py" counters.json "${#CLUSTER}" "$vague" >counters
    fi
    cat files counters >record
    echo "$((SECONDS - began))" >seconds
}

# Runs all jobs in the cells of the JobTracker $1 and the workers $2; leaves in $3 a record, or why there is none, for each.
run_cells() {
    local client name
    cluster_create
    if [[ -n $on_hdfs ]]; then
        hdfs_create 2
        hdfs_for_jobs
    fi
    cluster_start_jobtracker "$1"
    case $2 in
    stock) cluster_start_tasktracker worker-1; cluster_start_tasktracker worker-2 ;;
    ours) cluster_start_worker worker-1; cluster_start_worker worker-2 ;;
    mixed) cluster_start_tasktracker worker-1; cluster_start_worker worker-2 ;;
    *) fail "$usage" ;;
    esac
    cluster_wait_trackers 2
    make_inputs
    [[ -z $on_hdfs ]] || fs_shell alice -put "$CLUSTER/input" input
    for client in "${clients[@]}"; do
        for name in "${jobs[@]}"; do
            (($(jobs -pr | wc -l) < AT_ONCE)) || wait -n || true
            run_job "$client" "$name" "$CLUSTER/$client-$name" >"$CLUSTER/$client-$name.why" 2>&1 &
        done
    done
    wait
    for client in "${clients[@]}"; do
        for name in "${jobs[@]}"; do
            cp "$CLUSTER/$client-$name.why" "$3/$client-$name.why"
            if [[ -f $CLUSTER/$client-$name/seconds ]]; then
                cp "$CLUSTER/$client-$name/record" "$3/$client-$name"
                cp "$CLUSTER/$client-$name/seconds" "$3/$client-$name.seconds"
            fi
        done
    done
}

records=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-matrix.XXXXXX")
agree=0 differ=0
if [[ -n $on_hdfs ]]; then
    RECORDED=$records/first
    mkdir "$RECORDED"
fi
for jobtracker in "${jobtrackers[@]}"; do
    for kind in "${workers[@]}"; do
        folder=$records/$jobtracker-$kind
        mkdir "$folder"
        # One cluster at a time; its end is that of this shell. In the background, since whoever asks how a shell ended lets it pass over
        # what goes wrong in it.
        (run_cells "$jobtracker" "$kind" "$folder") &
        wait $! || note "the cluster of $jobtracker JobTracker and $kind workers failed"
        for client in "${clients[@]}"; do
            for name in "${jobs[@]}"; do
                verdict=agrees
                if [[ ! -f $folder/$client-$name ]]; then
                    verdict="FAILED"$'\n'"$(tail -n 20 "$folder/$client-$name.why" 2>/dev/null || true)"
                elif [[ -n $record ]]; then
                    [[ -f $record/$name ]] || cp "$folder/$client-$name" "$record/$name"
                elif [[ -n $on_hdfs && ! -f $RECORDED/$name ]]; then
                    cp "$folder/$client-$name" "$RECORDED/$name"
                elif ! why=$(diff "$RECORDED/$name" "$folder/$client-$name"); then
                    verdict="DIFFERS"$'\n'"$why"
                fi
                seconds=$(cat "$folder/$client-$name.seconds" 2>/dev/null || echo -)
                echo "$name ($jobtracker JobTracker, $kind workers, $client client, $seconds s) ... $verdict"
                if [[ $verdict == agrees ]]; then agree=$((agree + 1)); else differ=$((differ + 1)); fi
            done
        done
    done
done
rm -r "$records"
echo "$agree agree, $differ differ"
((differ == 0))
