# shellcheck shell=bash
# Values arrive sorted within each group, by a partitioner and a grouping comparator of the job's own.

prepare() { python3 "$JOBS_DIR/make_input.py" pairs in; }
submit() { example secondarysort in out; }
result() { cat out/part-*; }
expected() {
    sort -k1,1n -k2,2n in/pairs.txt | awk '
        NR == 1 || $1 != last { print "------------------------------------------------"; last = $1 }
        { print $1 "\t" $2 }'
}
