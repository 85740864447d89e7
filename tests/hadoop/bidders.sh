#!/usr/bin/env bash
# bidders.sh: three bidders on two stock TaskTrackers, with preemption. Alice has the cluster to herself until bob outbids her; carol comes
# and runs dry; then alice raises her bid. Prints what `infos` says at each tick, and checks every charge to the last digit, when the
# new bid counts, that slots follow money, and that preempted attempts are KILLED for the stock client and their tasks run again. Against
# ours only. Ends with a line `N passed, N failed`.
set -euo pipefail

MAP_SLOTS=4 REDUCE_SLOTS=2
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/market.sh"
. "$LIVE_DIR/misbehaving.sh"

BIDDERS=(alice bob carol)
NEW_RATE=0.666666666666
TURN_S=60
ALLOC_INTERVAL_S=2

"$LIVE_DIR/fetch-jars.sh"
market_create mapred.priority-scheduler.kill-interval=$ALLOC_INTERVAL_S
cat >"$CLUSTER/hadoop.budget" <<'FILE'
alice 500.00000000000000000000 0.33333333333300000000
bob 500.00000000000000000000 0.66666666666700000000
carol 4.00000000000100000000 0.35714285714300000000
FILE
echo 'carol user carolkey-77' >>"$CLUSTER/hadoop.acl"
cp "$CLUSTER/hadoop.budget" "$CLUSTER/budget-at-start"
cluster_start_jobtracker ours
cluster_start_tasktracker worker-1
cluster_start_tasktracker worker-2
cluster_wait_trackers 2

TICKS=$CLUSTER/ticks CHANGES=$CLUSTER/changes
: >"$TICKS"
bidders() { python3 "$LIVE_DIR/bidders.py" "$@"; }
bidders watch "127.0.0.1:$HTTP_PORT" root "$(market_key root)" "$CLUSTER/state/state.db" "$TICKS" >"$CLUSTER/watch.log" 2>&1 &
watcher=$!

declare -A clients=()
# submit USER MAPS REDUCES MS: a signed job of tasks that sleep so long, in the background.
submit() {
    local options
    read -ra options < <(scheduler "$1" --job)
    hadoop "$1" org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" sleep "${options[@]}" \
        -m "$2" -r "$3" -mt "$4" -rt 2000 >"$CLUSTER/$1.client" 2>&1 &
    clients[$1]=$!
    mkdir -p "$CLUSTER/$1"
    ln -sf "../$1.client" "$CLUSTER/$1/client.log"
    wait_until "$JOB_START_S" "the id of $1's job" job_has_id "$CLUSTER/$1"
}

# Whether the queue $1 used at least $2 slots at the last tick.
uses() {
    kill -0 "$watcher" 2>/dev/null || fail "the watcher has ended: $(cat "$CLUSTER/watch.log")"
    [[ $(bidders used "$TICKS" "$1" | cut -d' ' -f1) -ge $2 ]]
}
is_dry() { [[ $(scheduler carol info=carol | market_element spending) == 0.0 ]]; }

submit alice 18 2 6000
wait_until "$TURN_S" "alice to use the maps of both trackers" uses alice 8
submit bob 18 2 6000
wait_until "$TURN_S" "bob to have slots" uses bob 3
submit carol 5 1 12000
wait_until "$TURN_S" "carol to have a slot" uses carol 1
wait_until "$TURN_S" "carol to run dry" is_dry
bidders bid "127.0.0.1:$HTTP_PORT" alice "$(market_key alice)" "$NEW_RATE" "$CHANGES"

for bidder in "${BIDDERS[@]}"; do
    # Not in the subshell that check makes: only the parent of a process may wait for it.
    status=0
    wait_client "${clients[$bidder]}" || status=$?
    check "$bidder's job ends well" test "$status" -eq 0
done
market_wait_idle "${BIDDERS[@]}"
kill "$watcher"

# Every attempt that was preempted is KILLED for the stock client, none is FAILED, and its task has been done by another.
preempted_tasks_ran_again() {
    local attempts attempt job
    attempts=$(select_from_state "SELECT attempt FROM attempt WHERE kill_request = 'PREEMPTED' AND state = 'KILLED'")
    [[ -n $attempts ]] || fail "nothing was preempted"
    for bidder in "${BIDDERS[@]}"; do
        client -events "$(job_id "$CLUSTER/$bidder")" 0 1000 >>"$CLUSTER/events" 2>/dev/null
    done
    for attempt in $attempts; do
        grep -q "^KILLED $attempt " "$CLUSTER/events" || fail "$attempt is not KILLED for the client"
        grep -q "^SUCCEEDED ${attempt%_*}_" "$CLUSTER/events" || fail "the task of $attempt was not done again"
    done
    ! grep '^FAILED' "$CLUSTER/events"
}

select_from_state() {
    python3 - "$CLUSTER/state/state.db" "$1" <<'PYTHON'
import sqlite3, sys
database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
for row in database.execute(sys.argv[2]):
    print(*row)
PYTHON
}

# Once she cannot pay her bid carol has no quota and is charged no more; her slots go to those who wait and pay, and her maps run when
# slots are left over.
carols_slots_went() {
    [[ -n $(select_from_state "SELECT 1 FROM attempt JOIN job USING (job) WHERE kill_request = 'PREEMPTED' AND queue = 'carol'") ]] ||
        fail "nothing of carol's was preempted"
    python3 - "$TICKS" <<'PYTHON'
import json, sys
from decimal import Decimal
carol = [json.loads(line)["queues"]["carol"] for line in open(sys.argv[1])]
paying = [n for n, line in enumerate(carol) if Decimal(line["spending"])]
after = carol[paying[-1] + 1:]
sys.exit(not (paying and after and all(line["maps"] + line["reduces"] == 0 for line in after) and not any(line["used"] for line in after[1:])))
PYTHON
}

# The bid that alice changed counts from the first tick after it and not before.
the_new_bid_counts_from_the_next_tick() {
    python3 - "$TICKS" "$CHANGES" "$NEW_RATE" <<'PYTHON'
import json, sys
change = json.loads(open(sys.argv[2]).readline())
rates = [(tick["wall_ms"], tick["queues"]["alice"]["spending"]) for tick in map(json.loads, open(sys.argv[1]))]
before = [rate for wall_ms, rate in rates if wall_ms < change["asked_ms"]]
after = [rate for wall_ms, rate in rates if wall_ms > change["answered_ms"]]
sys.exit(not (before and after and sys.argv[3] not in before and after[0] == sys.argv[3]))
PYTHON
}

echo
bidders judge "127.0.0.1:$HTTP_PORT" root "$(market_key root)" "$CLUSTER/state/state.db" "$TICKS" "$CHANGES" "$CLUSTER/budget-at-start" \
    "$CLUSTER/state/history/done" >"$CLUSTER/verdict" || true
cat "$CLUSTER/verdict"
echo
check "every charge is right to the last digit" grep -q ' judged, 0 wrong$' "$CLUSTER/verdict"
check "the new bid counts from the next tick" the_new_bid_counts_from_the_next_tick
check "who has run dry pays nothing and holds no quota" carols_slots_went
check "preempted attempts are KILLED and their tasks ran again" preempted_tasks_ran_again
echo "preempted: $(select_from_state "SELECT queue, count(*) FROM attempt JOIN job USING (job) WHERE kill_request = 'PREEMPTED' GROUP BY queue" | tr '\n' ' ')"
echo "$passed passed, $failed failed"
((failed == 0))
