#!/usr/bin/env bash
# The long tier, beside tests/run.sh: the demo as README.md has it, stock jobs, faults and commands under the Java JobTracker and then under
# ours, with what came of them compared, our job client against the stock one, streaming jobs in every mixture of JobTrackers, workers and
# clients, on files of this machine and on HDFS, every page of both JobTrackers over the same jobs, Pig, Hive and other programs of users under both,
# what a collector reads while they swap, the example jobs on HDFS under both JobTrackers, the same scripted heartbeats to both, jobs
# during which the one takes the other's place, an HDFS whose NameNode goes away and whose DataNodes are full or have lost blocks, a daemon
# that is killed fifty times under a bidding load, fifty times around switches of the scheduler, twenty times under an array of containers
# whose workers are killed, too, and at every passing of each fault point, and for three minutes (SOAK_MINUTES) under everything at once,
# an array and a job on workers that may have far fewer processes, descriptors or disk than they offer,
# one that is upgraded ten times under stock clients, the pages about applications pasted, alone and beside a stock TaskTracker, every page in a browser, the alerts of etc/prometheus, an array
# beside HyperQueue, jobs and containers of two users with their bills, three bidders on stock TaskTrackers, budgets in a PostgreSQL
# that is killed, cut off and read-only, ten thousand connections and
# other overload, attacks of real size, the dependencies' licences and known holes, ten million mutated frames, a Debian package in a clean
# root and under a systemd, three machines by docs/install.md, half a minute (FUZZ_SECONDS) of each fuzz target, a hundred million simulated
# events (SIMULATED_EVENTS), and, only where FIGURES is set, for half an hour, what both JobTrackers, workers and HDFS clients take on one
# stock HDFS. Prints how long each step took, and at the end a line `N passed, N failed, N skipped`; 1 when any failed.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
. tests/steps.sh

# Optimised a little, and built soon: what live tests run.
quick=$target/quick/jobtracker
# Optimised, with every assertion and overflow check: what is killed, soaked and simulated.
sim=$target/sim/jobtracker
export JOBTRACKER_PROGRAM=$quick JOBTRACKER_LOAD=$target/sim/examples/load

# What production runs is built as well: nothing else shows that it has no fault point.
builds() {
    cargo build --quiet --profile quick --bins && cargo build --quiet --profile sim --bins --example load &&
        cargo build --quiet --release --bins --example hdfs
}

# both_jobtrackers SCRIPT [ARG]...: what the script of tests/hadoop records under the one is what it records under the other.
both_jobtrackers() {
    local script=$1 records=$target/live-records/${1%.sh}
    shift
    rm -rf "$records"
    "tests/hadoop/$script" --jobtracker java --record "$records/java" "$@" &&
        "tests/hadoop/$script" --jobtracker ours --record "$records/ours" "$@" &&
        diff -r "$records/java" "$records/ours"
}

# What is kept of the Java JobTracker, for machines and days without it, is what it does today.
records_are_current() {
    local what status=0
    for what in faults commands administration access; do
        diff -r "tests/hadoop/recorded/$what" "$target/live-records/$what/java" || status=1
    done
    return "$status"
}

dependencies() {
    if ! command -v cargo-deny >/dev/null; then
        cargo install --quiet --locked cargo-deny || return 1
    fi
    cargo deny --log-level error --all-features check bans licenses sources
}

# By a clone of RustSec's database in the folder ADVISORY_DB, which must be one; without it, by the network's.
known_holes() {
    local name="known holes in dependencies"
    if [[ -n ${ADVISORY_DB:-} ]]; then
        local -x GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$(realpath "$ADVISORY_DB").insteadOf"
        local -x GIT_CONFIG_VALUE_0=https://github.com/RustSec/advisory-db
        step "$name" known_holes_now
    elif cargo deny --log-level error fetch db; then
        step "$name" known_holes_now
    else
        skip_step "$name" "their list cannot be fetched; name a clone of https://github.com/RustSec/advisory-db in ADVISORY_DB"
    fi
}

known_holes_now() {
    cargo deny --log-level error fetch db && cargo deny --log-level error --all-features check advisories
}

killed_switches() {
    JOBTRACKER_PROGRAM=$sim tests/hadoop/kills_around_switches.sh --switches 50
}

