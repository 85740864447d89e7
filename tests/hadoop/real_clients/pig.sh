# Sourced by real_clients.sh: Pig 0.12.1 by its own main class, as bin/pig calls it.
# shellcheck shell=bash

pig_fetch() { "$CLIENTS_DIR/fetch.sh" pig; }

# pig_command OPTION...: into PIG.
pig_command() {
    local jars=("$FETCHED/pig/lib"/*.jar)
    local IFS=:
    PIG=(env "HADOOP_CLASSPATH=${jars[*]}" hadoop org.apache.pig.Main "$@")
}

pig_run() {
    make_visits
    fs_shell alice -put "$WORK/visits.txt" "$WORK/pages.txt" . 2>>"$CLUSTER/put.log"
    # Two stores of one load, then a join of the one: three jobs, of which the last waits for the others.
    cat >"$WORK/sums.pig" <<'PIG'
visits = LOAD 'visits.txt' AS (visitor:chararray, url:chararray, times:int);
pages = LOAD 'pages.txt' AS (url:chararray, title:chararray);
many = FILTER visits BY times > 1;
by_url = GROUP many BY url;
sums = FOREACH by_url GENERATE group AS url, SUM(many.times) AS total, COUNT(many) AS visitors;
joined = JOIN sums BY url, pages BY url;
titles = FOREACH joined GENERATE title, total, visitors;
sorted = ORDER titles BY total DESC;
STORE sorted INTO 'pig/titles';
PIG
    pig_command -x mapreduce -f sums.pig
    run sums 0 "${PIG[@]}"
    fs_shell alice -cat 'pig/titles/part-*' 2>>"$CLUSTER/cat.log" | keep_file titles
    printf '%s\t%d\t%d\n' start 10 3 list 9 2 cart 4 1 >"$WORK/titles"
    check_same "titles" "$OUT/titles" "$WORK/titles"

    # One store fails. The other job goes its way, or is killed while its task runs; there the task that fails waits for that one, and has one
    # attempt, since a second would wait for the slot of the other.
    cat >"$WORK/goes_on.pig" <<'PIG'
SET mapred.map.max.attempts 2;
visits = LOAD 'visits.txt' AS (visitor:chararray, url:chararray, times:int);
bad = STREAM visits THROUGH `false`;
STORE bad INTO 'pig/goes_on.bad';
pages = LOAD 'pages.txt' AS (url:chararray, title:chararray);
good = STREAM pages THROUGH `cat`;
STORE good INTO 'pig/goes_on.good';
PIG
    pig_command -x mapreduce -f goes_on.pig
    run goes_on 3 "${PIG[@]}"
    echo "touch $WORK/runs; exec sleep 1000" >"$WORK/long.sh"
    echo "until [ -e $WORK/runs ]; do sleep 0.1; done; exit 1" >"$WORK/bad.sh"
    sed "s/goes_on/stops/; s/attempts 2/attempts 1/; s|\`false|\`/bin/sh $WORK/bad.sh|; s|\`cat|\`/bin/sh $WORK/long.sh|" "$WORK/goes_on.pig" >"$WORK/stops.pig"
    pig_command -x mapreduce -stop_on_failure -f stops.pig
    run stops 6 "${PIG[@]}"
    check "-stop_on_failure leaves no job behind" within 60 no_job_runs
    fs_shell alice -lsr pig 2>>"$CLUSTER/cat.log" | keep_file files

    cat >"$WORK/waits.pig" <<'PIG'
visits = LOAD 'visits.txt' AS (visitor:chararray, url:chararray, times:int);
bad = STREAM visits THROUGH `sleep 1000`;
STORE bad INTO 'pig/waits';
PIG
    pig_command -x mapreduce -f waits.pig
    begin waits "${PIG[@]}"
    interrupt waits
}
