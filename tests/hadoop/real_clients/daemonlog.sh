# Sourced by real_clients.sh: the stock `hadoop daemonlog`.
# shellcheck shell=bash

daemonlog_fetch() { :; }

daemonlog_run() {
    local class=org.apache.hadoop.mapred.JobTracker level
    run level_before 0 hadoop daemonlog -getlevel "127.0.0.1:$HTTP_PORT" "$class"
    for level in DEBUG INFO; do
        run "set_$level" 0 hadoop daemonlog -setlevel "127.0.0.1:$HTTP_PORT" "$class" "$level"
        run "level_$level" 0 hadoop daemonlog -getlevel "127.0.0.1:$HTTP_PORT" "$class"
        check "the level is $level" grep -q "Effective level: $level" "$OUT/level_$level.stdout"
    done
    # Java's log4j takes it for DEBUG.
    run unknown 0 hadoop daemonlog -setlevel "127.0.0.1:$HTTP_PORT" "$class" LOUD
}
