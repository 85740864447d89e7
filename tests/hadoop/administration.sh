#!/usr/bin/env bash
# administration.sh [--jobtracker java|ours] [--record FOLDER]
#
# Access lists on, two TaskTrackers: who may see, kill, reorder and submit what, and everything that mradmin can ask: safe mode, queues and
# hosts read anew; a TaskTracker that says it is ill. What the stock programs print is compared with recorded/administration/, as it was under
# the Java JobTracker, or with --record written to FOLDER. Ends with a line `N passed, N failed`, and 1 when any failed.
#
# To record anew: administration.sh --jobtracker java --record tests/hadoop/recorded/administration
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/misbehaving.sh"
. "$LIVE_DIR/asking.sh"
asking_arguments "$@"

"$LIVE_DIR/fetch-jars.sh"
MAP_SLOTS=1
# `games` is a group of every Debian system, with a user of the same name in it. The Java JobTracker lists queues in the order of a hash
# table, which is this order.
cluster_create mapred.acls.enabled=true "mapreduce.cluster.administrators=boss games" mapred.queue.names=closed,default,lab
for file in included excluded; do
    : >"$CLUSTER/$file"
done
# They are no keys of the files that the script lays down, so that they can be read anew.
echo 'worker-9' >"$CLUSTER/excluded"
cat >"$CLUSTER/health.sh" <<SCRIPT
#!/bin/sh
[ ! -e $CLUSTER/ill ] || echo ERROR no good
SCRIPT
chmod 755 "$CLUSTER/health.sh"

# queue_lists KEY=VALUE...: the file with states and lists of the queues.
queue_lists() {
    local pair
    {
        echo '<configuration>'
        for pair in "$@"; do
            printf '  <property><name>mapred.queue.%s</name><value>%s</value></property>\n' "${pair%%=*}" "${pair#*=}"
        done
        echo '</configuration>'
    } >"$CLUSTER/conf/mapred-queue-acls.xml"
}

# site_key KEY VALUE: one more key in the JobTracker's own conf folder.
site_key() {
    sed -i "s|</configuration>|  <property><name>$1</name><value>$2</value></property>\n</configuration>|" "$CLUSTER/conf/mapred-site.xml"
}

LAB=("lab.acl-submit-job=alice,boss " "lab.acl-administer-jobs=chief  ")
queue_lists closed.state=STOPPED "${LAB[@]}"
site_key mapred.hosts.exclude "$CLUSTER/excluded"
asking_begin
cluster_start_jobtracker "$jobtracker"
for property in "mapred.healthChecker.script.path=$CLUSTER/health.sh" mapred.healthChecker.interval=1000; do
    printf '  <property><name>%s</name><value>%s</value></property>\n' "${property%%=*}" "${property#*=}" >>"$CLUSTER/extra.xml"
done
cluster_start_tasktracker worker-1
cluster_wait_trackers 1

# as USER ask ...
as() {
    asker=$1
    shift
    "$@"
    asker=alice
}

note "who may use the queues"
topic=queues
for user in alice bob boss chief games; do
    as "$user" ask queues -showacls
done
ask queues -list
ask queues -info closed -showJobs
ask queues -info nowhere -showJobs
submit_to closed
as bob submit_to lab
submit_to nowhere

note "who may do what with a job"
job_submit "$CLUSTER/running" 1 gate 1 pass -D mapred.job.queue.name=lab \
    -D mapreduce.job.acl-view-job=carol -D mapreduce.job.acl-modify-job="dave,erin ops"
job_await_attempts "$CLUSTER/running" 1 'm_*_0'
MAP=${JOB/job/attempt}_m_000000
# The counters of a map that runs change.
sees() {
    ask jobs -counter "$JOB" 'org.apache.hadoop.mapred.JobInProgress$Counter' TOTAL_LAUNCHED_MAPS
    ask jobs -list-attempt-ids "$JOB" map running
}
topic=foreign
for user in bob dave; do
    as "$user" sees
