//! `jobtracker what-if`: plays yesterday's jobs again, as configured and as asked.

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::config::settings::{SchedulerName, UnknownScheduler};
use crate::lifecycle::{PlayFailure, PlayQuestion, play_past};
use crate::store::{RecordedSpan, StoreError, database_in};

use super::exit_code::WRONG_USAGE;
use super::serve::ConfigurationArguments;
use super::since::{InvalidTime, parse_time_of};
use super::what_if_text::render;

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

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WhatIfFailure {
    /// The name of the scheduler.
    #[error("--policy: {0}")]
    Policy(#[from] UnknownScheduler),
    /// A time.
    #[error("{0}")]
    Time(#[from] InvalidTime),
    /// A configuration as it is.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// Something that `--set` has.
    #[error("--set {0:?}: expected KEY=VALUE")]
    Set(String),
    /// The plays.
    #[error("{0}")]
    Play(#[from] PlayFailure),
}

impl WhatIfFailure {
    /// The exit code: 1 for a state that cannot be read, 2 for wrong usage or configuration.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Play(PlayFailure::Store(StoreError::OtherSchema { .. })) => WRONG_USAGE,
            Self::Play(PlayFailure::Store(_)) => 1,
            _ => WRONG_USAGE,
        }
    }
}

/// Plays both; returns what they came to.
///
/// # Errors
/// [`WhatIfFailure`]
pub(crate) fn run(arguments: &WhatIfArguments) -> Result<String, WhatIfFailure> {
    let time = |option, text: &Option<String>| text.as_deref().map(|text| parse_time_of(option, text)).transpose();
    let span = RecordedSpan {
        since_ms: time("--since", &arguments.since)?.unwrap_or(i64::MIN),
        until_ms: time("--until", &arguments.until)?.unwrap_or(i64::MAX),
    };
    let scheduler: Option<SchedulerName> = arguments.policy.as_deref().map(str::parse).transpose()?;
    if let Some(wrong) = arguments.set.iter().find(|set| !set.contains('=')) {
        return Err(WhatIfFailure::Set(wrong.clone()));
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
    Ok(render(&play_past(&question, &options, &database)?, arguments.json))
}