killed_bidding() {
    JOBTRACKER_PROGRAM=$sim tests/hadoop/bidding.sh --kills 50 --first-kills 20
}

killed_jobs() {
    JOBTRACKER_PROGRAM=$sim tests/hadoop/restart.sh --kills 20 --trackers 2 --maps 200 "$@"
}

# Three minutes, or SOAK_MINUTES with a kill a minute.
soak() {
    local pace=(--minutes 3 --kill-every-s 10)
    [[ -z ${SOAK_MINUTES:-} ]] || pace=(--minutes "$SOAK_MINUTES" --kill-every-s 60)
    JOBTRACKER_PROGRAM=$sim tests/hadoop/soak.sh "${pace[@]}"
}

upgraded_jobs() {
    tests/hadoop/upgrade.sh --upgrades 10 --maps 24
}

killed_arrays() {
    tests/killed_arrays.py "$sim" "$@" 20
}

# Every passing of every point, not each point once as the short tier does.
crash_points() {
    env -u JOBTRACKER_PROGRAM CRASH_POINTS=all cargo test --quiet --profile sim --test crash_points
}

# Budgets in PostgreSQL: either side killed, stopped, read-only, slow, cut off.
budgets_in_postgres() {
    cargo test --quiet --profile sim --test served budgets_in_postgres -- --ignored --nocapture --test-threads 1
}

# What production runs dies at nobody's word.
no_fault_points() {
    ! grep --quiet JOBTRACKER_CRASH_AT "$target/release/jobtracker"
}

whole_overload() {
    env -u JOBTRACKER_PROGRAM OVERLOAD=whole cargo test --quiet --release --test overload -- --nocapture
}

# attacks [FILTER]...: attacks of real size.
attacks() {
    env -u JOBTRACKER_PROGRAM HOSTILE=whole cargo test --quiet --release --test hostile -- --nocapture "$@"
}

# A short attack has so few heartbeats that one stall of the machine is their 99th percentile: what broke is measured twice more, alone,
# and must hold both times.
whole_attacks() {
    local log=$target/attacks.log name broken
    attacks 2>&1 | tee "$log"
    ((PIPESTATUS[0] == 0)) && return 0
    broken=$(sed -n 's/^\(\S*\) --- FAILED$/\1/p' "$log" | sort -u)
    # It failed otherwise than by a verdict.
    [[ -n $broken ]] || return 1
    for name in $broken $broken; do
        attacks --exact "$name" || return 1
    done
}

mutated_frames() {
    FUZZ_FRAMES=${FUZZ_FRAMES:-10000000} cargo test --quiet --profile sim --test mutated_frames
}

