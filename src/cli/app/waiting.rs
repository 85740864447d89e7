//! Why containers wait, in words.

use crate::api::applications::{WaitingReason, WaitingRequest};

/// Why a request waits, and what it asks for.
pub(crate) fn waiting_text(waiting: &WaitingRequest) -> String {
    let WaitingRequest { priority, capability, reason } = waiting;
    let reason = match reason {
        WaitingReason::NoNodeFits => "no worker is as large; start `jobtracker tasktracker` on one that is",
        WaitingReason::NoneFree => "no worker has as much free",
        WaitingReason::Gates => "the workers with room are excluded by its requests",
        WaitingReason::LocalityDelay => "it waits for a nearer worker",
        WaitingReason::QuotaFull => "its queue or its user holds all that it has bought or may hold",
        WaitingReason::BelowQuota => "queues that hold less than they have bought come first",
        WaitingReason::NoBid => "its queue bids nothing",
        WaitingReason::NotFunded => "its queue cannot pay",
        WaitingReason::NotBoughtYet => "its queue's bid counts from the next tick on",
        WaitingReason::EarlierJobs => "jobs and applications before it come first",
        WaitingReason::MaxRunning => "as many run as it allows at a time",
        WaitingReason::NoCall => {
            "its program did not launch what it was granted in time, and has not called since: it gets more once it calls"
        }
        WaitingReason::SafeMode => "the JobTracker is in safe mode",
    };
    format!("containers of {capability} at priority {priority}: {reason}")
}
