# shellcheck shell=bash disable=SC2034
# A map that fails each time: four attempts, no task-cleanup, since a child that throws has cleaned up itself.
state=FAILED

happen() { job_submit "$1" 1 fail 1 pass; }
