//! `jobtracker status`: the daemon at a glance, over HTTP.

use std::fmt::Write;

use crate::api::{BudgetImageStatus, ContainerCounts, DaemonStatus};
use crate::client::daemon_status::{StatusError, daemon_status};
use crate::model::counted;

use super::exit_code::{Failure, UNREACHABLE};
use super::market_command::{MarketArguments, wait_for};
use super::market_text::json;
use super::pasted::pasted_place;
use super::place::FoundAddress;

/// Exit code of a daemon that serves and cannot run jobs.
const NOT_READY: u8 = 1;

/// Options of `status`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DaemonStatusArguments {
    /// Set a configuration key, overriding the conf folder; can be repeated
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    define: Vec<String>,
    /// The daemon, output form.
    #[command(flatten)]
    market: MarketArguments,
}

/// Asks for the status; returns the text and the exit code: 0 where jobs can run, else 1. Fails with 2 for
/// wrong configuration, 4 if no daemon answers.
pub(crate) fn run(arguments: &DaemonStatusArguments) -> Result<(String, u8), Failure> {
    let DaemonStatusArguments { define, market } = arguments;
    let FoundAddress { address, origin } = market.place.find(define)?.http();
    let failure = |error: StatusError| {
        let start = pasted_place("jobtracker serve");
        Failure::new(UNREACHABLE, format_args!("{error}{}; start one: {start}", origin.note()))
    };
    let status = wait_for(async { Ok(daemon_status(&address.to_string()).await) })?.map_err(failure)?;
    let code = if status.is_ready { 0 } else { NOT_READY };
    Ok((if market.json { json(&status) } else { text(&status) }, code))
}

/// After an upgrade attempts run on workers that have not said yet how many slots they have.
fn slots_text(used: u32, slots: u32, waiting: u64) -> String {
    let of = if used > slots {
        "(the number of slots is known once all workers have called)".to_owned()
    } else {
        format!("of {slots}")
    };
    let wait = if waiting == 1 { "waits" } else { "wait" };
    format!("{used} {of} in use, {} {wait}", counted(waiting, "task"))
}

fn containers_text(containers: &ContainerCounts) -> String {
    let ContainerCounts { held_slots, waiting } = *containers;
    let (held, wait) = (counted(held_slots, "slot"), if waiting == 1 { "waits" } else { "wait" });
    format!("{held} held beside those of tasks, {} {wait}", counted(waiting, "container"))
}

fn budgets_text(budgets: &BudgetImageStatus) -> String {
    let BudgetImageStatus { place, tick, lag_ticks, lag_s, error } = budgets;
    let shown = match (tick, lag_ticks) {
        (None, 0) => "nothing has changed since the start".to_owned(),
        // Something else than the balances cannot be read or written.
        (Some(tick), 0) if error.is_some() => format!("balances as of tick {tick}"),
        (Some(tick), 0) => format!("up to date, tick {tick}"),
        (_, behind) => format!(
            "{} behind, for {:#}",
            counted(*behind, "tick"),
            jiff::SignedDuration::from_secs(lag_s.cast_signed())
        ),
    };
    let why = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
    format!("{place}: {shown}{why}")
}

fn text(status: &DaemonStatus) -> String {
    let DaemonStatus { workers, slots, running_tasks, waiting_tasks, .. } = status;
    let unknown = || "unknown".to_owned();
    let address = |address: &Option<String>| address.clone().unwrap_or_else(unknown);
    let up = jiff::SignedDuration::from_secs(status.uptime_ms / 1_000);
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{name:<10} {value}");
    };
    line("jobtracker", format!("{}, process {}, up {up:#}", status.version, status.pid));
    line("ports", format!("RPC {}, web {}", address(&status.rpc), address(&status.http)));
    line("scheduler", status.scheduler.clone());
    let short = if workers.short > 0 { format!(" ({} of them short)", workers.short) } else { String::new() };
    let counts =
        format!("{} healthy{short}, {} unhealthy, {} silent", workers.healthy, workers.unhealthy, workers.silent);
    line("workers", counts);
    line(
        "slots",
        format!(
            "map {}; reduce {}",
            slots_text(running_tasks.map, slots.map, waiting_tasks.map),
            slots_text(running_tasks.reduce, slots.reduce, waiting_tasks.reduce)
        ),
    );
    if let Some(containers) = &status.containers {
        line("containers", containers_text(containers));
    }
    line("jobs", format!("{} running, {} being set up", status.running_jobs, status.preparing_jobs));
    if let Some(old_s) = status.old_s {
        line("shown", format!("as it was {:#} ago", jiff::SignedDuration::from_secs(old_s)));
    }
    if let Some(budgets) = &status.budgets {
        line("budgets", budgets_text(budgets));
    }
    // The server does not know this conf folder.
    let worker = "jobtracker tasktracker";
    line("health", status.health.replace(worker, &pasted_place(worker)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_containers_hold_and_want_is_one_line() {
        let text = |held_slots, waiting| containers_text(&ContainerCounts { held_slots, waiting });
        assert_eq!(text(6, 44), "6 slots held beside those of tasks, 44 containers wait");
        assert_eq!(text(1, 1), "1 slot held beside those of tasks, 1 container waits");
    }

    #[test]
    fn budgets_are_not_up_to_date_while_something_fails() {
        let budgets = |tick, lag_ticks, error: Option<&str>| {
            let (place, error) = ("database db/x".to_owned(), error.map(str::to_owned));
            budgets_text(&BudgetImageStatus { place, tick, lag_ticks, lag_s: 65, error })
        };
        assert_eq!(budgets(Some(7), 0, None), "database db/x: up to date, tick 7");
        assert_eq!(budgets(Some(7), 3, Some("no")), "database db/x: 3 ticks behind, for 1m 5s: no");
        assert_eq!(budgets(Some(7), 0, Some("cannot read")), "database db/x: balances as of tick 7: cannot read");
    }

    #[test]
    fn slots_of_workers_that_have_not_called_yet_are_not_shown_as_none() {
        assert_eq!(slots_text(4, 6, 1), "4 of 6 in use, 1 task waits");
        assert_eq!(slots_text(0, 0, 2), "0 of 0 in use, 2 tasks wait");
        let unknown = slots_text(4, 0, 0);
        assert!(unknown.starts_with("4 (the number of slots is known once") && !unknown.contains("of 0"), "{unknown}");
    }
}
