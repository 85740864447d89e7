# Sourced by hdfs.sh --whole: what takes longer.
# shellcheck shell=bash

# Starts every DataNode that does not run.
start_missing_datanodes() {
    local number before
    for ((number = 1; number <= DATANODES; number++)); do
        [[ -z ${CLUSTER_PIDS[datanode-$number]:-} ]] || continue
        before=$(hdfs_registrations)
        hdfs_start_datanode "$number"
        hdfs_wait_datanodes $((before + 1))
    done
}

# The DataNode whose number is $1 is killed after $2 bytes of a write.
killed_while_written() {
    local name=killed-$1-$2
    start_missing_datanodes
    hold "$name" alice --hold-at "$2" put "$local_files/long" "/user/alice/$name"
    cluster_stop "datanode-$1"
    release "$name" || { cat "$CLUSTER/$name.out"; return 1; }
    ours alice get "/user/alice/$name" "$CLUSTER/from-$name" >"$CLUSTER/ours.out" && cmp "$local_files/long" "$CLUSTER/from-$name"
}

# Which of the two is the first of the pipeline differs: both orders are met by chance.
for number in 1 2; do
    for bytes in 100000 12345678; do
        check "DataNode $number is killed after $bytes bytes of a write" killed_while_written "$number" "$bytes"
    done
done

all_killed() {
    start_missing_datanodes
    hold all-killed alice --hold-at 1000000 put "$local_files/long" /user/alice/all-killed
    cluster_stop datanode-1
    cluster_stop datanode-2
    ! release all-killed || return 1
    grep -q 'hdfs://.*/user/alice/all-killed: blk_.* cannot be written: DataNode 127.0.0.1:' "$CLUSTER/all-killed.out" || { cat "$CLUSTER/all-killed.out"; return 1; }
    ! ours alice status /user/alice/all-killed >"$CLUSTER/ours.out" 2>&1
}
check "a write without DataNodes fails and leaves nothing" all_killed
start_missing_datanodes

# measured NAME COMMAND [ARG]...: prints wall, user and system seconds and MB/s of 200 MB.
measured() {
    local name=$1 TIMEFORMAT='%R %U %S' times
    shift
    times=$({ time "$@" >"$CLUSTER/measured.out" 2>&1; } 2>&1) || { cat "$CLUSTER/measured.out"; return 1; }
    awk -v name="$name" -v bytes=200000000 '{ printf "%s: %.0f MB/s, %.2f s, CPU %.2f s\n", name, bytes / 1e6 / $1, $1, $2 + $3 }' <<<"$times"
}

head -c 200000000 /dev/urandom >"$local_files/200"
chmod a+r "$local_files/200"
speeds() {
    measured "write, ours" ours alice put "$local_files/200" /user/alice/200-ours &&
        measured "write, FsShell" fs_shell alice -put "$local_files/200" /user/alice/200-stock &&
        measured "read, ours" ours alice get /user/alice/200-stock "$CLUSTER/200-by-ours" &&
        measured "read, FsShell" fs_shell alice -get /user/alice/200-ours "$CLUSTER/200-by-stock" &&
        cmp "$local_files/200" "$CLUSTER/200-by-ours" && cmp "$local_files/200" "$CLUSTER/200-by-stock"
}
check "200 MB" speeds
