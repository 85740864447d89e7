# Sourced by real_clients.sh: nmap's script for a JobTracker, which reads jobtracker.jsp, machines.jsp and jobhistory.jsp.
# shellcheck shell=bash

nmap_fetch() {
    command -v nmap >/dev/null || { echo "install nmap" && return 1; }
}

nmap_run() {
    # The plus has it read a port other than 50030.
    run info 0 nmap -Pn -sT -oN - -p "$HTTP_PORT" --script +hadoop-jobtracker-info --script-args hadoop-jobtracker-info.userinfo 127.0.0.1
    check "the state is read" grep -q 'State: RUNNING' "$OUT/info.stdout"
    # It reads no host whose name has a hyphen, and so neither TaskTracker.
}
