# Sourced behind cluster.sh: a market on the scratch cluster, with the users alice and bob, the administrator root, their keys and bids.
# shellcheck shell=bash
#
#   market_create [KEY=VALUE]...           cluster_create with the Dynamic Priority Scheduler, its budget and ACL files
#   scheduler USER QUERY|--job             the shipped Python client, signing as USER
#   market_element NAME                    the text of the first element NAME in the answer on standard input
#   market_wait_idle QUEUE...              returns when a tick has found nothing left to charge in these queues
#   check NAME COMMAND [ARG]...            says whether that went well, and counts it in passed or failed

SCHEDULER_CLIENT=$PROJECT_DIR/etc/client/scheduler.py
ALLOC_INTERVAL_S=1

market_create() {
    cluster_create mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.DynamicPriorityScheduler \
        mapred.dynamic-scheduler.alloc-interval=$ALLOC_INTERVAL_S \
        mapred.dynamic-scheduler.budget-file=@CLUSTER@/hadoop.budget \
        mapred.priority-scheduler.acl-file=@CLUSTER@/hadoop.acl "$@"
    sed -i "s|@CLUSTER@|$CLUSTER|g" "$CLUSTER/extra.xml"
    cluster_conf localhost "$CLUSTER/conf"
    cat >"$CLUSTER/hadoop.budget" <<'FILE'
alice 100.00000000000000000000 0.50000000000000000000
bob 100.00000000000000000000 1.25000000000000000000
FILE
    (
        umask 077
        cat >"$CLUSTER/hadoop.acl" <<'FILE'
root admin rootkey-1f0c
alice user alicekey-abc
bob user bobkey-def
FILE
    )
    cp "$CLUSTER/hadoop.budget" "$CLUSTER/budget-at-start"
}

# Prints the key of the user $1.
market_key() { sed -n "s/^$1 [a-z]* //p" "$CLUSTER/hadoop.acl"; }

scheduler() {
    HADOOP_KEY=$(market_key "$1") python3 "$SCHEDULER_CLIENT" --server "127.0.0.1:$HTTP_PORT" --user "$1" "$2"
}

market_element() { sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p" | head -n 1; }

market_wait_idle() {
    local queue
    for queue in "$@"; do
        wait_until 30 "a tick that finds $queue idle" market_is_idle "$queue"
    done
}

market_is_idle() {
    local answer
    answer=$(scheduler root "info=$1") || fail "info=$1 was refused: $answer"
    [[ $(market_element used <<<"$answer") == 0 && $(market_element pending <<<"$answer") == 0 ]]
}

passed=0 failed=0
check() {
    local name=$1 answer
    shift
    if answer=$("$@" 2>&1); then
        echo "$name ... ok"
        passed=$((passed + 1))
    else
        echo "$name ... FAILED"
        echo "$answer"
        failed=$((failed + 1))
    fi
}