done
asker=bob
ask jobs -list
ask jobs -status "$JOB"
sed -i -E 's/^((map|reduce)\(\) completion: ).*/\1SOME/' "$answers/$topic.txt"
ask jobs -events "$JOB" 0 10
ask jobs -kill "$JOB"
ask jobs -kill-task "${MAP}_0"
ask jobs -fail-task "${MAP}_0"
ask jobs -kill-task "${MAP}_7"
ask jobs -set-priority "$JOB" HIGH
asker=carol
ask jobs -kill "$JOB"
topic=allowed
for user in alice boss carol chief games; do
    as "$user" sees
done
as dave ask jobs -set-priority "$JOB" HIGH
as chief ask jobs -set-priority "$JOB" LOW
as games ask jobs -set-priority "$JOB" VERY_HIGH
as dave ask jobs -kill-task "${MAP}_0"
job_await_attempts "$CLUSTER/running" 1 'm_*_1'
ask jobs -list

note "safe mode"
topic=safemode
as bob ask admin -safemode get
as bob ask admin -safemode enter
as boss ask admin -safemode enter
as bob ask admin -safemode get
as boss submit_to lab
ask jobs -kill "$JOB"
ask jobs -kill-task "${MAP}_1"
ask jobs -fail-task "${MAP}_1"
ask jobs -set-priority "$JOB" NORMAL
ask jobs -set-priority "$UNKNOWN" NORMAL
ask jobs -kill-task "${UNKNOWN/job/attempt}_m_000000_0"
ask jobs -list
as bob ask admin -safemode leave
as games ask admin -safemode leave
ask admin -safemode get
ask admin -safemode sideways
ask admin -safemode
ask admin -nonsense

note "the job ends"
touch "$CLUSTER/running/go-m" "$CLUSTER/running/go-r"
wait_client "$CLIENT"
topic=ended
as bob sees
as bob ask jobs -kill "$JOB"
as bob ask jobs -set-priority "$JOB" LOW
as bob ask jobs -kill-task "${MAP}_1"
ask jobs -set-priority "$JOB" LOW
ask jobs -list all

note "queues read anew"
topic=refresh-queues
queue_lists closed.state=STOPPED lab.state=STOPPED added.state=STOPPED lab.acl-submit-job='bob ' 'lab.acl-administer-jobs= '
sed -i 's|closed,default,lab|closed,default,lab,added|' "$CLUSTER/conf/mapred-site.xml"
as bob ask admin -refreshQueues
ask queues -list
ask queues -showacls
as bob ask queues -showacls
as boss submit_to lab
sed -i 's|closed,default,lab,added|default,lab,added|' "$CLUSTER/conf/mapred-site.xml"
ask admin -refreshQueues
ask queues -list

note "others read anew"
topic=refresh
ask admin -refreshServiceAcl
ask admin -refreshUserToGroupsMappings
ask admin -refreshSuperUserGroupsConfiguration
ask admin -refreshQueues now

blacklisted() { [[ $(client -list-blacklisted-trackers 2>/dev/null | grep -c '^tracker_') -eq $1 ]]; }

note "a TaskTracker that is ill"
topic=ill
touch "$CLUSTER/ill"
wait_until 60 "an ill TaskTracker" blacklisted 1
ask jobs -list-active-trackers
ask jobs -list-blacklisted-trackers
rm "$CLUSTER/ill"
wait_until 60 "a healthy TaskTracker" blacklisted 0
ask jobs -list-active-trackers
ask jobs -list-blacklisted-trackers

has_left() { ! kill -0 "$1" 2>/dev/null || grep -q 'DisallowedTaskTrackerException\|Shutting down' "$CLUSTER/worker-1.log"; }

note "hosts read anew"
topic=refresh-nodes
echo 'worker-1 worker-9' >"$CLUSTER/excluded"
as bob ask admin -refreshNodes
ask jobs -list-active-trackers
as boss ask admin -refreshNodes
ask jobs -list-active-trackers
wait_until 60 "the excluded TaskTracker to be told" has_left "${CLUSTER_PIDS[worker-1]}"
ask jobs -list-active-trackers
ask jobs -list-blacklisted-trackers

judge_topics administration queues foreign allowed safemode ended refresh-queues refresh ill refresh-nodes