# Every fuzz target with libFuzzer, instrumented by what a stable rustc offers.
fuzz_targets() {
    local host name flags='-Cpasses=sancov-module -Ccodegen-units=1 --cfg fuzzing'
    for name in level=4 inline-8bit-counters pc-table trace-compares; do
        flags+=" -Cllvm-args=-sanitizer-coverage-$name"
    done
    if ! command -v c++ >/dev/null; then
        skip_step "fuzz targets" "libFuzzer is built by a C++ compiler; install g++"
        return
    fi
    host=$(rustc -vV | sed -n 's/^host: //p')
    # The same dependencies as those of the program.
    cp Cargo.lock fuzz/Cargo.lock
    RUSTFLAGS=$flags step "build of the fuzz targets" \
        cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host" --target-dir "$target/fuzz"
    for name in fuzz/fuzz_targets/*.rs; do
        name=$(basename "$name" .rs)
        step "fuzz target $name" fuzz_target "$target/fuzz/$host/release/$name" "$name"
    done
}

# fuzz_target PROGRAM NAME: starts from everything recorded and everything kept; what it finds stays in fuzz/corpus, what fails in
# fuzz/artifacts, from where it belongs into fuzz/kept once it is mended.
fuzz_target() {
    mkdir -p "fuzz/corpus/$2" "fuzz/artifacts/$2" "fuzz/kept/$2"
    "$1" -max_total_time="${FUZZ_SECONDS:-30}" -timeout=10 -rss_limit_mb=1024 -artifact_prefix="fuzz/artifacts/$2/" -verbosity=0 \
        -print_final_stats=1 "fuzz/corpus/$2" "fuzz/kept/$2" tests/fixtures/hadoop1 tests/fixtures/hdfs1
}

# Half of the events under the market, a tenth under each other scheduler and under all by turns, and of these half as many again with
# containers; a law that breaks ends a run with the command that shows it again.
simulated_events() {
    local events_of_seed=100000 seeds others status=0
    seeds=$((${SIMULATED_EVENTS:-100000000} / events_of_seed))
    simulate_other_schedulers $((seeds / 10 + 1)) "$events_of_seed" &
    others=$!
    simulate --seeds $((seeds - seeds / 2)) --events "$events_of_seed" || status=1
    wait "$others" || status=1
    return "$status"
}

simulate_other_schedulers() {
    local policy status=0
    for policy in fifo capacity fair constraint mixed; do
        simulate --policy "$policy" --seeds "$1" --events "$2" | sed "s/^/$policy/" || status=1
        simulate --policy "$policy" --containers --seeds $(($1 / 2 + 1)) --events "$2" | sed "s/^/$policy, containers/" || status=1
    done
    return "$status"
}

# Prints the sums only.
simulate() {
    "$sim" simulate "$@" | tail -1
}

# loud_step NAME SCRIPT [ARG]...: a step whose script may print lines `SKIPPED what: reason`; what it skips counts as skipped.
loud_step() {
    local what reason
    step "$1" with_log "${@:2}"
    while IFS=: read -r what reason; do
        skip_step "$1: $what" "${reason# }"
    done < <(sed -n 's/^SKIPPED //p' "$target/loud.log")
}

with_log() {
    "$@" | tee "$target/loud.log"
    return "${PIPESTATUS[0]}"
}

# debian_package NAME SCRIPT: installed in a clean Debian root, which needs root's rights and a mirror of Debian.
debian_package() {
    if [[ $(id -u) != 0 ]] || ! command -v debootstrap >/dev/null; then
        skip_step "$1" "it needs root and debootstrap"
        return
    fi
    if ! command -v cargo-deb >/dev/null; then
        cargo install --quiet --locked cargo-deb || return 1
    fi
    loud_step "$1" "$2"
}

# several_users NAME [OPTION]...
several_users() {
    if [[ $(id -u) == 0 ]]; then
        step "$1" tests/several_users.sh "${@:2}"
    else
        skip_step "$1" "only root may become other users"
    fi
}

# 100,000 items over real ports, and what they cost the daemon.
faked_array() {
    cargo build --quiet --release --bins --example load && examples/load/compare.sh ours -- array
}

# A wheel of another program, which is measured beside ours.
beside_hyperqueue() {
    local name="an array beside HyperQueue" venv=$target/hyperqueue
    if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install --quiet 'hyperqueue==0.27.*'; then
        skip_step "$name" "the package hyperqueue cannot be had"
        return
    fi
    step "$name" env HYPERQUEUE_PYTHON="$venv/bin/python" tests/array_beside_hyperqueue.py "$target/release/jobtracker" --strict
}

# Figures for docs/performance.md, by what production runs.
figures_on_hdfs() {
    cargo build --quiet --release --bins --example load --example hdfs || return 1
    local -x JOBTRACKER_PROGRAM=$target/release/jobtracker JOBTRACKER_LOAD=$target/release/examples/load
    JOBTRACKER_HDFS=$target/release/examples/hdfs tests/hadoop/hdfs_speed.sh && tests/hadoop/history_cost.sh
}

three_machines() {
    if [[ $(id -u) == 0 ]]; then
        step "three machines by the docs" tests/three_machines.sh
    else
        skip_step "three machines by the docs" "only root may make them"
    fi
}

step "builds" builds
step "the demo" "$quick" demo
several_users "several users on one machine"
several_users "several users, and the rights for stock clients" --stock-clients
three_machines
step "stock jobs under both JobTrackers" both_jobtrackers jobs.sh --trackers 2 all
step "faults under both JobTrackers" both_jobtrackers faults.sh all
step "client commands under both JobTrackers" both_jobtrackers commands.sh
step "administrators' commands under both JobTrackers" both_jobtrackers administration.sh
step "histories of jobs under both JobTrackers, as stock readers see them" tests/hadoop/history.sh
step "access and tokens under both JobTrackers" both_jobtrackers access.sh
step "mistyped lists, tokens after SIGKILL" tests/hadoop/access.sh
loud_step "every page of both JobTrackers over the same jobs" tests/hadoop/stock_pages.sh
step "one sign-on for a stock NameNode and both JobTrackers" tests/hadoop/page_login.sh
step "a collector while the JobTrackers swap" tests/hadoop/collected_swap.sh
step "the records of the Java JobTracker" records_are_current
loud_step "Pig, Hive, Mahout, mrjob, luigi and nmap under both JobTrackers" tests/hadoop/real_clients.sh
step "our job client under both JobTrackers" tests/hadoop/submit.sh
step "streaming jobs in every mixture" tests/hadoop/matrix.sh
step "our HDFS client beside FsShell" tests/hadoop/hdfs.sh --whole
step "stock jobs on HDFS under both JobTrackers" tests/hadoop/hdfs_jobs.sh
step "streaming jobs on HDFS in every mixture" tests/hadoop/matrix.sh --files hdfs
step "scripts to both JobTrackers, one call at a time" tests/hadoop/differential.sh --seeds 80
step "the same, with racks in two data centres" tests/hadoop/differential.sh --three-levels --seeds 60
# The sources of Hadoop 1.2.1 are not fetched here.
if [[ -n ${JOBTRACKER_HADOOP_SOURCE:-} ]]; then
    for scheduler in fifo capacity fair; do
        step "grants of the original $scheduler scheduler" \
            tests/hadoop/differential.sh --scheduler "$scheduler" --source "$JOBTRACKER_HADOOP_SOURCE" --seeds 200
    done
fi
step "a bidding load that is killed" killed_bidding
step "fifty switches of the scheduler, each with a kill" killed_switches
step "a soak" soak
step "a stock job while we are killed" killed_jobs
step "the same, paid for" killed_jobs --market
step "the same, on HDFS" killed_jobs --files hdfs
step "the same while the Java JobTracker is killed" tests/hadoop/restart.sh --jobtracker java --kills 2 --trackers 2 --maps 60
step "a streaming client that is cut off" tests/hadoop/cut-off.sh
step "a stock job while the JobTrackers swap" tests/hadoop/swap.sh
step "a stock job on HDFS while the JobTrackers swap" tests/hadoop/swap.sh --files hdfs
step "a stock job of 200 maps whose NameNode is killed" tests/hadoop/namenode_away.sh --maps 200 killed
step "a NameNode that is away at the start, silent, in safe mode, or killed with us" tests/hadoop/namenode_away.sh start stopped safe-mode restarted
step "quotas, closed folders, full disks and damaged blocks of an HDFS" tests/hadoop/hdfs_faults.sh
step "stock jobs under each scheduler, switched while they run" tests/hadoop/policies.sh
step "deadlines on stock TaskTrackers" tests/hadoop/deadlines.sh
step "a deadline bought in the market while we are killed" tests/orders.py "$sim" 50
step "stock jobs while we are upgraded" upgraded_jobs
step "arrays of containers while daemon and workers are killed" killed_arrays
loud_step "workers short of processes, descriptors and disk" tests/worker_in_need.sh
step "jobs and containers of two users under each scheduler, and their bills" tests/mixed_work.py "$quick"
loud_step "the pages about applications, arrays of a thousand" tests/pages.py "$quick" --whole
loud_step "every page in a browser" tests/browser.sh "$quick"
loud_step "alerts and names of metrics" tests/alerts.sh "$quick"
loud_step "containers beside a stock TaskTracker" tests/hadoop/applications.sh --whole
step "three bidders on stock TaskTrackers" tests/hadoop/bidders.sh
step "budgets in PostgreSQL while either side is killed" budgets_in_postgres
step "a crash at every passing of each fault point" crash_points
step "no fault point in a release build" no_fault_points
step "overload" whole_overload
step "an array on faked workers" faked_array
beside_hyperqueue
step "attacks" whole_attacks
step "dependencies" dependencies
known_holes
debian_package "a Debian package, installed and removed" tests/package.sh
debian_package "the package's units under systemd" tests/systemd.sh
step "mutated frames" mutated_frames
fuzz_targets
step "simulated events" simulated_events
[[ -z ${FIGURES:-} ]] || step "figures on HDFS beside Java" figures_on_hdfs

print_totals
