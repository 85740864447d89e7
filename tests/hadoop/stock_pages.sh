#!/usr/bin/env bash
# stock_pages.sh [--scheduler fifo|fair|capacity|lists]... [--source FOLDER] [--keep FOLDER]
#
# The addresses of the pages of Hadoop 1.2.1, fetched from the Java JobTracker and from ours over the same jobs, driven by the built-in worker,
# under each scheduler (default all): one job succeeds, one fails, one is killed by POST, with hostile names. Answers are compared one by
# one (stock_pages/alike.py); what may differ stands in stock_pages/tolerated.py, and the table says how often it did. `lists` is fifo with access
# lists, where each user asks for each page of a job and for each change: both answer with the same status.
# Fair and Capacity are compiled from the source tree or the git folder of Hadoop 1.2.1 given by --source (see build-schedulers.sh), or by
# JOBTRACKER_HADOOP_SOURCE; without one they are skipped. With --keep the answers are left in FOLDER. No TaskTracker of Java's runs.
# Ends with a line `N alike, N differ`, and 1 when any differs.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"

usage="usage: stock_pages.sh [--scheduler fifo|fair|capacity|lists]... [--source FOLDER] [--keep FOLDER]"
schedulers=() source=${JOBTRACKER_HADOOP_SOURCE:-} keep=
while (($# > 0)); do
    case $1 in
    --scheduler) schedulers+=("${2:?$usage}") ;;
    --source) source=${2:?$usage} ;;
    --keep) keep=$(mkdir -p "${2:?$usage}" && realpath "$2") ;;
    *) fail "$usage" ;;
    esac
    shift 2
