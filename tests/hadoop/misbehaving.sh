# Sourced after cluster.sh: streaming jobs whose tasks wait, fail or die as told, and what the stock client says of them.
# shellcheck shell=bash
#
#   job_submit FOLDER MAPS MAPPER REDUCES REDUCER [-D KEY=VALUE]...   in the background; sets JOB, JOB_MAPS, JOB_REDUCES, CLIENT
#   job_await_attempts FOLDER N PATTERN                               returns when N attempts like PATTERN have begun
#   has_event JOB STATE PATTERN [N]                                   whether N attempts like m_000000_0 of the job have come to that end
#   client [ARG]...                                                   the stock JobClient

JOB_START_S=60
ATTEMPT_START_S=90

client() { hadoop alice org.apache.hadoop.mapred.JobClient "$@"; }

has_event() { [[ $(client -events "$1" 0 1000 2>/dev/null | grep -c "^$2 attempt_[0-9_]*_$3 ") -ge ${4:-1} ]]; }

job_submit() {
    local folder=$1 maps=$2 mapper=$3 reduces=$4 reducer=$5 number
    shift 5
    mkdir -p "$folder/in"
    # Files of one size: their order among the maps is the file system's, and must not matter.
    for ((number = 0; number < maps; number++)); do
        printf 'input %d\nall\n' "$number" >"$folder/in/$number.txt"
    done
    # A hint of one task, else a single file is split.
    hadoop alice org.apache.hadoop.util.RunJar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar" \
        -D mapred.job.name="${folder##*/}" -D mapred.map.tasks=1 -D mapred.reduce.tasks="$reduces" "$@" \
        -input "$folder/in" -output "$folder/out" \
        -mapper "/bin/bash $LIVE_DIR/faults/task.sh $mapper $folder" \
        -reducer "/bin/bash $LIVE_DIR/faults/task.sh $reducer $folder" >"$folder/client.log" 2>&1 &
    CLIENT=$!
    wait_until "$JOB_START_S" "the id of the job in $folder/client.log" job_has_id "$folder"
    # shellcheck disable=SC2034
    JOB=$(job_id "$folder") JOB_MAPS=$maps JOB_REDUCES=$reduces
}

job_id() { grep -osm1 'job_[0-9]*_[0-9]*' "$1/client.log"; }
job_has_id() { job_id "$1" >/dev/null; }

job_await_attempts() {
    wait_until "$ATTEMPT_START_S" "$2 attempts like $3 of $1" job_has_attempts "$@"
}

job_has_attempts() {
    [[ $(find "$1/started" -name "attempt_*_$3" 2>/dev/null | wc -l) -ge $2 ]]
}
