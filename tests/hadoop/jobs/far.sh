# shellcheck shell=bash
# Words of files of which no host with a tracker has a replica.

. "$JOBS_DIR/wordcount.sh"
# Nothing else runs meanwhile: two maps at one time, one reduce.
prepare() {
    python3 "$JOBS_DIR/make_input.py" text in
    rm in/part-2.txt
}
submit() { example wordcount in out; }
data_local_maps=(0)