done
[[ ${#schedulers[@]} -gt 0 ]] || schedulers=(fifo fair capacity lists)

"$LIVE_DIR/fetch-jars.sh"
find_java
# One zone and one language of dates for both.
export LC_ALL=C.UTF-8 TZ=UTC PYTHONDONTWRITEBYTECODE=1
MAP_SLOTS=1 REDUCE_SLOTS=1
PROGRAM=$(our_program)
answers=${keep:-$(mktemp -d "${TMPDIR:-/tmp}/jobtracker-pages.XXXXXX")}
HOSTILE='sorts </td><script>alert(1)</script> & "x" '"'y'"' 100%+%3C a_b '$'\u202e''gpj'
FAIR='<allocations><pool name="urgent"><minMaps>1</minMaps></pool></allocations>'
CAPACITY='<configuration>
  <property><name>mapred.capacity-scheduler.queue.default.capacity</name><value>60</value></property>
  <property><name>mapred.capacity-scheduler.queue.etl.capacity</name><value>40</value></property>
  <property><name>mapred.capacity-scheduler.queue.default.supports-priority</name><value>true</value></property>
</configuration>'

LISTS='<configuration>
  <property><name>mapred.queue.default.acl-submit-job</name><value>*</value></property>
  <property><name>mapred.queue.default.acl-administer-jobs</name><value>qadmin </value></property>
</configuration>'

# submit NAME FOLDER OPTION...: leaves the job's id in JOB.
submit() {
    local name=$1 folder=$2
    shift 2
    JOB=$(env -u HADOOP_KEY HOME="$CLUSTER" "$PROGRAM" job submit --detach --conf "$CLUSTER/conf" --user alice --name "$name" \
        --input "$folder/in" --output "$folder/out${OUTPUT:-}" -D mapred.map.tasks=1 -D mapred.map.max.attempts=2 "$@" 2>>"$CLUSTER/submit.log" </dev/null) || true
    [[ $JOB == job_* ]] || fail "no id of $name: $(tail -n 5 "$CLUSTER/submit.log")"
}

# make_input FOLDER FILES
make_input() {
    local number
    mkdir -p "$1/in"
    for ((number = 0; number < $2; number++)); do
        printf 'input %d\nall\n' "$number" >"$1/in/$number.txt"
    done
}

# As the owner, where names are asked for.
page() { curl --silent --show-error --max-time 20 --cookie-jar "$CLUSTER/jar" "http://127.0.0.1:$HTTP_PORT$1&user.name=alice"; }
has_ended() { [[ $(page "/jobdetails.jsp?format=json&jobid=$1" | tr -d '\n ') == *'"jobFinishTimingInfo":{'* ]]; }
attempt_is() { [[ $(page "/taskdetails.jsp?format=json&tipid=$1") == *"\"status\":\"$2\""* ]]; }
# has_report TASK: its first attempt has counters.
has_report() { attempt_is "$1" RUNNING && [[ $(page "/taskstats.jsp?format=json&attemptid=${1/task/attempt}_0") == *taskCountersInfo* ]]; }

is_running() { [[ $(page "/jobdetails.jsp?format=json&jobid=$1" | tr -d '\n ') == *'"jobStatus":"Running"'* ]]; }
# What schedulers say is as old as their last update, and as that of the page: the job in the pool of its own has its share, and none is new.
is_known_to_scheduler() {
    case $scheduler in
    fair) curl --silent --max-time 20 "http://127.0.0.1:$HTTP_PORT/scheduler?advanced" | tr -d '\n' | grep -Eq '>urgent</t[dh]>([^/]|/[^t]|/t[^r])*>1\.0<' ;;
    capacity) ! page '/jobtracker.jsp?' | grep -q 'Number of Initializing Jobs: [1-9]' ;;
    esac
}

# has_in_summary RUNNING_MAPS JOBS
has_in_summary() {
    page "/jobtracker.jsp?format=json" | python3 -c 'import json, sys
summary = json.load(sys.stdin)["clusterSummary"]
sys.exit([summary["runningMapTasks"], summary["totalJobSubmissions"]] != [int(number) for number in sys.argv[1:]])' "$@"
}

fetch() {
    python3 "$LIVE_DIR/stock_pages/fetch.py" "$answers/$scheduler/$1" "127.0.0.1:$HTTP_PORT" "$2" "CLUSTER=$CLUSTER" "RPC_PORT=$RPC_PORT" "${@:3}"
}

# run_under java|ours: all jobs and all fetches.
run_under() {
    local properties=(webinterface.private.actions=true mapred.queue.names=default,etl) succeeds fails killed task
    case $scheduler in
    fair) properties+=(mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.FairScheduler mapred.fairscheduler.allocation.file=@CLUSTER@/conf/fair-scheduler.xml mapred.fairscheduler.locality.delay=0) ;;
    capacity) properties+=(mapred.jobtracker.taskScheduler=org.apache.hadoop.mapred.CapacityTaskScheduler) ;;
    lists)
        properties+=(mapred.acls.enabled=true "mapreduce.cluster.administrators=boss " hadoop.http.authentication.type=simple
            hadoop.http.filter.initializers=org.apache.hadoop.security.AuthenticationFilterInitializer
            hadoop.http.authentication.signature.secret.file=@CLUSTER@/secret)
        ;;
    esac
    cluster_create "${properties[@]}"
    # The folder's own name is known only now.
    sed -i "s|@CLUSTER@|$CLUSTER|" "$CLUSTER/extra.xml"
    cluster_conf localhost "$CLUSTER/conf"
    printf '%s\n' "$FAIR" >"$CLUSTER/conf/fair-scheduler.xml"
    printf '%s\n' "$CAPACITY" >"$CLUSTER/conf/capacity-scheduler.xml"
    printf 'secret\n' >"$CLUSTER/secret"
    printf '%s\n' "$LISTS" >"$CLUSTER/conf/mapred-queue-acls.xml"
    printf 'jobtracker.sink.file.class=org.apache.hadoop.metrics2.sink.FileSink\n' >"$CLUSTER/conf/hadoop-metrics2.properties"
    cluster_start_jobtracker "$1"
    cluster_start_worker worker-1
    wait_until "$DAEMON_START_S" "the worker" has_worker

    make_input "$CLUSTER/succeeds" 2
    printf '%s\n' "echo 'reporter:counter:group </td><b>,a & \"b\",5' >&2" "echo 'reporter:status:</td><i>done' >&2" cat >"$CLUSTER/counts.sh"
    printf '%s\n' 'cat >/dev/null' "echo 'reporter:status:</td>working' >&2" 'sleep 1000' >"$CLUSTER/hangs.sh"
    submit "$HOSTILE" "$CLUSTER/succeeds" --reduces 1 --reducer cat --mapper "sh $CLUSTER/counts.sh"
    succeeds=$JOB
    wait_until 120 "the end of $succeeds" has_ended "$succeeds"
    if [[ $scheduler == lists ]]; then
        OUTPUT=-of-another submit 'long running' "$CLUSTER/succeeds" --reducer NONE --mapper 'sleep 1000'
        wait_until 60 "an attempt of $JOB" attempt_is "${JOB/job/task}_m_000000" RUNNING
        fetch "$1" access "succeeds=$succeeds" "running=$JOB"
        return 0
    fi
    make_input "$CLUSTER/fails" 1
    submit 'fails & ends' "$CLUSTER/fails" --queue etl --reduces 1 --reducer cat --mapper "sh -c 'echo \"<b>no luck</b>\" >&2; exit 1'"
    fails=$JOB
    wait_until 120 "the end of $fails" has_ended "$fails"
    make_input "$CLUSTER/killed" 2
    submit 'long <running>' "$CLUSTER/killed" --reduces 1 --reducer cat --mapper "sh $CLUSTER/hangs.sh"
    killed=$JOB
    task=${killed/job/task}_m_000000
    wait_until 120 "a report of $task" has_report "$task"
    # No attempt may run when the job is killed, for 1.2.1 takes some reports after its end and not others. So when the running one is killed
    # another job gets its slot.
    make_input "$CLUSTER/urgent" 1
    submit urgent "$CLUSTER/urgent" -D mapred.job.priority=VERY_HIGH -D mapred.fairscheduler.pool=urgent --reducer NONE --mapper "sh $CLUSTER/hangs.sh"
    wait_until 60 "the setup of $JOB" is_running "$JOB"
    wait_until 60 "the summary" has_in_summary 1 4
    wait_until 60 "the news of $JOB" is_known_to_scheduler
    fetch "$1" running "succeeds=$succeeds" "fails=$fails" "running=$killed"
    wait_until 60 "the end of the killed attempt" attempt_is "$task" KILLED
    wait_until 60 "a map of $JOB" attempt_is "${JOB/job/task}_m_000000" RUNNING
    wait_until 60 "the summary" has_in_summary 1 4
    fetch "$1" killing "running=$killed"
    wait_until 60 "the end of $killed" has_ended "$killed"
    fetch "$1" ended "succeeds=$succeeds" "fails=$fails" "killed=$killed"
}

has_worker() { page '/machines.jsp?type=active' | grep -q worker-1; }

run=()
for scheduler in "${schedulers[@]}"; do
    if [[ $scheduler == fair || $scheduler == capacity ]]; then
        if [[ -z $source ]]; then
            echo "SKIPPED the pages under $scheduler: its sources are not published as a jar; name them in JOBTRACKER_HADOOP_SOURCE"
            continue
        fi
        EXTRA_JAR=$HADOOP_HOME_DIR/schedulers.jar
        "$LIVE_DIR/build-schedulers.sh" "$source" "$EXTRA_JAR"
    fi
    for jobtracker in java ours; do
        note "jobs under the JobTracker $jobtracker, $scheduler"
        rm -rf "$answers/$scheduler/$jobtracker"
        # In the background, since a shell whose end is asked for lets it pass over what goes wrong in it.
        (run_under "$jobtracker") &
        wait $! || fail "no answers of the JobTracker $jobtracker under $scheduler"
    done
    run+=("$scheduler")
done
status=0
python3 "$LIVE_DIR/stock_pages/alike.py" "$answers" "${run[@]}" || status=$?
[[ -n $keep ]] || rm -rf "$answers"
exit "$status"
