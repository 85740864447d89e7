# shellcheck shell=bash disable=SC2034
# The JVM of every task's first attempt is killed: a task-cleanup under the same attempt id, then the second attempt.
state=SUCCEEDED

happen() { job_submit "$1" 2 die-first 1 die-first; }
