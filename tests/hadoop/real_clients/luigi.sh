# Sourced by real_clients.sh: contrib.hadoop of luigi, which reads "Running job:" and the tracking URL, renames the output as soon as the job
# ends, and reads /jobfailures.jsp of a job that fails.
# shellcheck shell=bash

luigi_fetch() { "$CLIENTS_DIR/fetch.sh" python; }

luigi_run() {
    local python=$FETCHED/python/venv/bin/python luigi
    make_visits
    fs_shell alice -put "$WORK/visits.txt" luigi/visits.txt 2>>"$CLUSTER/put.log"
    cat >"$WORK/luigi.cfg" <<CONF
[hadoop]
command = $CLIENTS_DIR/bin/hadoop
version = apache1
streaming-jar = $HADOOP_LIB/hadoop-streaming-1.2.1.jar
python-executable = $python
CONF
    luigi=(env "PYTHONPATH=$CLIENTS_DIR" PYTHONDONTWRITEBYTECODE=1 "$python" -m luigi --local-scheduler --no-lock --retcode-task-failed 30 --module luigi_visits)
    run visits 0 "${luigi[@]}" Visits --folder luigi
    fs_shell alice -cat 'luigi/totals/part-*' 2>>"$CLUSTER/cat.log" | keep_file totals
    check "the rows" grep -q $'^/b\t9$' "$OUT/totals"
    fs_shell alice -lsr luigi 2>>"$CLUSTER/cat.log" | keep_file files
    run fails 30 "${luigi[@]}" Visits --folder luigi --fail
    # What it reads there it cannot search under Python 3.
    check "luigi follows the links of /jobfailures.jsp" grep -q 'Fetching data from http://worker-[12]:[0-9]*/tasklog?attemptid=attempt_' "$OUT/fails.stderr"
}
