# Sourced by several_users.sh: the bill, and that nothing stays.
# shellcheck shell=bash

no_job_files() {
    [[ -z $(find "$data/mapred/staging" "$data/mapred/system" -name 'job_*' -print -quit) ]]
}


# check_bill: to the last digit, by the ledger, the answers and the report.
check_bill() {
    local user answers=()
    for user in "${users[@]}"; do
        check "$user: no slot is used any more" holds_soon queue_is_idle "$user"
        answers+=("$user=$logs/$user.xml")
    done
    operator report queues --csv >"$logs/report.csv"
    stop_daemon
    check "the bill is exact" python3 tests/hadoop/bill.py "$state/state.db" "$logs/budget-at-start" "${answers[@]}"
    check "budget file and report agree with the ledger" python3 tests/several_users/books.py "$state" "$logs/report.csv" "${users[@]}"
}

# queue_is_idle QUEUE: leaves its answer in QUEUE.xml.
queue_is_idle() {
    HADOOP_KEY=key-of-operator python3 etc/client/scheduler.py --server "127.0.0.1:$http" --user operator "info=$1" >"$logs/$1.xml" &&
        grep --quiet '<used>0</used>' "$logs/$1.xml" && grep --quiet '<pending>0</pending>' "$logs/$1.xml"
}

stop_daemon() {
    check "the daemon complains of nothing" test "$(status "$web/readyz")" = 200
    check "no markers of uploads are left" test -z "$(ls "$state/uploads" 2>/dev/null)"
    kill -TERM "$serve"
    check "the daemon stops with 0: the budget file is written" wait "$serve"
}

stop_worker() {
    kill -TERM "$worker"
    check "the worker stops with 0" wait "$worker"
    check "the worker leaves nothing but logs" test "$(find "$worker_folder" -mindepth 1 -maxdepth 1 ! -name userlogs | wc -l)" = 0
}

# Neither processes nor files outside of the folder, nor, once they are removed, users.
nothing_stays() {
    local user
    for user in "${users[@]}"; do
        check "$user: no process is left" test -z "$(ps -o stat=,pid=,args= -u "$user" | grep -v '^Z')"
        check "$user: no file is left in /tmp" test -z "$(find "${TMPDIR:-/tmp}" /tmp -maxdepth 1 -user "$user" 2>/dev/null)"
    done
    for user in "$daemon" "${users[@]}"; do
        # A zombie of an earlier user of the same number does not matter.
        userdel --force "$user" 2>/dev/null || true
    done
    check "no user is left" not grep --quiet "^$prefix" /etc/passwd /etc/group
}
