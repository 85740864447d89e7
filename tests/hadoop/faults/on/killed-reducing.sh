# shellcheck shell=bash disable=SC2034
# A job is killed while its reduces run.
state=KILLED
# Whether the trackers tell of the end of an attempt before that of the job is chance.
unstable='(KILLED|TIPFAILED) [mr] _0$'

happen() {
    job_submit "$1" 2 pass 2 gate
    job_await_attempts "$1" 2 'r_*_0'
    client -kill "$JOB" >>"$1/client.log" 2>&1
}
