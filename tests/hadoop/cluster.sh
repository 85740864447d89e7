# Sourced: a scratch Hadoop cluster on the local file system, with a JobTracker (the Java one or ours), stock TaskTrackers and a stock client.
# shellcheck shell=bash
#
#   cluster_create [KEY=VALUE]...          folder, free ports, conf files (with these extra properties); sets CLUSTER
#   cluster_start_jobtracker java|ours     returns when the RPC port answers
#   cluster_start_tasktracker HOST [MB]    a stock TaskTracker that calls itself HOST, its local folder on a disk of that size
#   cluster_start_serving_tasktracker HOST   the same while no job waits; returns when its map output can be fetched
#   cluster_start_worker HOST              a built-in tasktracker that calls itself HOST
#   cluster_wait_trackers N                returns when the stock client sees N trackers
#   cluster_signal NAME SIGNAL             to every process of a daemon's namespace
#   cluster_state QUERY                    the first column of the first row that our state.db gives
#   hadoop USER CLASS [ARG]...             a stock client program, run as USER
#
# Everything is stopped when the sourcing script ends, however it ends. The folder goes too, unless the script failed.

. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

: "${MAP_SLOTS:=2}" "${REDUCE_SLOTS:=1}"
DAEMON_START_S=60
CLIENT_LIMIT_S=240
DAEMON_USER=hadoop

# Names and process ids of what runs; a daemon's log is $CLUSTER/NAME.log.
declare -A CLUSTER_PIDS=()
ISOLATION=()
# What our JobTracker is started by, if by something; NAMENODE, HDFS_SYSTEM and HDFS_STAGING: see hdfs_cluster.sh.
OURS_AS=()
: "${CLUSTER:=}"

cluster_create() {
    CLUSTER=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-live.XXXXXX")
    chmod 755 "$CLUSTER"
    trap cluster_end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    read -r RPC_PORT HTTP_PORT < <(free_ports 2)
    : >"$CLUSTER/extra.xml"
    local pair
    for pair in "$@"; do
        printf '  <property><name>%s</name><value>%s</value></property>\n' "${pair%%=*}" "${pair#*=}" >>"$CLUSTER/extra.xml"
    done
    cluster_conf localhost "$CLUSTER/conf"
    # Every submitter makes a folder here, as below /tmp.
    mkdir -m 1777 "$CLUSTER/staging"
}

# Prints $1 free ports of the loopback interface, below those the system hands to outgoing connections: one of these may take its own
# target as its source port while a daemon is still starting, and the daemon then finds its port taken.
free_ports() {
    python3 - "$1" <<'PYTHON'
import random, socket, sys
sockets = []
while len(sockets) < int(sys.argv[1]):
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", random.randrange(10000, 32000)))
        sockets.append(s)
    except OSError:
        s.close()
print(*[s.getsockname()[1] for s in sockets])
PYTHON
}

# Writes the conf folder $2 for the host named $1.
cluster_conf() {
    local file
    mkdir -p "$2"
    for file in "$LIVE_DIR"/conf/*; do
        sed -e "s|@FILES@|${NAMENODE:+hdfs://}${NAMENODE:-file:///}|g; s|@SYSTEM@|${HDFS_SYSTEM:-$CLUSTER/system}|g" \
            -e "s|@STAGING@|${HDFS_STAGING:-$CLUSTER/staging}|g; s|@CLUSTER@|$CLUSTER|g; s|@HOST@|$1|g; s|@RPC_PORT@|$RPC_PORT|g; s|@HTTP_PORT@|$HTTP_PORT|g" \
            -e "s|@MAP_SLOTS@|$MAP_SLOTS|g; s|@REDUCE_SLOTS@|$REDUCE_SLOTS|g; s|@JAVA_EXPORTS@|$JAVA_EXPORTS|g" \
            -e "/@EXTRA@/{r $CLUSTER/extra.xml" -e 'd}' "$file" >"$2/${file##*/}"
    done
    [[ ! -f $CLUSTER/conf/hdfs-site.xml || $2 -ef $CLUSTER/conf ]] || cp "$CLUSTER/conf/hdfs-site.xml" "$2"
}

