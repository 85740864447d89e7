//! Containers, one a line, and in words why they wait.

use crate::api::NOT_BOUGHT_YET;
use crate::api::applications::{ContainerReport, ContainerRow, WaitingReason, WaitingRequest};
use crate::cli::market_text::{columns_of, format_duration, lines};
use crate::cli::time_text::format_time;

/// A table for people.
pub(super) fn render_containers(containers: &[ContainerReport]) -> String {
    let rows: Vec<ContainerRow> = containers.iter().map(ContainerRow::from).collect();
    let has_items = rows.iter().any(|row| row.item.is_some());
    let groups = [
        (true, &["container", "state"][..]),
        (has_items, &["item"]),
        (true, &["node", "started", "ran", "exit", "why"]),
    ];
    let cells = rows.iter().map(|row| {
        let ran_ms = row.started_ms.zip(row.finished_ms).map(|(started_ms, finished_ms)| finished_ms - started_ms);
        let item = match (row.item, row.item_attempt) {
            (Some(item), Some(attempt)) if attempt > 1 => format!("{item} (attempt {attempt})"),
            (Some(item), _) => item.to_string(),
            (None, _) => "-".to_owned(),
        };
        [
            vec![row.container.to_string(), row.state.name().to_owned()],
            vec![item],
            vec![
                row.node.clone(),
                row.started_ms.map_or_else(|| "-".to_owned(), format_time),
                format_duration(ran_ms.and_then(|ms| u64::try_from(ms / 1000).ok())),
                row.exit_status.map_or_else(|| "-".to_owned(), |status| status.0.to_string()),
                row.diagnostics
                    .as_deref()
                    .map_or_else(String::new, |text| text.lines().next().unwrap_or_default().to_owned()),
            ],
        ]
    });
    let left = ["container", "state", "item", "node", "started", "ran", "exit", "why"];
    lines(&columns_of(groups, &left, cells))
}

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
    use crate::api::applications::ContainerState;
    use crate::client::applications::tests::example_container;
    use crate::model::{Capability, ContainerExit};

    use super::*;

    #[test]
    fn containers_are_shown_a_line_each() {
        let running = example_container(1);
        let ended = ContainerReport {
            state: ContainerState::Complete,
            exit_status: ContainerExit(-104),
            diagnostics: "used 1100 MB of 1024 MB\nmore".to_owned(),
            finished_time: running.started_time + 65_000,
            ..example_container(2)
        };
        insta::assert_snapshot!(render_containers(&[running.clone(), ended.clone()]), @r"
        CONTAINER                               STATE     NODE      STARTED               RAN    EXIT  WHY
        container_1700000000000_0001_00_000001  RUNNING   h1:50060  2023-11-14T22:13:20Z  -      -
        container_1700000000000_0001_00_000002  COMPLETE  h1:50060  2023-11-14T22:13:20Z  1m 5s  -104  used 1100 MB of 1024 MB
        ");
        let of_item = ContainerReport { item: Some(7), item_attempt: Some(2), ..ended };
        insta::assert_snapshot!(render_containers(&[running, of_item]), @r"
        CONTAINER                               STATE     ITEM           NODE      STARTED               RAN    EXIT  WHY
        container_1700000000000_0001_00_000001  RUNNING   -              h1:50060  2023-11-14T22:13:20Z  -      -
        container_1700000000000_0001_00_000002  COMPLETE  7 (attempt 2)  h1:50060  2023-11-14T22:13:20Z  1m 5s  -104  used 1100 MB of 1024 MB
        ");
    }

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
