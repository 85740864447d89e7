# shellcheck shell=bash
# A job of hadoop-test, whose input and output are its client's own and removed by it.

prepare() { :; }
submit() { run_jar hadoop-test-1.2.1.jar mrbench -maps 2 -reduces 1 -inputLines 100 -inputType descending; }
fetch_output() { :; }
# Its last line has the time, too.
result() { awk 'last ~ /^DataLines/ { print $1, $2, $3 } { last = $0 }' client.log; }
expected() { echo '100 2 1'; }
data_local_maps=(2)
# The names of its files have random numbers in them.
vague='SPLIT_RAW_BYTES|FILE_BYTES_'
