//! The budget file: where money comes in at first start, and from then on an image of the ledger.
//!
//! Invariants: the file is replaced whole or not at all, and its former content stays beside it; before a replacement
//! the hash of the new content is noted as pending in `state.db`, after it as confirmed, so a start can tell our own
//! file from one that somebody else wrote; what somebody else wrote is never overwritten without being kept aside. A
//! clean stop notes the last fact that the file shows: while that is the last fact of all, whatever the file says
//! otherwise is an edit of a stopped daemon's file.

mod file;
mod in_place;
mod start;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use crate::engine::FactNumber;
use crate::market::{BudgetFileError, BudgetLine};

use super::opened::Opened;
use super::state_store::Store;
use file::ImageFile;
use thread::{Images, Order};

/// Key of the pending hash in `meta`.
pub(super) const PENDING: &str = "budget_image_pending";
/// Key of the confirmed hash in `meta`.
pub(super) const CONFIRMED: &str = "budget_image_confirmed";

/// Key of the taken hash in `meta`.
pub(super) const TAKEN: &str = "budget_image_taken";
/// Key of the last fact that the file showed at a clean stop in `meta`, decimal.
pub(super) const SHOWN: &str = "budget_image_shown";

/// What is known of the file's contents, by hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageNotes {
    /// Of a content that was about to be written.
    pub pending: Option<String>,
    /// Of a content that was surely written.
    pub confirmed: Option<String>,
    /// Of the last edited content that was about to be taken over.
    pub taken: Option<String>,
    /// The daemon stopped cleanly, with the file showing the whole ledger, and nothing has happened since.
    pub is_clean: bool,
}

/// What holds where the budget file is neither what we wrote nor an edit after a clean stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precedence {
    /// The ledger; the file is kept aside.
    #[default]
    Ledger,
    /// The file, by the administrator's word (`serve --take-budget-file`).
    File,
}

/// Writes the budget file from a thread of its own. Dropping it writes what waits, but hides errors: prefer
/// [`BudgetImage::close`].
#[derive(Debug)]
pub struct BudgetImage {
    orders: mpsc::Sender<Order>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<(), BudgetImageError>>>,
}

/// What a start found in the place of the budget file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageAtStart {
    /// First start: these budgets are to be taken in.
    First(Vec<BudgetLine>),
    /// Our own image, nothing to say.
    Ours,
    /// Edited while the daemon was stopped, or forced: the differences are to be taken over.
    Edited(Vec<BudgetLine>),
    /// Not what we wrote, or gone: the ledger wins and this line tells the operator, loudly.
    Overruled(String),
}

/// A budget file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BudgetImageError {
    /// There is none at first start.
    #[error(
        "{path}: no budget file; the dynamic priority scheduler needs one at its first start and for --take-budget-file, with a line `queue budget rate` for each queue (mapred.dynamic-scheduler.budget-file)"
    )]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// It has a bad line.
    #[error(transparent)]
    Line(#[from] BudgetFileError),
    /// It is not UTF-8, too large to be a budget file, or empty where it is to be taken over.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: &'static str,
    },
    /// The file system refuses.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// `state.db` cannot note what is to be written.
    #[error("the budget file {path} is not written: {reason}")]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// What both sides look at.
#[derive(Debug, Default)]
struct Shared {
    is_closing: AtomicBool,
    trouble: Mutex<Option<String>>,
}

/// Tells other threads how the budget file fares.
#[derive(Clone, Debug)]
pub struct ImageWatch(Arc<Shared>);

// === impl ImageWatch ===

impl ImageWatch {
    /// Why the file could not be written last, while it still waits to be.
    pub fn trouble(&self) -> Option<String> {
        self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

// === impl BudgetImage ===

impl BudgetImage {
    /// Looks at the file and starts the thread that will write it.
    ///
    /// After [`ImageAtStart::First`] and [`ImageAtStart::Edited`] hand in the facts of taking it in, all at once and as
    /// the first of this start, and publish once they are durable; in all other cases publish the accounts at once, so
    /// that the file shows the ledger again.
    ///
    /// # Errors
    /// At first start, or by [`Precedence::File`], a missing file or one that does not parse wholly; at any start a file
    /// that cannot be read.
    pub fn open(
        store: &Store,
        opened: &Opened,
        path: &Path,
        precedence: Precedence,
    ) -> Result<(Self, ImageAtStart), BudgetImageError> {
        let file = ImageFile::at(path, store.folder());
        let mut images = Images::new(file, store.notes(), opened.budget_image.clone());
        let found = match precedence {
            _ if opened.first_start => images.take_in_first()?,
            Precedence::File => images.force()?,
            Precedence::Ledger => images.judge()?,
        };
        let (orders, inbox) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("budget-image".to_owned());
        let thread = thread.spawn(move || images.run(&inbox, &theirs)).map_err(|source| BudgetImageError::File {
            action: "start a thread for",
            path: path.to_owned(),
            source,
        })?;
        Ok((Self { orders, shared, thread: Some(thread) }, found))
    }

    /// Has the file show these accounts, soon. Never waits; of several that wait the newest is written.
    pub fn publish(&self, accounts: Vec<BudgetLine>) {
        // A thread that is gone has told why.
        let _ = self.orders.send(Order::Write(accounts));
    }

    /// How the file fares, for other threads.
    pub fn watch(&self) -> ImageWatch {
        ImageWatch(Arc::clone(&self.shared))
    }

    /// Writes what waits, notes that the stop was clean and ends the thread. `shown` is the last fact of all, and what
    /// was published last shows it. To be called before the store is closed.
    ///
    /// # Errors
    /// The last content could not be written; the ledger has it.
    pub fn close(mut self, shown: FactNumber) -> Result<(), BudgetImageError> {
        self.shut(Some(shown))
    }

    fn shut(&mut self, shown: Option<FactNumber>) -> Result<(), BudgetImageError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.shared.is_closing.store(true, Ordering::Relaxed);
        let _ = self.orders.send(Order::Close { shown });
        thread.join().unwrap_or_else(|_| {
            Err(BudgetImageError::Store { path: PathBuf::new(), reason: "its thread has panicked".to_owned() })
        })
    }
}

impl Drop for BudgetImage {
    fn drop(&mut self) {
        if let Err(error) = self.shut(None) {
            tracing::error!("{error}");
        }
    }
}
