# Sourced after cluster.sh: asks the stock client programs and compares what they print with what they printed under the Java JobTracker.
# shellcheck shell=bash
#
#   asking_arguments [--jobtracker java|ours] [--record FOLDER]    sets jobtracker and record
#   asking_begin                                                   once the cluster is created
#   ask jobs|queues|admin [ARG]...                                 asks as the user $asker and notes the answer under $topic
#   submit_to QUEUE                                                submits a job
#   note_said WHAT COMMAND [ARG]...                                the same for any program that talks to the JobTracker
#   judge_topics NAME TOPIC...                                     compares with recorded/NAME/TOPIC.txt, or records; the last thing to do

asker=alice topic=
UNKNOWN=job_200001010000_0007

asking_arguments() {
    local usage="usage: ${0##*/} [--jobtracker java|ours] [--record FOLDER]"
    jobtracker=ours record=
    while [[ $# -gt 0 ]]; do
        [[ $# -ge 2 ]] || fail "$usage"
        case $1 in
        --jobtracker) jobtracker=$2 ;;
        --record) record=$2 ;;
        *) fail "$usage" ;;
        esac
        shift 2
    done
}

asking_begin() {
    answers=$CLUSTER/answers
    mkdir "$answers"
}

# Replaces what differs from run to run, and puts the counters of a group in order: the client keeps them in a hash table.
without_volatile() {
    awk '/^\t\t/ { print | "sort"; group = 1; next } group { close("sort"); group = 0 } { print; fflush() }' |
        sed -E -e "s|$CLUSTER|CLUSTER|g" -e "s/$UNKNOWN/UNKNOWN/g" -e 's/(job|task|attempt)_2[0-9]{11}_/\1_START_/g' \
            -e 's/(tracker_worker-[0-9]):[^ ]*/\1:ADDRESS/' -e 's/\b(127\.0\.0\.1|localhost|worker-[0-9]):[0-9]+/\1:PORT/g' \
            -e 's/\b1[0-9]{12}\b/TIME/g' \
            -e 's|^(tracking URL: http://)[^:/]*:|\1HOST:|' \
            -e '/(\((ms|bytes)\)|snapshot|SLOTS_MILLIS_|_BYTES_(READ|WRITTEN)|SPLIT_RAW_BYTES).*=/s/=[0-9]+$/=N/'
}

ask() {
    local class
    case $1 in
    jobs) class=JobClient ;;
    queues) class=JobQueueClient ;;
    admin) class=tools.MRAdmin ;;
    *) fail "ask: jobs, queues or admin, not $1" ;;
    esac
    shift
    note_said "${class#tools.} $*" "org.apache.hadoop.mapred.$class" "$@"
}

note_said() {
    local what=$1 status=0
    shift
    hadoop "$asker" "$@" >"$CLUSTER/said" 2>"$CLUSTER/complained" || status=$?
    {
        if [[ $asker == alice ]]; then
            echo "\$ $what"
        else
            echo "$asker\$ $what"
        fi
        cat "$CLUSTER/said"
        # Not the client's log.
        grep -v '^20[0-9][0-9]-' "$CLUSTER/complained" || true
        echo "exit $status"
        echo
    } | without_java | without_volatile >>"$answers/$topic.txt"
}

# Leaves out the Java code that an error passed through, here or there, and the empty line that follows it.
without_java() {
    awk '/^[ \t]+(at |\.\.\. [0-9]+ more)|^Caused by: / { trace = 1; next } trace && /^$/ { trace = 0; next } { trace = 0; print }'
}

# A job of one map to the queue $1, by the stock example: for what is refused.
submit_to() {
    note_said "submit to $1" org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-examples-1.2.1.jar" sleep \
        -D mapred.job.queue.name="$1" -m 1 -r 0 -mt 1 -rt 1
}

judge_topics() {
    local name=$1 recorded verdict why passed=0 failed=0
    shift
    [[ -z $record ]] || mkdir -p "$record"
    for topic in "$@"; do
        recorded=$LIVE_DIR/recorded/$name/$topic.txt verdict=ok why=
        if [[ -n $record ]]; then
            cp "$answers/$topic.txt" "$record/$topic.txt"
            verdict=recorded
        elif ! why=$(diff -U 8 "$recorded" "$answers/$topic.txt" 2>&1); then
            verdict=FAILED
        fi
        echo "$topic: $(grep -c '^[a-z]*\$ ' "$answers/$topic.txt") commands ... $verdict ($jobtracker JobTracker)"
        if [[ $verdict == FAILED ]]; then
            echo "not what the Java JobTracker answered (recorded -, now +):"
            echo "$why"
            failed=$((failed + 1))
        else
            passed=$((passed + 1))
        fi
    done
    echo "$passed passed, $failed failed"
    ((failed == 0))
}
