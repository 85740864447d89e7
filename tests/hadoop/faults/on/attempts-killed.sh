# shellcheck shell=bash disable=SC2034
# The user kills one map and fails another, and kills the reduce.
state=SUCCEEDED

happen() {
    job_submit "$1" 2 gate-first 1 gate-first
    job_await_attempts "$1" 2 'm_*_0'
    client -kill-task "${JOB/job/attempt}_m_000000_0" >>"$1/client.log" 2>&1
    client -fail-task "${JOB/job/attempt}_m_000001_0" >>"$1/client.log" 2>&1
    job_await_attempts "$1" 1 'r_*_0'
    client -kill-task "${JOB/job/attempt}_r_000000_0" >>"$1/client.log" 2>&1
}
