//! `jobtracker what-if`: plays yesterday's jobs again, as configured and as asked.

use std::path::PathBuf;

use crate::api::{ComparedGroup, ComparedJob, PlayComparison, PlayFigures, PlaySettings, tenths_text};
use crate::config::settings::UnknownScheduler;
use crate::lifecycle::{PlayFailure, PlayQuestion, play_past};
use crate::model::counted;
use crate::store::{RecordedSpan, StoreError, database_in};

use super::exit_code::Failure;
use super::market_text::{columns, json, lines};
use super::serve::ConfigurationArguments;
use super::time_text::{format_time, parse_time_of};

/// Play the jobs of the past again in virtual time, as configured and as asked, and compare
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WhatIfArguments {
    /// Ask for this scheduler: fifo, capacity, fair, constraint, dynamic, or a class name
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Ask for this value of a configuration key; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Ask for this number of TaskTrackers; more than there were are like those
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
    /// Ask for no deadline orders
    #[arg(long)]
    without_orders: bool,
    /// Take only jobs submitted from this time on, such as 2026-11-21 or 2026-11-21T18:00
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Take only jobs submitted before this time
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// Read a backup of state.db, not the daemon's own
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Show each job
    #[arg(long)]
    jobs: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The daemon's configuration.
    #[command(flatten)]
    configuration: ConfigurationArguments,
}

/// Fails with 1 for a state that cannot be read, 2 for wrong usage or configuration.
pub(crate) fn run(arguments: &WhatIfArguments) -> Result<String, Failure> {
    let time = |option, text: &Option<String>| {
        text.as_deref().map(|text| parse_time_of(option, text)).transpose().map_err(Failure::usage)
    };
    let span = RecordedSpan {
        since_ms: time("--since", &arguments.since)?.unwrap_or(i64::MIN),
        until_ms: time("--until", &arguments.until)?.unwrap_or(i64::MAX),
    };
    let scheduler = arguments.policy.as_deref().map(str::parse).transpose();
    let scheduler = scheduler.map_err(|error: UnknownScheduler| Failure::usage(format_args!("--policy: {error}")))?;
    if let Some(wrong) = arguments.set.iter().find(|set| !set.contains('=')) {
        return Err(Failure::usage(format_args!("--set {wrong:?}: expected KEY=VALUE")));
    }
    let options = arguments.configuration.load_options();
    let database = match &arguments.state {
        Some(file) => file.clone(),
        None => database_in(&options.state_dir()?),
    };
    let question = PlayQuestion {
        scheduler,
        set: arguments.set.clone(),
        nodes: arguments.nodes,
        with_orders: !arguments.without_orders,
        span,
        shows_jobs: arguments.jobs,
    };
    let failure = |error: PlayFailure| match error {
        PlayFailure::Store(StoreError::OtherSchema { .. }) => Failure::usage(error),
        PlayFailure::Store(_) => Failure::other(error),
        _ => Failure::usage(error),
    };
    Ok(render(&play_past(&question, &options, &database).map_err(failure)?, arguments.json))
}

/// Both plays.
pub(super) fn render(answer: &PlayComparison, is_json: bool) -> String {
    if is_json { json(answer) } else { render_text(answer) }
}

fn render_text(answer: &PlayComparison) -> String {
    let PlayComparison { configured, asked, .. } = answer;
    let mut text = format!(
        "{} from {} on; {} that are not finished are left out\n",
        counted(answer.jobs_played, "job"),
        format_time(answer.from_ms),
        answer.jobs_not_finished
    );
    text.push_str(&format!(
        "as configured: {}, {} TaskTrackers{}\n",
        configured.scheduler,
        configured.nodes,
        moved(configured)
    ));
    let set: String = asked.set.iter().map(|set| format!(", {set}")).collect();
    let orders = if asked.orders { "" } else { ", without deadline orders" };
    text.push_str(&format!(
        "as asked:      {}, {} TaskTrackers{set}{orders}{}\n\nAssumed:\n",
        asked.scheduler,
        asked.nodes,
        moved(asked)
    ));
    answer.assumed.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
    let heads = [
        "queue",
        "run",
        "jobs",
        "ended well",
        "waiting",
        "p95",
        "running",
        "p95",
        "slot hours",
        "kills",
        "deadlines met",
        "cost",
    ];
    let mut table = columns(&heads, 2);
    for ComparedGroup { group, jobs, configured, asked } in &answer.groups {
        let group = group.as_deref().unwrap_or("(all)");
        table.add_row(row(group, "configured", *jobs, configured));
        table.add_row(row("", "asked", *jobs, asked));
    }
    text.push_str(&format!("\n{}", lines(&table)));
    if let Some(jobs) = &answer.jobs {
        text.push_str(&format!("\n{}", jobs_table(jobs)));
    }
    if let Some(sentence) = answer.refusal_sentence() {
        text.push_str(&format!("\n{sentence}\n"));
    }
    text
}

fn moved(settings: &PlaySettings) -> String {
    match settings.moved_jobs {
        0 => String::new(),
        moved => format!(", {} in its first queue, for theirs does not exist under it", counted(moved, "job")),
    }
}

fn row(group: &str, run: &str, jobs: usize, figures: &PlayFigures) -> [String; 12] {
    let PlayFigures { succeeded, waiting_ms, running_ms, kills, cost, .. } = figures;
    let time = |ms| if figures.has_ended() { tenths_text(ms) } else { "-".to_owned() };
    [
        group.to_owned(),
        run.to_owned(),
        jobs.to_string(),
        succeeded.to_string(),
        time(waiting_ms.median),
        time(waiting_ms.p95),
        time(running_ms.median),
        time(running_ms.p95),
        figures.slot_hours_text(),
        kills.to_string(),
        figures.deadlines_text(),
        cost.to_string(),
    ]
}

fn jobs_table(jobs: &[ComparedJob]) -> String {
    let heads = [
        "job",
        "user",
        "submitted",
        "took",
        "as configured",
        "as asked",
        "deadline",
        "met then",
        "configured",
        "asked",
    ];
    let mut table = columns(&heads, 2);
    for job in jobs {
        table.add_row([
            job.job.to_string(),
            job.user.clone(),
            format_time(job.submitted_ms),
            job.end_text(&job.recorded),
            job.end_text(&job.configured),
            job.end_text(&job.asked),
            job.deadline_text(),
            job.recorded.met_text().to_owned(),
            job.configured.met_text().to_owned(),
            job.asked.met_text().to_owned(),
        ]);
    }
    lines(&table)
}
