# shellcheck shell=bash
# Three maps, a combiner, two reduces.

prepare() { python3 "$JOBS_DIR/make_input.py" text in; }
submit() { example wordcount -D mapred.reduce.tasks=2 in out; }
result() { cat out/part-* | sort; }
expected() { word_counts in/*; }
data_local_maps=(3)
