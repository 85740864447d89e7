# shellcheck shell=bash disable=SC2034
# The output of a finished map turns to zeros, which its TaskTracker serves as if nothing were wrong: when the reduces have reported three
# failed copies, the map counts as failed and is run again.
state=SUCCEEDED

happen() {
    # The reduces start after all maps, so that none copies the output before it is spoilt.
    job_submit "$1" 2 gate@1 2 pass -D mapred.reduce.slowstart.completed.maps=1
    await_event SUCCEEDED m_000000_0
    spoil_output m_000000_0
    open_gate m
}
