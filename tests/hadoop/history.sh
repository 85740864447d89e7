#!/usr/bin/env bash
# history.sh [--jobtracker java|ours]... [--short] [--keep FOLDER]
#
# The same jobs under each JobTracker (default: both): one that succeeds though each task fails at first, one that fails, one that is killed,
# and unless --short one with a speculative attempt. Then the stock client's `job -history` and `-history all` read the user's copies, and
# TraceBuilder of hadoop-tools the files in the done folder: what they say must be equal but for times, ids, and counters of time and memory.
# With --keep the files and what was said of them are left in FOLDER. Ends with a line `N agree, N differ`, and 1 when any differs.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/misbehaving.sh"
. "$LIVE_DIR/faults/judge.sh"

usage="usage: history.sh [--jobtracker java|ours]... [--short] [--keep FOLDER]"
jobtrackers=() short='' keep=''
while [[ $# -gt 0 ]]; do
    case $1 in
    --jobtracker) jobtrackers+=("${2:?$usage}"); shift ;;
    --keep) keep=$(mkdir -p "${2:?$usage}" && realpath "$2"); shift ;;
    --short) short=1 ;;
    *) fail "$usage" ;;
    esac
    shift
done
[[ ${#jobtrackers[@]} -gt 0 ]] || jobtrackers=(java ours)
jobs=(recovers fails killed)
[[ -n $short ]] || jobs+=(speculates)

"$LIVE_DIR/fetch-jars.sh"
find_java
export LC_ALL=C
said=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-history.XXXXXX")

# Ours beside a table of users that knows the submitter, as whom it writes the copies.
start_ours() {
    local program
    program=$(our_program)
    { cd "$CLUSTER" && bound_to_parent "$LIVE_DIR/isolated.sh" --user alice --host worker-1 --host worker-2 --host worker-3 --host worker-4 \
        "$program" serve --conf "$CLUSTER/conf"; } >"$CLUSTER/jobtracker.log" 2>&1 </dev/null &
    cluster_remember jobtracker $!
    wait_until "$DAEMON_START_S" "the JobTracker's RPC port $RPC_PORT" cluster_port_open jobtracker "$RPC_PORT"
}

run_job() {
    local folder=$CLUSTER/$1
    case $1 in
    recovers) job_submit "$folder" 2 fail-first 1 fail-first -D mapreduce.workflow.id=flow -D mapreduce.workflow.adjacency.a=b ;;
    fails) job_submit "$folder" 1 fail 1 pass ;;
    killed)
        job_submit "$folder" 1 gate 1 pass
        job_await_attempts "$folder" 1 'm_*_0'
        # What was running has ended before the job does.
        client -kill-task "${JOB/job/attempt}_m_000000_0" >>"$folder/client.log" 2>&1
        wait_until 60 "the event of the killed attempt" has_event "$JOB" KILLED m_000000_0
        job_await_attempts "$folder" 1 'm_*_1'
        client -kill "$JOB" >>"$folder/client.log" 2>&1
        ;;
    speculates)
        job_submit "$folder" 4 gate-first@0 1 pass -D mapred.map.tasks.speculative.execution=true
        job_await_attempts "$folder" 1 m_000000_0
        freeze_child "${JOB/job/attempt}_m_000000_0"
        ;;
    esac
    wait_client "$CLIENT" || true
}

done_files() { find "$CLUSTER/history/done" -type f ! -name '.*' 2>/dev/null | grep -c . || true; }
has_done_files() { [[ $(done_files) -ge $1 ]]; }

# Runs all jobs under the JobTracker $1, and leaves what is compared in $said/$1.
run_under() {
    local name out=$said/$1 count
    mkdir -p "$out"
    cluster_create "hadoop.job.history.location=file://$CLUSTER/history" mapred.map.max.attempts=2 mapred.reduce.max.attempts=2
    # The folder's own name is known only now.
    sed -i "s|file:///history|file://$CLUSTER/history|" "$CLUSTER/extra.xml"
    cluster_conf localhost "$CLUSTER/conf"
    if [[ $1 == ours ]]; then start_ours; else cluster_start_jobtracker java; fi
    cluster_start_tasktracker worker-1
    [[ -n $short ]] || cluster_start_tasktracker worker-2
    cluster_wait_trackers "$([[ -n $short ]] && echo 1 || echo 2)"
    for name in "${jobs[@]}"; do
        run_job "$name"
    done
    count=$((2 * ${#jobs[@]}))
    wait_until 30 "$count files in the done folder" has_done_files "$count"
    (cd "$CLUSTER/history/done" && find . -type f ! -name '.*' -printf '%m %P\n' | sort) >"$out/files"
    for name in "${jobs[@]}"; do
        (cd "$CLUSTER/$name/out/_logs/history" && find . -type f ! -name '.*' -printf '%P\n' | sort) >"$out/$name.copies"
        for all in '' all; do
            # shellcheck disable=SC2086
            client -history $all "$CLUSTER/$name/out" >"$out/$name.history$all" 2>"$out/$name.errors$all" ||
                { cat "$out/$name.errors$all"; fail "job -history $all cannot read the copy of $name under $1"; }
        done
    done
    hadoop alice org.apache.hadoop.tools.rumen.TraceBuilder "file://$CLUSTER/trace.json" "file://$CLUSTER/topology.json" \
        $(find "$CLUSTER/history/done" -type f ! -name '.*' | sort | sed 's|^|file://|') >"$out/rumen.log" 2>&1 ||
        { cat "$out/rumen.log"; fail "TraceBuilder cannot read the done folder of $1"; }
    cp "$CLUSTER/trace.json" "$CLUSTER/topology.json" "$out"
    mkdir "$out/raw"
    find "$CLUSTER/history/done" -type f ! -name '.*' -exec cp {} "$out/raw" \;
    cp "$CLUSTER/jobtracker.log" "$out"
    echo "$CLUSTER" >"$out/cluster"
}

for jobtracker in "${jobtrackers[@]}"; do
    note "jobs under the JobTracker $jobtracker"
    (run_under "$jobtracker") || fail "no histories under the JobTracker $jobtracker"
done
[[ -z $keep ]] || cp -r "$said"/. "$keep"
status=0
python3 "$LIVE_DIR/history_alike.py" "$said" "${jobtrackers[@]}" -- "${jobs[@]}" || status=$?
rm -rf "$said"
exit "$status"
