#!/usr/bin/env bash
# three_machines.sh
#
# Follows docs/install.md on three machines: `master`, `node1` and `node2`, each with network, host name, processes, mounts and /etc of its
# own (namespaces of this machine), on a bridge that leads nowhere else. Every line that a person types is looked up in the docs before
# it is run, so that the docs alone suffice; what the machines have no need of (apt, NFS: the shared directory is one folder, mounted in
# all three) is counted and not run. Twice: with the FIFO conf folder of the page, then with etc/conf, users and keys. Checks who runs and owns
# jobs, draining, and a machine that loses its power during a job. Needs root; touches nothing of this machine's own /etc, /usr and users.
# Ends with 1 when anything was wrong; prints a line `SKIPPED what: reason` when it cannot be tried here.
set -Eeuo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$(realpath "${JOBTRACKER_PROGRAM:-target/debug/jobtracker}")

if [[ ${1:-} != --inside ]]; then
    ((EUID == 0)) || { echo "SKIPPED three machines: only root may make namespaces" && exit 0; }
    for tool in unshare nsenter ip setpriv pivot_root pgrep useradd python3 awk; do
        command -v "$tool" >/dev/null || { echo "SKIPPED three machines: $tool is missing" && exit 0; }
    done
    namespaces=(unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc)
    "${namespaces[@]}" sh -c 'ip link add name try0 type bridge && ip link add name try1 type veth peer name try2' 2>/dev/null ||
        { echo "SKIPPED three machines: no namespaces, bridges or veth pairs here" && exit 0; }
    JOBTRACKER_PROGRAM=$program exec "${namespaces[@]}" "$0" --inside
fi

base=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-three.XXXXXX")
chmod 755 "$base"
machines=(master node1 node2)
# Of an administrator, on each machine.
home=/root
declare -A init
typed=0 not_run=0 started=$SECONDS
exec 3>&1

. tests/verdicts.sh

# shellcheck disable=SC2317
clean_up() {
    local machine
    for machine in "${!init[@]}"; do
        kill -KILL "${init[$machine]}" 2>/dev/null || true
    done
    wait 2>/dev/null || true
    if ((wrong)); then
        echo "kept for you to look at: $base"
    else
        rm -rf --one-file-system "$base"
    fi
}
trap clean_up EXIT
trap 'wrong=1; echo "three_machines.sh: line $LINENO failed: $BASH_COMMAND" >&3' ERR

