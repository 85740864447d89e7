#!/usr/bin/env bash
# bidding.sh [--kills N] [--first-kills N] [--seed N]
#
# Has the load generator bid, top up, open and close queues and run signed jobs against our JobTracker, which gets SIGKILL N times (5), at
# any moment or in the middle of a tick, a commit, a replacement of the budget file, a start or a stop. After each the state folder
# is audited: every credit accounted for, nothing charged twice, every acknowledged change there, the budget file whole, no used
# signature good again. First it is killed N times (3) in its very first start, each time in a new folder. Needs no Java. Ends with 1 when
# anything was wrong.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
kills=5 first_kills=3 seed=1
while (($# > 0)); do
    case $1 in
    --kills) kills=$2 ;;
    --first-kills) first_kills=$2 ;;
    --seed) seed=$2 ;;
    *) fail "bidding.sh: unknown option $1" ;;
    esac
    shift 2
done

generator=$(load_generator)
program=$(our_program)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-bidding.XXXXXX")

# bidding NAME OPTION...: one run in the folder of that name, which stays when something was wrong.
bidding() {
    local folder=$scratch/$1
    mkdir "$folder"
    "$generator" bidding --program "$program" --folder "$folder" "${@:2}" || fail "kept for you to look at: $folder"
    rm -r "$folder"
}

for ((first = 1; first <= first_kills; first++)); do
    bidding "first-$first" --kills 1 --seed $((seed + first)) >"$scratch/first.log" || {
        cat "$scratch/first.log"
        exit 1
    }
done
echo "$first_kills kills in a first start: nothing or all of the budget file came in, once"
bidding main --kills "$kills" --seed "$seed"
rm -r "$scratch"
