#!/usr/bin/env bash
# page_login.sh
#
# One sign-on for the pages of a stock NameNode, of the Java JobTracker and of ours, whose AuthenticationFilterInitializer reads one secret: each
# takes the cookie hadoop.auth that another has set, as curl sends it back, and a cookie made by openssl; none takes one that is forged,
# has ended, is of another type or of another secret. Requests without a name are 401 everywhere. No TaskTracker and no DataNode runs.
# Ends with a line `N passed, N failed`, and 1 when any failed.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"

"$LIVE_DIR/fetch-jars.sh"
find_java
export LC_ALL=C.UTF-8
read -r JAVA_RPC_PORT JAVA_HTTP_PORT OTHER_RPC_PORT OTHER_HTTP_PORT < <(free_ports 4)
cluster_create
printf 'a secret of one cluster\n' >"$CLUSTER/secret"
printf 'a secret of another cluster\n' >"$CLUSTER/other-secret"
for pair in hadoop.http.filter.initializers=org.apache.hadoop.security.AuthenticationFilterInitializer hadoop.http.authentication.type=simple \
    hadoop.http.authentication.simple.anonymous.allowed=false "hadoop.http.authentication.signature.secret.file=$CLUSTER/secret"; do
    hdfs_property "${pair%%=*}" "${pair#*=}" >>"$CLUSTER/extra.xml"
done
hdfs_create 0
# hdfs_create writes conf files of its own.
sed -i "/<configuration>/r $CLUSTER/extra.xml" "$CLUSTER/namenode/conf/core-site.xml"
hdfs_start_namenode
NAMENODE=
cluster_conf localhost "$CLUSTER/conf"
rm -f "$CLUSTER/conf/hdfs-site.xml"
cluster_start_jobtracker ours

# also NAME java|ours RPC_PORT HTTP_PORT SECRET: a JobTracker beside the first one.
also() {
    local CLUSTER=$CLUSTER/$1 first=$CLUSTER RPC_PORT=$3 HTTP_PORT=$4 running=${CLUSTER_PIDS[jobtracker]}
    mkdir -p "$CLUSTER"
    sed "s|$first/secret|$5|" "$first/extra.xml" >"$CLUSTER/extra.xml"
    mkdir -m 1777 "$CLUSTER/staging"
    cluster_conf localhost "$CLUSTER/conf"
    cluster_start_jobtracker "$2"
    CLUSTER_PIDS[$1]=${CLUSTER_PIDS[jobtracker]}
    CLUSTER_PIDS[jobtracker]=$running
}
also java java "$JAVA_RPC_PORT" "$JAVA_HTTP_PORT" "$CLUSTER/secret"
also other ours "$OTHER_RPC_PORT" "$OTHER_HTTP_PORT" "$CLUSTER/other-secret"

declare -A PAGES=(
    [ours]=http://127.0.0.1:$HTTP_PORT/jobtracker.jsp
    [java]=http://127.0.0.1:$JAVA_HTTP_PORT/jobtracker.jsp
    [namenode]=http://127.0.0.1:${HDFS_PORTS[1]}/dfshealth.jsp
)
passed=0 failed=0

# expect STATUS WHAT CURL_OPTION...
expect() {
    local expected=$1 what=$2 found
    shift 2
    found=$(curl --silent --output "$CLUSTER/answer" --write-out '%{http_code}' --max-time 30 "$@")
    if [[ $found == "$expected" ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$what: $found, expected $expected: $(head -c 200 "$CLUSTER/answer")"
    fi
}

# signed TEXT SECRET_FILE: the value of the cookie.
signed() { printf '%s&s=%s' "$1" "$({ printf %s "$1"; cat "$2"; } | openssl sha1 -binary | base64)"; }

soon=$(($(date +%s%3N) + 600000)) past=$(($(date +%s%3N) - 1000))
for server in ours java namenode; do
    page=${PAGES[$server]}
    expect 401 "$server without a name" "$page"
    expect 200 "$server by user.name" "$page?user.name=alice" --cookie-jar "$CLUSTER/$server.jar"
    good=$(signed "u=alice&p=alice&t=simple&e=$soon" "$CLUSTER/secret")
    expect 200 "$server with a cookie made by hand" "$page" --cookie "hadoop.auth=$good"
    expect 200 "$server with the same in quotes" "$page" --cookie "hadoop.auth=\"$good\""
    expect 200 "$server with the same behind others" "$page" --cookie "a=b; hadoop.auth=\"$good\"; c=d"
    expect 401 "$server with another name under the signature" "$page" --cookie "hadoop.auth=\"${good//alice/root}\""
    expect 401 "$server with a longer life under the signature" "$page" --cookie "hadoop.auth=\"${good/e=1/e=9}\""
    expect 401 "$server without the signature" "$page" --cookie "hadoop.auth=\"${good%&s=*}\""
    expect 401 "$server with an empty signature" "$page" --cookie "hadoop.auth=\"${good%&s=*}&s=\""
    expect 401 "$server with a cookie that has ended" "$page" --cookie "hadoop.auth=\"$(signed "u=alice&p=alice&t=simple&e=$past" "$CLUSTER/secret")\""
    expect 401 "$server with another type" "$page" --cookie "hadoop.auth=\"$(signed "u=alice&p=alice&t=kerberos&e=$soon" "$CLUSTER/secret")\""
    expect 401 "$server with another secret" "$page" --cookie "hadoop.auth=\"$(signed "u=alice&p=alice&t=simple&e=$soon" "$CLUSTER/other-secret")\""
    expect 401 "$server without an end" "$page" --cookie "hadoop.auth=\"$(signed "u=alice&p=alice&t=simple" "$CLUSTER/secret")\""
    # The filter of 1.2.1 fails there.
    expect "$([[ $server == ours ]] && echo 401 || echo 500)" "$server with an empty name" "$page" --cookie "hadoop.auth=\"$(signed "u=&p=&t=simple&e=$soon" "$CLUSTER/secret")\""
done
for server in ours java namenode; do
    for taker in ours java namenode; do
        expect 200 "the cookie of $server at $taker" "${PAGES[$taker]}" --cookie "$CLUSTER/$server.jar"
    done
    expect 401 "the cookie of $server at a cluster of another secret" "http://127.0.0.1:$OTHER_HTTP_PORT/jobtracker.jsp" --cookie "$CLUSTER/$server.jar"
done
# What is no page is closed as well, and open with the cookie.
for path in /conf /jmx /stacks /logLevel /static/hadoop.css; do
    for port in "$HTTP_PORT" "$JAVA_HTTP_PORT"; do
        expect 401 "$path at $port without a name" "http://127.0.0.1:$port$path"
        expect 200 "$path at $port with the NameNode's cookie" "http://127.0.0.1:$port$path" --cookie "$CLUSTER/namenode.jar"
    done
done
echo "$passed passed, $failed failed"
((failed == 0))
