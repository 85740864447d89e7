#!/usr/bin/env bash
# task.sh BEHAVIOUR[-first][@TASK] FOLDER
#
# A streaming mapper or reducer that passes its input on, sooner or later or never. Leaves FOLDER/started/ATTEMPT. BEHAVIOUR is one of
#
#   pass          at once
#   gate          when the file FOLDER/go-m, for a map, or FOLDER/go-r is there
#   fail          ends with an error
#   die           kills its JVM
#
# With -first only the first attempt of a task does so, with @TASK only the task of that number; the others pass.
set -euo pipefail

behaviour=$1 folder=$2
# Streaming hands the configuration over in the environment.
attempt=$mapred_task_id
GATE_LIMIT_S=200
IFS=_ read -r _ _ _ kind task number <<<"$attempt"

mkdir -p "$folder/started"
touch "$folder/started/$attempt"

only=${behaviour#"${behaviour%%@*}"}
behaviour=${behaviour%%@*}
[[ -z $only || $((10#$task)) == "${only#@}" ]] || behaviour=pass
if [[ $behaviour == *-first ]]; then
    behaviour=${behaviour%-first}
    [[ $number == 0 ]] || behaviour=pass
fi
case $behaviour in
pass) ;;
gate)
    end=$((SECONDS + GATE_LIMIT_S))
    until [[ -e $folder/go-$kind ]]; do
        ((SECONDS < end)) || exit 1
        sleep 0.2
    done
    ;;
fail)
    echo "no luck today" >&2
    exit 1
    ;;
die)
    kill -KILL "$PPID"
    exit 1
    ;;
*)
    echo "task.sh: no behaviour is called $behaviour" >&2
    exit 64
    ;;
esac
cat
