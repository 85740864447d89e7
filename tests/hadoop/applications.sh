#!/usr/bin/env bash
# applications.sh [--whole] [PAGE]...: containers beside a stock TaskTracker, which gets none. From a fresh clone of this repository: every
# command of the pages about applications, among them both Python examples, on a built-in worker, while the stock TaskTracker works on a stock
# job. `--whole` and PAGE as for pages.py. Against ours only: the Java one knows no containers.
# Ends with a line `N passed, N failed`.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/market.sh"

STOCK_MAPS=12

"$LIVE_DIR/fetch-jars.sh"
cluster_create jobtracker.tasktracker.memory.mb=8192 jobtracker.tasktracker.vcores=8
cluster_start_jobtracker ours
cluster_start_tasktracker worker-1
cluster_start_worker worker-2
cluster_wait_trackers 2

clone=$PROJECT_DIR
if git -C "$PROJECT_DIR" rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
    clone=$CLUSTER/clone
    git clone --quiet --no-hardlinks "$PROJECT_DIR" "$clone"
else
    echo "SKIPPED a fresh clone: $PROJECT_DIR is no repository"
fi

# Prints the JSON of an address.
ask() {
    curl --silent --show-error --fail "http://127.0.0.1:$HTTP_PORT/ws/v1/cluster$1user.name=$(id -un)"
}

# Room is declared by the first beat of the worker.
room_is_declared() {
    ask '/nodes?' | grep -q '"availMemoryMB":8192'
}

nodes_are_listed() {
    ask '/nodes?' | python3 -c '
import json, sys
nodes = {node["nodeHostName"]: node for node in json.load(sys.stdin)["nodes"]["node"]}
stock, builtin = nodes["worker-1"], nodes["worker-2"]
print(stock, builtin, sep="\n")
assert (stock["kind"], builtin["kind"]) == ("stock", "builtin")
for name in ("usedMemoryMB", "availMemoryMB", "usedVirtualCores", "availableVirtualCores"):
    assert not stock.get(name), name
assert not stock["slots"] and not stock["numContainers"]
assert (stock["mapSlots"], stock["reduceSlots"]) == (2, 1)
assert (builtin["availMemoryMB"], builtin["availableVirtualCores"]) == (8192, 8)'
}

# In namespaces like those of the workers, where their names are known.
pages() {
    "$LIVE_DIR/isolated.sh" --host worker-1 --host worker-2 "$clone/tests/pages.py" "$(our_program)" --server "127.0.0.1:$HTTP_PORT" "$@"
}

every_container_ran_on_the_builtin_worker() {
    ask '/apps?limit=1000&' | python3 -c '
import json, sys, urllib.request
server, user = sys.argv[1:]
count = 0
for app in json.load(sys.stdin)["apps"]["app"]:
    address = "http://%s/ws/v1/cluster/apps/%s/containers?limit=1000&user.name=%s" % (server, app["id"], user)
    for container in json.load(urllib.request.urlopen(address))["containers"]["container"]:
        assert container["nodeId"].startswith("worker-2:"), container
        count += 1
print(count, "containers")
assert count > 10' "127.0.0.1:$HTTP_PORT" "$(id -un)"
}

stock_job_ran_on_the_stock_tracker() {
    local job logs
    job=$(sed -n 's/.*Running job: \(job_[0-9_]*\).*/\1/p' "$CLUSTER/stock-job.log")
    logs=$CLUSTER/worker-1/log/userlogs/$job
    tail -n 30 "$CLUSTER/stock-job.log"
    ls "$logs"
    # With the attempts that set it up and clean up.
    grep -q "Launched map tasks=$STOCK_MAPS" "$CLUSTER/stock-job.log" && (($(find "$logs" -mindepth 1 -maxdepth 1 -name 'attempt_*_m_*' | wc -l) >= STOCK_MAPS))
}

wait_until 30 "the room of worker-2" room_is_declared
check "both nodes are listed, the stock one without memory and cores" nodes_are_listed
hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" sleep -m "$STOCK_MAPS" -r 1 -mt 200 -rt 200 >"$CLUSTER/stock-job.log" 2>&1 &
stock_job=$!
check "every command of the pages and both examples, from a fresh clone" pages "$@"
check "every container ran on the built-in worker" every_container_ran_on_the_builtin_worker
stock_status=0
wait "$stock_job" || stock_status=$?
check "the stock job meanwhile succeeded" test "$stock_status" = 0
check "it ran on the stock TaskTracker" stock_job_ran_on_the_stock_tracker

echo "$passed passed, $failed failed"
((failed == 0))
