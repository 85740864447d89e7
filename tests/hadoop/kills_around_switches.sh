#!/usr/bin/env bash
# kills_around_switches.sh [--switches N] [--seed N]
#
# Switches the scheduler of our JobTracker N times (50) while streaming jobs run on a built-in worker, and kills the JobTracker with SIGKILL
# around each switch: before, amid or after it, at random, and at least once before and once after. After each kill it must come back
# under the old scheduler or the new one. In the end no job is lost, no task has succeeded twice, each output is right, and every credit is
# accounted for. Needs no Java. Ends with 1 when anything was wrong, when all kills fell on one side, or when nothing was charged.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
switches=50 seed=1
while (($# > 0)); do
    case $1 in
    --switches) switches=$2 ;;
    --seed) seed=$2 ;;
    *) fail "kills_around_switches.sh: unknown option $1" ;;
    esac
    shift 2
done
RANDOM=$seed

program=$(our_program)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-switches.XXXXXX")
daemon='' worker='' load=''

end() {
    local status=$? pid
    for pid in $load $worker $daemon; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    if ((status == 0)); then
        rm -rf "$scratch"
    else
        echo "kept for you to look at: $scratch" >&2
    fi
}
trap end EXIT

read -r rpc http tracker_http < <(free_ports 3)
mkdir "$scratch/conf" "$scratch/in" "$scratch/staging"
cat >"$scratch/conf/mapred-site.xml" <<XML
<configuration>
  <property><name>mapred.job.tracker</name><value>127.0.0.1:$rpc</value></property>
  <property><name>mapred.job.tracker.http.address</name><value>127.0.0.1:$http</value></property>
  <property><name>mapred.task.tracker.http.address</name><value>127.0.0.1:$tracker_http</value></property>
  <property><name>mapred.queue.names</name><value>default,other</value></property>
  <property><name>hadoop.tmp.dir</name><value>$scratch/hadoop</value></property>
  <property><name>mapreduce.jobtracker.staging.root.dir</name><value>$scratch/staging</value></property>
  <property><name>jobtracker.state.dir</name><value>$scratch/state</value></property>
  <property><name>mapred.local.dir</name><value>$scratch/local</value></property>
  <property><name>mapred.tasktracker.map.tasks.maximum</name><value>2</value></property>
  <property><name>mapred.tasktracker.reduce.tasks.maximum</name><value>1</value></property>
  <property><name>mapred.dynamic-scheduler.alloc-interval</name><value>1</value></property>
  <property><name>mapred.dynamic-scheduler.budget-file</name><value>$scratch/budget</value></property>
  <property><name>mapred.priority-scheduler.acl-file</name><value>$scratch/acl</value></property>
  <property><name>mapred.fairscheduler.allocation.file</name><value>$scratch/conf/fair-scheduler.xml</value></property>
</configuration>
XML
cat >"$scratch/conf/capacity-scheduler.xml" <<XML
<configuration>
  <property><name>mapred.capacity-scheduler.queue.default.capacity</name><value>70</value></property>
  <property><name>mapred.capacity-scheduler.queue.other.capacity</name><value>30</value></property>
</configuration>
XML
echo '<allocations><pool name="other"><minMaps>1</minMaps></pool></allocations>' >"$scratch/conf/fair-scheduler.xml"
printf 'root admin rootkey\nalice user alicekey\n' >"$scratch/acl"
chmod 600 "$scratch/acl"
echo 'alice 1000000 0.5' >"$scratch/budget"
for ((line = 0; line < 60; line++)); do echo "line $line"; done >"$scratch/in/lines"

start() {
    "$program" serve --conf "$scratch/conf" >>"$scratch/jobtracker.log" 2>&1 </dev/null &
    daemon=$!
    wait_until 60 "the JobTracker" scheduler show >/dev/null
}

scheduler() {
    "$program" scheduler "$@" --conf "$scratch/conf" >"$scratch/scheduler.out" 2>"$scratch/scheduler.err"
}

ruling() {
    wait_until 60 "the ruling scheduler" scheduler show --json >/dev/null
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["scheduler"])' "$scratch/scheduler.out"
}

class_of() {
    case $1 in
    fifo) echo org.apache.hadoop.mapred.JobQueueTaskScheduler ;;
    capacity) echo org.apache.hadoop.mapred.CapacityTaskScheduler ;;
    fair) echo org.apache.hadoop.mapred.FairScheduler ;;
    dynamic) echo org.apache.hadoop.mapred.DynamicPriorityScheduler ;;
    esac
}

# Jobs one after another until the file `enough` is there; under the market an unsigned one is refused, and a signed one runs. Leaves the
# ids in jobs.
submit_jobs() {
    local number=0 id
    while [[ ! -e $scratch/enough ]]; do
        number=$((number + 1))
        for queue in default alice; do
            local key=()
            [[ $queue == default ]] || key=(HADOOP_KEY=alicekey)
            if id=$(env "${key[@]}" HOME="$scratch" timeout 60 "$program" job submit --detach --conf "$scratch/conf" --user alice --queue "$queue" \
                --input "$scratch/in/lines" --output "$scratch/out-$number-$queue" --mapper 'sh -c "sleep 0.2; cat"' --reducer 'sort' --reduces 1 \
                -D mapred.map.tasks=3 2>>"$scratch/submit.log"); then
                echo "${id##* } out-$number-$queue" >>"$scratch/jobs"
                break
            fi
        done
        sleep 1
    done
}

