# shellcheck shell=bash disable=SC2034
# The output of a finished map is gone from its tracker's disk, which says so when the reduce asks for it: the map is run again.
state=SUCCEEDED

happen() {
    # The reduce starts after all maps, so that it does not copy the output before.
    job_submit "$1" 2 gate@1 1 pass -D mapred.reduce.slowstart.completed.maps=1
    await_event SUCCEEDED m_000000_0
    rm "$(output_of m_000000_0)" "$(output_of m_000000_0).index"
    open_gate m
}
