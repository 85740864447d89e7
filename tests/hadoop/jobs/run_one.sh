#!/usr/bin/env bash
# run_one.sh NAME FOLDER: runs one example job on a cluster that another script has started and judges it. Leaves in FOLDER what to record, in
# the file `record`. Prints why and ends with 1 when anything is wrong.
#
# Environment: CLUSTER; JOB_USER who submits (default alice); JOB_OPTIONS options for every job, split at blanks. With FILES=hdfs the job's
# files lie in the user's home there: its input before, its output is fetched. More counters are certain then, and the number of maps on a
# host of their input is judged, too.
#
# A job is a file NAME.sh with these functions, all run in FOLDER:
#   prepare    writes the input
#   submit     runs the stock client; fails when the client does
#   result     prints the job's output in an order that is always the same
#   expected   prints what result must print, worked out without Hadoop
#   verify     (may be left out) fails when something else about the output is wrong
# and, where needed, `unstable`: a pattern of the lines of the job's state that are not always the same; and on HDFS `data_local_maps`: how
# many maps of each job run on a host of their input; `vague`: a pattern of counters that are not always the same; and a function
# `fingerprint FILE`, which prints what is always the same of a file of output.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"
find_java

JOBS_DIR=$LIVE_DIR/jobs
JOB_USER=${JOB_USER:-alice}
read -ra JOB_OPTIONS <<<"${JOB_OPTIONS:-}"
export LC_ALL=C

run_jar() {
    hadoop "$JOB_USER" org.apache.hadoop.util.RunJar "$HADOOP_LIB/$1" "${@:2}" >>client.log 2>&1
}

# The options go where the generic ones belong, behind the program's name.
example() {
    run_jar hadoop-examples-1.2.1.jar "$1" "${JOB_OPTIONS[@]}" "${@:2}"
}

# Prints COUNT<tab>LINE for each different input line.
count_lines() { sort | uniq -c | sed -E 's/^ *([0-9]+) /\1\t/'; }

# Prints WORD<tab>COUNT for each different word of the files.
word_counts() { cat "$@" | tr -s ' ' '\n' | count_lines | awk -F '\t' '{ print $2 "\t" $1 }' | sort; }

job_ids() { sed -n 's/.*Running job: \(job_[0-9_]*\).*/\1/p' client.log; }

# Prints what the client shows of the ended jobs: their progress, and those counters that do not depend on time, memory or path names.
job_states() {
    local id number=0
    for id in $(job_ids); do
        number=$((number + 1))
        echo "== job $number"
        hadoop "$JOB_USER" org.apache.hadoop.mapred.JobClient -status "$id" 2>>client.log | awk '
            / completion: / { print }
            /^\t[^\t]/ { group = $0; gsub(/^\t| *$/, "", group) }
            /^\t\t/ && group != "FileSystemCounters" && !/(snapshot|\(ms\)|\(bytes\)|SLOTS_MILLIS_|SPLIT_RAW_BYTES).*=/ {
                print group ": " substr($0, 3)
            }' | sort
    done
}

# The same on HDFS: all counters but those of time and memory.
certain_counters() {
    local id program number=0
    program=$(our_program)
    for id in $(job_ids); do
        "$program" job counters "$id" --conf "$CLUSTER/conf" --json >counters.json
        echo "== job $((number + 1))"
        python3 "$JOBS_DIR/certain_counters.py" counters.json 0 "$vague" 'local map tasks|FILE_BYTES_'
        number=$((number + 1))
    done
}

# Whether as many maps of each job as must be were on a host of their input.
check_data_local_maps() {
    diff <(printf '%s\n' "${data_local_maps[@]}") \
        <(awk '/^== job/ { if (NR > 1) print maps; maps = 0 } / Data-local map tasks = / { maps = $NF } END { print maps }' counters) >difference
}

fetch_output() {
    fs_shell "$JOB_USER" -get out out >fetch.log 2>&1
}

# The Java JobTracker leaves the history of a job beside its output.
fingerprints() {
    local file
    [[ -d out ]] || return 0
    (cd out && find . -name _logs -prune -o -type f -printf '%P\n' | sort) | while read -r file; do
        echo "$(fingerprint "out/$file") $file"
    done
}

verify() { :; }
fingerprint() { sha1sum <"$1" | cut -d ' ' -f 1; }
unstable='^$' vague='' data_local_maps=()

step=prepare
ended() {
    local status=$?
    ((status != 0)) || return 0
    case $step in
    submit)
        echo "the stock client failed:"
        tail -n 20 client.log
        ;;
    result)
        echo "wrong output (expected <, got >):"
        head -n 20 difference
        ;;
    data-local)
        echo "wrong numbers of maps on a host of their input (expected <, got >):"
        cat difference
        ;;
    *) echo "the step $step failed" ;;
    esac
}

mkdir -p "$2"
cd "$2"
# shellcheck source=/dev/null
. "$JOBS_DIR/$1.sh"
trap ended EXIT

prepare
step=submit
submit
if [[ ${FILES:-} == hdfs ]]; then
    step=fetch
    fetch_output
fi
step=expected
result >result
expected >expected-result
step=result
diff expected-result result >difference
step=verify
verify
step=state
if [[ ${FILES:-} == hdfs ]]; then
    certain_counters >counters
    step=data-local
    check_data_local_maps
    {
        cat counters
        echo "== files"
        fingerprints
        echo "== output"
        cat result
    } >record
else
    {
        job_states | { grep -v "$unstable" || true; }
        echo "== output"
        cat result
    } >record
fi
