# shellcheck shell=bash
# Random binary records by randomwriter (maps only), then sorted. The data differ each time, their number and size do not.

prepare() { :; }
submit() {
    example randomwriter -D test.randomwrite.bytes_per_map=6000 -D test.randomwrite.total_bytes=12000 \
        -D test.randomwrite.min_key=20 -D test.randomwrite.max_key=20 \
        -D test.randomwrite.min_value=40 -D test.randomwrite.max_value=40 in
    example sort -m 2 -r 2 in out
}
records() { python3 "$JOBS_DIR/sequence_file.py" "$@"; }
# A sequence file has a mark in it every so often: how many depends on how the records fall to the two reduces.
unstable='File Output Format Counters: '
# What can be recorded of random data.
result() { records out/part-* | awk '{ print length($1), length($2) }' | count_lines; }
expected() { echo "200	40 80"; }
verify() {
    local part
    for part in out/part-*; do
        records "$part" | cut -f1 | sort -c
    done
    diff <(records in/part-* | sort) <(records out/part-* | sort)
}
