#!/usr/bin/env bash
# history_cost.sh [--jobs N,N...] [--maps N,N...]
#
# What our JobTracker takes to write the history of a job: so many jobs of so many maps (default 100 of 10 and 20 of 1,000) on faked trackers
# end while the history folder is a file, so that all of their histories are due at the next start. CPU of that start by thread, less that of
# a start after it with nothing due, for each job, and the time until all of the files are there. Needs no Java; for figures that count,
# release builds: cargo build --release --bins --example load.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
jobs=100,20 maps=10,1000
while [[ $# -ge 2 ]]; do
    case $1 in
    --jobs) jobs=$2 ;;
    --maps) maps=$2 ;;
    *) break ;;
    esac
    shift 2
done
[[ $# -eq 0 ]] || fail "unknown option $1"
generator=$(load_generator)
IFS=, read -r -a jobs <<<"$jobs"
IFS=, read -r -a maps <<<"$maps"
((${#jobs[@]} == ${#maps[@]})) || fail "as many numbers of jobs as of maps are needed"
FINISH_S=600

# History files that are there.
histories() { find "$CLUSTER/history" -type f -name 'job_*' ! -name '*_conf.xml' | wc -l; }
are_written() { (($(histories) >= $1)); }

# What has been written is recorded, too: nothing waits.
nothing_waits() { curl -s "http://127.0.0.1:$HTTP_PORT/metrics" | grep -qE '^jobtracker_histor[a-z_]*waiting[a-z_]* 0$'; }

# CPU so far of the daemon's thread called $1, or of all called so, µs.
thread_us() {
    local thread
    for thread in "/proc/${CLUSTER_PIDS[jobtracker]}"/task/*; do
        [[ $(cat "$thread/comm") != "$1" ]] || cat "$thread/schedstat"
    done | awk '{ sum += $1 } END { printf "%d\n", sum / 1000 }'
}

# Starts it and waits for $1 histories; sets taken_us, by thread, and wall_us.
declare -A taken_us=()
wall_us=0
timed_start() {
    local began name
    cluster_start_jobtracker ours
    began=$EPOCHREALTIME
    until are_written "$1"; do sleep 0.05; done
    wall_us=$(awk "BEGIN { printf \"%d\", ($EPOCHREALTIME - $began) * 1000000 }")
    wait_until "$FINISH_S" "an end of all histories" nothing_waits
    for name in jobtracker store tokio-rt-worker; do taken_us[$name]=$(thread_us "$name"); done
}

# measured JOBS MAPS
measured() {
    local pid
    cluster_create
    printf '  <property><name>hadoop.job.history.location</name><value>%s</value></property>\n' "$CLUSTER/history" >>"$CLUSTER/extra.xml"
    cluster_conf localhost "$CLUSTER/conf"
    touch "$CLUSTER/history"
    cluster_start_jobtracker ours
    pid=${CLUSTER_PIDS[jobtracker]}
    "$generator" --jobtracker "127.0.0.1:$RPC_PORT" --pid "$pid" tasks --trackers 50 --jobs "$1" --maps "$2" --reduces 0 >"$CLUSTER/load.out"
    cluster_stop jobtracker TERM
    rm "$CLUSTER/history"
    mkdir -m 755 "$CLUSTER/history"
    timed_start "$1"
    local wall=$wall_us owner=${taken_us[jobtracker]} store=${taken_us[store]} pool=${taken_us[tokio-rt-worker]} bytes
    bytes=$(find "$CLUSTER/history" -type f -name 'job_*' ! -name '*_conf.xml' -printf '%s\n' | sort -n | tail -n 1)
    cluster_stop jobtracker TERM
    timed_start "$1"
    awk -v jobs="$1" -v maps="$2" -v wall="$wall" -v bytes="$bytes" -v pool="$((pool - taken_us[tokio-rt-worker]))" \
        -v owner="$((owner - taken_us[jobtracker]))" -v store="$((store - taken_us[store]))" -v load="$(cut -d ' ' -f 1 /proc/loadavg)" \
        'BEGIN { printf "%d jobs of %d maps: for each %.0f us CPU of the pool, %.0f us of the owner, %.0f us of the store, %.1f ms, file of %d bytes, load average %s\n",
            jobs, maps, pool / jobs, owner / jobs, store / jobs, wall / jobs / 1000, bytes, load }'
}

for ((index = 0; index < ${#jobs[@]}; index++)); do
    # A cluster of its own; its end is that of this shell.
    (measured "${jobs[$index]}" "${maps[$index]}") &
    wait $!
done
