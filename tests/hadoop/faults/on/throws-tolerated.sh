# shellcheck shell=bash disable=SC2034
# One map of four fails each time, and the job puts up with a quarter of its maps failing.
state=SUCCEEDED
# Which file the map reads is up to the order of the file system.
unstable='^input '

happen() { job_submit "$1" 4 fail@0 1 pass -D mapred.max.map.failures.percent=25; }
