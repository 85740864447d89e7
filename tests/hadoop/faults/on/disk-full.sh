# shellcheck shell=bash disable=SC2034
# The local disk of one tracker of three fills up while two of six maps run there: they cannot write their output and are run elsewhere.
state=SUCCEEDED
# Whether an attempt can still say why it fails, or its process dies and needs a task-cleanup, is chance.
unstable='FAILED_UNCLEAN|No space left on device|Child Error'

happen() {
    cluster_start_tasktracker worker-3 "$DISK_MB"
    await_trackers 3
    job_submit "$1" 6 gate 1 pass
    job_await_attempts "$1" 6 'm_*_0'
    fill_disk worker-3
    open_gate m
}
