# shellcheck shell=bash disable=SC2034
# A TaskTracker dies with two of four maps running on it and starts again at once, under a new port and so a new name.
state=SUCCEEDED

happen() {
    job_submit "$1" 4 gate 1 pass
    job_await_attempts "$1" 4 'm_*_0'
    cluster_stop worker-1
    cluster_start_tasktracker worker-1
    job_await_attempts "$1" 2 'm_*_1'
    open_gate m
}
