# shellcheck shell=bash disable=SC2034
# One map of four hangs: a minute after the job was initialised the other tracker gets a second attempt, which wins; the first is killed.
state=SUCCEEDED

happen() {
    job_submit "$1" 4 gate-first@0 1 pass -D mapred.map.tasks.speculative.execution=true
    job_await_attempts "$1" 1 m_000000_0
    freeze_child "${JOB/job/attempt}_m_000000_0"
}
