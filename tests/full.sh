#!/usr/bin/env bash
# The long tier, beside tests/run.sh: stock jobs on two TaskTrackers under the Java JobTracker and under ours with their outputs compared, the same
# scripted heartbeats to both, random jobs, the dependencies' licences and known holes, and ten million mutated frames. Ends with a line `N passed, N failed`; 1 when any failed.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
target=${CARGO_TARGET_DIR:-$PWD/target}
. tests/steps.sh

both_jobtrackers() {
    local records=$target/live-records
    rm -rf "$records"
    JOBTRACKER_PROGRAM=$target/release/jobtracker
    export JOBTRACKER_PROGRAM
    cargo build --quiet --release &&
        tests/hadoop/jobs.sh --jobtracker java --trackers 2 --record "$records/java" all &&
        tests/hadoop/jobs.sh --jobtracker ours --trackers 2 --record "$records/ours" all &&
        diff -r "$records/java" "$records/ours"
}

# The same scripts to both, one call at a time; about a minute where nothing differs.
differential() {
    JOBTRACKER_PROGRAM=$target/release/jobtracker
    export JOBTRACKER_PROGRAM
    cargo build --quiet --release && cargo build --quiet --release --example load && tests/hadoop/differential.sh --seeds 100
}

random_jobs() {
    JOBTRACKER_PROGRAM=$target/release/jobtracker
    export JOBTRACKER_PROGRAM
    cargo build --quiet --release && cargo build --quiet --release --example load && tests/hadoop/random.sh --jobs 1000
}

dependencies() {
    if ! command -v cargo-deny >/dev/null; then
        cargo install --quiet --locked cargo-deny || return 1
    fi
    cargo deny --log-level error --all-features check bans licenses sources
}

# Needs the network; without it, skipped loudly except in continuous integration.
known_holes() {
    if cargo deny --log-level error fetch db; then
        step "known holes in dependencies" cargo deny --log-level error --all-features check advisories
    elif [[ ${CI:-} == true ]]; then
        step "known holes in dependencies" false
    else
        echo "SKIPPED known holes in dependencies: the list of them cannot be fetched"
    fi
}

mutated_frames() {
    FUZZ_FRAMES=${FUZZ_FRAMES:-10000000} cargo test --quiet --release --test mutated_frames
}

step "stock jobs under both JobTrackers" both_jobtrackers
step "scripts to both JobTrackers" differential
step "1,000 random jobs" random_jobs
step "dependencies" dependencies
known_holes
step "mutated frames" mutated_frames

echo "$passed passed, $failed failed"
((failed == 0))