show_logs() {
    tail -n 20 "$base"/*/system/var/log/*.log
}

# not_by USER MACHINE COMMAND [ARG]...: the user may not.
not_by() {
    ! as "$@" >/dev/null 2>&1
}

# --- machines

# make_machine NAME: its root: programs of this machine, everything else its own.
make_machine() {
    local root=$base/$1/system entry at
    mkdir -p "$root"/{usr,etc,proc,dev,sys,run,tmp,root,home,data,mnt} "$root"/var/{lib,log,tmp,cache}
    chmod 1777 "$root/tmp" "$root/var/tmp"
    chmod 700 "$root$home"
    for entry in bin sbin lib lib64; do
        [[ ! -L /$entry ]] || cp -P "/$entry" "$root/$entry"
    done
    # Others may make and remove users meanwhile, with files that come and go; of this machine's users only the system's are wanted.
    cp -a /etc/. "$root/etc/" 2>/dev/null || true
    rm -f "$root"/etc/*.lock "$root"/etc/{passwd,group,shadow,gshadow}-
    sed -i -E '/^(mapred|hadoop|alice|bob):/d; /^[^:]*:[^:]*:(480|2001|2002):/d' "$root"/etc/{passwd,group}
    sed -i -E '/^(mapred|hadoop|alice|bob):/d' "$root"/etc/{shadow,gshadow}
    rm -rf "$root/etc/hadoop" "$root/etc/hadoop_server" "$root/etc/hosts" "$root/etc/hostname" "$root/etc/hadoop.acl" "$root/etc/systemd"
    mkdir -p "$root/etc/systemd/system"
    echo "$1" >"$root/etc/hostname"
    {
        echo "127.0.0.1 localhost"
        for at in "${!machines[@]}"; do echo "10.77.0.$((at + 1)) ${machines[$at]}"; done
    } >"$root/etc/hosts"
}

# boot NAME NUMBER: gives it power. The services that were enabled start.
boot() {
    local name=$1 address=10.77.0.$2 wire=wire$2
    rm -f "$base/$name/system/var/booted"
    # shellcheck disable=SC2016
    unshare --net --uts --mount --propagation private --pid --fork --kill-child bash -c '
        set -e
        base=$1 name=$2 root=$1/$2/system
        hostname "$name"
        mount --bind "$root" "$root"
        mount --rbind /usr "$root/usr"
        mount --bind "$base/local-bin" "$root/usr/local/bin"
        mount --rbind /dev "$root/dev"
        mount -t proc proc "$root/proc"
        mount -t tmpfs -o mode=755 tmpfs "$root/run"
        # In the place of NFS.
        mkdir -p "$root/data/hadoop"
        mount --bind "$base/exported" "$root/data/hadoop"
        mkdir -p "$root/mnt/old"
        cd "$root"
        pivot_root . mnt/old
        cd /
        umount -l /mnt/old
        ip link set lo up
        : >/var/booted
        # Waits for children, also those whose parents have died, as an init must.
        while sleep 3600; do :; done' boot "$base" "$name" 2>>"$base/$name/boot.log" 3>&- &
    local outer=$! tries
    for ((tries = 0; tries < 200; tries++)); do
        [[ ! -e $base/$name/system/var/booted ]] || break
        sleep 0.05
    done
    init[$name]=$(pgrep --parent "$outer")
    # The same card after each boot: others remember its address.
    ip link add name "$wire" type veth peer name eth0 address "02:00:00:00:00:0$2" netns "${init[$name]}"
    ip link set "$wire" master wires up
    on "$name" ip address add "$address/24" dev eth0
    on "$name" ip link set eth0 up
    local unit
    for unit in "$base/$name/system/etc/systemd/enabled"/*; do
        [[ ! -e $unit ]] || on "$name" systemctl start "$(basename "$unit")"
    done
}

# power_cut NAME: nothing on it hears of this.
power_cut() {
    kill -KILL "${init[$1]}"
    wait_for_death "${init[$1]}"
    unset "init[$1]"
}

wait_for_death() {
    while [[ -e /proc/$1 ]]; do sleep 0.02; done
}

# on NAME COMMAND [ARG]...: as root on that machine.
on() {
    nsenter --target "${init[$1]}" --net --uts --mount --pid \
        env --chdir=/ -i HOME=$home USER=root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "${@:2}" 3>&-
}

# as USER NAME COMMAND [ARG]...: as a login of the user on that machine.
as() {
    on "$2" setpriv --reuid "$1" --regid "$1" --init-groups env "HOME=/home/$1" "USER=$1" sh -c 'cd; umask 022; exec "$@"' sh "${@:3}"
}

# What the machines have in the places of programs that they do not need.
make_stand_ins() {
    mkdir -p "$base/local-bin"
    cat >"$base/local-bin/sudo" <<'SUDO'
#!/bin/sh
# sudo [-u USER] COMMAND [ARG]...
[ "$1" = -u ] || exec "$@"
user=$2
shift 2
exec setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups "$@"
SUDO
    cat >"$base/local-bin/systemctl" <<'SYSTEMCTL'
#!/bin/bash
# systemctl daemon-reload | enable --now UNIT | start UNIT | restart UNIT | stop UNIT: of a unit file its user, its folder and its program.
set -e
of() { sed -n "s/^$1=//p" "/etc/systemd/system/$unit.service"; }
stop() {
    local process
    process=$(cat "/run/$unit.pid")
    kill -TERM "$process"
    while [ -e "/proc/$process" ]; do sleep 0.05; done
}
start() {
    local user group
    user=$(of User) group=$(of Group)
    install -d -m "$(of StateDirectoryMode)" -o "$user" -g "${group:-root}" "/var/lib/$(of StateDirectory)"
    # shellcheck disable=SC2046
    setsid setpriv --reuid "$user" --regid "${group:-root}" --init-groups $(of ExecStart | sed "s/%H/$(hostname)/") >>"/var/log/$unit.log" 2>&1 </dev/null &
    echo $! >"/run/$unit.pid"
    [ "$(of Type)" != notify ] || ready
}
# In the place of a notification.
ready() {
    local tries status
    for ((tries = 0; tries < 300; tries++)); do
        status=0
        jobtracker status --conf /etc/hadoop >/dev/null 2>&1 || status=$?
        [ "$status" = 4 ] || return 0
        sleep 0.1
    done
    return 1
}
verb=$1
shift
[ "$verb" != daemon-reload ] || exit 0
[ "$1" != --now ] || shift
for unit; do
    [ "$verb" != enable ] || { mkdir -p /etc/systemd/enabled && : >"/etc/systemd/enabled/$unit"; }
    case $verb in stop | restart) stop ;; esac
    case $verb in enable | start | restart) start ;; esac
done
SYSTEMCTL
    chmod 755 "$base/local-bin/"*
}

# --- what a person types

# line_of_docs LINE: the page has it, alone or before a comment.
line_of_docs() {
    line=$1 awk '{ sub(/[ \t]+# .*$/, "") } $0 == ENVIRON["line"] { found = 1 } END { exit !found }' docs/install.md
}

# documented LINE: counts a line of docs/install.md.
documented() {
    typed=$((typed + 1))
    line_of_docs "$1" || { echo "WRONG: docs/install.md has no line $1" && wrong=1; }
}

# type_as USER MACHINE LINE: runs a line of docs/install.md, as a login of the user.
type_as() {
    documented "$3" >&3
    as "$1" "$2" sh -c "$3"
}

# type_on MACHINE LINE: the same by a user who may use sudo.
type_on() {
    documented "$2" >&3
    on "$1" sh -c "cd $home/jobtracker 2>/dev/null; $2"
}

# type_but_not_run LINE: what the stand-ins for machines have no need of.
type_but_not_run() {
    documented "$1"
    not_run=$((not_run + 1))
}

# xml_of_docs FILE: the block of docs/install.md that begins with a comment of that name.
xml_of_docs() {
    awk -v name="<!-- $1 -->" '$0 == name { inside = 1 } inside && /^```/ { exit } inside' docs/install.md
}

# --- the network, and what is there before the first line is typed

make_stand_ins
install -m 755 "$program" "$base/local-bin/jobtracker"
install -d -m 755 "$base/exported"
ip link add name wires type bridge
ip link set wires up
for at in "${!machines[@]}"; do
    make_machine "${machines[$at]}"
    boot "${machines[$at]}" $((at + 1))
    mkdir -p "$base/${machines[$at]}/system$home/jobtracker"
    cp -R etc "$base/${machines[$at]}/system$home/jobtracker/etc"
done
for machine in "${machines[@]}"; do
    check "$machine is a machine of its own" test "$(on "$machine" hostname)" = "$machine"
done

# --- program, users, shared directory, conf folder

for machine in "${machines[@]}"; do
    type_but_not_run 'sudo install -m 755 ~/.cargo/bin/jobtracker /usr/local/bin/'
    type_on "$machine" 'sudo groupadd --system --gid 480 hadoop'
    type_on "$machine" 'sudo useradd --system --uid 480 --gid hadoop --home-dir /var/lib/jobtracker --shell /usr/sbin/nologin mapred'
    type_on "$machine" 'sudo useradd --uid 2001 --user-group --create-home alice'
    type_on "$machine" 'sudo useradd --uid 2002 --user-group --create-home bob'
done
type_but_not_run 'sudo apt install nfs-kernel-server'
type_on master 'sudo install -d -m 1777 /data/hadoop'
type_but_not_run "echo '/data/hadoop node1(rw,sync,no_subtree_check,no_root_squash) node2(rw,sync,no_subtree_check,no_root_squash)' | sudo tee -a /etc/exports"
type_but_not_run 'sudo exportfs -ra'
for machine in node1 node2; do
    type_but_not_run 'sudo apt install nfs-common'
    type_on "$machine" 'sudo mkdir -p /data/hadoop'
    type_but_not_run "echo 'master:/data/hadoop /data/hadoop nfs vers=4.2,hard 0 0' | sudo tee -a /etc/fstab"
    type_but_not_run 'sudo mount /data/hadoop'
done
for machine in "${machines[@]}"; do
    type_on "$machine" 'sudo install -d -m 755 /etc/hadoop'
    for file in core-site.xml mapred-site.xml; do
        # Pasted into an editor.
        typed=$((typed + 1))
        xml_of_docs "/etc/hadoop/$file" >"$base/$machine/system/etc/hadoop/$file"
        check "the docs have $file" test -s "$base/$machine/system/etc/hadoop/$file"
    done
    type_on "$machine" 'echo master:50030 | sudo tee /etc/hadoop_server' >/dev/null
done

# --- FIFO

# json FILTER: prints what a filter in Python makes of the JSON `it` on standard input.
json() {
    python3 -c 'import json, sys; it = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

# healthy N: `jobtracker status` on node2 counts as many workers.
healthy() {
    [[ $(as bob node2 jobtracker status --conf /etc/hadoop --json | json 'it["workers"]["healthy"]') == "$1" ]]
}

workers_of() {
    as "$1" master jobtracker job tasks "$2" --conf /etc/hadoop --json |
        json '" ".join(sorted({a["worker"].split(":")[0].removeprefix("tracker_") for a in it["attempts"] if a["task"] == "map"}))'
}

job_of() {
    sed -n 's/.*\(job_[0-9]*_[0-9]*\) submitted.*/\1/p; s/^\(job_[0-9]*_[0-9]*\)$/\1/p' "$1" | head -n 1
}

