# shellcheck shell=bash
# The sorting contest: rows are made, sorted by a partition file that is shipped through the cache, and their order is checked by a third job.

prepare() { :; }
submit() {
    example teragen -D mapred.map.tasks=2 3000 out/rows
    example terasort -D mapred.reduce.tasks=2 out/rows out/sorted
    # Its output has one replica of each block only.
    fs_shell "$JOB_USER" -setrep -R -w 2 out/sorted >>client.log 2>&1
    example teravalidate out/sorted out/report
}
result() {
    # A key out of order would be reported.
    cat out/report/part-*
    cat out/sorted/part-* | wc -lc
}
expected() { echo '   3000  300000'; }
# Rows begin with ten bytes of key.
verify() {
    cat out/sorted/part-* | cut -b 1-10 | sort -c
    cmp <(cat out/rows/part-* | sort) <(cat out/sorted/part-* | sort)
}
data_local_maps=(0 2 2)
# The partition file has random sync marks.
fingerprint() {
    case $1 in
    */_partition.lst) wc -c <"$1" ;;
    *) sha1sum <"$1" | cut -d ' ' -f 1 ;;
    esac
}
# What is shipped gets a random name on each host, which stands in its job.xml.
vague='FILE_BYTES_WRITTEN'
