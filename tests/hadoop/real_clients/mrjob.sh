# Sourced by real_clients.sh: mrjob 0.7.4 with -r hadoop, which calls `hadoop fs`, `hadoop jar` and `hadoop version` and reads what they print.
# shellcheck shell=bash

mrjob_fetch() { "$CLIENTS_DIR/fetch.sh" python; }

# mrjob_command SCRIPT FILE [OPTION]...: into MRJOB.
mrjob_command() {
    local python=$FETCHED/python/venv/bin/python
    MRJOB=("$python" "$CLIENTS_DIR/$1" -r hadoop --hadoop-bin "$CLIENTS_DIR/bin/hadoop" --hadoop-streaming-jar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar"
        --python-bin "$python" --no-conf "${@:3}" "$2")
}

mrjob_run() {
    # It looks for histories in the output, in files that have this user in their names.
    # shellcheck disable=SC2034
    local CLIENT_USER=hadoop
    make_visits
    mrjob_command mrjob_visits.py "$WORK/visits.txt" --output-dir hdfs:///user/hadoop/mrjob/most --cat-output
    run visits 0 "${MRJOB[@]}"
    check "the rows" grep -q $'^"/a"\t12$' "$OUT/visits.stdout"
    fs_shell hadoop -cat 'mrjob/most/part-*' 2>>"$CLUSTER/cat.log" | keep_file most
    check "mrjob reads the counter" grep -q 'rows=10' "$OUT/visits.stderr"
    mrjob_command mrjob_visits.py "$WORK/visits.txt" --fail -D mapred.map.tasks=1 -D mapred.map.max.attempts=2 \
        --hadoop-log-dir "$CLUSTER/worker-1/log" --hadoop-log-dir "$CLUSTER/worker-2/log"
    run fails 1 "${MRJOB[@]}"
    check "mrjob finds the cause of the failed task" grep -q 'ValueError: visits are refused' "$OUT/fails.stderr"
}
