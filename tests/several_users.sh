#!/usr/bin/env bash
# several_users.sh [--users N] [--stock-clients]
#
# Has N users of this machine (10), made for this and removed afterwards, share a cluster as etc/ ships it: the daemon as an ordinary user
# under the restrictions of etc/systemd/jobtracker.service (no capabilities, /usr, /boot, /etc and the conf folder read-only, no homes),
# configured by etc/conf with other paths and ports; a worker of root's; each user submits a signed job of files in a home of mode 0700 by
# our client, under umask 077, all at once. Checks the outputs and, where the worker runs jobs as their users, their owners; that no
# user gets at the job files of another; that the budget file is written; that the bill is exact; that nothing stays. Needs root. Ends with
# 1 when anything was wrong; prints a line `SKIPPED what: reason` for what cannot be tried here. With --stock-clients the daemon has the rights of
# etc/systemd/stock-clients.conf, and our client stages in folders of mode 0700 as stock clients do.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$(realpath "${JOBTRACKER_PROGRAM:-target/debug/jobtracker}")
count=10 capabilities='' way='other users hand their files over by HTTP'
while (($# > 0)); do
    case $1 in
    --users)
        count=$2
        shift
        ;;
    --stock-clients)
        capabilities=$(sed -n 's/^AmbientCapabilities=//p' etc/systemd/stock-clients.conf | sed 's/CAP_/,+/g; s/ //g')
        way='staging directories of all users are read and removed'
        ;;
    *)
        echo "several_users.sh: unknown option $1" >&2
        exit 2
        ;;
    esac
    shift
done

wrong=0
# check WHAT COMMAND [ARG]...: one thing that must hold.
check() {
    if "${@:2}"; then
        echo "ok: $1"
    else
        echo "WRONG: $1"
        wrong=1
    fi
}

not() {
    ! "$@"
}

((EUID == 0)) || { echo "SKIPPED several users: only root may become other users" && exit 0; }
for tool in setpriv unshare useradd userdel python3; do
    command -v "$tool" >/dev/null || { echo "SKIPPED several users: $tool is missing" && exit 0; }
done
unshare --mount true 2>/dev/null || { echo "SKIPPED several users: no mounts of our own" && exit 0; }

# --- users, folders, configuration

prefix=jt$$
base=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-users.XXXXXX")
chmod 755 "$base"
users=()
for ((at = 1; at <= count; at++)); do users+=("${prefix}u$at"); done
daemon=${prefix}d
processes=()

clean_up() {
    local process user
    for process in "${processes[@]}"; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    for user in "$daemon" "${users[@]}"; do
        userdel "$user" 2>/dev/null || true
    done
    if ((wrong)); then
        echo "kept for you to look at: $base"
    else
        rm -rf "$base"
    fi
}
trap clean_up EXIT

install -D -m 755 "$program" "$base/bin/jobtracker"
mkdir -p "$base/home" "$base/var/lib"
useradd --no-create-home --home-dir "$base/home/$daemon" --user-group "$daemon"
for user in "${users[@]}"; do
    useradd --no-create-home --home-dir "$base/home/$user" --user-group "$user"
    install -d -m 700 -o "$user" -g "$user" "$base/home/$user" "$base/home/$user/.ssh"
    install -m 600 -o "$user" -g "$user" /dev/stdin "$base/home/$user/.ssh/hadoop_key" <<<"key-of-$user"
    { for ((at = 0; at < 50; at++)); do echo "$user line $((at % 5))"; done; } |
        install -m 600 -o "$user" -g "$user" /dev/stdin "$base/home/$user/in.txt"
done

