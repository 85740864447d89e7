#!/usr/bin/env bash
# wordcount-speed.sh [--mb N] [--reduces N] [--rounds N] [--small N] [--jobtracker java|ours] [--workers ours|stock]...
#
# The same streaming wordcount (tr, uniq -c) over N MB of text on the built-in tasktracker and on a stock one (default: both, in turn, for two rounds),
# under the same JobTracker (default ours) and submitted by the same client (ours), with two map slots and one or two reduce slots and otherwise
# Hadoop's defaults. Prints for each job its wall time, from the start of the client to its end, and what the tracker with all its children took:
# CPU time, and at most of memory (proportional set size). Before it, N times a job of three maps and one reduce over a few kB. Fails when the
# outputs differ.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

mb=1000 REDUCE_SLOTS=1 rounds=2 small=5 jobtracker=ours workers=()
while [[ $# -ge 2 ]]; do
    case $1 in
    --mb) mb=$2 ;;
    --reduces) REDUCE_SLOTS=$2 ;;
    --rounds) rounds=$2 ;;
    --small) small=$2 ;;
    --jobtracker) jobtracker=$2 ;;
    --workers) workers+=("$2") ;;
    *) break ;;
    esac
    shift 2
done
[[ $# -eq 0 ]] || fail "unknown option $1"
[[ ${#workers[@]} -gt 0 ]] || workers=(ours stock)

"$LIVE_DIR/fetch-jars.sh"
find_java
export LC_ALL=C
MAP_SLOTS=2
CLIENT_LIMIT_S=7200
PROGRAM=$(our_program)
# Whatever makes Hadoop's tasks quick is left as Java has it; the other live tests want them to start quickly.
JAVA_OPTIONS=("$JAVA_EXPORTS" --add-opens=java.base/java.lang=ALL-UNNAMED -Djava.net.preferIPv4Stack=true)
texts=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-texts.XXXXXX")
trap 'rm -rf "$texts"' EXIT
mkdir "$texts/large"
python3 "$LIVE_DIR/jobs/make_input.py" text "$texts/small"
python3 "$LIVE_DIR/jobs/make_text.py" "$mb" "$texts/large/text"

# wordcount INPUT OUTPUT: submits and waits.
wordcount() {
    env -u HADOOP_KEY HOME="$CLUSTER" "$PROGRAM" job submit --conf "$CLUSTER/conf" --user alice --json \
        --streaming-jar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar" --input "$1" --output "$2" --reduces "$REDUCE_SLOTS" \
        --mapper "tr -s '[:space:]' '\n'" --reducer 'uniq -c' -D mapred.map.tasks=1 >"$2.json" 2>"$2.log" </dev/null || {
        tail -n 20 "$2.log" >&2
        return 1
    }
}

# measured NAME INPUT: the same, with a line of what it took.
measured() {
    local output=$CLUSTER/out-$RANDOM measuring began ended load
    python3 "$LIVE_DIR/measure_tree.py" "${CLUSTER_PIDS[worker-1]}" "$CLUSTER/begun" "$CLUSTER/stop" >"$CLUSTER/taken" &
    measuring=$!
    wait_until 60 "the first measurement" test -e "$CLUSTER/begun"
    began=$EPOCHREALTIME
    wordcount "$2" "$output"
    ended=$EPOCHREALTIME load=$(cut -d ' ' -f 1 /proc/loadavg)
    touch "$CLUSTER/stop"
    wait "$measuring"
    rm "$CLUSTER/stop" "$CLUSTER/begun"
    awk -v name="$1" -v began="$began" -v ended="$ended" -v load="$load" \
        '{ printf "%-8s wall %7.2f s, CPU %7.2f s, at most %5d MB in %d processes, load average %s\n", name, ended - began, $1, $2, $3, load }' \
        "$CLUSTER/taken"
    cat "$output"/part-* | sha1sum >"$output.sum"
    [[ -f $2.sum ]] || cp "$output.sum" "$2.sum"
    cmp "$output.sum" "$2.sum" || fail "the output of $1 is another one"
    rm -r "$output"
}

# One round of the worker $1.
run_round() {
    local number
    cluster_create "mapred.child.java.opts=-Xmx200m $JAVA_EXPORTS" io.sort.mb=100 mapred.reduce.parallel.copies=5 tasktracker.http.threads=40
    cluster_start_jobtracker "$jobtracker"
    case $1 in
    ours) cluster_start_worker worker-1 ;;
    stock) cluster_start_tasktracker worker-1 ;;
    *) fail "--workers ours or stock, not $1" ;;
    esac
    cluster_wait_trackers 1
    for ((number = 1; number <= small; number++)); do measured small "$texts/small"; done
    [[ $mb == 0 ]] || measured "$mb MB" "$texts/large"
}

for ((round = 1; round <= rounds; round++)); do
    for kind in "${workers[@]}"; do
        echo "--- round $round, $kind worker, $jobtracker JobTracker, 2 map slots, $REDUCE_SLOTS reduce slots"
        # A cluster of its own; its end is that of this shell.
        (run_round "$kind") &
        wait $!
    done
done
