# Sourced by several_users.sh: users of this machine, folders and configuration as docs/operate.md has them, a daemon, a worker, clients.
# shellcheck shell=bash
#
#   fails CODE TEXT COMMAND [ARG]...       a command that must end with an exit code of this pattern and say something that matches this pattern
#   by USER COMMAND [ARG]...               as a login of the user would run it, under umask 077
#   job USER WORD...                       `jobtracker job WORD...` by a user with the own key
#   job_as NAME USER WORD...               the same by a name that need not be the user's
#   keyless_job_as NAME USER WORD...       the same without a key
#   submit USER OUTPUT MAPPER [OPTION]...  the user's job over the own input
#   status URL [METHOD]                    the status of an answer over HTTP

# --- verdicts

not() {
    ! "$@"
}

fails() {
    local expected=$1 text=$2 code=0 said
    shift 2
    said=$("$@" 2>&1) || code=$?
    # shellcheck disable=SC2053
    if [[ $code != $expected ]] || ! grep --quiet -E -- "$text" <<<"$said"; then
        echo "expected exit code $expected and \"$text\" of $*, got $code:"
        echo "$said"
        return 1
    fi
}

# await_text FILE TEXT: waits for a text in a log.
await_text() {
    local tries
    for ((tries = 0; tries < 1200; tries++)); do
        ! grep --quiet -- "$2" "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    echo "several_users.sh: no \"$2\" in $1:" >&2
    cat "$1" >&2
    wrong=1
    exit 1
}

# holds_soon COMMAND [ARG]...: becomes true within a minute.
holds_soon() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        ! "$@" || return 0
        sleep 0.1
    done
    return 1
}

# --- users and folders

# So that a process or a file of theirs is nobody else's.
prefix=jt$$
base=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-users.XXXXXX")
logs=$base/log
install -d -m 700 "$logs"
users=() processes=()
daemon=${prefix}d

