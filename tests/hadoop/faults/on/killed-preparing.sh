# shellcheck shell=bash disable=SC2034
# A job is killed before its setup was given to anybody: its cleanup is all that runs.
state=KILLED
# Ours runs no cleanup where nothing was set up.
unstable='cleanup _0$'

happen() {
    # Trackers that do not call can be given nothing; they are back long before they count as lost.
    cluster_signal worker-1 STOP
    cluster_signal worker-2 STOP
    job_submit "$1" 2 pass 1 pass
    client -kill "$JOB" >>"$1/client.log" 2>&1
    cluster_signal worker-1 CONT
    cluster_signal worker-2 CONT
}
