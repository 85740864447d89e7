# shellcheck shell=bash
# Random binary records by randomwriter (maps only), then sorted. The data differ each time, their number and size do not. Where RANDOM_DATA
# names such data of another run, they are sorted. On HDFS hadoop-test's own check of a sort, a job too, follows.

prepare() { :; }
submit() {
    example randomwriter -D test.randomwrite.bytes_per_map=6000 -D test.randomwrite.total_bytes=12000 \
        -D test.randomwrite.min_key=20 -D test.randomwrite.max_key=20 \
        -D test.randomwrite.min_value=40 -D test.randomwrite.max_value=40 out/random
    example sort -m 2 -r 2 "${RANDOM_DATA:-out/random}" out/sorted
    [[ ${FILES:-} != hdfs ]] ||
        run_jar hadoop-test-1.2.1.jar testmapredsort -m 2 -r 2 -sortInput "${RANDOM_DATA:-out/random}" -sortOutput out/sorted
}
records() { python3 "$JOBS_DIR/sequence_file.py" "$@"; }
# A sequence file has a mark in it every so often: how many depends on how the records fall to the two reduces.
unstable='File Output Format Counters: '
# What can be recorded of random data.
result() { records out/sorted/part-* | awk '{ print length($1), length($2) }' | count_lines; }
expected() { echo "200	40 80"; }
verify() {
    local part
    for part in out/sorted/part-*; do
        records "$part" | cut -f1 | sort -c
    done
    # Data of another run are not in this folder.
    [[ -n ${RANDOM_DATA:-} ]] || diff <(records out/random/part-* | sort) <(records out/sorted/part-* | sort)
}
data_local_maps=(0 2 4)
# Sync marks are random; so are the data that are not sorted.
fingerprint() {
    case $1 in
    out/random/part-*) records "$1" | awk '{ print length($1), length($2) }' | count_lines | tr '\t' ' ' ;;
    out/sorted/part-*) records "$1" | sha1sum | cut -d ' ' -f 1 ;;
    *) sha1sum <"$1" | cut -d ' ' -f 1 ;;
    esac
}
