# shellcheck shell=bash disable=SC2034
# Every task's first attempt fails.
state=SUCCEEDED

happen() { job_submit "$1" 2 fail-first 1 fail-first; }
