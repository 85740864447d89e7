#!/usr/bin/env bash
# browser.sh PROGRAM [PAGE]...
#
# Opens every page of a live cluster in Chromium: the demo, which is kept running, with a worker more that takes containers, beside its finished
# jobs a running and a failed one and an array with an item that failed, also as an administrator who signs in; then those of a daemon without a
# market, a job or a worker. What must hold of each page stands in browser/pages.mjs; PAGE is an address of the demo, for a look at that alone.
#
# Fetches playwright-core and axe-core by npm into target/browser. Ends with a line `N passed, N failed`, and 1 when anything failed; prints a line
# `SKIPPED what: reason` where there is no browser.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$(realpath "${1:?usage: browser.sh PROGRAM [PAGE]...}")
shift
skip() { echo "SKIPPED the pages in a browser: $1" && exit 0; }
for tool in node npm curl; do
    command -v "$tool" >/dev/null || skip "$tool is missing"
done
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[[ $chromium ]] || skip "there is no chromium"
modules=$(realpath -m "${CARGO_TARGET_DIR:-target}")/browser
mkdir -p "$modules"
npm install --silent --no-audit --no-fund --prefix "$modules" playwright-core@1.65.1 axe-core@4.14.1 >"$modules/npm.log" 2>&1 ||
    skip "npm cannot fetch playwright-core and axe-core: $(tail -n 1 "$modules/npm.log")"
export CHROMIUM=$chromium NODE_PATH=$modules/node_modules

scratch=$(mktemp -d)
pids=()
stop() {
    local pid
    for pid in "${pids[@]}"; do
        kill -CONT "$pid" 2>/dev/null && kill -INT "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap stop EXIT

# start LOG COMMAND [ARG]...
start() {
    # An ignored SIGINT would be ignored by what is started, too.
    (trap - INT && exec "${@:2}") >"$scratch/$1.log" 2>&1 &
    pids+=($!)
}

# await WHAT COMMAND [ARG]...: a thing that must come to hold within two minutes.
await() {
    local until=$((SECONDS + 120))
    while ((SECONDS < until)); do
        "${@:2}" >/dev/null 2>&1 && return
        sleep 0.2
    done
    echo "browser.sh: $1, after two minutes" >&2
    tail -n 20 "$scratch"/*.log >&2
    exit 1
}

answers() { curl --silent --fail "http://$1" | grep --quiet "$2"; }

set -m
TMPDIR=$scratch start demo "$program" demo --keep --maps 48
set +m
demo=${pids[0]}
await "the demo has not ended its jobs" grep -q 'runs until Ctrl-C' "$scratch/demo.log"
server=$(sed -n 's|.*Look at http://\([^/]*\)/.*|\1|p' "$scratch/demo.log")
rpc=$(sed -n 's|.*--jobtracker ||p' "$scratch/demo.log")
folder=$(echo "$scratch"/jobtracker-demo-*)

# as USER COMMAND [ARG]...: a command of a bidder or of the operator.
as() { "$program" "${@:2}" --server "$server" --as "$1" --key-file "$folder/$1.key"; }

# submit USER NAME MAPPER [OPTION]...: a job without reduces that is not waited for.
submit() {
    as "$1" job submit --detach --input "$folder/texts" --output "$folder/$2" --name "$2" --mapper "$3" --reducer NONE "${@:4}"
}

start worker "$program" tasktracker --name third --slots 2 -D jobtracker.worker.run-as=self -D "mapred.job.tracker=$rpc" \
    -D mapred.task.tracker.http.address=127.0.0.1:0 -D "hadoop.tmp.dir=$scratch/third" \
    -D jobtracker.tasktracker.memory.mb=6144 -D jobtracker.tasktracker.vcores=4
await "the third worker is not there" answers "$server/api/v1/workers/third" third
# What they have left must last until the end.
as alice queue set-spending alice 0.03 >/dev/null
as bob queue set-spending bob 0.02 >/dev/null
as operator queue add-budget alice 100 >/dev/null
submit bob fails 'sh -c "echo no such word >&2; exit 3"' -D mapred.map.max.attempts=2 >/dev/null
submit alice waits 'sh -c "cat >/dev/null; sleep 3600"' -D mapred.map.tasks=40 >/dev/null
"$program" run --server "$server" --as bob --key-file "$folder/bob.key" --array 1-40 --name "an array" --memory 64 --detach --scratch \
    -- sh -c 'test {} -ne 2 && sleep $(({} < 5 ? 0 : 3600))' >/dev/null
await "no job has failed" answers "$server/api/v1/jobs?state=FAILED" job_
await "no item has ended" answers "$server/api/v1/applications" '"done":[1-9]'
await "no map runs" answers "$server/api/v1/jobs?state=RUNNING" '"running":[1-9]'

start empty "$program" serve -D mapred.job.tracker=127.0.0.1:0 -D mapred.job.tracker.http.address=127.0.0.1:0 \
    -D "jobtracker.state.dir=$scratch/state" -D "hadoop.tmp.dir=$scratch/empty"
await "the daemon without jobs does not serve" grep -q 'http://' "$scratch/empty.log"
empty=$(grep -o -m 1 'http://[^ /]*' "$scratch/empty.log" | head -n 1)

link=$(as operator open / --print)
node tests/browser/pages.mjs "http://$server" "$empty" "$link" "$demo" "$@"
