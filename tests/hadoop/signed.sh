#!/usr/bin/env bash
# signed.sh: submissions that are unsigned, wrongly signed, replayed, stale or for a foreign queue are refused at the stock client with the
# reason and leave nothing behind; a signed one runs and is charged. Against ours only: the Java one has no such scheduler.
# Ends with a line `N passed, N failed`.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/market.sh"

"$LIVE_DIR/fetch-jars.sh"
market_create
cluster_start_jobtracker ours
cluster_start_tasktracker worker-1
cluster_wait_trackers 1

# Submits a small job as the user $1 with the options behind; prints what the client says.
submit_as() {
    hadoop "$1" org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" sleep "${@:2}" -m 1 -r 1 -mt 1 -rt 1 2>&1
}

# What a submission may leave: files of jobs, jobs in the list and in the store, money spent.
traces() {
    find "$CLUSTER/staging" "$CLUSTER/system" -path '*job_*' | sort
    hadoop root org.apache.hadoop.mapred.JobClient -list all 2>/dev/null | grep '^job_' | cut -f1 || true
    python3 - "$CLUSTER/state/state.db" <<'PYTHON'
import sqlite3, sys
database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
print(database.execute("SELECT count(*) FROM job").fetchone(), database.execute("SELECT count(*) FROM ledger").fetchone())
PYTHON
    scheduler root infos | grep budget
}

# refused REASON USER OPTION...: the submission must fail with a text that says so, and change nothing.
refused() {
    local reason=$1 before answer
    shift
    before=$(traces)
    if answer=$(submit_as "$@"); then
        echo "the submission was accepted: $answer"
        return 1
    fi
    if ! grep -qE "AccessControlException: .*ACCESS DENIED: .*($reason)" <<<"$answer"; then
        echo "no reason like '$reason' in: $answer"
        return 1
    fi
    diff <(echo "$before") <(traces)
}

# A submission that is signed well by $1 ends well and costs something.
charged() {
    local options before after answer
    read -ra options <<<"$2"
    before=$(scheduler "$1" "info=$1" | market_element budget)
    if ! answer=$(submit_as "$1" "${options[@]}"); then
        echo "the submission was refused, or the job failed: $answer"
        return 1
    fi
    market_wait_idle "$1"
    scheduler "$1" "info=$1" >"$CLUSTER/$1.xml"
    after=$(market_element budget <"$CLUSTER/$1.xml")
    echo "budget before $before, after $after"
    python3 "$LIVE_DIR/bill.py" "$CLUSTER/state/state.db" "$CLUSTER/budget-at-start" "$1=$CLUSTER/$1.xml"
}

# Prints the parameters of a submission signed by $1, for the queue $2, at the time $3 (ms).
signed_by() {
    python3 - "$SCHEDULER_CLIENT" "$@" "$(market_key "$1")" <<'PYTHON'
import importlib.util, sys
program, user, queue, timestamp, key = sys.argv[1:]
spec = importlib.util.spec_from_file_location("scheduler", program)
scheduler = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(scheduler)
*signature, _ = scheduler.job_parameters(user, key, int(timestamp))
print(*signature, f"-Dmapreduce.job.queue.name={queue}")
PYTHON
}

now_ms() { date +%s%3N; }

check "unsigned" refused "signature.*missing|missing.*signature" alice -Dmapreduce.job.queue.name=alice
check "wrongly signed" refused "match" alice -Dmapred.job.timestamp="$(now_ms)" -Dmapred.job.signature=JD3O%2Brpv43yYZ9IQpkDsySnG1pI%3D \
    -Dmapreduce.job.queue.name=alice
# shellcheck disable=SC2046
check "signed with another's key" refused "match|user" alice $(signed_by bob alice "$(now_ms)")
# shellcheck disable=SC2046
check "stale" refused "timestamp" alice $(signed_by alice alice 1000)
# shellcheck disable=SC2046
check "for a foreign queue" refused "queue" alice $(signed_by alice bob "$(now_ms)")
# shellcheck disable=SC2046
check "for the default queue" refused "queue" alice $(signed_by alice default "$(now_ms)")
# shellcheck disable=SC2046
check "an administrator for a foreign queue" refused "queue" root $(signed_by root alice "$(now_ms)")

accepted=$(scheduler alice --job)
check "signed: runs and is charged" charged alice "$accepted"
# shellcheck disable=SC2086
check "replayed" refused "timestamp|used" alice $accepted

echo "$passed passed, $failed failed"
((failed == 0))
