#!/usr/bin/env bash
# access.sh [--jobtracker java|ours] [--record FOLDER]
#
# Who may open which connection: two users, an administrator, proxy users, two hosts (loopback addresses) and each of the six lists of
# hadoop-policy.xml; the lists and proxy users read again; delegation tokens issued, renewed and cancelled. The stock client asks; what it
# gets is compared with recorded/access/, as it was under the Java JobTracker, or with --record written to FOLDER. Under ours also: a
# mistyped file leaves the lists in force, and tokens outlive SIGKILL. No TaskTracker runs. Ends with a line `N passed, N failed`, and 1
# when any failed.
#
# To record anew: access.sh --jobtracker java --record tests/hadoop/recorded/access
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/asking.sh"
asking_arguments "$@"

"$LIVE_DIR/fetch-jars.sh"
find_java
cluster_create hadoop.security.authorization=true \
    mapreduce.cluster.delegation.token.renew-interval=60000 mapreduce.cluster.delegation.token.max-lifetime=3600000

mkdir "$CLUSTER/classes"
"${JAVA%/java}/javac" -nowarn -proc:none "$JAVA_EXPORTS" -cp "$(hadoop_jars)" -d "$CLUSTER/classes" \
    "$LIVE_DIR/access/AccessProbe.java" 2>"$CLUSTER/javac.log" || { cat "$CLUSTER/javac.log" >&2; fail "AccessProbe does not compile"; }
EXTRA_JAR=$CLUSTER/classes
probe() { hadoop probe AccessProbe "$RPC_PORT" "$@" 2>>"$CLUSTER/probe.log"; }

# lists KEY=VALUE...: hadoop-policy.xml. `games` is a group of every Debian system, with a user of the same name in it.
lists() {
    local pair
    {
        echo '<configuration>'
        for pair in "$@"; do
            printf '  <property><name>security.%s.protocol.acl</name><value>%s</value></property>\n' "${pair%%=*}" "${pair#*=}"
        done
        echo '</configuration>'
    } >"$CLUSTER/conf/hadoop-policy.xml"
}

# proxies NAME=HOSTS=GROUPS...: the proxy users, in a file that no other key is in.
proxies() {
    local entry name hosts
    {
        echo '<configuration>'
        for entry in "$@"; do
            name=${entry%%=*} hosts=${entry#*=}
            printf '  <property><name>hadoop.proxyuser.%s.hosts</name><value>%s</value></property>\n' "$name" "${hosts%%=*}"
            printf '  <property><name>hadoop.proxyuser.%s.groups</name><value>%s</value></property>\n' "$name" "${hosts#*=}"
        done
        cat "$CLUSTER/others.xml"
    } >"$CLUSTER/conf/core-site.xml"
}
sed '1,/<configuration>/d' "$CLUSTER/conf/core-site.xml" >"$CLUSTER/others.xml"

users=alice,bob,boss,games,tracker,"games via oozie","alice via oozie","alice via hue","games via hue","alice via bob","bob via hue"
hosts=127.0.0.1,127.0.0.2
lists "job.submission=alice,oozie,hue,bob games" inter.tracker=tracker task.umbilical=boss "admin.operations=boss games" \
    refresh.usertogroups.mappings=boss "refresh.policy=boss "
proxies oozie=127.0.0.1=games "hue=localhost,127.0.0.2=*"
cluster_start_jobtracker "$jobtracker"

passed=0 failed=0
answers=$CLUSTER/answers
mkdir "$answers"
# judge NAME: compares, or records, what was answered.
judge() {
    if [[ -n $record ]]; then
        mkdir -p "$record"
        cp "$answers/$1.txt" "$record/$1.txt"
        passed=$((passed + 1))
    elif diff "$LIVE_DIR/recorded/access/$1.txt" "$answers/$1.txt" >"$answers/$1.diff"; then
        note "passed: $1 ($(wc -l <"$answers/$1.txt") cases)"
        passed=$((passed + 1))
    else
        note "failed: $1, < under Java, > here"
        cat "$answers/$1.diff" >&2
        failed=$((failed + 1))
    fi
}
# expect TEXT COMMAND...: under ours, COMMAND prints TEXT.
expect() {
    local text=$1 found
    shift
    found=$("$@")
    if [[ $found == $text ]]; then
        passed=$((passed + 1))
    else
        note "failed: expected $text, got $found"
        failed=$((failed + 1))
    fi
}

note "each list, each user, each host"
probe table "$users" "$hosts" >"$answers/table.txt"
judge table

note "lists and proxy users read again"
lists "job.submission=bob " "refresh.policy=boss,deputy" refresh.usertogroups.mappings=boss,deputy
proxies "oozie=*=*" hue=127.0.0.2=games
for user in alice boss; do
    probe refresh "$user"
done >"$answers/refreshed.txt"
probe table "alice,bob,deputy,bob via oozie,games via hue" "$hosts" >>"$answers/refreshed.txt"
judge refreshed

if [[ $jobtracker == ours && -z $record ]]; then
    note "mistyped files leave in force what was read before"
    lists job.submision=mallory
    expect "refreshServiceAcl by boss: java.io.IOException | java.io.IOException: $CLUSTER/conf/hadoop-policy.xml:2: \
security.job.submision.protocol.acl = *the previous values stay in force
refreshSuperUserGroupsConfiguration by boss: done" probe refresh boss
    lists "job.submission=bob "
    proxies "oozie=*=a b"
    expect "refreshServiceAcl by boss: done
refreshSuperUserGroupsConfiguration by boss: java.io.IOException | java.io.IOException: $CLUSTER/conf/core-site.xml:3: \
hadoop.proxyuser.oozie.groups = *the previous values stay in force" probe refresh boss
    expect "JobSubmissionProtocol as bob via oozie from 127.0.0.2: allowed*" probe table "bob via oozie" 127.0.0.2
fi

note "delegation tokens"
lists
proxies "hue=*=*"
probe refresh boss >"$answers/again.txt"
probe tokens >"$answers/tokens.txt"
judge tokens

if [[ $jobtracker == ours && -z $record ]]; then
    note "tokens after SIGKILL"
    probe save "$CLUSTER/kept"
    probe save "$CLUSTER/cancelled"
    expect "a saved token, cancelled by alice: done" probe cancel "$CLUSTER/cancelled"
    for _ in 1 2 3; do
        cluster_stop jobtracker KILL
        cluster_start_jobtracker ours
        expect "a saved token, renewed by oozie: for 60 s" probe renew "$CLUSTER/kept"
    done
    expect "*InvalidToken: Renewal request for unknown token" probe renew "$CLUSTER/cancelled"
    expect "a saved token, cancelled by alice: done" probe cancel "$CLUSTER/kept"
fi
echo "$passed passed, $failed failed"
((failed == 0))
