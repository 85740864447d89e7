#!/usr/bin/env bash
# several_users.sh [--users N] [--stock-clients]
#
# Has N users of this machine (10), made for this and removed afterwards, share a cluster as etc/ ships it: the daemon as an ordinary user
# under the restrictions of etc/systemd/jobtracker.service (no capabilities, /usr, /boot, /etc and the conf folder read-only, no homes),
# configured by etc/conf with other paths and ports and with jobtracker.job-changes = signed; a worker of root's, which runs each job as its
# user. Each user submits a signed job of files in a home of mode 0700 by our client, under umask 077, all at once.
#
# Checks that outputs are right and their users'; that no user reads or changes files, logs, outputs or processes of another, or kills
# another's job; that a job that names a file of root's or another's as input, cache or output gets nothing; that the bill is exact; that
# nothing stays. With --stock-clients the daemon has the rights of etc/systemd/stock-clients.conf, our client stages in folders of mode 0700 as
# stock clients do, and two users submit by the client of Hadoop 1.2.1 as well.
#
# Needs root. Ends with 1 when anything was wrong; prints a line `SKIPPED what: reason` for what cannot be tried here.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$(realpath "${JOBTRACKER_PROGRAM:-target/debug/jobtracker}")
count=10 with_stock_clients='' capabilities='' way='other users hand their files over by HTTP'
while (($# > 0)); do
    case $1 in
    --users)
        count=$2
        shift
        ;;
    --stock-clients)
        with_stock_clients=yes
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
((count >= 2)) || { echo "several_users.sh: --users $count: expected 2 or more" >&2 && exit 2; }

((EUID == 0)) || { echo "SKIPPED several users: only root may become other users" && exit 0; }
for tool in setpriv unshare useradd userdel python3 ps; do
    command -v "$tool" >/dev/null || { echo "SKIPPED several users: $tool is missing" && exit 0; }
done
unshare --mount true 2>/dev/null || { echo "SKIPPED several users: no mounts of our own" && exit 0; }

. tests/verdicts.sh
. tests/several_users/stage.sh
. tests/several_users/own_jobs.sh
. tests/several_users/others.sh
. tests/several_users/forbidden_paths.sh
. tests/several_users/stock_clients.sh
. tests/several_users/ends.sh

stock_users=()
if [[ $with_stock_clients ]]; then
    refusal=$(stock_refusal)
    [[ $refusal ]] && echo "SKIPPED jobs of stock clients: $refusal" || stock_users=(0 1)
fi

install -D -m 755 "$program" "$base/bin/jobtracker"
make_users "$count"
make_conf
cp "$state/budget" "$logs/budget-at-start"
start_daemon "${capabilities,,}"
check "the daemon says which way files take" grep --quiet "$way" "$logs/serve.log"
# Room for each user's slow job and as many again.
start_worker $((count * 2))
check "the worker runs jobs as their users" grep --quiet 'commands of each job run as its user' "$logs/worker.log"
check "the worker gives no log without a ticket" grep --quiet 'logs need tickets' "$logs/worker.log"

each_runs_a_job
if ((${#stock_users[@]})); then
    stock_users=("${users[0]}" "${users[1]}")
    make_stock_clients
    stock_clients_submit "${stock_users[@]}"
fi

each_starts_a_slow_job
for at in "${!users[@]}"; do
    user=${users[$at]} other=${users[$(((at + 1) % count))]}
    check "$user: touches nothing of others" touches_nothing "$user"
    reads_no_log "$user" "$other"
    changes_no_job "$user" "$other"
    refused_at_once "$user" "$other"
done
((${#stock_users[@]} == 0)) || stock_changes_no_job "${stock_users[@]}"
# Otherwise the area is the daemon's own.
[[ -z $capabilities ]] || leads_the_daemon_astray "$user"
each_kills_its_slow_job
[[ -z $capabilities ]] || was_not_led_astray "$user"

forbid_paths

check "no job files are left" holds_soon no_job_files
check_bill
stop_worker
nothing_stays

((wrong == 0)) && echo "several users: $count users, one machine: ok"
exit "$wrong"
