#!/usr/bin/env bash
# alerts.sh PROGRAM
#
# What promtool says of the alert rules in etc/prometheus and of the names of the metrics that a daemon shows, and whether each alert fires where
# alerts/alerts.yml says so and is silent where it says so; that has both of each alert.
#
# Ends with 1 when anything was wrong; prints a line `SKIPPED what: reason` where there is no promtool.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=$(realpath "${1:?usage: alerts.sh PROGRAM}")
for tool in promtool curl; do
    command -v "$tool" >/dev/null || { echo "SKIPPED alerts: $tool is missing" && exit 0; }
done
show_logs() { tail -n 20 "$scratch/log"; }
. tests/verdicts.sh

rules=etc/prometheus/jobtracker.rules.yml cases=tests/alerts/alerts.yml
check "promtool reads the rules" promtool check rules "$rules"
check "each alert fires and is silent as its cases say" promtool test rules "$cases"
for alert in $(sed -n 's/^ *- alert: //p' "$rules"); do
    for outcome in "fires" "is silent"; do
        check "$alert has a case in which it $outcome" grep --quiet "name: $alert $outcome" "$cases"
    done
done

scratch=$(mktemp -d)
"$program" serve -D mapred.job.tracker=127.0.0.1:0 -D mapred.job.tracker.http.address=127.0.0.1:0 \
    -D "jobtracker.state.dir=$scratch/state" -D "hadoop.tmp.dir=$scratch/tmp" >"$scratch/log" 2>&1 &
daemon=$!
trap 'kill "$daemon" && wait "$daemon" || true; rm -rf "$scratch"' EXIT
await "the daemon serves" grep --quiet 'web on http://' "$scratch/log"
metrics() { curl --silent --fail "http://$(sed -n 's|.*web on http://\([^/]*\)/.*|\1|p' "$scratch/log")/metrics"; }
promtool_takes_them() { metrics | promtool check metrics; }
check "promtool finds nothing wrong with the metrics" promtool_takes_them
exit "$wrong"
