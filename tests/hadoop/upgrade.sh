#!/usr/bin/env bash
# upgrade.sh [--upgrades N] [--maps N]
#
# Our JobTracker is upgraded N times (2) while a stock TaskTracker runs a stock job of so many maps (8) and a streaming job of half as many,
# each of a stock client as it comes: one that is told nothing about waiting, and dies of the first call that fails. Two copies of the
# program go on for each other in turn. Both clients must end with success, of every task one attempt alone may have been launched, and
# the streaming job's output must be right. Prints how long calls waited at each upgrade. Ends with 1 when anything was wrong.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
upgrades=2 maps=8
while (($# > 0)); do
    case $1 in
    --upgrades) upgrades=$2 ;;
    --maps) maps=$2 ;;
    *) fail "upgrade.sh: unknown option $1" ;;
    esac
    shift 2
done
files=$((maps / 2)) map_ms=1500

# Prints the first column of the first row of a query.
ask_state() {
    python3 - "$CLUSTER/state/state.db" "$1" <<'PYTHON'
import sqlite3, sys
print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]).fetchone()[0])
PYTHON
}

# Whether at least so many attempts have been launched.
attempts_are_launched() { (($(ask_state "SELECT count(*) FROM attempt") >= $1)); }

"$LIVE_DIR/fetch-jars.sh"
cluster_create
program=$(our_program)
for copy in 0 1; do
    mkdir "$CLUSTER/program-$copy"
    cp "$program" "$CLUSTER/program-$copy/jobtracker"
done
JOBTRACKER_PROGRAM=$CLUSTER/program-0/jobtracker
cluster_start_jobtracker ours
cluster_start_tasktracker worker-1
cluster_wait_trackers 1

mkdir "$CLUSTER/in"
for ((file = 1; file <= files; file++)); do
    printf '%s\n' "file $file" all "all" >"$CLUSTER/in/$file"
done
printf 'sleep 1.5\ncat\n' >"$CLUSTER/slow_mapper.sh"

CLIENT_LIMIT_S=600
once=(-Dmapred.map.tasks.speculative.execution=false -Dmapred.reduce.tasks.speculative.execution=false)
hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" sleep "${once[@]}" \
    -m "$maps" -r 1 -mt "$map_ms" -rt 500 >"$CLUSTER/client.log" 2>&1 &
client=$!
hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar" "${once[@]}" -D mapred.reduce.tasks=1 \
    -input "$CLUSTER/in" -output "$CLUSTER/out" -mapper 'sh slow_mapper.sh' -reducer 'uniq -c' \
    -file "$CLUSTER/slow_mapper.sh" >"$CLUSTER/streaming.log" 2>&1 &
streaming=$!

wanted=$((maps + 1 + 2 + files + 1 + 2))
for ((upgrade = 1; upgrade <= upgrades; upgrade++)); do
    wait_until 300 "work before the upgrade number $upgrade" attempts_are_launched $((wanted * upgrade / (upgrades + 2)))
    sleep "$(printf '0.%03d' $((RANDOM % 1000)))"
    # One may be through; how it ended is looked at below.
    kill -0 "$client" 2>/dev/null || kill -0 "$streaming" 2>/dev/null || fail "both clients have ended before the upgrade number $upgrade"
    told=$("$CLUSTER/program-$((upgrade % 2))/jobtracker" upgrade --conf "$CLUSTER/conf") || fail "the upgrade number $upgrade"
    # Not a child of this shell, but ours to end.
    CLUSTER_PIDS[jobtracker]=$(sed -E 's/^process ([0-9]+) .*/\1/' <<<"$told")
    echo "upgrade $upgrade: $told"
done

for one in client streaming; do
    status=0
    wait "${!one}" || status=$?
    ((status == 0)) || { cat "$CLUSTER/$one.log"; fail "the $one ended with $status"; }
done

launched=$(ask_state "SELECT count(*) FROM attempt")
((launched == wanted)) || fail "$launched attempts were launched, not $wanted: one for each task, two setups and two cleanups"
again=$(ask_state "SELECT count(*) FROM attempt WHERE state <> 'SUCCEEDED' OR attempt NOT LIKE '%\_0' ESCAPE '\'")
((again == 0)) || fail "$again attempts were not the first of their task, or did not succeed"
[[ $(ask_state "SELECT count(*) FROM job WHERE state = 'SUCCEEDED'") == 2 ]] || fail "not both jobs have succeeded"
counted=$(awk '{ count = $1; $1 = ""; print $0 " " count }' "$CLUSTER"/out/part-* | sort | tr -s ' ' | sed 's/^ //')
expected=$({ echo "all $((2 * files))"; for ((file = 1; file <= files; file++)); do echo "file $file 1"; done; } | sort)
[[ $counted == "$expected" ]] || fail "the streaming job's output is not right: $counted"
echo "$upgrades upgrades: $launched attempts for $wanted tasks, both clients ended with success"
