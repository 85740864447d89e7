#!/usr/bin/env bash
# random.sh [OPTION]...
#
# Has the load generator run random small jobs with random failures on fake trackers against our JobTracker, and compares how each ends with what
# a model predicts. Needs no Java. Options go to the load generator: `--jobs N`, `--seed N`, `--trackers N`. Ends with 1 when any job ended
# otherwise, a slot is still held, or files are left.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
generator=$(load_generator)
cluster_create
cluster_start_jobtracker ours
"$generator" --jobtracker "127.0.0.1:$RPC_PORT" random "$@"
