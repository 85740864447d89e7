#!/usr/bin/env bash
# Installs the Debian package on a machine with a systemd of its own (namespaces of this machine, in a clean Debian root) and runs it as the
# package's units have it: first as shipped, then with the market by docs/install.md, whose lines are looked up before they are run. Checks that
# the units' restrictions are in force, that the kernel keeps containers to what they asked for, users' jobs and who owns their output, reload,
# restart, kill, watchdog, refused configurations, a topology script, the drop-in for stock clients, an update of the package, a reboot and a
# removal. Needs root, debootstrap, cargo-deb and a kernel with cgroup2. Where its cgroup2 lacks the controllers that containers need, as beside
# cgroup1, all of it runs on a kernel that is a process (Linux in user mode: Debian's package user-mode-linux); without that one, the part about
# them is skipped. PROFILE, MIRROR, SUITE and PACKAGE as for package.sh; ON=process or ON=namespaces chooses. Ends with 1 when anything was
# wrong; prints a line `SKIPPED what: reason` when it, or that part, cannot be tried here.
set -Eeuo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
profile=${PROFILE:-quick}
suite=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
namespaces=(unshare --mount --propagation private --pid --fork --kill-child --mount-proc)

# has_controllers FOLDER: the cgroup2 mounted there has what containers need.
has_controllers() {
    local name
    for name in cpu memory pids; do
        grep --quiet --word-regexp "$name" "$1/cgroup.controllers" || return
    done
}

# What a kernel that is a process starts with: nothing is mounted but this machine's files. It is left by its poweroff.
inside_process() {
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t tmpfs tmpfs /run
    mkdir -p /dev/pts /dev/shm
    mount -t devpts devpts /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    ln -s /proc/self/fd /dev/fd
    # What is given is read from this machine's folder of scratch files; what is made stays in memory.
    mkdir /run/scratch
    mount -t tmpfs tmpfs /run/scratch
    cp -a "$ROOT" /run/scratch/root
    status=0
    ON="" ROOT=/run/scratch/root TMPDIR=/run/scratch "${namespaces[@]}" tests/systemd.sh --inside || status=$?
    echo "$status" >"$STATUS"
    echo o >/proc/sysrq-trigger
    sleep 60
}

# The clean root, made with the network of this machine.
make_root() {
    "${namespaces[@]}" debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,sudo,procps,python3 "$suite" "$scratch/root" \
        ${MIRROR:+"$MIRROR"} >"$scratch/debootstrap.log" 2>&1 || {
        tail -5 "$scratch/debootstrap.log" >&2
        exit 1
    }
}

if [[ ${ON:-} == inside-process ]]; then
    inside_process
fi
if [[ ${1:-} != --inside ]]; then
    ((EUID == 0)) || { echo "SKIPPED systemd: only root may make namespaces" && exit 0; }
    for tool in unshare nsenter setpriv pivot_root pgrep debootstrap; do
        command -v "$tool" >/dev/null || { echo "SKIPPED systemd: $tool is missing" && exit 0; }
    done
    "${namespaces[@]}" --cgroup sh -c 'mount -t cgroup2 cgroup2 /mnt' 2>/dev/null || { echo "SKIPPED systemd: no namespaces or no cgroup2 here" && exit 0; }
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-systemd-root.XXXXXX")
    # What was wrong is kept to be looked at.
    trap '(($?)) || rm -rf --one-file-system "$scratch"' EXIT
    package=${PACKAGE:-}
    if [[ -z $package ]]; then
        cargo build --quiet --profile "$profile" --bins
        package=$(etc/debian/build.sh "$profile")
    fi
    if [[ -n ${MADE_ROOT:-} ]]; then
        cp -a "$MADE_ROOT" "$scratch/root"
    else
        make_root
    fi
    on=${ON:-namespaces}
    if [[ -z ${ON:-} ]] && ! "${namespaces[@]}" sh -c 'mount -t cgroup2 cgroup2 /mnt && cat /mnt/cgroup.controllers' >"$scratch/cgroup.controllers" 2>/dev/null ||
        ! has_controllers "$scratch"; then
        command -v linux.uml >/dev/null && on=process
    fi
    export PACKAGE=$package ROOT=$scratch/root
    case $on in
    namespaces) "${namespaces[@]}" tests/systemd.sh --inside ;;
    process)
        echo "on a kernel of its own: $(linux.uml --version)"
        # What it is given by name is the environment of its first process. It prints on descriptor 1.
        linux.uml mem="${MEMORY:-3G}" root=/dev/root rootfstype=hostfs rootflags=/ rw quiet con=null con0=fd:0,fd:1 "init=$PWD/tests/systemd.sh" \
            ON=inside-process "PACKAGE=$package" "ROOT=$ROOT" "STATUS=$scratch/status" </dev/null 2>"$scratch/kernel.log"
        exit "$(cat "$scratch/status")"
        ;;
    *) echo "ON=$on: process or namespaces" >&2 && exit 2 ;;
    esac
    exit