type_on master 'sudo install -m 644 etc/systemd/jobtracker.service /etc/systemd/system/'
type_on master 'sudo install -d -m 700 -o mapred -g hadoop /var/lib/jobtracker'
type_on master 'sudo -u mapred jobtracker check-config --conf /etc/hadoop' >"$base/check-config.log" || { cat "$base/check-config.log" && exit 1; }
type_on master 'sudo systemctl daemon-reload'
type_on master 'sudo systemctl enable --now jobtracker'
for machine in node1 node2; do
    type_on "$machine" 'sudo install -m 644 etc/systemd/jobtracker-tasktracker.service /etc/systemd/system/'
    type_on "$machine" 'sudo jobtracker check-config --tasktracker --conf /etc/hadoop' >"$base/check-$machine.log"
    type_on "$machine" 'sudo systemctl daemon-reload'
    type_on "$machine" 'sudo systemctl enable --now jobtracker-tasktracker'
done
await "both workers are there" healthy 2
type_as bob node2 'jobtracker status --conf /etc/hadoop'
type_as bob node2 'jobtracker workers list --conf /etc/hadoop' | tee "$base/workers"
for machine in node1 node2; do
    check "the list has the worker $machine on the host $machine" grep --quiet "^$machine  *ok  *$machine " "$base/workers"
    check "$machine runs jobs as their users" grep --quiet "commands of each job run as its user" "$base/$machine/system/var/log/jobtracker-tasktracker.log"
