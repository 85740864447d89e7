#!/usr/bin/env bash
# task.sh BEHAVIOUR FOLDER: a streaming mapper or reducer that passes its input on, sooner or later or never. Leaves FOLDER/started/ATTEMPT.
#
#   pass          at once
#   gate          when the file FOLDER/go-m, for a map, or FOLDER/go-r is there
#   gate-first    the first attempt as gate, later ones as pass
#   fail          ends with an error
#   fail-first    the first attempt ends with an error, later ones pass
#   die-first     the first attempt kills its JVM, later ones pass
set -euo pipefail

behaviour=$1 folder=$2
# Streaming hands the configuration over in the environment.
attempt=$mapred_task_id
GATE_LIMIT_S=200
kind=${attempt#attempt_*_*_}
kind=${kind%%_*}

mkdir -p "$folder/started"
touch "$folder/started/$attempt"

if [[ $behaviour == *-first ]]; then
    behaviour=${behaviour%-first}
    [[ $attempt == *_0 ]] || behaviour=pass
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