fi

base=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-systemd.XXXXXX")
chmod 755 "$base"
root=$ROOT
cgroup=$base/cgroup/jobtracker-systemd-$(basename "$base")
# Of an administrator.
home=/root
init='' typed=0 part_started=$SECONDS
exec 3>&1

. tests/verdicts.sh

# That of the machine, whose processes may need a moment to leave it.
remove_cgroup() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        [[ -d $cgroup ]] || break
        find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
}

# shellcheck disable=SC2317
clean_up() {
    [[ -z $init ]] || kill -KILL "$init" 2>/dev/null || true
    wait 2>/dev/null || true
    remove_cgroup
    umount "$base/cgroup" 2>/dev/null || true
    if ((wrong)); then
        echo "kept for you to look at: $base"
    else
        rm -rf --one-file-system "$base"
    fi
}
trap clean_up EXIT
trap 'wrong=1; echo "systemd.sh: line $LINENO failed: $BASH_COMMAND" >&3' ERR

part() {
    echo "--- $1 ($((SECONDS - part_started)) s for the part before)"
    part_started=$SECONDS
}

show_logs() {
    on journalctl --no-pager --lines 40 || true
}

fails() {
    ! "$@"
}

# --- the machine

prepare_root() {
    echo master >"$root/etc/hostname"
    # What is asked to end and does not is killed soon.
    install -d "$root/etc/systemd/system.conf.d"
    printf '[Manager]\nDefaultTimeoutStopSec=10s\n' >"$root/etc/systemd/system.conf.d/stop.conf"
    printf '127.0.0.1 localhost\n10.77.0.1 master\n' >"$root/etc/hosts"
}

# Gives it power: systemd is the first process of namespaces and of a cgroup of its own. It has no right over the kernel that the namespaces
# share.
boot() {
    mkdir -p "$base/cgroup"
    mountpoint -q "$base/cgroup" || mount -t cgroup2 cgroup2 "$base/cgroup"
    # A group that gave controllers to others takes no process.
    remove_cgroup
    mkdir -p "$cgroup"
    # Where this kernel has them for cgroup2.
    ! has_controllers "$base/cgroup" || echo "+cpu +memory +pids" >"$base/cgroup/cgroup.subtree_control"
    # shellcheck disable=SC2016
    unshare --net --uts --ipc --mount --propagation private --pid --fork --kill-child bash -c '
        set -e
        root=$1
        # 0 is this process.
        echo 0 >"$2/cgroup.procs"
        hostname master
        ip link set lo up
        ip address add 10.77.0.1/32 dev lo
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --bind "$root/proc/sys" "$root/proc/sys"
        mount -o remount,bind,ro "$root/proc/sys"
        mount -t sysfs -o ro sysfs "$root/sys"
        mount -t tmpfs -o mode=755 tmpfs "$root/dev"
        for device in null zero full random urandom tty; do
            cp -a "/dev/$device" "$root/dev/"
        done
        mkdir "$root/dev/pts" "$root/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        ln -s pts/ptmx "$root/dev/ptmx"
        ln -s /proc/self/fd "$root/dev/fd"
        mount -t tmpfs -o mode=755 tmpfs "$root/run"
        mkdir -p "$root/mnt/old"
        cd "$root"
        pivot_root . mnt/old
        cd /
        umount -l /mnt/old
        exec unshare --cgroup sh -c "mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec setpriv \
            --bounding-set -sys_time,-sys_boot,-sys_module,-syslog --inh-caps -sys_time,-sys_boot,-sys_module,-syslog \
            env -i container=namespaces PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd"' boot "$root" "$cgroup" >>"$base/console.log" 2>&1 </dev/null 3>&- &
    outer=$!
    await_first_process
    await "systemd runs" on systemctl is-system-running
}

