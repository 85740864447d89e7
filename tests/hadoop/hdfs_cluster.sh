# Sourced after cluster.sh: a stock NameNode and DataNodes on free ports of the scratch cluster, without TaskTrackers.
# shellcheck shell=bash
#
#   hdfs_create N                   conf folders for a NameNode and N DataNodes; sets NAMENODE (HOST:PORT)
#   hdfs_start_namenode             formats it the first time; returns when its port is open
#   hdfs_start_datanode NUMBER      from 1; hdfs_wait_datanodes N returns when so many are registered
#   datanode_port NUMBER            its data port
#   hdfs_for_jobs [N] [USER]...     after hdfs_create: starts it with the first N DataNodes (default all), with homes of these users; the files of
#                                   jobs lie there, and each user may make folders in /user, /tmp and /benchmarks
#   hdfs_has_no_files_of JOB USER   whether nothing of the job is left in system and staging directory
#   hdfs_damage FILE NUMBER         flips a byte of the replica of a file of one block on that DataNode; prints the block's name
#   hdfs_admin [ARG]...             stock DFSAdmin, as HDFS's superuser: $HDFS_USER, $DAEMON_USER unless that is set
#   fs_shell USER [ARG]...          stock FsShell; ours USER [ARG]... the same HDFS by examples/hdfs.rs

: "${HDFS_USER:=$DAEMON_USER}"

hdfs_create() {
    local number
    DATANODES=$1
    read -r -a HDFS_PORTS < <(free_ports $((2 + 3 * DATANODES)))
    NAMENODE=127.0.0.1:${HDFS_PORTS[0]}
    hdfs_conf "$CLUSTER/namenode" 0
    # Clients have the cluster's own folder.
    hdfs_conf "$CLUSTER" 0
    for ((number = 1; number <= DATANODES; number++)); do
        hdfs_conf "$CLUSTER/datanode-$number" "$number"
        mkdir -m 755 "$CLUSTER/datanode-$number/data"
    done
}

hdfs_for_jobs() {
    local number user datanodes=$DATANODES
    if [[ ${1:-} =~ ^[0-9]+$ ]]; then
        datanodes=$1
        shift
    fi
    HDFS_SYSTEM=/mapred/system HDFS_STAGING=/user
    OURS_AS=("$LIVE_DIR/isolated.sh" --user "$DAEMON_USER")
    cluster_conf localhost "$CLUSTER/conf"
    hdfs_start_namenode
    for ((number = 1; number <= datanodes; number++)); do
        hdfs_start_datanode "$number"
    done
    hdfs_wait_datanodes "$datanodes"
    fs_shell "$HDFS_USER" -D dfs.umaskmode=000 -mkdir /user /tmp /benchmarks
    for user in "$@"; do
        fs_shell "$HDFS_USER" -mkdir "/user/$user"
        fs_shell "$HDFS_USER" -chown "$user" "/user/$user"
    done
    [[ $HDFS_USER != "$DAEMON_USER" ]] || return 0
    fs_shell "$HDFS_USER" -mkdir /mapred
    fs_shell "$HDFS_USER" -chown "$DAEMON_USER" /mapred
}

datanode_port() { echo "${HDFS_PORTS[$((3 * $1 - 1))]}"; }

# Writes the conf folder of $1; $2 is the number of a DataNode, or 0.
hdfs_conf() {
    local home=$1 first=$((3 * $2 - 1))
    mkdir -p "$home/conf"
    cp "$LIVE_DIR/conf/log4j.properties" "$home/conf"
    echo '<configuration/>' >"$home/conf/mapred-site.xml"
    {
        echo '<configuration>'
        hdfs_property fs.default.name "hdfs://$NAMENODE"
        hdfs_property hadoop.tmp.dir "$home/tmp"
        echo '</configuration>'
    } >"$home/conf/core-site.xml"
    {
        echo '<configuration>'
        hdfs_property dfs.replication "$DATANODES"
        hdfs_property dfs.name.dir "$CLUSTER/namenode/name"
        hdfs_property dfs.http.address "127.0.0.1:${HDFS_PORTS[1]}"
        hdfs_property dfs.safemode.extension 0
        hdfs_property dfs.replication.interval 1
        hdfs_property dfs.namenode.handler.count 4
        if ((first > 0)); then
            hdfs_property slave.host.name "worker-$2"
            hdfs_property dfs.data.dir "$home/data"
            hdfs_property dfs.datanode.address "127.0.0.1:${HDFS_PORTS[$first]}"
            hdfs_property dfs.datanode.http.address "127.0.0.1:${HDFS_PORTS[$((first + 1))]}"
            hdfs_property dfs.datanode.ipc.address "127.0.0.1:${HDFS_PORTS[$((first + 2))]}"
        fi
        echo '</configuration>'
    } >"$home/conf/hdfs-site.xml"
}

