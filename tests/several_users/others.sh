# Sourced by several_users.sh: what a user may not do with what is another's, while jobs of all run.
# shellcheck shell=bash

# Prints every file and folder that is not USER's and not there for everybody, and the processes of the other users and the worker.
all_of_others() {
    find "$base" -path "$base/bin" -prune -o -path "$base/stock" -prune -o -path "$conf/*.xml" -o \
        ! -user "$1" -type f -printf 'file %p\n' -o \
        ! -user "$1" -type d -printf 'folder %p\n' ! -perm /044 -printf 'closed %p\n'
    ps -eo user:32=,pid= | awk -v user="$1" -v prefix="$prefix" -v worker="$worker" \
        '$2 == worker || index($1, prefix) == 1 && $1 != user { print "process", $2 }'
}

# What a list of the above must have, so that it shows something: each kind of thing of another's.
KINDS=('/\.staging/job_[0-9_]*/job\.xml$' '/\.staging/job_[0-9_]*/job\.split$' '/system/job_.*/jobToken$' 'jobtracker-tasktracker/.*job_'
    'userlogs/.*/stderr$' '/shared/out-.*/part-' '/shared/out-.*/_SUCCESS$' '/\.ssh/hadoop_key$' '/in\.txt$' '/state\.db$' '/budget$'
    '/etc/hadoop/acl$' '^process ')

# touches_nothing USER: what lies here of others is neither read nor changed, and no process of theirs signalled or looked into.
touches_nothing() {
    local kind
    all_of_others "$1" >"$logs/others"
    for kind in "${KINDS[@]}"; do
        grep --quiet -E -- "$kind" "$logs/others" || {
            echo "nothing like $kind is there"
            return 1
        }
    done
    by "$1" python3 -c "$(cat tests/several_users/touch_all.py)" "$base/shared" "$data/mapred/staging" <"$logs/others"
}

# reads_no_log USER OWNER: of the owner's slow job.
reads_no_log() {
    local job=${slow[$2]} attempt
    attempt=${job/job_/attempt_}_m_000000_0
    check "$2: reads the own log" fails 0 "words of $2" job "$2" logs "$attempt" --log stderr
    check "$1: no log of $2" fails 3 'denied|cannot' job "$1" logs "$attempt" --log stderr
    check "$1: no log by the name of $2" fails 3 'denied' job_as "$2" "$1" logs "$attempt" --log stderr
    check "$1: no log of $2 without a ticket" test \
        "$(status "http://127.0.0.1:$worker_http/tasklog?attemptid=$attempt&plaintext=true&filter=stderr")" = 403
    check "$1: no counters of $2" fails 3 'cannot|denied' job "$1" counters "$job"
    check "$1: no output of $2" fails 3 'access denied' job "$1" output "$job" --partial
}

# changes_no_job USER OWNER: under whatever name, with whatever key.
changes_no_job() {
    local job=${slow[$2]} attempt what
    attempt=${job/job_/attempt_}_m_000000_0
    for what in "kill $job" "kill-task $attempt" "fail-task $attempt" "priority $job LOW"; do
        # shellcheck disable=SC2086
        {
            check "$1: no $what, signed" fails 3 "User $1 cannot perform operation" job "$1" $what
            check "$1: no $what, by the name of $2 without a key" fails 3 'is not signed' keyless_job_as "$2" "$1" $what
            check "$1: no $what, by the name of $2 with the own key" fails 3 'denied' job_as "$2" "$1" $what
        }
    done
    check "$1: no kill by HTTP without a signature" test "$(status "$web/scheduler?killJob=$job&user.name=$2" POST)" != 200
    check "$1: no submission by the name of $2" fails 3 'denied|DENIED' job_as "$2" "$1" submit --detach \
        --input "$base/home/$1/in.txt" --output "$base/shared/false-$1" --mapper cat --reducer NONE
    check "$1: no job file without the token" test "$(status "$web/jobfile?job=$job&name=job.xml")" = 401
    check "$1: no upload without a signature" test \
        "$(status "$web/scheduler/upload?job=$job&name=job.xml&sha256=$(printf x | sha256sum | cut -d ' ' -f 1)&user.name=$2" POST)" = 500
}

# leads_the_daemon_astray USER: puts a link to a folder of root's in place of the staging area of the slow job, which the daemon removes when
# the job has ended, with rights over every file if stock clients are there.
leads_the_daemon_astray() {
    local area=$data/mapred/staging/$1/.staging
    install -d -m 700 "$base/roots/${slow[$1]}"
    echo kept >"$base/roots/${slow[$1]}/job.xml"
    check "$1: a link leads the daemon to a folder of root's" by "$1" sh -c 'mv "$1" "$1.aside" && ln -s "$2" "$1"' sh "$area" "$base/roots"
}

# was_not_led_astray USER: once the slow job has ended.
was_not_led_astray() {
    local area=$data/mapred/staging/$1/.staging
    check "the daemon removes nothing behind the link of $1" holds_soon grep --quiet "$area is a symbolic link" "$logs/serve.log"
    check "what is root's is kept" diff <(echo kept) "$base/roots/${slow[$1]}/job.xml"
    by "$1" rm -r "$area" "$area.aside"
}
