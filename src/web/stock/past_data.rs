//! What the history pages show of a job that is over, as plain values.

use crate::model::RunState;

use super::data::{StockAttempt, StockJob};

/// A job that is over, with all its attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct StockPast {
    pub(crate) job: StockJob,
    /// When its setup had succeeded, epoch ms; 0: it never did.
    pub(crate) launch_ms: i64,
    /// As [`StockPastJob::log_file`](super::StockPastJob::log_file).
    pub(crate) log_file: String,
    /// By task and number.
    pub(crate) attempts: Vec<PastAttempt>,
}

/// An attempt, and what it was for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PastAttempt {
    pub(crate) kind: PastKind,
    pub(crate) attempt: StockAttempt,
}

/// What an attempt was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PastKind {
    Setup,
    Map,
    Reduce,
    Cleanup,
}

/// Where the history of a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StockHistoryPlace {
    /// Nowhere: the job is not over.
    NotOver,
    /// In a file, or still in the database.
    Over {
        /// As [`StockPastJob::log_file`](super::StockPastJob::log_file).
        log_file: String,
    },
}

impl StockPast {
    /// How it ended, as history files say it.
    pub(super) fn status(&self) -> &'static str {
        match self.job.state {
            RunState::Succeeded => "SUCCESS",
            RunState::Failed => "FAILED",
            RunState::Killed => "KILLED",
            RunState::Prep | RunState::Running => "RUNNING",
        }
    }
}

impl PastKind {
    /// With their words, as pages list them.
    pub(super) const ALL: [(&'static str, Self); 4] =
        [("Setup", Self::Setup), ("Map", Self::Map), ("Reduce", Self::Reduce), ("Cleanup", Self::Cleanup)];

    /// The name that history files have for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Setup => "SETUP",
            Self::Map => "MAP",
            Self::Reduce => "REDUCE",
            Self::Cleanup => "CLEANUP",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.map(|(_, kind)| kind).into_iter().find(|kind| kind.name() == name)
    }
}
