//! Why containers wait, in words.

use crate::api::NOT_BOUGHT_YET;
use crate::api::applications::{WaitingReason, WaitingRequest};

/// Why a request waits, and what it asks for.
pub(crate) fn waiting_text(waiting: &WaitingRequest) -> String {
    let WaitingRequest { priority, capability, reason, unmet_rows, unmet } = waiting;
    let reason = match reason {
        WaitingReason::NoNodeFits => "no worker is as large; start `jobtracker tasktracker` on one that is",
        WaitingReason::NoneFree => "no worker has as much free",
        WaitingReason::Gates => "the workers with room are excluded by its requests",
        WaitingReason::LocalityDelay => "it waits for a nearer worker",
        WaitingReason::QuotaFull => "its queue or its user holds all that it has bought or may hold",
        WaitingReason::BelowQuota => "queues that hold less than they have bought come first",
        WaitingReason::NoBid => "its queue bids nothing",
        WaitingReason::NotFunded => "its queue cannot pay",
        WaitingReason::NotBoughtYet => NOT_BOUGHT_YET,
        WaitingReason::EarlierJobs => "jobs and applications before it come first",
        WaitingReason::RoomKept => "what is free on workers is kept for a larger container that comes first",
        WaitingReason::MaxRunning => "as many run as it allows at a time",
        WaitingReason::NoCall => {
            "its program did not launch what it was granted in time, and has not called since: it gets more once it calls"
        }
        WaitingReason::SafeMode => "the JobTracker is in safe mode",
    };
    format!("containers of {capability} at priority {priority}: {reason}{}", unmet_text(unmet, *unmet_rows))
}

/// Which of its wishes do not count.
fn unmet_text(unmet: &[String], rows: u64) -> String {
    let more = rows.saturating_sub(unmet.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match unmet {
        [] => String::new(),
        _ => format!("; no worker that takes containers is on {}{more}, which it asks for", unmet.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Capability;

    #[test]
    fn wishes_that_no_worker_meets_are_named() {
        let waiting = |unmet: &[&str], unmet_rows| WaitingRequest {
            priority: 1,
            capability: Capability::new(1_024, 1),
            reason: WaitingReason::NoneFree,
            unmet_rows,
            unmet: unmet.iter().map(ToString::to_string).collect(),
        };
        let of = waiting_text(&waiting(&[], 0));
        assert!(of.ends_with(": no worker has as much free"), "{of}");
        let of = waiting_text(&waiting(&["h1", "/r1"], 2));
        assert!(of.ends_with("free; no worker that takes containers is on h1, /r1, which it asks for"), "{of}");
        let of = waiting_text(&waiting(&["h1"], 500));
        assert!(of.ends_with("is on h1 and 499 more, which it asks for"), "{of}");
    }
}
