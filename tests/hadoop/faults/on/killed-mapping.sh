# shellcheck shell=bash disable=SC2034
# A job is killed while its maps run.
state=KILLED
# Whether the trackers tell of the end of an attempt before that of the job is chance.
unstable='(KILLED|TIPFAILED) [mr] _0$'

happen() {
    job_submit "$1" 2 gate 1 pass
    job_await_attempts "$1" 2 'm_*_0'
    client -kill "$JOB" >>"$1/client.log" 2>&1
}
