//! The interface of back-ends for budgets: [`BudgetBackEnd`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::market::{BudgetFileError, BudgetLine, TopUp, TopUpAnswer};
use crate::model::FactNumber;

/// A place outside of `state.db` that budgets are loaded from once and published to from then on.
///
/// The ledger is authoritative: [`load`](Self::load) credits the budgets at the very first start, as facts; [`publish`](Self::publish)
/// follows the facts, for people and other programs. All calls come from one thread, never the owner's, so they may block.
pub trait BudgetBackEnd: std::fmt::Debug + Send {
    /// What log lines and errors call it: a path, a program, a database. Without a password.
    fn place(&self) -> String;

    /// Loads the initial budgets. Called once, at the very first start.
    ///
    /// # Errors
    /// No budgets, or invalid ones: the start is refused, nothing is credited.
    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError>;

    /// Begins at a later start. The first publication follows.
    ///
    /// # Errors
    /// Another process publishes there: the start is refused.
    fn resume(&mut self) -> Result<(), BudgetBackEndError> {
        Ok(())
    }

    /// Publishes all accounts, as they are after a tick (at a stop: after all facts).
    ///
    /// Retried, perhaps with newer accounts, until it succeeds, so it must be idempotent: the same tick replaces what
    /// was published, and an earlier tick changes nothing.
    ///
    /// # Errors
    /// Not published, or perhaps in part; logged, and retried after a pause.
    fn publish(&mut self, accounts: &[BudgetLine], tick: u64) -> Result<(), BudgetBackEndError>;

    /// Top-ups that others made there and that have no answer yet, the oldest first and perhaps not all. None: there is no inbox.
    ///
    /// # Errors
    /// They cannot be read; asked again after a pause.
    fn find_top_ups(&mut self) -> Result<Option<Vec<TopUp>>, BudgetBackEndError> {
        Ok(None)
    }

    /// Answers top-ups, once the ledger has them durably. What is not answered is found again.
    ///
    /// # Errors
    /// Not answered, or perhaps in part.
    fn answer_top_ups(&mut self, _answers: &[TopUpAnswer]) -> Result<(), BudgetBackEndError> {
        Ok(())
    }

    /// Records that the daemon stopped cleanly, with everything up to this fact published.
    ///
    /// # Errors
    /// It could not be recorded.
    fn stopped(&mut self, _shown: FactNumber) -> Result<(), BudgetBackEndError> {
        Ok(())
    }

    /// Takes what notes each answer of a call that asks more than once.
    fn watch_calls(&mut self, _calls: CallWatch) {}

    /// Ends a call that is in progress, from another thread, at a stop that cannot wait; no call follows. None: calls are short.
    fn interrupter(&self) -> Option<Interrupter> {
        None
    }
}

/// Since when a call of a back-end has brought no answer.
#[derive(Clone, Debug, Default)]
pub struct CallWatch(Arc<Mutex<Option<(&'static str, Instant)>>>);

/// See [`BudgetBackEnd::interrupter`].
pub type Interrupter = Box<dyn Fn() + Send + Sync>;

impl CallWatch {
    pub(super) fn during<T>(&self, action: &'static str, call: impl FnOnce() -> T) -> T {
        *self.call() = Some((action, now()));
        let done = call();
        *self.call() = None;
        done
    }

    /// Something has been answered, and the call continues.
    pub(crate) fn note_answer(&self) {
        if let Some((_, since)) = &mut *self.call() {
            *since = now();
        }
    }

    /// What is in progress, and for how long there has been no answer.
    pub(super) fn silence(&self) -> Option<(&'static str, Duration)> {
        self.call().map(|(action, since)| (action, now().saturating_duration_since(since)))
    }

    pub(super) fn call(&self) -> MutexGuard<'_, Option<(&'static str, Instant)>> {
        // No panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a back-end is silent is about the clock of the machine")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// What a start found where the budget file should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetAtStart {
    /// First start: credit these budgets.
    Initial(Vec<BudgetLine>),
    /// The content that we wrote last.
    Unchanged,
    /// Edited while the daemon was stopped, or forced: apply the differences.
    Edited(Vec<BudgetLine>),
    /// Not what we wrote, or missing: the ledger holds; the line is a warning for the operator.
    Overridden(String),
}

#[derive(Debug, thiserror::Error)]
pub enum BudgetBackEndError {
    /// No budget file at first start.
    #[error(
        "{path}: no budget file; the dynamic priority scheduler needs one at its first start and for --take-budget-file, with a line `queue budget rate` for each queue (mapred.dynamic-scheduler.budget-file)"
    )]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    #[error(transparent)]
    Line(#[from] BudgetFileError),
    /// It is not UTF-8, too large to be a budget file, or without queues where it must be taken over.
    #[error("{path}: {reason}")]
    Unreadable { path: PathBuf, reason: &'static str },
    #[error("cannot {action} {path}: {source}")]
    File { action: &'static str, path: PathBuf, source: std::io::Error },
    /// `state.db` cannot record the hash.
    #[error("the budget file {path} is not written: {reason}")]
    Store { path: PathBuf, reason: String },
    /// Another back-end than the file cannot load or publish budgets.
    #[error("cannot {action} the budgets in {place}: {reason}")]
    BackEnd {
        /// The failed action: `load`, `publish`.
        action: &'static str,
        /// Where: a database, a table.
        place: String,
        reason: String,
        /// Another try fails alike until a person acts.
        is_permanent: bool,
    },
    /// The publishing thread cannot be started.
    #[error("cannot start the thread that publishes budgets: {0}")]
    Thread(std::io::Error),
}
