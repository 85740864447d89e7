# Sourced after misbehaving.sh: one fault from beginning to end.
# shellcheck shell=bash
#
#   fault_judge NAME FOLDER RECORD    runs faults/on/NAME.sh, writes RECORD; says on its output why it is wrong
#
# A fault is a file with the variable `state`, how its job must end, and the function `happen FOLDER`, which submits the job by job_submit and
# disturbs it; `unstable`, if set, is a pattern of lines of the record that are meant to differ (docs/differences.md). It may use
#   open_gate m|r                      lets the waiting maps or reduces of the job go on
#   worker_of ATTEMPT                  the tracker that was told to launch the attempt `m_000000_0` of the job first
#   freeze_child ATTEMPT               stops the JVM of the attempt and sets CHILD to its process; fails while there is none
#   await_trackers N                   waits until the JobTracker counts N live trackers
#   await_event STATE PATTERN [N]      waits until N attempts like m_000000_0 have come to that end
#   fill_disk HOST                     writes until nothing more fits on the disk of a tracker that was started with one
#   output_of ATTEMPT                  the file that the finished map left for the reduces
#   block_fetching HOST                keeps a stopped tracker from fetching the files of the job, which it asked for not yet
#   unblock_fetching HOST              lets it go on

SETTLE_S=45
STATES=([1]=RUNNING [2]=SUCCEEDED [3]=FAILED [4]=PREP [5]=KILLED)

# Trackers that live, maps and reduces that run.
cluster_counts() { "$LIVE_DIR/ask_jobtracker.py" "$RPC_PORT" status; }
cluster_counts_are() { [[ $(cluster_counts) == "$1" ]]; }

trackers_are() {
    local counts
    read -ra counts < <(cluster_counts) && [[ ${counts[0]} == "$1" ]]
}
await_trackers() { wait_until $((EXPIRY_MS * 2 / 1000 + 20)) "$1 live trackers" trackers_are "$1"; }

await_event() { wait_until 90 "$2 to be $1" has_event "$JOB" "$@"; }

open_gate() { touch "$FAULT_FOLDER/go-$1"; }