charged() {
    local charges
    charges=$(python3 - "$scratch/state/state.db" <<'PYTHON'
import sqlite3, sys
print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute("SELECT count(*) FROM ledger WHERE credit = 'revenue'").fetchone()[0])
PYTHON
)
    ((charges > 0))
}

start
"$program" tasktracker --conf "$scratch/conf" -D jobtracker.worker.run-as=self >"$scratch/worker.log" 2>&1 </dev/null &
worker=$!
: >"$scratch/jobs"
submit_jobs &
load=$!

names=(fifo capacity fair dynamic)
kept=0 changed=0
for ((number = 1; number <= switches; number++)); do
    before=$(ruling)
    others=()
    for name in "${names[@]}"; do
        [[ $(class_of "$name") == "$before" ]] || others+=("$name")
    done
    name=${others[RANDOM % 3]}
    case $number in
    1) moment=before ;;
    2) moment=answered name=dynamic ;;
    *) moments=(amid later answered) moment=${moments[RANDOM % 3]} ;;
    esac
    wanted=$(class_of "$name")
    # Without a JobTracker `use` is refused.
    if [[ $moment == before ]]; then
        kill -KILL "$daemon"
        wait "$daemon" 2>/dev/null || true
    fi
    "$program" scheduler use "$name" --move-to default --conf "$scratch/conf" >"$scratch/use.log" 2>&1 &
    use=$!
    # Most switches take some milliseconds, those away from the market up to a second.
    case $moment in
    amid) sleep "0.0$((RANDOM % 10))" ;;
    later) sleep "0.$((RANDOM % 9 + 1))" ;;
    answered | before) wait "$use" || true ;;
    esac
    status=0
    if [[ $moment != before ]]; then
        kill -KILL "$daemon"
        wait "$daemon" 2>/dev/null || true
    fi
    wait "$use" || status=$?
    start
    after=$(ruling)
    if ((status == 0)) && [[ $after != "$wanted" ]]; then
        fail "switch $number to $name was answered, and after the kill $after rules"
    fi
    case $after in
    "$wanted") changed=$((changed + 1)) ;;
    "$before") kept=$((kept + 1)) ;;
    *) fail "switch $number from $before to $name: $after rules" ;;
    esac
    # The later kills fall among intervals that were paid.
    ((number != 2)) || wait_until 120 "the first charge" charged
done
touch "$scratch/enough"
wait "$load"
load=''

finished() {
    local unfinished
    unfinished=$(python3 - "$scratch/state/state.db" <<'PYTHON'
import sqlite3, sys
print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute("SELECT count(*) FROM job WHERE finish_ms IS NULL").fetchone()[0])
PYTHON
)
    [[ $unfinished == 0 ]]
}
wait_until 300 "the end of all jobs" finished
kill -TERM "$daemon"
wait "$daemon" || fail "the JobTracker did not stop cleanly"
daemon=''
python3 - "$scratch" <<'PYTHON'
import os, sqlite3, sys
scratch = sys.argv[1]
database = sqlite3.connect(f"file:{scratch}/state/state.db?mode=ro", uri=True)
wrong = []
states = dict(database.execute("SELECT job, state FROM job"))
jobs = [line.split() for line in open(f"{scratch}/jobs")]
lines = sorted(open(f"{scratch}/in/lines"))
for job, output in jobs:
    if states.get(job) != "SUCCEEDED":
        wrong.append(f"{job} is {states.get(job)}")
        continue
    found = [line.rstrip("\t\n") + "\n" for line in open(f"{scratch}/{output}/part-00000")]
    if sorted(found) != lines:
        wrong.append(f"{job}: its output is wrong")
# An attempt is attempt_..._m_000001_0; a task that succeeded twice ran again without need.
twice = database.execute("""SELECT substr(attempt, 1, length(attempt) - 2) AS task, count(*) FROM attempt
    WHERE state = 'SUCCEEDED' AND role = 'work' GROUP BY task HAVING count(*) > 1""").fetchall()
wrong += [f"{task} succeeded {count} times" for task, count in twice]
units = lambda sql: sum(int(row[0]) for row in database.execute(sql))
issued = units("SELECT amount_units FROM ledger WHERE debit = 'issued'") - units("SELECT amount_units FROM ledger WHERE credit = 'issued'")
charged = units("SELECT amount_units FROM ledger WHERE credit = 'revenue'")
balances = units("SELECT balance_units FROM account")
if issued - charged != balances:
    wrong.append(f"issued {issued}, charged {charged}, but the accounts have {balances}")
for rate, maps, reduces, interval, amount in database.execute("""SELECT rate_units, map_slot_ms, reduce_slot_ms, interval_ms, amount_units
        FROM ledger WHERE reason = 'charge' AND rate_units IS NOT NULL"""):
    if int(rate) * (maps + reduces) // interval != int(amount):
        wrong.append(f"a charge of {amount} for {maps} and {reduces} ms of slots in {interval} ms at {rate}")
costs = units("SELECT cost_units FROM job_cost")
if costs != charged:
    wrong.append(f"jobs cost {costs}, their account paid {charged}")
if charged <= 0:
    wrong.append("nothing was charged")
print(f"{len(jobs)} jobs, {len(states)} accepted, {charged / 10**12} credits charged")
if not jobs or wrong:
    sys.exit("\n".join(wrong) or "no job was submitted")
PYTHON
echo "$switches switches, a kill at each: $changed took place, $kept did not"
((changed > 0 && kept > 0)) || fail "all kills fell on one side of the switches"
