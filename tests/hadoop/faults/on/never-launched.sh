# shellcheck shell=bash disable=SC2034
# Two maps are given to a TaskTracker that cannot get past fetching the job: after the expiry interval they count as failed, though the
# tracker calls all the time, and are run elsewhere.
state=SUCCEEDED

happen() {
    # The other tracker alone takes the setup.
    cluster_signal worker-1 STOP
    job_submit "$1" 4 gate 1 pass
    block_fetching worker-1
    await_event SUCCEEDED m_000005_0
    cluster_signal worker-1 CONT
    await_event FAILED 'm_00000[0-3]_0' 2
    unblock_fetching worker-1
    open_gate m
}
