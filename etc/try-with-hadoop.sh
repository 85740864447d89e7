#!/usr/bin/env bash
# End-to-end scenario: this JobTracker with the Dynamic Priority Scheduler, one stock Hadoop 1.2.1 TaskTracker, and two users who bid
# differently and submit signed wordcounts with the stock client. Checks the word counts, and the bill to the last digit.
#
# Needs cargo, a JDK (9 to 22), python3, util-linux, and for the first run Maven. Removes its temporary directory at the end.
# Set JOBTRACKER_PROGRAM to use a binary instead of building one.
set -euo pipefail

MAP_SLOTS=4 REDUCE_SLOTS=2
. "$(dirname "${BASH_SOURCE[0]}")/../tests/hadoop/cluster.sh"
. "$LIVE_DIR/market.sh"

refusal=$(live_refusal)
[[ -z $refusal ]] || fail "$refusal"

if [[ -z ${JOBTRACKER_PROGRAM:-} ]]; then
    note "building"
    cargo build --quiet --profile quick --manifest-path "$PROJECT_DIR/Cargo.toml"
    JOBTRACKER_PROGRAM=${CARGO_TARGET_DIR:-$PROJECT_DIR/target}/quick/jobtracker
fi
"$LIVE_DIR/fetch-jars.sh"

market_create
note "starting our JobTracker (http://127.0.0.1:$HTTP_PORT/) and a stock TaskTracker"
cluster_start_jobtracker ours
cluster_start_tasktracker worker-1
cluster_wait_trackers 1

# For run_one.sh, which runs each job.
export CLUSTER JAVA

# Submits a signed wordcount as the user $1; returns when it has ended and its counts are right.
count_words_as() {
    local options
    options=$(scheduler "$1" --job)
    JOB_USER=$1 JOB_OPTIONS=$options "$LIVE_DIR/jobs/run_one.sh" wordcount "$CLUSTER/jobs/$1"
}

declare -A jobs=()
for user in alice bob; do
    note "$user submits a signed wordcount, bidding $(awk -v user=$user '$1 == user { print $3 + 0 }' "$CLUSTER/budget-at-start") credits for a slot and interval of $ALLOC_INTERVAL_S s"
    count_words_as "$user" >"$CLUSTER/$user.answer" 2>&1 &
    jobs[$user]=$!
done
for user in alice bob; do
    wait "${jobs[$user]}" || fail "$user's job: $(cat "$CLUSTER/$user.answer")"
    note "$user's job has ended, its word counts are right"
done

market_wait_idle alice bob
for user in alice bob; do
    scheduler "$user" "info=$user" >"$CLUSTER/$user.xml"
done
echo
echo "The bill"
python3 "$LIVE_DIR/bill.py" "$CLUSTER/state/state.db" "$CLUSTER/budget-at-start" "alice=$CLUSTER/alice.xml" "bob=$CLUSTER/bob.xml"
echo "Every charge is rate x slot-seconds / interval, and what is left is what was there less the charges, to the last digit."
