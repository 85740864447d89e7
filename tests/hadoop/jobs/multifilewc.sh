# shellcheck shell=bash
# Splits that hold several files each.

prepare() { python3 "$JOBS_DIR/make_input.py" text in; }
submit() { example multifilewc in out; }
result() { sort out/part-*; }
expected() { word_counts in/*; }
