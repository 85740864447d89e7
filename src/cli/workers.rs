//! `jobtracker workers`: lists workers, drains them and resumes them.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::sleep;

use crate::api::{WorkerState, WorkerStatus, Workers};
use crate::client::market::{MarketClient, MarketClientError};
use crate::model::counted;

use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::market_text::{OutputForm, columns_of, format_duration, json, lines};
use super::pasted::pasted_place;
use super::terminal::print_error;
use super::time_text::format_time;

/// Pause between two looks at a worker that is drained.
const PAUSE: Duration = Duration::from_millis(500);

/// Subcommands of `workers`.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum WorkersCommand {
    /// List all workers: name, state, slots, last heartbeat
    List {
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Give a worker no new tasks until it is resumed; what runs there keeps running (administrators only)
    Drain {
        /// Name as `workers list` shows it
        #[arg(value_name = "NAME")]
        worker: String,
        /// Wait until nothing runs there
        #[arg(long)]
        wait: bool,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Give a drained worker tasks again (administrators only)
    Resume {
        /// Name as `workers list` shows it
        #[arg(value_name = "NAME")]
        worker: String,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
}

pub(crate) fn run(command: &WorkersCommand) -> Result<String, MarketCommandError> {
    match command {
        WorkersCommand::List { market } => {
            let client = market.client()?;
            let workers = wait_for(async { Ok(client.workers().await?) })?;
            Ok(match market.form() {
                OutputForm::Json => json(&workers),
                OutputForm::Table => render(&workers),
            })
        }
        WorkersCommand::Drain { worker, wait, market } => {
            change(worker, true, market)?;
            if *wait {
                let client = market.client()?;
                wait_for(async { Ok(wait_until_idle(worker, &client).await?) })?;
            }
            Ok(done(worker, if *wait { "drained: nothing runs there" } else { "draining" }, market))
        }
        WorkersCommand::Resume { worker, market } => {
            change(worker, false, market)?;
            Ok(done(worker, "gets tasks again", market))
        }
    }
}

fn change(worker: &str, is_on: bool, market: &MarketArguments) -> Result<(), MarketCommandError> {
    let client = market.client()?;
    let user = market.signer.user()?;
    // Without a market, administrators have no key and need none.
    let signer = market.signer_or_why_not()?;
    let changed = wait_for(async { Ok(client.drain_worker(worker, is_on, &user, signer.as_ref().ok()).await) })?;
    match (changed, signer) {
        (Err(MarketClientError::Denied { .. }), Err(no_signer)) if market.signer.key_file.is_some() => {
            Err(no_signer.into())
        }
        (changed, _) => Ok(changed?),
    }
}

async fn wait_until_idle(worker: &str, client: &MarketClient) -> Result<(), MarketClientError> {
    let mut shown = None;
    loop {
        let workers = client.workers().await?;
        let is_it = |found: &&WorkerStatus| found.worker == worker || found.tracker.as_deref() == Some(worker);
        let used: u32 = workers.workers.iter().filter(is_it).map(|found| found.used.map + found.used.reduce).sum();
        if used == 0 {
            return Ok(());
        }
        if shown.replace(used) != Some(used) {
            print_error(&format!("{worker}: {} in use", counted(used, "slot")));
        }
        sleep(PAUSE).await;
    }
}

fn done(worker: &str, what: &str, market: &MarketArguments) -> String {
    match market.form() {
        OutputForm::Json => json(&serde_json::json!({ "worker": worker, "state": what })),
        OutputForm::Table => format!("{worker}: {what}\n"),
    }
}

/// After an upgrade attempts run on a worker that has not said yet how many slots it has.
fn used_text(used: u32, slots: u32) -> String {
    if used > slots { format!("{used}/?") } else { format!("{used}/{slots}") }
}

fn render(workers: &Workers) -> String {
    if workers.workers.is_empty() {
        return format!("no worker is connected; start one: {}\n", pasted_place("jobtracker tasktracker"));
    }
    // What no worker has is left out.
    let has_containers = workers.workers.iter().any(|status| status.containers > 0);
    let groups = [
        (true, &["worker", "state", "host", "since", "maps", "reduces"][..]),
        (has_containers, &["containers"]),
        (true, &["last seen"]),
    ];
    let cells = workers.workers.iter().map(|status| {
        let WorkerStatus { worker, state, is_draining, host, slots, used, containers, since_ms, last_seen_ms, .. } =
            status;
        let seen_s = last_seen_ms.and_then(|ms| u64::try_from(workers.at_ms.saturating_sub(ms).max(0) / 1000).ok());
        let state = match (state, is_draining) {
            (WorkerState::Draining, _) | (_, false) => state.name().to_owned(),
            (state, true) => format!("draining, {}", state.name()),
        };
        let seen = seen_s.map_or_else(|| "-".to_owned(), |seen_s| format!("{} ago", format_duration(Some(seen_s))));
        [
            vec![
                worker.clone(),
                state,
                host.clone().unwrap_or_else(|| "-".to_owned()),
                since_ms.map_or_else(|| "-".to_owned(), format_time),
                used_text(used.map, slots.map),
                used_text(used.reduce, slots.reduce),
            ],
            vec![containers.to_string()],
            vec![seen],
        ]
    });
    let mut text = lines(&columns_of(groups, &["worker", "state", "host", "since"], cells));
    for WorkerStatus { worker, complaints, .. } in &workers.workers {
        complaints.lines().for_each(|complaint| {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{worker}: {complaint}");
        });
    }
    if workers.has_more {
        let _ = writeln!(text, "there are more than these {} workers", workers.workers.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PerKind;

    #[test]
    fn workers_are_shown_a_line_each() {
        let worker = WorkerStatus {
            worker: "w1".into(),
            state: WorkerState::Ok,
            is_draining: false,
            drained_by: None,
            drained_since_ms: None,
            tracker: Some("tracker_h:streaming_only.w1/10.0.0.1:50060".into()),
            host: Some("h".into()),
            rack: Some("/default-rack".into()),
            http: Some("http://h:50060".into()),
            slots: PerKind::new(4, 2),
            used: PerKind::new(3, 0),
            containers: 0,
            since_ms: Some(1_700_000_000_000),
            last_seen_ms: Some(1_700_000_059_000),
            complaints: String::new(),
        };
        let draining = WorkerStatus { state: WorkerState::Draining, is_draining: true, ..worker.clone() };
        let silent = WorkerStatus { state: WorkerState::Silent, is_draining: true, ..worker.clone() };
        let (host, since_ms, last_seen_ms) = (None, None, None);
        let (slots, used) = (PerKind::default(), PerKind::default());
        let absent = WorkerStatus {
            worker: "w2".into(),
            state: WorkerState::Absent,
            host,
            since_ms,
            last_seen_ms,
            slots,
            used,
            ..draining.clone()
        };
        let workers =
            Workers { at_ms: 1_700_000_060_000, workers: vec![worker, draining, silent, absent], has_more: false };
        insta::assert_snapshot!(render(&workers), @r"
        WORKER  STATE             HOST  SINCE                 MAPS  REDUCES  LAST SEEN
        w1      ok                h     2023-11-14T22:13:20Z   3/4      0/2     1s ago
        w1      draining          h     2023-11-14T22:13:20Z   3/4      0/2     1s ago
        w1      draining, silent  h     2023-11-14T22:13:20Z   3/4      0/2     1s ago
        w2      draining, absent  -     -                      0/0      0/0          -
        ");
        let busy = WorkerStatus { containers: 12, ..workers.workers[0].clone() };
        let busy = Workers { workers: vec![busy], ..workers };
        insta::assert_snapshot!(render(&busy), @r"
        WORKER  STATE  HOST  SINCE                 MAPS  REDUCES  CONTAINERS  LAST SEEN
        w1      ok     h     2023-11-14T22:13:20Z   3/4      0/2          12     1s ago
        ");
        assert_eq!([used_text(3, 4), used_text(0, 0), used_text(3, 0)], ["3/4", "0/0", "3/?"]);
        assert!(render(&Workers::default()).starts_with("no worker is connected"));
        let cut = render(&Workers { has_more: true, ..busy });
        assert!(cut.ends_with("there are more than these 1 workers\n"), "{cut}");
    }
}