worker_of() {
    local log
    log=$(grep -l "LaunchTaskAction (registerTask): ${JOB/job/attempt}_$1 " "$CLUSTER"/worker-*.log | head -n 1)
    log=${log##*/}
    echo "${log%.log}"
}

freeze_child() {
    local file
    # Attempts of another cluster may bear the same id.
    for file in $(grep -lszx "$1" /proc/[0-9]*/cmdline); do
        if grep -qszx org.apache.hadoop.mapred.Child "$file" && grep -qsz "$CLUSTER" "$file"; then
            CHILD=${file#/proc/}
            CHILD=${CHILD%/cmdline}
            kill -STOP "$CHILD"
            return 0
        fi
    done
    return 1
}

fill_disk() {
    # The disk is mounted in the tracker's namespace only, which this path leads into.
    local file=/proc/${CLUSTER_PIDS[$1]}/root$CLUSTER/$1/local/filler
    ! cat /dev/zero >"$file" 2>/dev/null || fail "the disk of $1 has no end"
    [[ -s $file ]] || fail "the tracker $1 has no disk of its own"
}

output_of() {
    local file
    file=$(find "$CLUSTER"/worker-*/local -path "*/${JOB/job/attempt}_$1/output/file.out")
    [[ -s $file ]] || fail "the map $1 left no output"
    echo "$file"
}

# Where the tracker keeps the key of the job, the first file that it fetches.
fetched_key() { echo "$CLUSTER/$1/local/ttprivate/taskTracker/alice/jobcache/$JOB/jobToken"; }

block_fetching() {
    local key
    key=$(fetched_key "$1")
    mkdir -p "${key%/*}"
    # Who opens a pipe to write waits for a reader.
    mkfifo "$key"
}

unblock_fetching() {
    local key pipe
    key=$(fetched_key "$1")
    exec {pipe}<>"$key"
    cp "$CLUSTER/system/$JOB/jobToken" "$key.copy"
    mv "$key.copy" "$key"
    # Whoever came for the file between the two lines before reads what the pipe holds, up to its end.
    sleep 1
    exec {pipe}>&-
}

job_state() {
    local number
    number=$(client -list all 2>/dev/null | awk -F '\t' -v job="$JOB" '$1 == job { print $2 }')
    echo "${STATES[${number:-0}]:-none}"
}

job_is_over() { [[ $(job_state) =~ SUCCEEDED|FAILED|KILLED ]]; }

# Counts equal lines; attempts count by what they have in common, since which of two equal tasks came first is chance.
tally() { sed -E "s/${JOB/job/attempt}_([mr])_([0-9]+)_([0-9]+)/\1 _\3/" | sort | uniq -c | sed -E 's/^ +//'; }

# Prints the counters of the job, without those that tell of time, memory, the length of paths and which tracker was chosen.
job_counters() {
    client -status "$JOB" 2>/dev/null | awk '/^\t[^\t]/ { wanted = /^\t(Job|Map-Reduce|File (In|Out)put Format)/ } /^\t\t/ && wanted { print $0 }' |
        sed 's/^\t*//' | grep -vE 'SLOTS_MILLIS|SPLIT_RAW_BYTES|Rack-local|\((ms|bytes)\)' | sort || true
}

# How the job ended, its attempts, what the trackers were told to launch, its counters, the client's last words and the output. Exceptions are not
# counted: a TaskTracker forgets, once a heartbeat is answered, what its tasks complained of after it was sent.
fault_record() {
    local events
    events=$(client -events "$JOB" 0 1000 2>/dev/null | awk '/^[A-Z]+ attempt_/ { print $1, $2 }')
    echo "state $(job_state)"
    echo "== completion events"
    echo "$events" | sed '/^$/d' | named_attempts | tally
    echo "== launches, by the state the attempt was in"
    sed -nE "s/.*LaunchTaskAction \(registerTask\): (${JOB/job/attempt}_[^ ]*) task's state:([A-Z_]*).*/\2 \1/p" "$CLUSTER"/worker-*.log |
        named_attempts | tally
    echo "== counters"
    job_counters
    echo "== the client's last words"
    sed -nE 's/^.*(Job complete|Job not successful|Streaming Command Failed|Job Failed)/\1/p' "$FAULT_FOLDER/client.log" |
        with_few_names
    echo "== first lines of diagnostics"
    # shellcheck disable=SC2046
    "$LIVE_DIR/ask_jobtracker.py" "$RPC_PORT" diagnostics $(echo "$events" | ended_badly) | grep -vE '^(\s|Caused by|$)' |
        with_few_names | sort | uniq -c | sed -E -e 's/^ +//' -e 's/^[0-9]+ (java|org)\./some \1./' || true
    echo "== output"
    [[ ! -d $FAULT_FOLDER/out ]] || find "$FAULT_FOLDER/out" -name 'part-*' -exec cat {} + | sort
}

# The attempts among the events that did not succeed; the setup, if there is none.
ended_badly() {
    awk -v none="${JOB/job/attempt}_m_$(printf %06d $((JOB_MAPS + 1)))_0" \
        '/^(FAILED|KILLED|TIPFAILED|OBSOLETE) attempt_/ { print $2; found = 1 } END { if (!found) print none }' | sort -u
}

# Leaves out the numbers of ports and processes, which of two equal trackers and attempts it was, and who killed a job (the Java one says NA).
with_few_names() {
    sed -E -e 's/(job|task|attempt)_2[0-9]{11}_[0-9mr_]+/\1_ID/g' -e 's/tracker_worker-[12]:[^ ]*/tracker/g' -e 's/[0-9]+ seconds/N seconds/' \
        -e 's/(Error: )(NA|Job job_ID was killed by alice)$/\1killed/'
}

# Names setup and cleanup, which bear the numbers behind those of the maps and reduces.
named_attempts() {
    local attempt=${JOB/job/attempt}
    of() { printf '(m_%06d|r_%06d)_([0-9]+)$' $((JOB_MAPS + $1)) $((JOB_REDUCES + $1)); }
    sed -E -e "s/${attempt}_$(of 0)/cleanup _\2/" -e "s/${attempt}_$(of 1)/setup _\2/"
}

leftovers() {
    local worker
    find "$CLUSTER/system" "$CLUSTER/staging" -name "$JOB*" 2>/dev/null || true
    for worker in "${WORKERS[@]}"; do
        # A tracker that is dead clears its folders when it starts again.
        ! kill -0 "${CLUSTER_PIDS[$worker]:-none}" 2>/dev/null || find "$CLUSTER/$worker/local" -path "*/jobcache/$JOB" -prune -print 2>/dev/null || true
    done
}
nothing_is_left() { [[ -z $(leftovers) ]]; }
no_slot_is_held() { [[ $(cluster_counts) == *" 0 0" ]]; }

# Shows what a fault that went wrong left, and ends its job, so that the next fault finds the cluster idle.
fault_ended() {
    local status=$?
    ((status != 0)) || return 0
    [[ -n ${JOB:-} ]] || return 0
    echo "trackers, maps, reduces: $(cluster_counts)"
    echo "left of the job:" "$(leftovers)"
    tail -n 5 "$FAULT_FOLDER/client.log"
    (cluster_signal worker-1 CONT) || true
    (cluster_signal worker-2 CONT) || true
    client -kill "$JOB" || true
    kill "$CLIENT" 2>/dev/null || true
}

fault_judge() {
    local record=$3
    trap fault_ended EXIT
    trap 'exit 143' TERM
    FAULT_FOLDER=$2 FAULT_NAME=$1
    mkdir -p "$FAULT_FOLDER"
    unstable='^$'
    # shellcheck source=/dev/null
    . "$LIVE_DIR/faults/on/$FAULT_NAME.sh"
    happen "$FAULT_FOLDER"
    # The client ends when the job is over; to ask all the time would take the cores from the tasks.
    wait_client "$CLIENT" || true
    wait_until "$SETTLE_S" "the end of $JOB" job_is_over
    fault_record | { grep -vE "$unstable" || true; } >"$record"
    [[ $(job_state) == "$state" ]] || fail "$JOB ended $(job_state), expected $state"
    wait_until "$SETTLE_S" "no slot held after $JOB" no_slot_is_held
    wait_until "$SETTLE_S" "nothing left of $JOB" nothing_is_left
}