# Ends all services and all else, and starts again.
reboot() {
    on systemctl reboot
    wait "$outer" || true
    boot
}

await_first_process() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        init=$(pgrep --parent "$outer" --exact systemd) && return
        sleep 0.1
    done
    cat "$base/console.log"
    return 1
}

# on COMMAND [ARG]...: as root on the machine.
on() {
    nsenter --target "$init" --net --uts --ipc --mount --pid --cgroup \
        env "--chdir=$home" -i "HOME=$home" USER=root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@" 3>&-
}

# as USER COMMAND [ARG]...: as a login of the user.
as() {
    on setpriv --reuid "$1" --regid "$1" --init-groups env "HOME=/home/$1" "USER=$1" sh -c 'cd; umask 022; exec "$@"' sh "${@:2}"
}

# of UNIT PROPERTY: what systemd says of it.
of() {
    on systemctl show --property "$2" --value "$1"
}

# is UNIT PROPERTY VALUE
is() {
    [[ $(of "$1" "$2") == "$3" ]]
}

# says_status TEXT: the line of `systemctl status` has it.
says_status() {
    grep --quiet -F -- "$1" <<<"$(of jobtracker StatusText)"
}

# kernel_says UNIT LINE: of its main process.
kernel_says() {
    grep --quiet -P "^$2\$" <<<"$(on cat "/proc/$(of "$1" MainPID)/status")"
}

# within COMMAND [ARG]...: as root, in the daemon's mounts.
within() {
    on nsenter --target "$(of jobtracker MainPID)" --mount "$@"
}

# --- containers

# set_key KEY VALUE: in the conf folder, in place of another value of that key.
set_key() {
    local line="<property><name>$1</name><value>$2</value></property>" file=$root/etc/jobtracker/mapred-site.xml
    sed -i -e "\\|<name>${1//./\\.}</name>|d" -e "s|</configuration>|$line\n</configuration>|" "$file"
}

# The worker has started with the configuration as it is, and says this of its containers. Until it calls, the daemon takes the one before for
# a healthy one: the lines of its start are waited for.
worker_says() {
    local process
    on systemctl restart jobtracker-tasktracker
    process=$(of jobtracker-tasktracker MainPID)
    await "the worker has started" has_logged "$process" 'containers share with tasks '
    await "the worker is back" healthy
    has_logged "$process" "$1" || {
        cat "$base/journal.log"
        return 1
    }
}

# has_logged PROCESS TEXT
has_logged() {
    on journalctl "_PID=$1" >"$base/journal.log"
    grep --quiet -F -- "$2" "$base/journal.log"
}

# Fifty containers of alice's, all of whose ends are looked at by root.
fifty_containers() {
    local work=/home/alice/fifty
    on rm -rf "$work"
    as alice install -d -m 755 "$work"
    on /opt/check/tests/fifty_containers.py --server 127.0.0.1:50030 --user alice --folder "$work" --at-once 10 \
        --local /var/lib/jobtracker-tasktracker/tasktracker-50060/containers "$@" >"$base/fifty.log" 2>&1 || {
        cat "$base/fifty.log"
        return 1
    }
    sed -n 's/^fifty/ok: fifty/p' "$base/fifty.log"
}

# Why the worker, which its configuration forbids to start without control groups, has not started.
worker_refuses() {
    # It counts as started once its program runs; that ends with a status after which systemd does not try again.
    on systemctl restart jobtracker-tasktracker 2>/dev/null || true
    await "it has ended" is jobtracker-tasktracker ActiveState failed
    is jobtracker-tasktracker ExecMainStatus 2 && on journalctl --unit jobtracker-tasktracker --lines 20 >"$base/refused.log" &&
        grep --quiet -F -- "$1" "$base/refused.log" || {
        on journalctl --no-pager --unit jobtracker-tasktracker --lines 10
        return 1
    }
}

