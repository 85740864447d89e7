//! Plays of the past for the page `/what-if`: begun by it, made elsewhere, kept for a while.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use crate::api::PlayComparison;

pub(crate) const MOST_KEPT_PLAYS: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayForm {
    /// Another scheduler, by name or class name; empty: that of the configuration.
    pub policy: String,
    /// Keys with other values, `KEY=VALUE`.
    pub set: Vec<String>,
    /// Another number of TaskTrackers, as written; empty: as there were.
    pub nodes: String,
    /// Whether deadline orders are left out.
    pub without_orders: bool,
    /// Only jobs submitted from this time on, epoch ms.
    pub since_ms: Option<i64>,
    /// Only jobs submitted before this time, epoch ms.
    pub until_ms: Option<i64>,
}

#[derive(Clone, Debug)]
pub struct PlayRun {
    /// Its name in addresses.
    pub id: String,
    pub form: PlayForm,
    pub by: String,
    pub begun_ms: i64,
    /// Until when it is kept once it is over, epoch ms.
    pub kept_until_ms: Option<i64>,
    pub state: PlayState,
}

#[derive(Clone, Debug)]
pub enum PlayState {
    Running,
    /// Both plays are over.
    Done(Arc<PlayComparison>),
    /// There is no answer, and why.
    Failed(String),
}

/// Why no play is begun.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayRefusal {
    /// One at a time.
    #[error("one runs; try again in {retry_s} s")]
    Busy {
        /// When it is over at the latest, if the processor is free.
        retry_s: u64,
    },
    /// A field holds what it cannot.
    #[error("{field}: {value:?} is not {expected}")]
    Field {
        field: &'static str,
        /// The beginning of what it holds.
        value: String,
        expected: String,
    },
    /// No thread.
    #[error("no play can be begun: {0}")]
    NotBegun(String),
}

/// What makes plays, one at a time.
pub trait Plays: Debug + Send + Sync {
    /// Begins a play; its id. Returns at once.
    fn begin(&self, form: PlayForm, by: &str) -> Result<String, PlayRefusal>;

    /// Those that run or are kept, the newest first.
    fn all(&self) -> Vec<PlayRun>;

    /// The daemon's conf folder, which the command needs.
    fn conf_dir(&self) -> Option<PathBuf>;
}
