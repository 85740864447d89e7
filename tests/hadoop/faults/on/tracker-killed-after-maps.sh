# shellcheck shell=bash disable=SC2034
# A TaskTracker dies with the output of finished maps, while the reduce runs on the other: they are run again.
state=SUCCEEDED

happen() {
    job_submit "$1" 4 gate 1 gate
    job_await_attempts "$1" 4 'm_*_0'
    open_gate m
    job_await_attempts "$1" 1 'r_*_0'
    local victim=worker-1
    [[ $(worker_of r_000000_0) != worker-1 ]] || victim=worker-2
    cluster_stop "$victim"
    await_trackers 1
    open_gate r
}
