# Sourced by several_users.sh: streaming jobs by the client of Hadoop 1.2.1, which stages in a folder of mode 0700 of its user. Only the
# client is started: built-in workers run the jobs.
# shellcheck shell=bash

. tests/hadoop/environment.sh

# Says why there can be none here; nothing when there can.
stock_refusal() {
    local answer
    if ! answer=$(find_java 2>&1); then
        echo "${answer#*error: }"
    elif ! answer=$(tests/hadoop/fetch-jars.sh 2>&1); then
        echo "${answer#*error: }"
    fi
}

# Jars and a conf folder that all users read. RunJar unpacks below hadoop.tmp.dir, which must be the user's own.
make_stock_clients() {
    find_java
    install -d -m 755 "$base/stock" "$base/stock/lib" "$base/stock/conf"
    install -m 644 "$HADOOP_LIB"/*.jar "$base/stock/lib"
    install -m 644 "$conf"/*.xml tests/hadoop/conf/log4j.properties "$base/stock/conf"
    sed -i "s|<value>$data</value>|<value>\${user.home}/tmp</value>|" "$base/stock/conf/core-site.xml"
    install -m 755 etc/client/scheduler.py "$base/stock"
}

# stock USER CLASS [ARG]...
stock() {
    local user=$1 jars
    shift
    jars=("$base"/stock/lib/*.jar)
    by "$user" mkdir -p tmp
    by "$user" "$JAVA" -Xmx128m "${JAVA_OPTIONS[@]}" "-Djava.io.tmpdir=$base/home/$user/tmp" \
        -cp "$base/stock/conf:$(IFS=: && echo "${jars[*]}")" "$@" </dev/null
}

# stock_submit USER OUTPUT MAPPER [OPTION]...: signed by the shipped Python client.
stock_submit() {
    local user=$1 output=$2 mapper=$3 signed
    shift 3
    read -ra signed < <(by "$user" python3 "$base/stock/scheduler.py" --server "127.0.0.1:$http" --job)
    stock "$user" org.apache.hadoop.util.RunJar "$base/stock/lib/hadoop-streaming-1.2.1.jar" "${signed[@]}" -D mapred.map.tasks=1 "$@" \
        -input "$base/home/$user/in.txt" -output "$output" -mapper "$mapper" -reducer 'uniq -c'
}

# stock_clients_submit USER...: each runs a job to its end, and starts a slow one, which takes the place of the own client's.
stock_clients_submit() {
    local user submitting=() at=0
    for user in "$@"; do
        stock_submit "$user" "$base/shared/stock-$user" 'sh -c "cat; sleep 2"' >"$logs/$user.stock.log" 2>&1 &
        submitting+=($!)
    done
    for user in "$@"; do
        check "$user: the job of the stock client succeeds" wait "${submitting[$at]}"
        at=$((at + 1))
        grep --quiet 'Output: ' "$logs/$user.stock.log" || cat "$logs/$user.stock.log"
        check_output "$user" "$base/shared/stock-$user"
    done
}

# stock_submits_slow_job USER OUTPUT MAPPER: the id goes to slow[USER]; the client follows it to its end.
stock_submits_slow_job() {
    local log=$logs/$1.stock-slow.log
    stock_submit "$@" >"$log" 2>&1 &
    await_text "$log" 'Running job: job_'
    slow[$1]=$(sed -n 's/.*Running job: \(job_[0-9_]*\).*/\1/p' "$log")
}

# stock_changes_no_job USER OWNER: names alone kill nothing, the owner's neither.
stock_changes_no_job() {
    local user
    for user in "$1" "$2"; do
        check "$user: the stock client kills no job of $2, unsigned" fails '[1-9]*' 'is not signed' \
            stock "$user" org.apache.hadoop.mapred.JobClient -kill "${slow[$2]}"
    done
}
