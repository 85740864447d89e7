#!/usr/bin/env bash
# submit.sh [--jobtracker java|ours]... [CHECK...]: our job client submits streaming jobs to the Java JobTracker and to ours (default both, one after
# the other), stock TaskTrackers run them. Each output is compared, byte by byte, with that of the same job by the stock client, and so are
# the counters that do not depend on time. Then what the other commands say of such jobs. Ends with a line `N passed, N failed`.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

jobtrackers=()
while [[ ${1:-} == --jobtracker ]]; do
    jobtrackers+=("$2")
    shift 2
done
[[ ${#jobtrackers[@]} -gt 0 ]] || jobtrackers=(java ours)
checks=("$@")
[[ ${#checks[@]} -gt 0 ]] || checks=(word_count maps_alone gzip_input lines_each keys_and_values failing killed looked_at)

"$LIVE_DIR/fetch-jars.sh"
find_java
export LC_ALL=C
PROGRAM=$(our_program)
STREAMING_JAR=$HADOOP_LIB/hadoop-streaming-1.2.1.jar
JOBS_DIR=$LIVE_DIR/jobs

# Our client, as alice, without a key.
job() {
    env -u HADOOP_KEY HOME="$CLUSTER" timeout "$CLIENT_LIMIT_S" "$PROGRAM" job "$@" --conf "$CLUSTER/conf" --user alice </dev/null
}

# ours NAME OPTION...: submits by our client; leaves its id in NAME.id.
ours() {
    local name=$1
    shift
    job submit --output "$name.ours" --streaming-jar "$STREAMING_JAR" "$@" >"$name.log" 2>&1 || {
        cat "$name.log"
        return 1
    }
    grep -o 'job_[0-9_]*' "$name.log" | head -n 1 >"$name.id"
}

# stock NAME OPTION...: the same by the stock client.
stock() {
    local name=$1
    shift
    hadoop alice org.apache.hadoop.util.RunJar "$STREAMING_JAR" "${@/OUTPUT/$name.stock}" >"$name.stock.log" 2>&1 || {
        tail -n 20 "$name.stock.log"
        return 1
    }
}

# Counters of the job $1 that do not depend on time or memory.
steady_counters() {
    job counters "$1" --json | python3 -c '
import json, re, sys
for line in json.load(sys.stdin):
    if not re.search(r"snapshot|\(ms\)|\(bytes\)|waiting|reserving|SLOTS_MILLIS|FILE_BYTES|Data-local", line["name"], re.I):
        print(line["group"], line["name"], line["value"], sep="\t")'
}

# same NAME: both clients gave the same files and the same counters.
same() {
    local name=$1 stock_id
    stock_id=$(sed -n 's/.*Running job: \(job_[0-9_]*\).*/\1/p' "$name.stock.log")
    # The Java JobTracker leaves the history of a job beside its output.
    diff -r -x _logs "$name.stock" "$name.ours"
    [[ -e $name.ours/_SUCCESS ]]
    steady_counters "$stock_id" >"$name.stock.counters"
    steady_counters "$(cat "$name.id")" >"$name.counters"
    [[ -s $name.counters ]]
    diff "$name.stock.counters" "$name.counters"
}

word_count() {
    ours words --input in --mapper "$PWD/map.sh" --reducer 'python3 count_reducer.py' --combiner 'python3 count_reducer.py' \
        --file map.sh "$JOBS_DIR/count_mapper.py" "$JOBS_DIR/count_reducer.py" --reduces 2 --env GREETING=hello
    stock words -D mapred.reduce.tasks=2 -input in -output OUTPUT -mapper "$PWD/map.sh" \
        -reducer 'python3 count_reducer.py' -combiner 'python3 count_reducer.py' -cmdenv GREETING=hello \
        -file map.sh -file "$JOBS_DIR/count_mapper.py" -file "$JOBS_DIR/count_reducer.py"
    same words
    diff <(cat words.ours/part-* | sort) <(cat in/* | tr -s ' ' '\n' | sort | uniq -c | awk '{ print $2 "\t" $1 }' | sort)
}

maps_alone() {
    ours alone --input 'in/*' --mapper 'tr a-z A-Z' --reducer NONE -D mapred.map.tasks=7
    stock alone -D mapred.map.tasks=7 -input 'in/*' -output OUTPUT -mapper 'tr a-z A-Z' -reducer NONE
    same alone
}

gzip_input() {
    ours zipped --input zipped.gz --mapper cat --reducer 'wc -l'
    stock zipped -input zipped.gz -output OUTPUT -mapper cat -reducer 'wc -l'
    same zipped
}

lines_each() {
    ours lines --input lines.txt --mapper 'wc -l' --reducer NONE --input-format nline -D mapred.line.input.format.linespermap=2
    stock lines -D mapred.line.input.format.linespermap=2 -input lines.txt -output OUTPUT -mapper 'wc -l' -reducer NONE \
        -inputformat org.apache.hadoop.mapred.lib.NLineInputFormat
    same lines
}

keys_and_values() {
    ours keyed --input keyed.txt --mapper cat --reducer cat --input-format keyvalue --partitioner keyfield --reduces 2 \
        -D stream.num.map.output.key.fields=2 -D mapred.text.key.partitioner.options=-k1,1
    stock keyed -D mapred.reduce.tasks=2 -D stream.num.map.output.key.fields=2 -D mapred.text.key.partitioner.options=-k1,1 \
        -input keyed.txt -output OUTPUT -mapper cat -reducer cat -inputformat KeyValueTextInputFormat \
        -partitioner org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner
    same keyed
}

failing() {
    local status=0 id
    job submit --input in/0.txt --output failing.ours --streaming-jar "$STREAMING_JAR" --mapper "sh -c 'echo broken >&2; exit 7'" \
        --reducer NONE -D mapred.map.tasks=1 -D mapred.map.max.attempts=2 >failing.log 2>&1 || status=$?
    cat failing.log
    [[ $status -eq 1 ]]
    grep -q '_m_000000_0 FAILED on http://' failing.log
    grep -q 'subprocess failed with code 7' failing.log
    id=$(grep -o 'job_[0-9_]*' failing.log | head -n 1)
    job logs "$id" --log stderr | tee failing.stderr
    grep -q '^broken' failing.stderr
}

killed() {
    local id
    id=$(job submit --detach --input in --output killed.ours --streaming-jar "$STREAMING_JAR" --mapper 'sleep 100' --reducer NONE 2>&1)
    job list | grep "$id"
    job priority "$id" LOW | grep "has priority LOW"
    job kill "$id"
    wait_until 60 "the end of $id" is_killed "$id"
}

is_killed() { job status "$1" | grep -q "$1 KILLED"; }

# Lists, events and counters of a job that both clients know.
looked_at() {
    local id
    id=$(cat words.id)
    job list --all | grep "$id"
    job status "$id" | tee status.txt
    grep -q "$id SUCCEEDED" status.txt
    job events "$id" | grep -c ' SUCCEEDED ' | tee events.txt
    [[ $(cat events.txt) -ge 6 ]]
    job logs "$(job events "$id" | grep -o 'attempt_[0-9_]*_m_000000_0')" --log syslog | grep -q 'Task:attempt_'
}

for check in "${checks[@]}"; do
    declare -F "$check" >/dev/null || fail "no check is called $check"
done
verdicts=$(mktemp)
for jobtracker in "${jobtrackers[@]}"; do
    # In the background, since whoever asks how a shell ended lets it pass over what goes wrong in it.
    (
        cluster_create
        cluster_start_jobtracker "$jobtracker"
        # By a name that this side, too, finds it by: logs are fetched from it.
        cluster_start_tasktracker localhost
        cluster_wait_trackers 1
        mkdir "$CLUSTER/work"
        cd "$CLUSTER/work"
        python3 "$JOBS_DIR/make_input.py" text in
        cp "$(find in -type f | sort | head -n 1)" in/0.txt
        gzip -c in/* >zipped.gz
        printf '#!/bin/sh\nexec python3 count_mapper.py\n' >map.sh
        printf 'one\ntwo\nthree\nfour\nfive' >lines.txt
        printf 'b\t2\tx\na\t1\ty\nb\t1\tz\nno tabulator\n' >keyed.txt
        status=0
        for check in "${checks[@]}"; do
            began=$SECONDS verdict=ok
            # So that the first thing that goes wrong ends it.
            (set -e; "$check") >"$CLUSTER/check.txt" 2>&1 &
            wait $! || verdict=FAILED status=1
            echo "$check ... $verdict ($((SECONDS - began)) s, $jobtracker JobTracker)"
            [[ $verdict == ok ]] || cat "$CLUSTER/check.txt"
            echo "$verdict" >>"$verdicts"
        done
        exit "$status"
    ) &
    wait $! || true
done
passed=$(grep -c '^ok$' "$verdicts" || true)
failed=$(grep -c '^FAILED$' "$verdicts" || true)
# What kept a cluster from starting has failed all of its checks.
whole=$((passed + failed == ${#checks[@]} * ${#jobtrackers[@]}))
rm "$verdicts"
echo "$passed passed, $failed failed"
((failed == 0 && whole))