# --- what a person types

# line_of_docs LINE: the page has it, alone or before a comment.
line_of_docs() {
    line=$1 awk '{ sub(/[ \t]+# .*$/, "") } $0 == ENVIRON["line"] { found = 1 } END { exit !found }' docs/install.md
}

# documented LINE: counts a line of docs/install.md, which may have /etc/hadoop for the conf folder of the package.
documented() {
    typed=$((typed + 1))
    line_of_docs "$1" || line_of_docs "${1//\/etc\/jobtracker/\/etc\/hadoop}" || { echo "WRONG: docs/install.md has no line $1" >&3 && wrong=1; }
}

# type_on LINE: runs a line of docs/install.md, by a user who may use sudo.
type_on() {
    documented "$1"
    on sh -c "$1"
}

# type_as USER LINE: the same as a login of the user.
type_as() {
    documented "$2"
    as "$1" sh -c "$2"
}

healthy() {
    on jobtracker status --conf /etc/jobtracker | grep --quiet 'workers    1 healthy'
}

# count_words USER INPUT OUTPUT: a job of the user, who must own all of its output.
count_words() {
    as "$1" jobtracker job submit --conf /etc/jobtracker --input "$2" --output "$3" --mapper "tr -s '[:space:]' '\n'" --reducer 'uniq -c' >"$base/job.log" 2>&1 || {
        cat "$base/job.log"
        return 1
    }
    [[ -s $root${3#file://}/part-00000 && -z $(on find "${3#file://}" ! -user "$1") ]]
}

# submit_gated USER OUTPUT: a job whose two maps wait for the file `go` of alice's. It is submitted and followed in the background.
submit_gated() {
    rm -f "$root/data/hadoop/alice/go"
    as "$1" jobtracker job submit --conf /etc/jobtracker --input /data/hadoop/alice/in/GPL-2 --output "$2" --mapper gate.sh --reducer 'uniq -c' \
        --file /data/hadoop/alice/gate.sh >"$base/gated.log" 2>&1 || exit &
    gated=$!
    await "both maps run as $1" both_wait "$1"
}

both_wait() {
    [[ $(on pgrep --count --euid "$1" gate.sh) == 2 ]]
}

none_waits() {
    fails on pgrep gate.sh
}

open_gate() {
    as alice touch /data/hadoop/alice/go
    local status=0
    wait "$gated" || status=$?
    ((status == 0)) || cat "$base/gated.log"
    return "$status"
}

# has_restarted N: systemd has started the daemon as often again, and it serves.
has_restarted() {
    is jobtracker NRestarts "$1" && is jobtracker ActiveState active && healthy
}

nothing_is_staged() {
    [[ -z $(on ls "/data/hadoop/mapred/staging/$1/.staging") ]]
}

has_paid() {
    as alice jobtracker queue statement | grep --quiet charge
}

# The image of the database has what is left.
budget_file_written() {
    grep --quiet -P '^alice [0-9]{1,2}\.' "$root/var/lib/jobtracker/budget"
}

balance_of_bob() {
    as bob jobtracker queue info bob | awk '$1 == "bob" { print $2 }'
}

part "boot a clean Debian root ($suite)"
prepare_root
boot
cp "$PACKAGE" "$root$home/jobtracker.deb"

part "install and run it as shipped"
type_on 'sudo groupadd --system --gid 480 hadoop'
type_on 'sudo useradd --system --uid 480 --gid hadoop --home-dir /var/lib/jobtracker --shell /usr/sbin/nologin mapred'
type_on 'sudo useradd --uid 2001 --user-group --create-home alice'
type_on 'sudo useradd --uid 2002 --user-group --create-home bob'
on dpkg -i jobtracker.deb
for unit in jobtracker jobtracker-tasktracker; do
    check "systemd finds nothing wrong in $unit.service" test -z "$(on systemd-analyze verify "/lib/systemd/system/$unit.service" 2>&1)"
done
exposure=$(on systemd-analyze security --no-pager jobtracker | sed -n 's/.*exposure level for jobtracker.service: \([0-9.]*\).*/\1/p')
check "the exposure of the daemon is $exposure, at most 2" awk -v it="$exposure" 'BEGIN { exit !(it != "" && it <= 2) }'
type_on 'sudo systemctl enable --now jobtracker jobtracker-tasktracker'
await "a worker is there" healthy
check "systemd knows what the daemon does" says_status 'serving RPC on 127.0.0.1:8021'
as alice sh -c 'mkdir in && cp /usr/share/common-licenses/GPL-? in/'
check "a job of alice in her home succeeds, and she owns its output" count_words alice /home/alice/in /home/alice/out

part "restrictions"
check "the daemon has no capabilities" kernel_says jobtracker 'CapBnd:\s+0+'
check "it gains none" kernel_says jobtracker 'NoNewPrivs:\s+1'
check "its system calls are filtered" kernel_says jobtracker 'Seccomp:\s+2'
check "those of the worker are, too" kernel_says jobtracker-tasktracker 'Seccomp:\s+2'
check "in the daemon's mounts there are no homes" fails within test -e /home/alice
check "/usr and /etc are read-only there, even to root" fails within sh -c 'touch /usr/written || touch /etc/written' 2>/dev/null

part "containers and their control groups"
install -d "$root/opt/check/python" "$root/opt/check/tests"
cp tests/fifty_containers.py tests/real_processes.py "$root/opt/check/tests"
cp -r python/jobtracker_apps "$root/opt/check/python"
cp "$root/etc/jobtracker/mapred-site.xml" "$base/shipped.xml"
chmod 711 "$root/home/alice"
set_key jobtracker.containers.minimum.memory.mb 64
set_key jobtracker.tasktracker.memory.mb 8192
set_key jobtracker.tasktracker.vcores 60
set_key jobtracker.containers.log.limit.kb 16
on systemctl restart jobtracker
of_unit=/sys/fs/cgroup/system.slice/jobtracker-tasktracker.service
on cat /sys/fs/cgroup/cgroup.controllers >"$base/cgroup.controllers"
if has_controllers "$base"; then
    for choice in auto require; do
        set_key jobtracker.tasktracker.cgroup "$choice"
        check "with $choice, the worker divides the group of its unit" worker_says 'control groups keep each to its memory, processes and share of the cores'
        check "with $choice, fifty containers end as they must, and the kernel kills for memory" fifty_containers --groups "$of_unit"
    done
    check "the worker itself is in a leaf" test "$(on cat "$of_unit/worker/cgroup.procs")" = "$(of jobtracker-tasktracker MainPID)"
    on install -d /etc/systemd/system/jobtracker-tasktracker.service.d
    printf '[Service]\nUser=mapred\nDelegate=no\n' >"$root/etc/systemd/system/jobtracker-tasktracker.service.d/undelegated.conf"
    set_key jobtracker.worker.run-as self
    on systemctl daemon-reload
    check "where nothing is delegated, require refuses to start" worker_refuses 'give this worker a group of its own (systemd: Delegate=yes)'
    rm "$root/etc/systemd/system/jobtracker-tasktracker.service.d/undelegated.conf"
    on systemctl daemon-reload
    set_key jobtracker.worker.run-as job-user
else
    echo "SKIPPED systemd, control groups: the cgroup2 of this kernel lacks cpu, memory or pids; install user-mode-linux"
    set_key jobtracker.tasktracker.cgroup require
    check "without its controllers, require refuses to start" worker_refuses "$of_unit has no controller"
fi
set_key jobtracker.tasktracker.cgroup off
check "with off, memory is looked at" worker_says 'looked at from time to time, and cores are not limited: jobtracker.tasktracker.cgroup is off'
check "with off, fifty containers end as they must" fifty_containers
check "and none has a group" test -z "$(on find "$of_unit" -mindepth 1 -type d)"
cp "$base/shipped.xml" "$root/etc/jobtracker/mapred-site.xml"
on systemctl restart jobtracker jobtracker-tasktracker

part "the market by the docs"
type_on 'sudo install -d -m 1777 /data/hadoop'
type_on 'sudo install -m 644 /usr/share/doc/jobtracker/examples/conf/*.xml /etc/jobtracker'
# Jobs here are short.
sed -i 's|<value>20</value>|<value>2</value>|' "$root/etc/jobtracker/mapred-site.xml"
type_on 'echo master:50030 | sudo tee /etc/hadoop_server' >/dev/null
type_on 'sudo jobtracker user add root --role admin --key-file root.key --conf /etc/jobtracker'
type_on 'sudo jobtracker user add alice --key-file alice.key --conf /etc/jobtracker'
type_on 'sudo jobtracker user add bob --key-file bob.key --conf /etc/jobtracker'
type_on 'sudo chown root:hadoop /etc/jobtracker/acl'
type_on 'sudo chmod 640 /etc/jobtracker/acl'
type_on 'sudo install -m 640 -o mapred -g hadoop /dev/null /var/lib/jobtracker/budget'
type_on 'sudo -u mapred jobtracker check-config --conf /etc/jobtracker' >"$base/check-config.log" || { cat "$base/check-config.log" && exit 1; }
type_on 'sudo systemctl restart jobtracker'
type_on 'sudo systemctl restart jobtracker-tasktracker'
for user in alice bob; do
    type_on "sudo jobtracker queue add $user --key-file root.key"
    type_on "sudo jobtracker queue add-budget $user 100 --note 'first grant' --key-file root.key"
done
# Handed over.
install -m 600 -o 2001 -g 2001 "$root$home/alice.key" "$root/home/alice/alice.key"
install -m 600 -o 2002 -g 2002 "$root$home/bob.key" "$root/home/bob/bob.key"
type_as alice 'install -D -m 600 alice.key ~/.ssh/hadoop_key'
as bob install -D -m 600 bob.key .ssh/hadoop_key
type_as alice 'mkdir -m 755 /data/hadoop/alice'
as bob mkdir -m 755 /data/hadoop/bob
type_as alice 'jobtracker queue set-spending alice 0.5'
as bob jobtracker queue set-spending bob 0.25
as alice sh -c 'cp -r in /data/hadoop/alice/
    cat >/data/hadoop/alice/gate.sh <<"GATE"
#!/bin/sh
while [ ! -e /data/hadoop/alice/go ]; do echo reporter:status:waits >&2; sleep 0.1; done
exec cat
GATE
    chmod 755 /data/hadoop/alice/gate.sh'
await "the worker is there" healthy
check "a job of bob's, paid for and named by URIs, succeeds, and he owns its output" count_words bob file:///data/hadoop/alice/in file:///data/hadoop/bob/out
submit_gated alice /data/hadoop/alice/gated
await "alice pays" has_paid
await "the daemon writes the budget file" budget_file_written

part "reload, signals, kill, restart, stop while a job runs"
before=$(of jobtracker MainPID)
on systemctl reload jobtracker
check "a reload is a new process, which systemd follows" fails is jobtracker MainPID "$before"
check "no restart" is jobtracker NRestarts 0
check "the maps do not notice" both_wait alice
on systemctl kill --signal HUP jobtracker
await "SIGHUP reloads" on sh -c 'journalctl --unit jobtracker | grep "SIGHUP: reloaded /etc/jobtracker"'
on systemctl kill --signal KILL jobtracker
await "the daemon is back after a kill" has_restarted 1
on systemctl restart jobtracker
await "and after a restart" has_restarted 0
on systemctl stop jobtracker
check "a stop is a clean one" is jobtracker Result success
on systemctl start jobtracker
await "and after a stop" has_restarted 0
on jobtracker stop --conf /etc/jobtracker
await "systemd starts it again after jobtracker stop" has_restarted 1
check "the maps do not notice" both_wait alice
on kill -KILL "$(of jobtracker-tasktracker MainPID)"
await "the worker is back after a kill" is jobtracker-tasktracker NRestarts 1
await "its maps run again, and nothing else" both_wait alice
on systemctl restart jobtracker-tasktracker
await "and after a restart" both_wait alice
check "the job succeeds" open_gate
check "each of its two maps was begun three times" grep --quiet -E 'Launched map tasks +6' "$base/gated.log"
check "alice owns all of the output" test -z "$(on find /data/hadoop/alice/gated ! -user alice)"
check "nothing of the maps is left" none_waits

part "a wrong configuration"
cp "$root/etc/jobtracker/mapred-site.xml" "$base/good.xml"
sed -i 's|<value>2</value>|<value>two</value>|' "$root/etc/jobtracker/mapred-site.xml"
check "a reload refuses it" fails on systemctl reload jobtracker 2>/dev/null
check "the status says why" says_status 'expected a whole number of s'
check "the daemon continues to serve" healthy
check "a restart refuses it" fails on systemctl restart jobtracker 2>/dev/null
check "its exit code says so" is jobtracker ExecMainStatus 2
check "systemd does not try again" is jobtracker ActiveState failed
cp "$base/good.xml" "$root/etc/jobtracker/mapred-site.xml"

part "a topology script, and the drop-in for stock clients"
cat >"$root/usr/local/bin/racks" <<'RACKS'
#!/usr/bin/python3
import sys
print(*["/of-python" for host in sys.argv[1:]])
RACKS
chmod 755 "$root/usr/local/bin/racks"
sed -i 's|</configuration>|<property><name>topology.script.file.name</name><value>/usr/local/bin/racks</value></property></configuration>|' "$root/etc/jobtracker/mapred-site.xml"
on install -D -m 644 /usr/share/doc/jobtracker/examples/stock-clients.conf /etc/systemd/system/jobtracker.service.d/stock-clients.conf
on systemctl daemon-reload
on systemctl restart jobtracker jobtracker-tasktracker
await "the worker is there" healthy
check "a script in Python names racks under the restrictions" grep --quiet '"/of-python"' <(on jobtracker workers list --conf /etc/jobtracker --json)
check "the daemon has the two capabilities of the drop-in" kernel_says jobtracker 'CapEff:\s+0+6'
check "systemd finds nothing wrong in the drop-in" test -z "$(on systemd-analyze verify jobtracker.service 2>&1)"
submit_gated bob /data/hadoop/bob/staged
check "bob stages as a stock client does" test "$(on sh -c 'stat -c %U:%a /data/hadoop/mapred/staging/bob/.staging/job_*')" = bob:700
on systemctl reload jobtracker
check "they are kept by a reload" kernel_says jobtracker 'CapEff:\s+0+6'
check "the job succeeds" open_gate
await "the daemon has removed what bob staged" nothing_is_staged bob

part "the watchdog"
restarts=$(of jobtracker NRestarts)
on kill -STOP "$(of jobtracker MainPID)"
await "systemd replaces a daemon that is stuck" has_restarted $((restarts + 1))

part "an update of the package while a job runs, and a reboot"
submit_gated alice /data/hadoop/alice/again
before=$(of jobtracker MainPID)
on dpkg -i jobtracker.deb
check "the update reloads the daemon" fails is jobtracker MainPID "$before"
check "no restart" is jobtracker NRestarts $((restarts + 1))
check "the maps do not notice" both_wait alice
balance=$(balance_of_bob)
# Her client ends before the machine does; her job does not.
on pkill --euid alice --full 'jobtracker job submit'
wait "$gated" || true
reboot
await "daemon and worker are back" healthy
check "the balance of bob is kept" test "$(balance_of_bob)" = "$balance"
as alice touch /data/hadoop/alice/go
await "the job succeeds" test -e "$root/data/hadoop/alice/again/_SUCCESS"

part "remove"
on dpkg -r jobtracker
check "nothing runs" fails on pgrep jobtracker
for unit in jobtracker jobtracker-tasktracker; do
    check "$unit is not to be started" fails on systemctl is-enabled --quiet "$unit" 2>/dev/null
done
check "keys and state stay" test -e "$root/etc/jobtracker/acl" -a -e "$root/var/lib/jobtracker/state/state.db"
part "done: $typed lines of the docs typed"

((wrong == 0)) && echo "systemd: ok"
exit "$wrong"
