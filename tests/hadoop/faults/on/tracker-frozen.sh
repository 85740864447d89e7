# shellcheck shell=bash disable=SC2034
# A TaskTracker with all its children is frozen until it counts as lost, and comes back when its maps have been run elsewhere.
state=SUCCEEDED

happen() {
    job_submit "$1" 4 gate 1 gate
    job_await_attempts "$1" 4 'm_*_0'
    cluster_signal worker-1 STOP
    open_gate m
    await_trackers 1
    job_await_attempts "$1" 2 'm_*_1'
    cluster_signal worker-1 CONT
    await_trackers 2
    open_gate r
}
