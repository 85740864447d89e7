#!/usr/bin/env bash
# differential.sh [OPTION]...
#
# Feeds the Java JobTracker and ours, started side by side, the same scripted submissions and heartbeats over IPC, and compares the answers action
# by action, and what clients see. No TaskTracker runs. Options go to the load generator: `--seeds N`, `--first-seed N`, `--only "seed 7"`,
# `--only-random`, ... Ends with a line `N scripts alike, N different`, and 1 when any differed; each of these is shown, cut down to what matters.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
generator=$(load_generator)

"$LIVE_DIR/fetch-jars.sh"
# Time decides nothing: no tracker and no launch expires. Hosts stand in two racks.
cluster_create
both=$CLUSTER
for property in jobtracker.fifo.compatible=true mapred.tasktracker.expiry.interval=86400000 "topology.script.file.name=$both/racks.sh"; do
    printf '  <property><name>%s</name><value>%s</value></property>\n' "${property%%=*}" "${property#*=}" >>"$both/extra.xml"
done
cat >"$both/racks.sh" <<'RACKS'
#!/bin/sh
for host; do case $host in *.1|*.2) echo /rack-1;; *) echo /rack-2;; esac; done
RACKS
chmod 755 "$both/racks.sh"

# Starts a JobTracker with a folder of its own; prints nothing, sets RPC_PORT.
start() {
    CLUSTER=$both/$1
    mkdir -p "$CLUSTER"
    cp "$both/extra.xml" "$CLUSTER/extra.xml"
    read -r RPC_PORT HTTP_PORT < <(free_ports 2)
    cluster_conf localhost "$CLUSTER/conf"
    mkdir -m 1777 "$CLUSTER/staging"
    cluster_start_jobtracker "$1"
    CLUSTER_PIDS[$1]=${CLUSTER_PIDS[jobtracker]}
    unset "CLUSTER_PIDS[jobtracker]"
}

start java
java=127.0.0.1:$RPC_PORT
# It opens its ports before it can answer a heartbeat.
wait_until "$DAEMON_START_S" "the JobTracker" grep -q "Starting RUNNING" "$CLUSTER/jobtracker.log"
start ours
ours=127.0.0.1:$RPC_PORT
CLUSTER=$both
"$generator" differential --java "$java" --ours "$ours" "$@"
