#!/usr/bin/env bash
# hdfs.sh [--whole]
#
# Our HDFS client beside stock FsShell on a stock NameNode with two DataNodes, replication 2: files of 0, 1 and 513 bytes, 3 MB and 3 MB in
# blocks of 1 MiB, written by each and read by the other; a user who may not; a replica with a flipped byte; SIGKILL to a DataNode in the
# middle of a read and of a write. With --whole also SIGKILL to the first and to the second DataNode of a pipeline, to all of them, and a
# read and a write of 200 MB with their speed and CPU time. Ends with `N passed, N failed`, with 1 when any failed.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"
is_whole='' OURS_OPTIONS=() passed=0 failed=0
case ${1:-} in
--whole) is_whole=1 ;;
'') ;;
*) fail "hdfs.sh: unknown option $1" ;;
esac

# check NAME COMMAND [ARG]...: counts whether the command succeeds.
check() {
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "$name ... ok"
    else
        failed=$((failed + 1))
        echo "$name ... FAILED"
    fi
}

# same NAME FILE...: whether each pair of files is equal.
same() {
    while (($# > 0)); do
        cmp "$1" "$2" || return 1
        shift 2
    done
}

# Starts ours in the background until it holds: hold NAME USER [ARG]...; its input is file descriptor ${HELD[NAME]}.
declare -A HELD=() HELD_PIDS=()
hold() {
    local name=$1 input
    shift
    mkfifo "$CLUSTER/$name.in"
    ours "$@" <"$CLUSTER/$name.in" >"$CLUSTER/$name.out" 2>&1 &
    HELD_PIDS[$name]=$!
    exec {input}>"$CLUSTER/$name.in"
    HELD[$name]=$input
    wait_until 30 "$name to hold" is_held "$name"
}

is_held() {
    grep -qx holds "$CLUSTER/$1.out" && return 0
    kill -0 "${HELD_PIDS[$1]}" 2>/dev/null || fail "$1 ended: $(cat "$CLUSTER/$1.out")"
    return 1
}

# release NAME: lets it go on and gives its status.
release() {
    local input=${HELD[$1]}
    exec {input}>&-
    wait "${HELD_PIDS[$1]}"
}

"$LIVE_DIR/fetch-jars.sh"
HDFS_PROGRAM=$(hdfs_program)
cluster_create
hdfs_create 2
hdfs_start_namenode
hdfs_start_datanode 1
hdfs_start_datanode 2

local_files=$CLUSTER/local
mkdir -p "$local_files"
for size in 0 1 513 3000000; do
    head -c "$size" /dev/urandom >"$local_files/$size"
done
head -c 3000000 /dev/urandom >"$local_files/blocks"
head -c 1500 /dev/urandom >"$local_files/rotten"
head -c 30000000 /dev/urandom >"$local_files/long"
ln "$local_files/long" "$local_files/killed"
chmod -R a+rX "$local_files"
hdfs_wait_datanodes 2
wait_until 30 "the end of safe mode" bash -c "[[ \$('$HDFS_PROGRAM' --user alice $NAMENODE safe-mode) == false ]]"

ours hadoop make-dirs /user/alice 755 >"$CLUSTER/ours.out"
ours hadoop owner /user/alice alice alice

ours_writes_stock_reads() {
    local name
    fs_shell alice -get '/user/alice/ours' "$CLUSTER/from-ours" >"$CLUSTER/get.out" 2>&1 || { cat "$CLUSTER/get.out"; return 1; }
    for name in "$@"; do
        cmp "$local_files/$name" "$CLUSTER/from-ours/$name" || return 1
    done
}

stock_writes_ours_reads() {
    local name
    for name in 0 1 513 3000000 blocks; do
        ours alice get "/user/alice/stock/$name" "$CLUSTER/from-stock" >"$CLUSTER/ours.out" || return 1
        cmp "$local_files/$name" "$CLUSTER/from-stock" || return 1
    done
}

# FsShell writes while ours does.
{
    fs_shell alice -mkdir /user/alice/stock && fs_shell alice -D dfs.block.size=1048576 -put "$local_files/blocks" /user/alice/stock/blocks &&
        fs_shell alice -put "$local_files"/{0,1,513,3000000} /user/alice/stock
} >"$CLUSTER/put.out" 2>&1 &
stock_put=$!
for name in 0 1 513 3000000 long; do
    ours alice put "$local_files/$name" "/user/alice/ours/$name" >>"$CLUSTER/ours.out"
done
ours alice --block-bytes 1048576 put "$local_files/blocks" /user/alice/ours/blocks >>"$CLUSTER/ours.out"
wait "$stock_put" || { cat "$CLUSTER/put.out"; fail "FsShell cannot write"; }
check "what FsShell wrote is read" stock_writes_ours_reads

listed() {
    [[ $(ours alice list /user/alice/stock | awk '{ print $1, $3, $5, $6, $8 }') == "$(printf '%s\n' \
        'f alice 0 2 0' 'f alice 1 2 1' 'f alice 3000000 2 3000000' 'f alice 513 2 513' 'f alice 3000000 2 blocks')" ]] &&
        [[ $(ours alice places /user/alice/stock/blocks | awk '{ print $1, $2 }') == \
            "$(printf '%s\n' '0 1048576' '1048576 1048576' '2097152 902848')" ]]
}
check "files and blocks are listed" listed

denied() {
    ! ours bob put "$local_files/1" /user/alice/of-bob >"$CLUSTER/denied.out" 2>&1 &&
        grep -q "NameNode $NAMENODE: create /user/alice/of-bob: Permission denied: user=bob, access=WRITE" "$CLUSTER/denied.out" &&
        ! ours alice status /user/alice/of-bob >"$CLUSTER/denied.out" 2>&1
}
check "another user may not write" denied

# Flips a byte in one replica of a file that is one block, and reads until that replica was met.
rotten_replica() {
    local block tries
    ours alice put "$local_files/rotten" /user/alice/rotten >"$CLUSTER/ours.out" || return 1
    block=$(hdfs_damage "$local_files/rotten" 1) || return 1
    for ((tries = 0; tries < 60; tries++)); do
        ours alice get /user/alice/rotten "$CLUSTER/from-rotten" >"$CLUSTER/ours.out" 2>&1 || return 1
        cmp "$local_files/rotten" "$CLUSTER/from-rotten" || return 1
        ! grep -q "addToCorruptReplicasMap: $block added as corrupt on 127.0.0.1:$(datanode_port 1)" "$CLUSTER/namenode.log" || return 0
    done
    return 1
}
check "a rotten replica is reported, and the other one read" rotten_replica

# A reader and a writer hold; the DataNode that the reader uses is killed. The writer uses both.
killed_in_the_middle() {
    local victim
    hold reader alice --hold-at 5000000 get /user/alice/ours/long "$CLUSTER/from-killed"
    victim=2
    ! datanode_is_in_use 1 || victim=1
    hold writer alice --hold-at 5000000 put "$local_files/long" /user/alice/ours/killed
    cluster_stop "datanode-$victim"
    release writer || { cat "$CLUSTER/writer.out"; return 1; }
    release reader || { cat "$CLUSTER/reader.out"; return 1; }
    cmp "$local_files/long" "$CLUSTER/from-killed"
}
check "a DataNode is killed in the middle of a read and a write" killed_in_the_middle
check "what ours wrote is read by FsShell" ours_writes_stock_reads 0 1 513 3000000 blocks long killed

if [[ -n $is_whole ]]; then
    . "$LIVE_DIR/hdfs_whole.sh"
fi

echo "$passed passed, $failed failed"
((failed == 0))
