# shellcheck shell=bash
# Hadoop Streaming with a mapper and a reducer in Python, shipped with the job.

prepare() { python3 "$JOBS_DIR/make_input.py" text in; }
submit() {
    run_jar hadoop-streaming-1.2.1.jar "${JOB_OPTIONS[@]}" -D mapred.reduce.tasks=2 -input in -output out \
        -mapper 'python3 count_mapper.py' -reducer 'python3 count_reducer.py' \
        -file "$JOBS_DIR/count_mapper.py" -file "$JOBS_DIR/count_reducer.py"
}
result() { cat out/part-* | sort; }
expected() { word_counts in/*; }
data_local_maps=(3)
