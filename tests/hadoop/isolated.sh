#!/usr/bin/env bash
# isolated.sh [--user NAME] [--host NAME]... [--disk MB FOLDER] COMMAND [ARG]...
#
# Runs COMMAND in process and mount namespaces of its own: whatever it kills, it reaches nothing outside, and when this script's process
# dies everything started inside dies with it. Inside, the user is called NAME (Hadoop takes the user from the system's user table) and
# every host NAME is an address of the loopback interface; FOLDER is a disk of that size, kept in memory and seen inside only. Needs root,
# or a system that lets its users make user namespaces.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The second stage: already inside, process 1 of the new namespace.
if [[ ${1:-} == --inside ]]; then
    user=$2 hosts=$3 disk_mb=$4 disk=$5
    shift 5
    if [[ $$ -ne 1 ]]; then
        echo "isolated.sh: not the first process of a namespace, refusing to run $1" >&2
        exit 70
    fi
    # A folder of tables of our own, not single files bound over the machine's: one that is replaced outside, as useradd replaces the
    # users, would be back inside.
    tables=$(mktemp -d)
    mount -t tmpfs -o mode=755 tmpfs "$tables"
    # What may not be read is not needed.
    cp -a /etc "$tables" 2>/dev/null || true
    etc=$tables/etc
    { echo "$user:x:0:0::/:/bin/sh"; cat /etc/passwd; } >"$etc/passwd"
    rm -f "$etc/hosts"
    # shellcheck disable=SC2086
    { cat /etc/hosts; printf '127.0.0.1 %s\n' localhost "$(uname -n)" $hosts; } >"$etc/hosts"
    mount --bind "$etc" /etc
    umount "$tables"
    rmdir "$tables"
    [[ -z $disk ]] || mount -t tmpfs -o "size=${disk_mb}m,mode=755" tmpfs "$disk"
    export PATH="$here/bin:$PATH"
    # Stay as process 1, so that orphans are reaped: a zombie would look alive to whoever probes its process group.
    "$@" &
    child=$!
    trap 'kill -TERM "$child" 2>/dev/null' TERM INT
    status=0
    wait "$child" || status=$?
    # A trapped signal ends the first wait early; the second has the command's own status.
    if kill -0 "$child" 2>/dev/null; then
        status=0
        wait "$child" || status=$?
    fi
    exit "$status"
fi

user=$(id -un) hosts='' disk_mb='' disk=''
while [[ ${1:-} == --* ]]; do
    case $1 in
    --user) user=$2 ;;
    --host) hosts="$hosts $2" ;;
    --disk)
        disk_mb=$2 disk=$3
        shift
        ;;
    *)
        echo "isolated.sh: unknown option $1" >&2
        exit 64
        ;;
    esac
    shift 2
done

namespaces=(--mount --pid --fork --mount-proc --kill-child)
if [[ $(id -u) -ne 0 ]]; then
    namespaces=(--user --map-root-user "${namespaces[@]}")
fi
exec unshare "${namespaces[@]}" bash "$here/isolated.sh" --inside "$user" "$hosts" "$disk_mb" "$disk" "$@"
