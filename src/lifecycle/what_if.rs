//! The jobs of the past, played as a start would be configured now, and as asked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::api::PlayComparison;
use crate::config::settings::SchedulerName;
use crate::config::{LoadOptions, Settings};
use crate::engine::{EngineConfig, HostLists, SchedulerChoice};
use crate::server::engine_config;
use crate::sim::what_if::{Play, PlayOptions, PlayedUnder, compare};
use crate::store::{RecordedSize, RecordedSpan, StoreError, read_recording, recorded_size};

use super::ruling_scheduler::RulingScheduler;
use super::serve_error::ServeError;

#[derive(Clone, Debug)]
pub(crate) struct PlayQuestion {
    pub(crate) scheduler: Option<SchedulerName>,
    /// Keys with other values, `KEY=VALUE`.
    pub(crate) set: Vec<String>,
    /// Another number of TaskTrackers.
    pub(crate) nodes: Option<usize>,
    /// Whether deadline orders are kept.
    pub(crate) with_orders: bool,
    pub(crate) span: RecordedSpan,
    /// Whether each job is shown.
    pub(crate) shows_jobs: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PlayFailure {
    #[error("as configured: {0}")]
    Configured(Box<ServeError>),
    #[error("as asked: {0}")]
    Asked(Box<ServeError>),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error(
        "{} has no finished job that was submitted in that time ({unfinished} are not finished): expected at least one",
        .place.display()
    )]
    NoJobs { place: PathBuf, unfinished: usize },
    #[error("{} has no record of TaskTrackers of that time: programs before this command kept none", .0.display())]
    NoTrackers(PathBuf),
    /// More to play than is permitted.
    #[error(
        "{} jobs with {} tasks were submitted in that time: expected at most {} with {}; ask for a shorter time",
        .found.jobs, .found.tasks, .most.jobs, .most.tasks
    )]
    TooMuch { found: RecordedSize, most: RecordedSize },
    /// It may not continue.
    #[error("the plays were ended before they were over")]
    Ended,
}

/// How much a play may be of, and how long it may last.
pub(super) struct PlayBounds<'a> {
    pub(super) most: RecordedSize,
    /// Asked now and then: whether it may continue.
    pub(super) may_continue: &'a mut dyn FnMut() -> bool,
}

/// Plays what a database has recorded, also while a daemon writes to it.
pub(crate) fn play_past(
    question: &PlayQuestion,
    options: &LoadOptions,
    database: &Path,
) -> Result<PlayComparison, PlayFailure> {
    play(question, options, database, &mut || true)
}

/// The same within bounds.
pub(super) fn play_within(
    question: &PlayQuestion,
    options: &LoadOptions,
    database: &Path,
    bounds: PlayBounds<'_>,
) -> Result<PlayComparison, PlayFailure> {
    let PlayBounds { most, may_continue } = bounds;
    let found = recorded_size(database, question.span)?;
    if found.jobs > most.jobs || found.tasks > most.tasks {
        return Err(PlayFailure::TooMuch { found, most });
    }
    play(question, options, database, may_continue)
}

fn play(
    question: &PlayQuestion,
    options: &LoadOptions,
    database: &Path,
    may_continue: &mut dyn FnMut() -> bool,
) -> Result<PlayComparison, PlayFailure> {
    let (recording, choice) = read_recording(database, question.span)?;
    if recording.jobs.is_empty() {
        return Err(PlayFailure::NoJobs { place: database.to_owned(), unfinished: recording.unfinished });
    }
    if recording.trackers.is_empty() {
        return Err(PlayFailure::NoTrackers(database.to_owned()));
    }
    let configured = play_config(options, choice.as_ref(), recording.start_ms)
        .map_err(|error| PlayFailure::Configured(Box::new(error)))?;
    let mut asked = options.clone();
    asked.overrides.extend(question.set.iter().cloned());
    let stored = choice.as_ref().filter(|_| question.scheduler.is_none());
    if let Some(scheduler) = question.scheduler {
        asked = asked.under(scheduler.class);
    }
    let asked = play_config(&asked, stored, recording.start_ms).map_err(|error| PlayFailure::Asked(Box::new(error)))?;
    let schedulers = [&configured, &asked].map(|config| config.choice.class.to_string());
    let with_nodes = question.nodes.map(|nodes| recording.with_nodes(nodes));
    let asked_recording = with_nodes.as_ref().unwrap_or(&recording);
    let first = PlayOptions { config: configured, with_orders: true, admits_all: true };
    let second = PlayOptions { config: asked, with_orders: question.with_orders, admits_all: false };
    let first = Play::run_while(&recording, first, may_continue).ok_or(PlayFailure::Ended)?;
    let second = Play::run_while(asked_recording, second, may_continue).ok_or(PlayFailure::Ended)?;
    let configured = PlayedUnder {
        played: &first,
        scheduler: &schedulers[0],
        nodes: recording.nodes(),
        set: &[],
        with_orders: true,
    };
    let asked = PlayedUnder {
        played: &second,
        scheduler: &schedulers[1],
        nodes: asked_recording.nodes(),
        set: &question.set,
        with_orders: question.with_orders,
    };
    Ok(compare(&recording, configured, asked, question.shows_jobs))
}

/// The settings of an engine that a start at `wall_ms` would make, after a last choice of a scheduler; all hosts are admitted.
fn play_config(
    options: &LoadOptions,
    stored: Option<&SchedulerChoice>,
    wall_ms: i64,
) -> Result<EngineConfig, ServeError> {
    let (settings, _warnings) = Settings::load(options)?;
    let ruling = RulingScheduler::find(&settings, stored)?;
    let config = engine_config(&ruling.settings, &BTreeSet::new(), wall_ms, String::new())?;
    Ok(EngineConfig { hosts: HostLists::default(), ..config })
}
