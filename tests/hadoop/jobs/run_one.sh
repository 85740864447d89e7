#!/usr/bin/env bash
# run_one.sh NAME FOLDER: runs one example job on the cluster that jobs.sh has started and judges it. Leaves in FOLDER what to record, in the
# file `record`. Prints why and ends with 1 when anything is wrong.
#
# Environment: CLUSTER; JOB_USER who submits (default alice); JOB_OPTIONS options for every job, split at blanks.
#
# A job is a file NAME.sh with these functions, all run in FOLDER:
#   prepare    writes the input
#   submit     runs the stock client; fails when the client does
#   result     prints the job's output in an order that is always the same
#   expected   prints what result must print, worked out without Hadoop
#   verify     (may be left out) fails when something else about the output is wrong
# and, where needed, `unstable`: a pattern of the lines of the job's state that are not always the same.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
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

verify() { :; }
unstable='^$'

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
step=expected
result >result
expected >expected-result
step=result
diff expected-result result >difference
step=verify
verify
step=state
{
    job_states | { grep -v "$unstable" || true; }
    echo "== output"
    cat result
} >record
