# Sourced by several_users.sh: the job of each user, from its input to its output.
# shellcheck shell=bash

# each_runs_a_job: all at once.
each_runs_a_job() {
    local at user submitting=()
    for user in "${users[@]}"; do
        submit "$user" "$base/shared/out-$user" 'sh -c "cat; sleep 2"' >"$logs/$user.log" 2>&1 &
        submitting+=($!)
    done
    for at in "${!users[@]}"; do
        user=${users[$at]}
        check "$user: the job succeeds" wait "${submitting[$at]}"
        check_output "$user" "$base/shared/out-$user"
    done
}

# check_output USER FOLDER: it is right, the user's, and nobody else's by its modes.
check_output() {
    check "$1: the output is right" diff <(expected_output "$1") <(output_of "$2")
    check "$1: owns all of the output, closed to others" owned_and_closed "$1" "$2"
}

owned_and_closed() {
    local files=0 path
    while read -r path; do
        echo "$path: $(stat -c '%U:%G %a' "$path"), not $1's alone"
        files=-1000
    done < <(find "$2" ! -user "$1" -o ! -group "$1" -o -perm /077)
    files=$((files + $(find "$2" -type f -name 'part-*' -o -name _SUCCESS | wc -l)))
    ((files >= 2))
}

declare -A slow=()

# each_starts_a_slow_job: one that runs until it is killed, by the stock client where its user has that; the file `running` says that it runs.
each_starts_a_slow_job() {
    local user mapper
    for user in "${users[@]}"; do
        mapper="sh -c 'echo words of $user >&2; touch $base/home/$user/running; cat; sleep 600'"
        if [[ " ${stock_users[*]} " == *" $user "* ]]; then
            stock_submits_slow_job "$user" "$base/shared/slow-$user" "$mapper"
        else
            slow[$user]=$(submit "$user" "$base/shared/slow-$user" "$mapper" --detach 2>>"$logs/$user.log")
        fi
        [[ ${slow[$user]} == job_* ]] || {
            cat "$logs/$user"*.log
            echo "no slow job of $user: ${slow[$user]}"
            exit 1
        }
    done
    for user in "${users[@]}"; do
        check "$user: the slow job runs" holds_soon test -e "$base/home/$user/running"
        check "$user: its job files are closed" test "$(stat -c %a "$data/mapred/staging/$user/.staging/${slow[$user]}")" = 700
    done
}

# each_kills_its_slow_job: what others could not.
each_kills_its_slow_job() {
    local user end
    for user in "${users[@]}"; do
        check "$user: the slow job still runs" by "$user" sh -c \
            '"$@" | grep --quiet " RUNNING"' sh "$base/bin/jobtracker" job status "${slow[$user]}" --conf "$conf" --user "$user"
        check "$user: kills the slow job" fails 0 'kill requested' job "$user" kill "${slow[$user]}"
    done
    for user in "${users[@]}"; do
        end=KILLED
        # Behind a link that leads astray the cleanup finds no job.xml.
        [[ ! -L $data/mapred/staging/$user/.staging ]] || end='KILLED|FAILED'
        check "$user: the slow job is killed by its owner" fails 1 "$end" job "$user" wait "${slow[$user]}"
    done
}