clean_up() {
    local status=$? process user
    for process in "${processes[@]}"; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    for user in "$daemon" "${users[@]}"; do
        id "$user" >/dev/null 2>&1 || continue
        # What is left of them after a failure: clients that follow jobs, commands of a worker that was killed.
        for process in $(ps -o pid= -u "$user"); do kill -KILL "$process" 2>/dev/null || true; done
        userdel --force "$user" 2>/dev/null || true
    done
    if ((wrong || status)); then
        echo "kept for you to look at: $base"
    else
        rm -rf "$base"
    fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

make_users() {
    local at user
    for ((at = 1; at <= $1; at++)); do users+=("${prefix}u$at"); done
    chmod 755 "$base"
    mkdir -p "$base/home" "$base/var/lib"
    # Where everybody may write: what lies here is private by its own mode alone.
    install -d -m 1777 "$base/shared"
    useradd --no-create-home --home-dir "$base/home/$daemon" --user-group "$daemon"
    for user in "${users[@]}"; do
        useradd --no-create-home --home-dir "$base/home/$user" --user-group "$user"
        install -d -m 700 -o "$user" -g "$user" "$base/home/$user" "$base/home/$user/.ssh"
        install -m 600 -o "$user" -g "$user" /dev/stdin "$base/home/$user/.ssh/hadoop_key" <<<"key-of-$user"
        { for ((at = 0; at < 50; at++)); do echo "$user line $((at % 5))"; done; } |
            install -m 600 -o "$user" -g "$user" /dev/stdin "$base/home/$user/in.txt"
    done
}

# What `uniq -c` makes of a user's input.
expected_output() {
    local at
    for at in 0 1 2 3 4; do echo "10 $1 line $at"; done
}

output_of() {
    cat "$1"/part-* | sed 's/^ *//; s/[[:space:]]*$//' | sort
}

# --- configuration

conf=$base/etc/hadoop state=$base/var/lib/jobtracker data=$base/data/hadoop worker_folder=$base/var/lib/jobtracker-tasktracker

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# The sample conf folder with other paths and ports, changes of jobs by signature, and the account of each user.
make_conf() {
    local file user
    rpc=$(free_port) http=$(free_port) worker_http=$(free_port)
    web=http://127.0.0.1:$http
    install -d -m 755 "$base/etc" "$conf" "$base/data"
    install -d -o "$daemon" -g "$daemon" -m 700 "$state"
    install -d -o "$daemon" -g "$daemon" -m 755 "$data"
    install -d -m 711 "$worker_folder"
    for file in etc/conf/*.xml; do
        sed -e "s|/etc/hadoop/acl|$conf/acl|; s|/var/lib/jobtracker|$state|; s|/data/hadoop|$data|" \
            -e "s|master:9001|127.0.0.1:$rpc|; s|0.0.0.0:50030|127.0.0.1:$http|; s|<value>20</value>|<value>1</value>|" \
            "$file" >"$conf/$(basename "$file")"
    done
    sed -i 's|^</configuration>|  <property><name>jobtracker.job-changes</name><value>signed</value></property>\n&|' "$conf/mapred-site.xml"
    {
        for user in "${users[@]}"; do echo "$user user key-of-$user"; done
        echo "operator admin key-of-operator"
    } | install -o root -g "$daemon" -m 640 /dev/stdin "$conf/acl"
    for user in "${users[@]}"; do echo "$user 1000 0.5"; done |
        install -o "$daemon" -g "$daemon" -m 600 /dev/stdin "$state/budget"
}

# --- daemon and worker

# In the place of this shell, as the unit does it: the daemon's user, these capabilities (`,+cap...`) and no others, what is read-only.
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
        sh "$conf" "$daemon" "$@"
}

# start_daemon CAPABILITIES
start_daemon() {
    restricted "$1" env -u HADOOP_CONF_DIR "$base/bin/jobtracker" serve --conf "$conf" 2>"$logs/serve.log" &
    serve=$!
    processes+=("$serve")
    await_text "$logs/serve.log" "next, look"
}

# start_worker SLOTS: root's, whose umask is that of outputs.
start_worker() {
    (
        umask 077
        exec env -u HADOOP_CONF_DIR "$base/bin/jobtracker" tasktracker --conf "$conf" --name shared --slots "$1" \
            -D "mapred.local.dir=$worker_folder" -D "mapred.task.tracker.http.address=127.0.0.1:$worker_http"
    ) 2>"$logs/worker.log" &
    worker=$!
    processes+=("$worker")
    await_text "$logs/worker.log" "has registered this tasktracker"
}

# --- clients

by() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps=-all --bounding-set=-all \
        env -i HOME="${home:-$base/home/$user}" PATH=/usr/local/bin:/usr/bin:/bin sh -c 'umask 077; cd; exec "$@"' sh "$@"
}

job() {
    job_as "$1" "$@"
}

job_as() {
    local name=$1 user=$2
    shift 2
    by "$user" "$base/bin/jobtracker" job "$@" --conf "$conf" --user "$name"
}

keyless_job_as() {
    local home=/
    job_as "$@"
}

submit() {
    local user=$1 output=$2 mapper=$3
    shift 3
    job "$user" submit --input "$base/home/$user/in.txt" --output "$output" --mapper "$mapper" --reducer 'uniq -c' \
        -D mapred.map.tasks=1 "$@"
}

operator() {
    HADOOP_KEY=key-of-operator "$base/bin/jobtracker" "$@" --conf "$conf" --as operator
}

# shellcheck disable=SC2016
status() {
    python3 - "$@" <<'END'
import sys, urllib.error, urllib.request
target, method = (sys.argv[1:] + ["GET"])[:2]
request = urllib.request.Request(target, data=b"x" if method == "POST" else None, method=method, headers={
    "X-Requested-By": "test", "Content-Type": "application/octet-stream"})
try:
    print(urllib.request.urlopen(request).status)
except urllib.error.HTTPError as error:
    print(error.code)
END
}
