# Sourced by real_clients.sh: the command line of Hive 0.12 with its embedded metastore.
# shellcheck shell=bash

hive_fetch() {
    find_java
    "$CLIENTS_DIR/fetch.sh" hive || return 1
    [[ -x ${JAVA%/java}/javac ]] || { echo "a JDK is needed, $JAVA has no compiler beside it" && return 1; }
    "${JAVA%/java}/javac" -nowarn -d "$FETCHED/hive/classes" "$CLIENTS_DIR/UrlClassLoader.java"
}

# hive_command OPTION...: into HIVE.
hive_command() {
    local jars=("$FETCHED/hive/lib"/*.jar)
    local IFS=:
    HIVE=(env "HADOOP_CLASSPATH=$WORK/conf:$FETCHED/hive/classes:${jars[*]}" "HADOOP_CLIENT_OPTS=-Djava.system.class.loader=UrlClassLoader -Dhive.log.dir=$WORK"
        hadoop org.apache.hadoop.hive.cli.CliDriver "$@")
}

# query NAME STATUS TEXT: as `hive -e` does.
query() {
    hive_command -e "$3"
    run "$1" "$2" "${HIVE[@]}"
}

hive_site() {
    echo '<configuration>'
    hdfs_property javax.jdo.option.ConnectionURL "jdbc:derby:;databaseName=$WORK/metastore;create=true"
    hdfs_property hive.metastore.warehouse.dir /user/alice/warehouse
    hdfs_property hive.exec.scratchdir /user/alice/scratch
    hdfs_property hive.querylog.location "$WORK/querylog"
    # Tasks would need the metastore's database.
    hdfs_property hive.stats.autogather false
    echo '</configuration>'
}

hive_run() {
    local address
    make_visits
    mkdir -p "$WORK/conf"
    hive_site >"$WORK/conf/hive-site.xml"

    # Each query has one reduce, so that rows have one order.
    query makes 0 "
        CREATE TABLE visits (visitor STRING, url STRING, times INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t';
        CREATE TABLE pages (url STRING, title STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t';
        LOAD DATA LOCAL INPATH '$WORK/visits.txt' INTO TABLE visits;
        LOAD DATA LOCAL INPATH '$WORK/pages.txt' INTO TABLE pages;
        SHOW TABLES;"
    query asks 0 "
        SELECT url, SUM(times), COUNT(*) FROM visits GROUP BY url;
        SELECT COUNT(DISTINCT visitor) FROM visits;
        SET hive.auto.convert.join=false;
        SELECT v.visitor, p.title, v.times FROM visits v JOIN pages p ON v.url = p.url WHERE v.times > 1 ORDER BY v.times;"
    check "rows of GROUP BY" grep -q $'^/a\t12\t5$' "$OUT/asks.stdout"
    check "rows of COUNT(DISTINCT)" grep -q '^5$' "$OUT/asks.stdout"
    check "rows of JOIN" grep -q $'^ann\tlist\t7$' "$OUT/asks.stdout"

    # The small table is read by a process on this machine, which bin/hadoop starts.
    query map_join 0 "
        SET hive.auto.convert.join=true;
        CREATE TABLE titles AS SELECT p.title AS title, SUM(v.times) AS total FROM visits v JOIN pages p ON v.url = p.url GROUP BY p.title;
        SELECT * FROM titles;"
    check "rows of a table made by a map-join" grep -q $'^list\t9$' "$OUT/map_join.stdout"
    query partitions 0 "
        SET hive.exec.dynamic.partition.mode=nonstrict;
        SET hive.merge.mapfiles=true;
        CREATE TABLE by_url (visitor STRING, times INT) PARTITIONED BY (url STRING);
        INSERT OVERWRITE TABLE by_url PARTITION (url) SELECT visitor, times, url FROM visits;
        SHOW PARTITIONS by_url;"
    fs_shell alice -lsr warehouse 2>>"$CLUSTER/cat.log" | keep_file files
    fs_shell alice -text 'warehouse/titles/*' 2>>"$CLUSTER/cat.log" | keep_file titles

    query transform_fails 35 "SET mapred.map.max.attempts=2; SELECT TRANSFORM (visitor) USING 'false' AS x FROM visits;"
    address=$(sed -n 's/^ *\(http:.*taskdetails.jsp.*\)/\1/p' "$OUT/transform_fails.stderr" | head -n 1)
    check "Hive prints the address of a failed task" test -n "$address"
    check "the address of the failed task answers" curl --silent --fail --max-time 20 --output "$WORK/task.html" "$address"
    check "with the page of that task" grep -q "attempt_.*_m_000000_1" "$WORK/task.html"
    query unknown_queue 1 "SET mapred.job.queue.name=nowhere; SELECT COUNT(*) FROM visits;"

    hive_command -e "SELECT TRANSFORM (visitor) USING 'sleep 1000' AS x FROM visits;"
    begin waits "${HIVE[@]}"
    interrupt waits
    check "Hive reports no error of the kill" test -z "$(grep -h "error trying to kill" "$OUT/waits".*)"
}