# As docs/operate.md has it.
conf=$base/etc/hadoop state=$base/var/lib/jobtracker data=$base/data/hadoop
install -d -m 755 "$base/etc" "$conf" "$base/data"
install -d -o "$daemon" -g "$daemon" -m 700 "$state"
install -d -o "$daemon" -g "$daemon" -m 755 "$data"
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
rpc=$(free_port) http=$(free_port) worker_http=$(free_port)
for file in etc/conf/*.xml; do
    sed -e "s|/etc/hadoop/acl|$conf/acl|; s|/var/lib/jobtracker|$state|; s|/data/hadoop|$data|" \
        -e "s|master:9001|127.0.0.1:$rpc|; s|0.0.0.0:50030|127.0.0.1:$http|; s|<value>20</value>|<value>1</value>|" \
        "$file" >"$conf/$(basename "$file")"
done
{
    for user in "${users[@]}"; do echo "$user user key-of-$user"; done
    echo "operator admin key-of-operator"
} | install -o root -g "$daemon" -m 640 /dev/stdin "$conf/acl"
for user in "${users[@]}"; do echo "$user 1000 0.5"; done |
    install -o "$daemon" -g "$daemon" -m 600 /dev/stdin "$state/budget"

# --- daemon and worker

# In the place of this shell, as the unit does it.
restricted() {
    # shellcheck disable=SC2016
    exec unshare --mount --propagation private sh -ec '
        conf=$1 user=$2 capabilities=$3
        shift 3
        for folder in /usr /boot /etc "$conf"; do
            [ ! -d "$folder" ] || { mount --bind "$folder" "$folder" && mount -o remount,ro,bind "$folder"; }
        done
        for folder in /home /root; do [ ! -d "$folder" ] || mount -t tmpfs -o size=1m,mode=0 tmpfs "$folder"; done
        exec setpriv --reuid "$user" --regid "$user" --init-groups --no-new-privs --bounding-set "-all$capabilities" \
            --inh-caps "-all$capabilities" --ambient-caps "-all$capabilities" "$@"' \
        sh "$conf" "$daemon" "${capabilities,,}" "$@"
}

# await FILE TEXT: waits for a text in a log.
await() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        grep --quiet -- "$2" "$1" && return
        sleep 0.1
    done
    echo "several_users.sh: no \"$2\" in $1:" >&2
    cat "$1" >&2
    wrong=1
    exit 1
}

restricted env -u HADOOP_CONF_DIR "$base/bin/jobtracker" serve --conf "$conf" 2>"$base/serve.log" &
processes+=($!)
serve=$!
await "$base/serve.log" "next, look"
env -u HADOOP_CONF_DIR "$base/bin/jobtracker" tasktracker --conf "$conf" -D "mapred.local.dir=$base/var/lib/worker" \
    -D "mapred.task.tracker.http.address=127.0.0.1:$worker_http" -D mapred.tasktracker.map.tasks.maximum=4 \
    2>"$base/worker.log" &
processes+=($!)
await "$base/worker.log" "registered\|commands of all jobs\|run as"
check "the start line says which way files take" grep --quiet "$way" "$base/serve.log"

# by USER COMMAND [ARG]...: as a login of the user would run it.
by() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps=-all --bounding-set=-all \
        env -i HOME="$base/home/$user" PATH=/usr/local/bin:/usr/bin:/bin sh -c 'umask 077; cd; exec "$@"' sh "$@"
}

# submit USER OUTPUT MAPPER [OPTION]...
submit() {
    local user=$1 output=$2 mapper=$3
    shift 3
    by "$user" "$base/bin/jobtracker" job submit --conf "$conf" --user "$user" --input "$base/home/$user/in.txt" \
        --output "$base/home/$user/$output" --mapper "$mapper" --reducer 'uniq -c' "$@"
}

# --- each user's job, all at once

submitting=()
for user in "${users[@]}"; do
    submit "$user" out 'sh -c "cat; sleep 2"' >"$base/$user.log" 2>&1 &
    submitting+=($!)
done
for at in "${!users[@]}"; do
    user=${users[$at]}
    check "$user: the job succeeds" wait "${submitting[$at]}"
    check "$user: the output is right" diff \
        <(for at in 0 1 2 3 4; do echo "10 $user line $at"; done) <(cat "$base/home/$user/out/part-"* | sed 's/^ *//; s/[[:space:]]*$//' | sort)