# Replaces the shell that runs it by COMMAND, which dies with its parent.
bound_to_parent() {
    exec setpriv --pdeathsig KILL "$@"
}

# Prints the jars in an order that is always the same; Java's own wildcard takes the folder's.
hadoop_jars() {
    local jars=("$HADOOP_LIB"/*.jar)
    local IFS=:
    echo "${jars[*]}"
}

# Runs Java isolated: java_isolated USER HOME HEAP_MB [JVM OPTION OR CLASS OR ARG]...; HOME has the conf folder, takes the logs. ISOLATION
# holds further options of isolated.sh, EXTRA_JAR a jar behind Hadoop's.
java_isolated() {
    local user=$1 home=$2 heap_mb=$3
    shift 3
    # Without a conf folder Hadoop would run its jobs inside the client.
    [[ -f $home/conf/mapred-site.xml ]] || fail "no conf folder in '$home'"
    mkdir -p "$home/log" "$home/tmp"
    bound_to_parent "$LIVE_DIR/isolated.sh" --user "$user" --host worker-1 --host worker-2 --host worker-3 --host worker-4 \
        "${ISOLATION[@]}" "$JAVA" "-Xmx${heap_mb}m" "${JAVA_OPTIONS[@]}" "-Dhadoop.log.dir=$home/log" "-Dhadoop.home.dir=$home" \
        "-Djava.io.tmpdir=$home/tmp" -cp "$home/conf:$HADOOP_HOME_DIR:$(hadoop_jars)${EXTRA_JAR:+:$EXTRA_JAR}" "$@"
}

cluster_start_jobtracker() {
    local program
    case $1 in
    java)
        find_java
        # It takes a relative output path as relative to its own place, and writes a copy of the history there.
        { cd "$CLUSTER" && java_isolated "$DAEMON_USER" "$CLUSTER" 400 org.apache.hadoop.mapred.JobTracker; } \
            >"$CLUSTER/jobtracker.log" 2>&1 </dev/null &
        ;;
    ours)
        program=$(our_program)
        { cd "$CLUSTER" && bound_to_parent "${OURS_AS[@]}" "$program" serve --conf "$CLUSTER/conf"; } >"$CLUSTER/jobtracker.log" 2>&1 </dev/null &
        ;;
    *) fail "cluster_start_jobtracker: java or ours, not $1" ;;
    esac
    cluster_remember jobtracker $!
    wait_until "$DAEMON_START_S" "the JobTracker's RPC port $RPC_PORT" cluster_port_open jobtracker "$RPC_PORT"
    wait_until "$DAEMON_START_S" "the JobTracker's HTTP port $HTTP_PORT" cluster_port_open jobtracker "$HTTP_PORT"
}

# Prints the path of our program: $JOBTRACKER_PROGRAM, else the newest that cargo has built.
our_program() {
    local target=${CARGO_TARGET_DIR:-$PROJECT_DIR/target} newest
    if [[ -n ${JOBTRACKER_PROGRAM:-} ]]; then
        realpath "$JOBTRACKER_PROGRAM"
        return 0
    fi
    newest=$(ls -t "$target"/{release,quick,sim,debug}/jobtracker 2>/dev/null | head -n 1 || true)
    [[ -n $newest ]] || fail "no jobtracker program in $target: cargo build first, or set JOBTRACKER_PROGRAM"
    echo "$newest"
}

# Prints the path of the load generator: $JOBTRACKER_LOAD, else the newest that cargo has built.
load_generator() {
    local target=${CARGO_TARGET_DIR:-$PROJECT_DIR/target} newest
    if [[ -n ${JOBTRACKER_LOAD:-} ]]; then
        realpath "$JOBTRACKER_LOAD"
        return 0
    fi
    newest=$(ls -t "$target"/{release,quick,sim,debug}/examples/load 2>/dev/null | head -n 1 || true)
    [[ -n $newest ]] || fail "no load generator in $target: cargo build --example load"
    realpath "$newest"
}

# Whether somebody listens on port $2; ends the script when the daemon $1 has ended.
cluster_port_open() {
    kill -0 "${CLUSTER_PIDS[$1]}" 2>/dev/null || fail "$1 ended while starting"
    grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$2") [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# Whether nobody listens on the JobTracker's ports: one in a namespace of its own dies a moment after the process that holds that.
cluster_ports_are_free() {
    ! grep -qiE "^ *[0-9]+: [0-9A-F]+:($(printf '%04X|%04X' "$RPC_PORT" "$HTTP_PORT")) [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6
}

cluster_start_tasktracker() {
    local host=$1 home=$CLUSTER/$1 disk_mb=${2:-} refusal ISOLATION=()
    refusal=$(live_refusal)
    [[ -z $refusal ]] || fail "no TaskTracker is started: $refusal"
    find_java
    cluster_conf "$host" "$home/conf"
    mkdir -p "$home/local"
    chmod 755 "$home" "$home/local"
    [[ -z $disk_mb ]] || ISOLATION=(--disk "$disk_mb" "$home/local")
    { cd "$home" && java_isolated "$DAEMON_USER" "$home" 200 org.apache.hadoop.mapred.TaskTracker; } >>"$CLUSTER/$host.log" 2>&1 </dev/null &
    cluster_remember "$host" $!
}

# The Jetty of a stock TaskTracker now and then starts without the thread that answers (1.2.1 logs "Could not locate Jetty selector threads"):
# reduces would wait ten minutes for its map output. Such a one is started again; the first may stay registered, and gets no task.
cluster_start_serving_tasktracker() {
    local host=$1 tries
    for tries in 1 2 3; do
        cluster_start_tasktracker "$host"
        wait_until "$DAEMON_START_S" "the HTTP port of $host" cluster_http_port_bound "$host"
        ! curl --silent --output /dev/null --retry 5 --retry-connrefused --max-time 20 \
            "http://127.0.0.1:$(cluster_http_port "$host")/" || return 0
        note "the HTTP server of $host does not answer (start $tries)"
        cluster_stop "$host"
        mv "$CLUSTER/$host.log" "$CLUSTER/$host-$tries.log"
    done
    fail "the HTTP server of $host never answers"
}

cluster_http_port() { sed -n 's/.*Jetty bound to port \([0-9]*\).*/\1/p' "$CLUSTER/$1.log" 2>/dev/null | tail -n 1 || true; }

cluster_http_port_bound() {
    kill -0 "${CLUSTER_PIDS[$1]}" 2>/dev/null || fail "$1 ended while starting"
    [[ -n $(cluster_http_port "$1") ]]
}

cluster_start_worker() {
    local host=$1 home=$CLUSTER/$1 program
    program=$(our_program)
    cluster_conf "$host" "$home/conf"
    mkdir -p "$home/local"
    # Isolated like the stock ones: hosts have names there that others do not know, and its user is theirs.
    { cd "$home" && bound_to_parent "$LIVE_DIR/isolated.sh" --user "$DAEMON_USER" --host worker-1 --host worker-2 --host worker-3 \
        --host worker-4 "$program" tasktracker --conf "$home/conf" -D jobtracker.worker.run-as=self; } >>"$CLUSTER/$host.log" 2>&1 </dev/null &
    cluster_remember "$host" $!
}

# Notes the daemon $1 with its process id $2; disowned, so that the shell does not report its end by a line of its own.
cluster_remember() {
    CLUSTER_PIDS[$1]=$2
    disown "$2"
}

cluster_wait_trackers() {
    wait_until "$DAEMON_START_S" "$1 registered trackers" cluster_has_trackers "$1"
}

cluster_has_trackers() {
    local name
    for name in "${!CLUSTER_PIDS[@]}"; do
        kill -0 "${CLUSTER_PIDS[$name]}" 2>/dev/null || fail "$name has ended"
    done
    [[ $(hadoop "$DAEMON_USER" org.apache.hadoop.mapred.JobClient -list-active-trackers 2>/dev/null | grep -c '^tracker_') -eq $1 ]]
}

hadoop() {
    local user=$1
    shift
    [[ -n ${JAVA:-} ]] || find_java
    # A subshell, since java_isolated replaces the shell it runs in; timeout's own group would hide a terminal's interrupt.
    (java_isolated "$user" "$CLUSTER" 128 "$@" </dev/null) &
    local client=$! status=0
    wait_client "$client" || status=$?
    return "$status"
}

# Waits for the client process $1, at most CLIENT_LIMIT_S.
wait_client() {
    local end=$((SECONDS + CLIENT_LIMIT_S))
    while kill -0 "$1" 2>/dev/null; do
        if ((SECONDS >= end)); then
            kill -KILL "$1" 2>/dev/null || true
            note "a client ran longer than $CLIENT_LIMIT_S s and was ended"
            return 124
        fi
        sleep 0.1
    done
    wait "$1"
}

# Stops the daemon $1: the signal $2 (default KILL) first, KILL after ten seconds.
cluster_stop() {
    local pid=${CLUSTER_PIDS[$1]} end=$((SECONDS + 10))
    unset "CLUSTER_PIDS[$1]"
    kill -"${2:-KILL}" "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do
        ((SECONDS < end)) || kill -KILL "$pid" 2>/dev/null || true
        sleep 0.05
    done
}

# Prints the processes of a daemon's namespace, by their ids outside.
cluster_processes() {
    local inside
    inside=$(readlink "/proc/${CLUSTER_PIDS[$1]}/ns/pid_for_children")
    [[ $inside == pid:* && $inside != "$(readlink /proc/self/ns/pid)" ]] || fail "the daemon $1 has no namespace of its own"
    # Not by -lname, to which the brackets of the name are a pattern.
    { find /proc -mindepth 3 -maxdepth 3 -path '/proc/[0-9]*/ns/pid' -printf '%p %l\n' 2>/dev/null || true; } |
        awk -F '[/ ]' -v inside="$inside" '$NF == inside { print $3 }'
}

cluster_signal() {
    local process processes
    kill -0 "${CLUSTER_PIDS[$1]:-none}" 2>/dev/null || return 0
    processes=$(cluster_processes "$1")
    [[ -n $processes ]] || fail "the daemon $1 has no processes"
    for process in $processes; do
        kill -"$2" "$process" 2>/dev/null || true
    done
}

cluster_state() {
    python3 - "$CLUSTER/state/state.db" "$1" <<'PYTHON'
import sqlite3, sys
print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]).fetchone()[0])
PYTHON
}

cluster_end() {
    local status=$? name running
    trap '' INT TERM
    # Whatever the script still runs in the background; the daemons are disowned.
    running=$(jobs -pr)
    # shellcheck disable=SC2086
    [[ -z $running ]] || kill $running 2>/dev/null || true
    # Trackers first, else they flood their logs with failed calls.
    for name in "${!CLUSTER_PIDS[@]}"; do
        [[ $name == jobtracker ]] || cluster_stop "$name"
    done
    [[ -z ${CLUSTER_PIDS[jobtracker]:-} ]] || cluster_stop jobtracker TERM
    if ((status != 0)) || [[ -n ${JOBTRACKER_KEEP:-} ]]; then
        for name in "$CLUSTER"/*.log; do
            [[ -f $name ]] || continue
            echo "--- last lines of $name" >&2
            tail -n 20 "$name" >&2
        done
        note "kept for you to look at: $CLUSTER"
    else
        rm -rf "$CLUSTER"
    fi
    exit "$status"
}
