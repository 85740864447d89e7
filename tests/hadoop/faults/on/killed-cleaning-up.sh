# shellcheck shell=bash disable=SC2034
# A job is killed while its cleanup, the one of a job that went well, runs.
state=KILLED

happen() {
    job_submit "$1" 1 pass 0 pass
    # The child is stopped as soon as it is there, so that the kill comes first.
    wait_until 60 "the process of the cleanup" freeze_child "${JOB/job/attempt}_m_000001_0"
    client -kill "$JOB" >>"$1/client.log" 2>&1
    kill -CONT "$CHILD"
}