done

# Where the worker runs jobs as their users (jobtracker.worker.run-as).
if grep --quiet "jobs run as their users\|as the user of the job\|job-user" "$base/worker.log"; then
    for user in "${users[@]}"; do
        check "$user owns all of the output" test -z "$(find "$base/home/$user/out" ! -user "$user")"
    done
else
    echo "SKIPPED owners of outputs: this worker runs all jobs as root"
fi

# --- no user gets at another's job files

first=${users[0]} second=${users[1]}
slow=$(submit "$first" slow 'sh -c "cat; sleep 5"' --detach)
staged=$data/mapred/staging/$first/.staging/$slow
check "the job files are closed" test "$(stat -c %a "$staged")" = 700
for name in job.xml job.split job.jar; do
    check "$second cannot read $name of $first" not by "$second" cat "$staged/$name" 2>/dev/null
done
check "$second cannot list the jobs of $first" not by "$second" ls "$data/mapred/staging/$first/.staging" 2>/dev/null
# shellcheck disable=SC2016
status() { python3 - "$@" <<'END'
import sys, urllib.error, urllib.request
target, method = sys.argv[1:3]
request = urllib.request.Request(target, data=b"x" if method == "POST" else None, method=method, headers={
    "X-Requested-By": "test", "Content-Type": "application/octet-stream"})
try:
    print(urllib.request.urlopen(request).status)
except urllib.error.HTTPError as error:
    print(error.code)
END
}
web=http://127.0.0.1:$http
check "no job file without the token" test "$(status "$web/jobfile?job=$slow&name=job.xml" GET)" = 401
digest=$(printf x | sha256sum | cut -d ' ' -f 1)
check "no upload without a signature" test \
    "$(status "$web/scheduler/upload?job=$slow&name=job.xml&sha256=$digest&user.name=$first" POST)" = 500
by "$first" "$base/bin/jobtracker" job kill --conf "$conf" --user "$first" "$slow" >"$base/kill.log" 2>&1 || true

# --- nothing stays, money is exact

gone() {
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        [[ -n $(find "$data/mapred/staging" -name 'job_*' -print -quit) ]] || return 0
        sleep 0.1
    done
    return 1
}
check "no job files are left" gone
check "no markers are left" test -z "$(ls "$state/uploads" 2>/dev/null)"
check "the daemon complains of nothing" test "$(status "$web/readyz" GET)" = 200
kill -TERM "$serve"
stopped=0
wait "$serve" || stopped=$?
check "the daemon stops with 0: the budget file is written" test "$stopped" = 0
# shellcheck disable=SC2016
check "what was charged is what the balances lack" python3 - "$state" "${users[@]}" <<'END'
import sqlite3, sys
from decimal import Decimal
state, users = sys.argv[1], sys.argv[2:]
database = sqlite3.connect(f"file:{state}/state.db?mode=ro", uri=True)
image = {line.split()[0]: Decimal(line.split()[1]) for line in open(f"{state}/budget") if line.strip()}
total = Decimal(0)
for user in users:
    rows = database.execute("SELECT amount FROM ledger WHERE queue = ? AND reason = 'charge'", [user])
    charged = sum((Decimal(amount) for (amount,) in rows), Decimal(0))
    balance = Decimal(database.execute("SELECT balance FROM account WHERE queue = ?", [user]).fetchone()[0])
    if charged + balance != 1000 or image[user] != balance:
        sys.exit(f"{user}: charged {charged}, balance {balance}, budget file {image[user]}")
    total += charged
print(f"charged in all {total}")
if total == 0:
    sys.exit("no queue paid anything")
END

((wrong == 0)) && echo "several users: $count users, one machine: ok"
exit "$wrong"
