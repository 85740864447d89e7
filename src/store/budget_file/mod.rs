//! The budget file: it credits the budgets at first start, and from then on shows the ledger. [`BudgetBackEnd`] is its
//! interface, so that another back-end can replace the file.
//!
//! Invariants: the file is replaced whole or not at all, and its former content stays beside it; before a replacement
//! the hash of the new content is recorded as pending in `state.db`, after it as confirmed, so a start can distinguish
//! our file from a foreign one; a foreign content is never overwritten before it is copied. A clean stop records the
//! last fact that the file shows: while that is the last fact of all, any other content is an edit made while the
//! daemon was stopped.

mod back_end;
mod file;
mod file_back_end;
mod in_place;
mod publisher_thread;
mod start;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use crate::market::{BudgetFileError, BudgetLine};
use crate::model::FactNumber;

use super::loaded_state::LoadedState;
use super::state_store::Store;
pub use back_end::BudgetBackEnd;
use file::BudgetFile;
use file_back_end::FileBackEnd;
use publisher_thread::{Order, publish_all};

/// Key in `meta` of the pending hash.
pub(super) const PENDING: &str = "budget_image_pending";
/// Key in `meta` of the confirmed hash.
pub(super) const CONFIRMED: &str = "budget_image_confirmed";

/// Key in `meta` of the hash of an edit that is being taken over.
pub(super) const TAKEN: &str = "budget_image_taken";
/// Key in `meta` of the last fact that the file showed at a clean stop, decimal.
pub(super) const SHOWN: &str = "budget_image_shown";

/// Recorded hashes of the file's contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BudgetFileHashes {
    /// Of a content whose write had begun.
    pub pending: Option<String>,
    /// Of a content that was written.
    pub confirmed: Option<String>,
    /// Of the last edit whose take-over had begun.
    pub taken: Option<String>,
    /// The daemon stopped cleanly, the file showed the whole ledger, and no fact followed.
    pub is_clean: bool,
}

/// Which side holds if the budget file is neither what we wrote nor an edit after a clean stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precedence {
    /// The ledger; the file is kept under another name.
    #[default]
    Ledger,
    /// The file, by order of the administrator (`serve --take-budget-file`).
    File,
}

/// Publishes budgets from its own thread: to the budget file or another back-end. Dropping it writes what waits and
/// only logs errors: prefer [`BudgetPublisher::close`].
#[derive(Debug)]
pub struct BudgetPublisher {
    orders: mpsc::Sender<Order>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<(), BudgetBackEndError>>>,
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

/// A back-end that cannot be read or written.
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
    /// An invalid line.
    #[error(transparent)]
    Line(#[from] BudgetFileError),
    /// It is not UTF-8, too large to be a budget file, or without queues where it must be taken over.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The system reports an error.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// The failed action.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// `state.db` cannot record the hash.
    #[error("the budget file {path} is not written: {reason}")]
    Store {
        /// The budget file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Another back-end than the file cannot load or publish budgets.
    #[error("cannot {action} the budgets in {place}: {reason}")]
    BackEnd {
        /// The failed action: `load`, `publish`.
        action: &'static str,
        /// Where: a database, a table.
        place: String,
        /// Error of the back-end.
        reason: String,
    },
    /// The publishing thread cannot be started.
    #[error("cannot start the thread that publishes budgets: {0}")]
    Thread(std::io::Error),
}

/// State shared with the publishing thread.
#[derive(Debug, Default)]
struct Shared {
    is_closing: AtomicBool,
    trouble: Mutex<Option<String>>,
}

/// Shows other threads whether budgets are published.
#[derive(Clone, Debug)]
pub struct BudgetStatus(Arc<Shared>);

// === impl BudgetStatus ===

impl BudgetStatus {
    /// The error of the last try, while it is being retried.
    pub fn last_error(&self) -> Option<String> {
        self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

// === impl BudgetPublisher ===

impl BudgetPublisher {
    /// Compares the file with the recorded hashes and starts the thread that writes it.
    ///
    /// After [`BudgetAtStart::Initial`] and [`BudgetAtStart::Edited`] send the facts that apply it, all at once and as
    /// the first of this start, and publish once they are durable; in all other cases publish the accounts at once, so
    /// that the file shows the ledger again.
    ///
    /// # Errors
    /// At first start, or by [`Precedence::File`], a missing or invalid file; at any start a file that cannot be
    /// read.
    pub fn open(
        store: &Store,
        loaded: &LoadedState,
        path: &Path,
        precedence: Precedence,
    ) -> Result<(Self, BudgetAtStart), BudgetBackEndError> {
        let file = BudgetFile::at(path, store.folder());
        let shared = Arc::new(Shared::default());
        let mut images = FileBackEnd::new(file, store.meta_writer(), loaded.budget_image.clone(), Arc::clone(&shared));
        let found = match precedence {
            _ if loaded.first_start => BudgetAtStart::Initial(images.load()?),
            Precedence::File => images.take_over_file()?,
            Precedence::Ledger => images.check_at_start()?,
        };
        Ok((Self::start(images, shared)?, found))
    }

    /// The same with another back-end. It is never read again after the first start, so there are no edits to take
    /// over.
    ///
    /// # Errors
    /// At first start those of [`BudgetBackEnd::load`].
    pub fn with_back_end(
        mut back_end: impl BudgetBackEnd + 'static,
        loaded: &LoadedState,
    ) -> Result<(Self, BudgetAtStart), BudgetBackEndError> {
        let found =
            if loaded.first_start { BudgetAtStart::Initial(back_end.load()?) } else { BudgetAtStart::Unchanged };
        Ok((Self::start(back_end, Arc::default())?, found))
    }

    fn start(mut back_end: impl BudgetBackEnd + 'static, shared: Arc<Shared>) -> Result<Self, BudgetBackEndError> {
        let (orders, inbox) = mpsc::channel();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("budget-image".to_owned());
        let thread = thread.spawn(move || publish_all(&mut back_end, &inbox, &theirs));
        let thread = thread.map_err(BudgetBackEndError::Thread)?;
        Ok(Self { orders, shared, thread: Some(thread) })
    }

    /// Publishes all accounts after a tick, soon. Never waits; of several waiting calls the newest is published.
    pub fn publish(&self, accounts: Vec<BudgetLine>, tick: u64) {
        // A thread that ended has logged why.
        let _ = self.orders.send(Order::Publish { accounts, tick });
    }

    /// The status, for other threads.
    pub fn watch(&self) -> BudgetStatus {
        BudgetStatus(Arc::clone(&self.shared))
    }

    /// Publishes what waits, records that the stop was clean and ends the thread. `shown` is the last fact of all,
    /// which the last publication shows. Call it before the store is closed.
    ///
    /// # Errors
    /// The last accounts could not be published; the ledger has them.
    pub fn close(mut self, shown: FactNumber) -> Result<(), BudgetBackEndError> {
        self.shut(Some(shown))
    }

    fn shut(&mut self, shown: Option<FactNumber>) -> Result<(), BudgetBackEndError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.shared.is_closing.store(true, Ordering::Relaxed);
        let _ = self.orders.send(Order::Close { shown });
        thread.join().unwrap_or_else(|_| {
            Err(BudgetBackEndError::Store { path: PathBuf::new(), reason: "its thread has panicked".to_owned() })
        })
    }
}

impl Drop for BudgetPublisher {
    fn drop(&mut self) {
        if let Err(error) = self.shut(None) {
            tracing::error!("{error}");
        }
    }
}
