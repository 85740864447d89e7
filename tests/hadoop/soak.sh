#!/usr/bin/env bash
# soak.sh [--minutes N] [--trackers N] [--kill-every-s N] [--seed N]
#
# Has the load generator run trackers (50), signed jobs, bidders, administrators and polling clients against our JobTracker, with the market and
# preemption on, for so many minutes (3). Once in each stretch of --kill-every-s seconds (10), at a moment of chance, it gets SIGKILL and is
# started again at once. Prints a line for each life: memory, threads, descriptors, state.db, heartbeats and how long they took, and how long
# after its start the ports were open and the first heartbeat was answered. In the end every accepted job must have ended as its
# failures and kills say, no attempt may have been launched twice, none of a finished task again, every credit must be accounted for; and in a
# run of at least 16 lives, long enough for what is kept to be full by its second quarter, the last quarter may take no more than a tenth more
# than the second; of state.db that is what is in it but for the market's history, which is folded and thinned after days. Needs no Java.
# Ends with 1 when anything was wrong.
#
# The long one:    cargo build --release --bins --examples &&
#     JOBTRACKER_PROGRAM=target/release/jobtracker tests/hadoop/soak.sh --minutes 60 --kill-every-s 60
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
minutes=3 kill_every_s=10 options=()
while (($# > 0)); do
    case $1 in
    --minutes) minutes=$2 ;;
    --kill-every-s) kill_every_s=$2 ;;
    --trackers | --seed) options+=("$1" "$2") ;;
    *) fail "soak.sh: unknown option $1" ;;
    esac
    shift 2
done

generator=$(load_generator)
program=$(our_program)
folder=$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-soak.XXXXXX")
"$generator" soak --program "$program" --folder "$folder" --minutes "$minutes" --kill-every-s "$kill_every_s" "${options[@]}" ||
    fail "kept for you to look at: $folder"
rm -r "$folder"
