# shellcheck shell=bash
# An inner join of two sorted tables in the maps; the splits are composite ones.

prepare() { python3 "$JOBS_DIR/make_input.py" tables in; }
submit() {
    example join -r 1 -joinOp inner -inFormat org.apache.hadoop.mapred.KeyValueTextInputFormat \
        -outFormat org.apache.hadoop.mapred.TextOutputFormat -outKey org.apache.hadoop.io.Text \
        -outValue org.apache.hadoop.mapred.join.TupleWritable in/left in/right out
}
result() { sort out/part-*; }
expected() { join -t '	' in/left/table.txt in/right/table.txt | awk -F '\t' '{ print $1 "\t[" $2 "," $3 "]" }' | sort; }
data_local_maps=(1)
