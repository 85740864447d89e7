# Sourced by real_clients.sh: runs the programs one by one. Each has a file that defines
#
#   NAME_fetch     has the program fetched; prints why and fails where it cannot be had
#   NAME_run       runs it, by the functions below, in the folder $WORK
#
#   run NAME STATUS COMMAND [ARG]...    runs COMMAND as $CLIENT_USER, isolated, with bin/hadoop in its path; what it prints is compared
#   begin NAME COMMAND [ARG]...         the same in the background; sets CLIENT
#   finish NAME STATUS                  waits for it
#   interrupt NAME                      when a task of its job runs, Ctrl-C for the Java process of CLIENT; its job must end killed
#   check WHAT COMMAND [ARG]...         something that must be true
#   check_same WHAT FILE EXPECTED       two files must be equal
#   keep_file NAME                      what comes in is compared as a file of that name
# shellcheck shell=bash disable=SC2154

CLIENT_USER=alice

# Rows by which each program's results are worked out.
make_visits() {
    printf '%s\t%s\t%d\n' ann /a 1 bob /a 5 cid /b 2 ann /b 7 dan /c 1 bob /c 4 ann /a 3 eve /d 9 cid /a 2 eve /a 1 >"$WORK/visits.txt"
    printf '%s\t%s\n' /a start /b list /c cart /e none >"$WORK/pages.txt"
}

run_program() {
    local began=$SECONDS
    PROGRAM_NAME=$2
    OUT=$texts/$1/$2 WORK=$CLUSTER/$2 FIRST_JOBS=$(ended_jobs)
    mkdir -p "$OUT" "$WORK"
    : >"$OUT/checks"
    note "$2 under the JobTracker $1"
    "$2_run"
    python3 "$CLIENTS_DIR/jobs.py" "127.0.0.1:$HTTP_PORT" "$FIRST_JOBS" >"$OUT/jobs"
    echo "$((SECONDS - began))" >"$OUT/seconds"
    echo "$CLUSTER" >"$OUT/cluster"
}

page() { curl --silent --show-error --max-time 20 "http://127.0.0.1:$HTTP_PORT$1"; }

# Prints the ids of the jobs in a state, or in any, one a line; the JobTracker has no order of its own.
jobs_in() {
    page '/jobtracker.jsp?format=json' | python3 -c 'import json, sys
lists = json.load(sys.stdin)
print(*sorted(job["jobId"] for name in sys.argv[1:] for job in lists[name + "JobsSummaryInfo"] or []), sep="\n")' "$@"
}
ended_jobs() { jobs_in completed failed | tr '\n' ' '; }

# Whether a job runs that has begun tasks, and which.
runs_tasks() {
    JOB=$(jobs_in running | head -n 1)
    [[ -n $JOB ]] && page "/jobtasks.jsp?jobid=$JOB&type=map&pagenum=1&state=running" | grep -q "task_.*_m_"
}
is_killed() { [[ $(page "/jobdetails.jsp?format=json&jobid=$1" | tr -d '\n ') == *'"jobStatus":"Killed"'* ]]; }
no_job_runs() { [[ -z $(jobs_in running) ]]; }

isolated_client() {
    cd "$WORK" && bound_to_parent "$LIVE_DIR/isolated.sh" --user "$CLIENT_USER" --host worker-1 --host worker-2 --host worker-3 --host worker-4 \
        env --default-signal=INT "PATH=$CLIENTS_DIR/bin:$PATH" "HOME=$WORK" "TMPDIR=$WORK/tmp" "USER=$CLIENT_USER" "HADOOP_HOME=$CLIENTS_DIR" "HADOOP_CONF_DIR=$CLUSTER/conf" \
        "STOCK_JAVA=$JAVA" "STOCK_JARS=$(hadoop_jars)" \
        "STOCK_JAVA_OPTIONS=-Xmx256m ${JAVA_OPTIONS[*]} -Dhadoop.log.dir=$WORK -Dhadoop.home.dir=$WORK -Djava.io.tmpdir=$WORK/tmp" "$@"
}

begin() {
    local name=$1
    shift
    mkdir -p "$WORK/tmp"
    (isolated_client "$@") >"$OUT/$name.stdout" 2>"$OUT/$name.stderr" </dev/null &
    CLIENT=$!
}

finish() {
    local status=0
    wait_client "$CLIENT" || status=$?
    if [[ $status == "$2" ]]; then
        check "$1 ends with $2" true
    else
        check "$1 ends with $2, but $status: $(tail -n 1 "$OUT/$1.stderr")" false
    fi
}

run() {
    local name=$1 status=$2
    shift 2
    begin "$name" "$@"
    finish "$name" "$status"
}

interrupt() {
    local process
    check "a task runs when $1 is interrupted" within 120 runs_tasks
    process=$(java_below "$CLIENT") || true
    [[ -z $process ]] || kill -INT "$process"
    finish "$1" 130
    check "$1 leaves no job behind" within 60 no_job_runs
    check "the job of $1 is killed" is_killed "$JOB"
}

# within SECONDS COMMAND [ARG]...: whether it succeeds in time.
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.2
    done
}

# Prints the first Java process among the descendants of a process.
java_below() {
    local process
    for process in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
        if [[ $(readlink "/proc/$process/exe") == "$JAVA" ]]; then
            echo "$process"
            return 0
        fi
        java_below "$process" && return 0
    done
    return 1
}

check() {
    local what=$1
    shift
    if "$@"; then
        echo "ok $what" >>"$OUT/checks"
    else
        echo "FAILED $what" >>"$OUT/checks"
        note "$PROGRAM_NAME: FAILED: $what"
    fi
}

check_same() { check "$1" diff "$2" "$3" >&2; }

keep_file() { cat >"$OUT/$1"; }
