# shellcheck shell=bash
# The same as streaming, submitted by our own client.

. "$JOBS_DIR/streaming.sh"
submit() {
    env -u HADOOP_KEY HOME="$CLUSTER" timeout "$CLIENT_LIMIT_S" "$(our_program)" job submit --conf "$CLUSTER/conf" --user "$JOB_USER" \
        --streaming-jar "$HADOOP_LIB/hadoop-streaming-1.2.1.jar" --reduces 2 --input in --output out \
        --mapper 'python3 count_mapper.py' --reducer 'python3 count_reducer.py' \
        --file "$JOBS_DIR/count_mapper.py" --file "$JOBS_DIR/count_reducer.py" >>client.log 2>&1
}
job_ids() { grep -oE 'job_[0-9]+_[0-9]+' client.log | head -n 1; }