done

type_as alice node1 'mkdir -m 755 /data/hadoop/alice'
type_as alice node1 'mkdir /data/hadoop/alice/in && cp /usr/share/common-licenses/* /data/hadoop/alice/in/'
type_as alice node1 "jobtracker job submit --conf /etc/hadoop --input /data/hadoop/alice/in --output /data/hadoop/alice/out --mapper \"tr -s '[:space:]' '\\n'\" --reducer 'uniq -c'" \
    >"$base/first-job.log" 2>&1 || { cat "$base/first-job.log" && exit 1; }
type_as alice node1 'jobtracker job list --all --conf /etc/hadoop'
minutes_s=$((SECONDS - started))
echo "from nothing to the output of the first job: $minutes_s s for the machines; $typed lines typed, of which $not_run were not run here"
# Into a file: the reader of a pipe may leave early.
type_as alice master 'cat /data/hadoop/alice/out/part-*' >"$base/out"
check "the words are counted" test "$(awk '{ sum += $1 } END { print sum }' "$base/out")" = \
    "$(as alice node2 sh -c "for file in /data/hadoop/alice/in/*; do tr -s '[:space:]' '\n' <\$file; done | wc -l")"
check "alice owns all of the output" test -z "$(find "$base/exported/alice/out" ! -user 2001)"
check "bob reads it on master" as bob master test -r /data/hadoop/alice/out/part-00000
check "bob cannot read the jobs' tokens" not_by bob node1 ls /data/hadoop/mapred/system

# Two of its maps wait for each other on two machines.
# shellcheck disable=SC2016
as alice node1 sh -c 'mkdir /data/hadoop/alice/seen /data/hadoop/alice/two
    for part in 1 2 3 4; do echo "line $part" >/data/hadoop/alice/two/$part; done
    cat >meet.sh <<"MEET"
#!/bin/sh
: >/data/hadoop/alice/seen/$(hostname)-$(id -un)
for try in $(seq 600); do
    [ -e /data/hadoop/alice/seen/node1-alice ] && [ -e /data/hadoop/alice/seen/node2-alice ] && exec cat
    sleep 0.1
done
exit 1
MEET
    chmod 755 meet.sh'
as alice node1 jobtracker job submit --conf /etc/hadoop --input /data/hadoop/alice/two --output /data/hadoop/alice/met \
    --mapper meet.sh --reducer cat --file meet.sh >"$base/meet.log" 2>&1 || { cat "$base/meet.log" && exit 1; }
job=$(job_of "$base/meet.log")
check "$job of alice, submitted on node1, ran its maps on both machines, as alice" test "$(workers_of alice "$job")" = "node1 node2"
attempt=$(as alice node1 jobtracker job tasks "$job" --conf /etc/hadoop --json | json 'next(a["attempt"] for a in it["attempts"] if a["task"] == "map" and "node2" in a["worker"])')
check "alice reads on node1 the log of an attempt of node2" as alice node1 jobtracker job logs "$attempt" --conf /etc/hadoop

check "bob may not drain a worker" not_by bob node1 jobtracker workers drain node1 --conf /etc/hadoop
type_on master 'sudo -u mapred jobtracker workers drain node1 --wait --conf /etc/hadoop'
as alice node1 jobtracker job submit --conf /etc/hadoop --input /data/hadoop/alice/two --output /data/hadoop/alice/drained --mapper cat --reducer NONE \
    >"$base/drained.log" 2>&1 || { cat "$base/drained.log" && exit 1; }
check "a job during the drain runs on node2 alone" test "$(workers_of alice "$(job_of "$base/drained.log")")" = node2
type_on master 'sudo -u mapred jobtracker workers resume node1 --conf /etc/hadoop'

# --- node2 loses its power while a job runs

# A map of each machine has begun; those of node2 have had no chance to end.
as alice node1 sh -c 'rm /data/hadoop/alice/seen/*; mkdir -m 755 /data/hadoop/alice/go
    cat >/data/hadoop/alice/gate.sh <<"GATE"
#!/bin/sh
touch /data/hadoop/alice/seen/$(hostname)-$(id -un) 2>/dev/null || true
while [ ! -e /data/hadoop/alice/go/on ]; do echo reporter:status:waits >&2; sleep 0.1; done
exec cat
GATE
    chmod 755 /data/hadoop/alice/gate.sh'
gate=/data/hadoop/alice/gate.sh
as alice node1 jobtracker job submit --conf /etc/hadoop --input /data/hadoop/alice/two --output /data/hadoop/alice/survived --mapper gate.sh --reducer cat \
    --file "$gate" >"$base/survived.log" 2>&1 &
submitting=$!
both_run() {
    [[ -e $base/exported/alice/seen/node1-alice && -e $base/exported/alice/seen/node2-alice ]]
}
await "maps run on both machines" both_run
power_cut node2
as alice node1 touch /data/hadoop/alice/go/on
rebooted=$SECONDS
boot node2 3
survived=0
wait "$submitting" || survived=$?
check "the job survives" test "$survived" = 0
((survived == 0)) || cat "$base/survived.log"
took=$((SECONDS - rebooted))
echo "a machine lost its power during a job: the job ended $took s after it was switched on again"
check "within 15 s" test "$took" -le 15
check "nothing is lost and nothing twice" diff <(printf 'line %s\n' 1 2 3 4) <(sed 's/[[:space:]]*$//' "$base/exported/alice/survived/part-00000")
await "both workers are there again" healthy 2

# --- the market

typed=0 not_run=0 started=$SECONDS
for machine in "${machines[@]}"; do
    type_on "$machine" 'sudo install -m 644 etc/conf/*.xml /etc/hadoop'
done
type_on master 'sudo jobtracker user add root --role admin --key-file root.key --conf /etc/hadoop'
type_on master 'sudo jobtracker user add alice --key-file alice.key --conf /etc/hadoop'
type_on master 'sudo jobtracker user add bob --key-file bob.key --conf /etc/hadoop'
type_on master 'sudo chown root:hadoop /etc/hadoop/acl'
type_on master 'sudo chmod 640 /etc/hadoop/acl'
type_on master 'sudo install -m 640 -o mapred -g hadoop /dev/null /var/lib/jobtracker/budget'
type_on master 'sudo -u mapred jobtracker check-config --conf /etc/hadoop' >"$base/check-market.log" || { cat "$base/check-market.log" && exit 1; }
type_on master 'sudo systemctl restart jobtracker'
for user in alice bob; do
    documented "sudo jobtracker queue add $user --key-file root.key"
    on master sh -c "cd $home/jobtracker; sudo jobtracker queue add $user --key-file root.key"
    type_on master "sudo jobtracker queue add-budget $user 100 --note 'first grant' --key-file root.key"
done
for machine in node1 node2; do
    type_on "$machine" 'sudo systemctl restart jobtracker-tasktracker'
done
# Handed over.
install -m 600 -o 2001 -g 2001 "$base/master/system$home/jobtracker/alice.key" "$base/node1/system/home/alice/alice.key"
install -m 600 -o 2002 -g 2002 "$base/master/system$home/jobtracker/bob.key" "$base/node2/system/home/bob/bob.key"
type_as alice node1 'install -D -m 600 alice.key ~/.ssh/hadoop_key'
as bob node2 sh -c 'install -D -m 600 bob.key ~/.ssh/hadoop_key; mkdir -m 755 /data/hadoop/bob'
await "both workers are there in the market" healthy 2
type_as alice node1 'jobtracker queue set-spending alice 0.5'
as bob node2 jobtracker queue set-spending bob 0.25
type_as alice node1 "jobtracker job submit --conf /etc/hadoop --input /data/hadoop/alice/in --output /data/hadoop/alice/paid --mapper \"tr -s '[:space:]' '\\n'\" --reducer 'uniq -c'" \
    >"$base/paid.log" 2>&1 || { cat "$base/paid.log" && exit 1; }
echo "the market: $((SECONDS - started)) s for the machines; $typed lines typed"
check "the job that was paid for has the same output" diff "$base/exported/alice/out/part-00000" "$base/exported/alice/paid/part-00000"
check "bob without his key is denied" not_by bob node1 jobtracker job submit --conf /etc/hadoop --input /data/hadoop/alice/in \
    --output /data/hadoop/bob/unsigned --mapper cat --reducer NONE
# Both run until both have paid, however long a tick takes; two maps each, so that the one does not keep the other from its slots.
as alice node1 sh -c "rm /data/hadoop/alice/go/on"
submitting=()
for user in "alice node1" "bob node2"; do
    # shellcheck disable=SC2086
    as $user jobtracker job submit --conf /etc/hadoop --input '/data/hadoop/alice/two/[12]' --output "/data/hadoop/${user% *}/long" --mapper gate.sh --reducer cat \
        --file "$gate" >"$base/long-${user% *}.log" 2>&1 &
    submitting+=($!)
done
charged() {
    local user
    for user in "alice node1" "bob node2"; do
        # shellcheck disable=SC2086
        as $user jobtracker queue statement --json | json 'any(row["reason"] == "charge" for row in it["rows"])' | grep --quiet True || return 1
    done
}
await "both have paid" charged
as alice node1 touch /data/hadoop/alice/go/on
for at in 0 1; do
    check "their jobs of several ticks succeed" wait "${submitting[$at]}"
done
check "bob owns his output" test -z "$(find "$base/exported/bob/long" ! -user 2002)"
type_as alice node1 'jobtracker queue statement' | tee "$base/statement"
check "the statement has the grant, its author and its note" grep --quiet 'root.*first grant' "$base/statement"
type_as alice node1 'jobtracker report jobs'
type_on master 'jobtracker report users --key-file root.key' | tee "$base/report"
for user in alice bob; do
    check "the report has $user" grep --quiet "^$user " "$base/report"
done
type_on master 'sudo jobtracker workers drain node1 --key-file root.key --conf /etc/hadoop'
check "node1 is drained" test "$(as bob node2 jobtracker workers list --conf /etc/hadoop --json | json '[w["is_draining"] for w in it["workers"] if w["worker"] == "node1"]')" = "[True]"
on node1 systemctl stop jobtracker-tasktracker
on node2 systemctl stop jobtracker-tasktracker
on master systemctl stop jobtracker

((wrong == 0)) && echo "three machines: ok"
exit "$wrong"