hdfs_property() { printf '  <property><name>%s</name><value>%s</value></property>\n' "$1" "$2"; }

hdfs_start_namenode() {
    local home=$CLUSTER/namenode
    find_java
    if [[ ! -d $home/name ]]; then
        (java_isolated "$HDFS_USER" "$home" 128 org.apache.hadoop.hdfs.server.namenode.NameNode -format) \
            >"$CLUSTER/format.log" 2>&1 </dev/null || fail "the NameNode cannot be formatted: $(tail -n 5 "$CLUSTER/format.log")"
    fi
    { cd "$home" && java_isolated "$HDFS_USER" "$home" 200 org.apache.hadoop.hdfs.server.namenode.NameNode; } \
        >>"$CLUSTER/namenode.log" 2>&1 </dev/null &
    cluster_remember namenode $!
    wait_until "$DAEMON_START_S" "the NameNode's port" cluster_port_open namenode "${HDFS_PORTS[0]}"
}

hdfs_start_datanode() {
    local home=$CLUSTER/datanode-$1
    { cd "$home" && java_isolated "$HDFS_USER" "$home" 200 org.apache.hadoop.hdfs.server.datanode.DataNode; } \
        >>"$CLUSTER/datanode-$1.log" 2>&1 </dev/null &
    cluster_remember "datanode-$1" $!
}

# What the NameNode has logged of registrations.
hdfs_registrations() { grep -c 'registerDatanode: node registration from' "$CLUSTER/namenode.log" || true; }

hdfs_wait_datanodes() { wait_until "$DAEMON_START_S" "$1 registered DataNodes" hdfs_has_registrations "$1"; }

hdfs_has_registrations() { (($(hdfs_registrations) >= $1)); }

hdfs_admin() { hadoop "$HDFS_USER" org.apache.hadoop.hdfs.tools.DFSAdmin "$@" >>"$CLUSTER/hdfs_admin.log" 2>&1; }

fs_shell() {
    local user=$1
    shift
    hadoop "$user" org.apache.hadoop.fs.FsShell "$@"
}

hdfs_has_no_files_of() {
    local listed
    listed=$(fs_shell "$HDFS_USER" -lsr "$HDFS_SYSTEM" "$HDFS_STAGING/$2/.staging" 2>>"$CLUSTER/listed.log") || return 1
    ! grep -q "/$1" <<<"$listed"
}

hdfs_damage() {
    local block
    block=$(find "$CLUSTER/datanode-$2/data" -name 'blk_*' ! -name '*.meta' -exec cmp -s {} "$1" \; -print -quit)
    [[ -n $block ]] || return 1
    python3 - "$block" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as block:
    block.seek(100)
    byte = block.read(1)[0]
    block.seek(100)
    block.write(bytes([byte ^ 1]))
PYTHON
    echo "${block##*/}"
}

# Prints the path of the program of examples/hdfs.rs: $JOBTRACKER_HDFS, else the newest that cargo has built.
hdfs_program() {
    local target=${CARGO_TARGET_DIR:-$PROJECT_DIR/target} newest
    if [[ -n ${JOBTRACKER_HDFS:-} ]]; then
        realpath "$JOBTRACKER_HDFS"
        return 0
    fi
    newest=$(ls -t "$target"/{release,quick,sim,debug}/examples/hdfs 2>/dev/null | head -n 1 || true)
    [[ -n $newest ]] || fail "no hdfs example in $target: cargo build --example hdfs"
    realpath "$newest"
}

ours() {
    local user=$1
    shift
    "$HDFS_PROGRAM" --user "$user" -D "dfs.replication=$DATANODES" "${OURS_OPTIONS[@]}" "$NAMENODE" "$@"
}

# Whether a stream to the data port of DataNode $1 is open.
datanode_is_in_use() {
    grep -qE "^ *[0-9]+: [0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:$(printf %04X "$(datanode_port "$1")") 01 " /proc/net/tcp /proc/net/tcp6 2>/dev/null
}
