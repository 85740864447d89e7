#!/usr/bin/env bash
# worker_in_need.sh [processes|descriptors|disk]...
#
# A cluster for each (all), whose one worker may have 60 processes and threads, or 90 descriptors, or a disk of 3 MB, and offers far more than
# can run with that. An array of 300 items and a job of 120 maps, at which the first failure of an item or task would be the last, must end
# right, only later, and the worker must say what it lacks.
#
# The program is $JOBTRACKER_PROGRAM. Needs root: limits of processes hold for nobody else's sake, and small disks are mounted. Ends with 1 when
# anything was wrong; prints a line `SKIPPED what: reason` for what cannot be tried here.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$(realpath "${JOBTRACKER_PROGRAM:-target/debug/jobtracker}")
((EUID == 0)) || { echo "SKIPPED workers in need: only root may limit processes and mount disks" && exit 0; }

# An account of each Debian that runs nothing: processes are counted by its id.
user=games
scratch=$(mktemp -d)
chmod 755 "$scratch"
pids=()
stop() {
    local pid
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
    done
    pids=()
}
trap 'stop; rm -rf "$scratch"' EXIT

# A program may be in a folder that the user may not enter.
cp "$program" "$scratch/jobtracker"
chmod 755 "$scratch/jobtracker"
program=$scratch/jobtracker

as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups env "HOME=$scratch" "USER=$user")

# said FILE WORDS: the rest of the first line with these words, once it is there.
said() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        grep -som1 "$2[0-9.]*:[0-9]*" "$1" && return
        sleep 0.1
    done
    echo "$1 has no $2:" >&2
    cat "$1" >&2
    return 1
}

# What items and maps run.
item=(sleep 0.1) mapper=cat

# in_need NAME COMMAND...: COMMAND runs the words that follow it in need, in a folder with the folder `local`.
in_need() {
    local name=$1 place=$scratch/$1 rpc web number status=0
    shift
    mkdir -p "$place/many" "$place/local"
    for number in {1..120}; do
        echo "$number" >"$place/many/$number"
    done
    chown -R "$user:$user" "$place"
    cd "$place"
    "${as_user[@]}" "$program" serve -D hadoop.tmp.dir="$place/hadoop" -D mapred.job.tracker=127.0.0.1:0 \
        -D mapred.job.tracker.http.address=127.0.0.1:0 2>"$place/serve.log" &
    pids+=($!)
    rpc=$(said "$place/serve.log" "RPC on ") rpc=${rpc#RPC on }
    web=$(said "$place/serve.log" "web on http://") web=${web#web on http://}
    "$@" "${as_user[@]}" "$program" tasktracker -D hadoop.tmp.dir="$place/hadoop" -D mapred.local.dir="$place/local" \
        -D mapred.job.tracker="$rpc" -D mapred.job.tracker.http.address="$web" -D mapred.task.tracker.http.address=127.0.0.1:0 \
        -D jobtracker.worker.run-as=self -D mapred.tasktracker.map.tasks.maximum=30 -D jobtracker.tasktracker.vcores=200 \
        -D jobtracker.tasktracker.memory.mb=204800 2>"$place/worker.log" &
    pids+=($!)
    said "$place/worker.log" "map output and logs on http://" >/dev/null
    timeout 300 "${as_user[@]}" "$program" run --server "$web" --user "$user" --memory 16 --array 1-300 -- "${item[@]}" >"$place/array.log" 2>&1 || status=$?
    ((status == 0)) || { echo "$name: the array ended with $status:" && tail -20 "$place/array.log" && return 1; }
    timeout 300 "${as_user[@]}" "$program" job submit --jobtracker "$rpc" --user "$user" --input many --output out --mapper "$mapper" --reducer cat \
        -D mapred.map.max.attempts=1 -D mapred.reduce.max.attempts=1 >"$place/job.log" 2>&1 || status=$?
    ((status == 0)) || { echo "$name: the job ended with $status:" && tail -20 "$place/job.log" && return 1; }
    if ! cmp <(cat "$place"/out/part-* | tr -d '\t' | sort -n) <(seq 120); then
        echo "$name: the job's output is wrong" && return 1
    fi
    if ! grep -Eq "this worker lacks what it needs|this worker takes no work" "$place/worker.log"; then
        echo "$name: the worker lacked nothing, or did not say so" && return 1
    fi
    echo "$name: $(grep -c WARN "$place/worker.log") warnings of the worker"
    stop
    cd - >/dev/null
}

needs=("$@")
((${#needs[@]} > 0)) || needs=(processes descriptors disk)
for need in "${needs[@]}"; do
    case $need in
    processes) in_need processes bash -c 'ulimit -u 60; exec "$@"' sh ;;
    descriptors) in_need descriptors bash -c 'ulimit -n 90; exec "$@"' sh ;;
    disk)
        item=(sh -c 'head -c 100000 /dev/zero >scratch; sleep 0.1')
        mapper="sh -c 'head -c 100000 /dev/zero >scratch; cat'"
        in_need disk unshare --mount sh -ec \
            'mount -t tmpfs -o "size=3m,mode=755,uid=$1" tmpfs local; shift; exec "$@"' sh "$(id -u "$user")"
        ;;
    *)
        echo "worker_in_need.sh: unknown need $need" >&2
        exit 2
        ;;
    esac
done
