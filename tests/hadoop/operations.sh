#!/usr/bin/env bash
# operations.sh: the nine operations of /scheduler by curl and openssl as docs/sign-a-request.md shows, and by the Python client; who may do
# what; and an ACL that is edited while the daemon runs. Needs no Hadoop. Ends with a line `N passed, N failed`.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/market.sh"
eval "$(sed -n '/^```sh sign$/,/^```$/{ /^```/d; p }' "$PROJECT_DIR/docs/sign-a-request.md")"

market_create
cluster_start_jobtracker ours

passed=0 failed=0

# by_curl USER QUERY: as the page shows; prints what scheduler.py prints: status and reason, then the body.
by_curl() {
    local query answer
    query="$2&user=$1&timestamp=$(date +%s%3N)"
    KEY=$(market_key "$1")
    answer=$(curl --silent --show-error --include --header "Authorization: $(sign "$query")" "http://127.0.0.1:$HTTP_PORT/scheduler?$query")
    tr -d '\r' <<<"$answer" | sed -e '1s|^HTTP/[0-9.]* ||' -e '2,/^$/d'
}

# expect CLIENT USER QUERY PATTERN: the answer, its lines joined by blanks, must match.
expect() {
    local answer
    answer=$("$1" "$2" "$3" 2>&1 | tr -s '\n ' ' ' || true)
    if grep -qE "$4" <<<"$answer"; then
        echo "$1 $2 $3 ... ok"
        passed=$((passed + 1))
    else
        echo "$1 $2 $3 ... FAILED: expected $4, got: $answer"
        failed=$((failed + 1))
    fi
}

# What the budget of alice is before and after the next operation on it; each client adds 5.
budget=100
queue_of() { echo "^200 OK .*<queue name=\"$1\"> <budget>$2</budget> <spending>$3</spending> <share>[0-9.]+</share> <used>0</used> <pending>0</pending> </queue>"; }

for client in by_curl scheduler; do
    denied='^500 ACCESS DENIED: '
    expect $client alice price "^200 OK .*<price>0.0</price>"
    expect $client alice time "^200 OK .*<start>[0-9]{13}</start> <time>[0-9]{13}</time>"
    expect $client alice info=alice "$(queue_of alice "$budget.0" 0.0)"
    expect $client alice info "$(queue_of alice "$budget.0" 0.0)"
    expect $client root infos "^200 OK .*<price>0.0</price> .*<queue name=\"alice\">.*<queue name=\"bob\">"
    expect $client alice 'setSpending=0.75&queue=alice' "$(queue_of alice "$budget.0" 0.75)"
    budget=$((budget + 5))
    expect $client root 'addBudget=5&queue=alice' "$(queue_of alice "$budget.0" 0.75)"
    expect $client root addQueue=carol "$(queue_of carol 0.0 0.0)"
    expect $client root addQueue=carol "^409 .*<error>"
    expect $client root removeQueue=carol "^200 OK .*<QueueInfo>"
    expect $client root removeQueue=carol "^404 .*<error>"
    expect $client root 'setSpending=-1&queue=alice' "^400 .*<error>"
    expect $client root nonsense "^400 .*<error>"

    expect $client bob info=alice "$denied"
    expect $client bob infos "$denied"
    expect $client bob 'setSpending=9&queue=alice' "$denied"
    expect $client bob 'addBudget=9&queue=bob' "$denied"
    expect $client bob addQueue=dave "$denied"
    expect $client bob removeQueue=alice "$denied"
done

# The ACL is what the file says, at the next request.
sed -i '/^bob /d' "$CLUSTER/hadoop.acl"
HADOOP_KEY=bobkey-def
export HADOOP_KEY
with_key() { python3 "$SCHEDULER_CLIENT" --server "127.0.0.1:$HTTP_PORT" --user "$1" "$2"; }
expect with_key bob info=bob "^500 ACCESS DENIED: "
sed -i 's/^alice .*/alice user alicekey-new/' "$CLUSTER/hadoop.acl"
HADOOP_KEY=alicekey-abc expect with_key alice info=alice "^500 ACCESS DENIED: "
expect scheduler alice info=alice "^200 OK"
echo 'carol admin carolkey' >>"$CLUSTER/hadoop.acl"
expect scheduler carol infos "^200 OK"
# A line that cannot be understood leaves the last good list in force.
echo 'dave user' >>"$CLUSTER/hadoop.acl"
expect scheduler carol infos "^200 OK"

echo "$passed passed, $failed failed"
((failed == 0))
