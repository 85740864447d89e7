# shellcheck shell=bash disable=SC2034
# A TaskTracker dies with two of four maps running on it; what it ran is run again elsewhere once it counts as lost.
state=SUCCEEDED

happen() {
    job_submit "$1" 4 gate 1 pass
    job_await_attempts "$1" 4 'm_*_0'
    cluster_stop worker-1
    open_gate m
    await_trackers 1
}
