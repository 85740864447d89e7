# shellcheck shell=bash
# Two jobs one after the other: the second sorts what the first found, most frequent first.

PATTERN='b[a-z]*t[0-9]'

prepare() { python3 "$JOBS_DIR/make_input.py" text in; }
submit() { example grep in out "$PATTERN"; }
# Equal counts come in no promised order.
result() { sort -k1,1nr -k2 out/part-*; }
expected() { grep -ohE "$PATTERN" in/* | count_lines | sort -k1,1nr -k2; }
verify() { cut -f1 out/part-* | sort -c -nr; }
