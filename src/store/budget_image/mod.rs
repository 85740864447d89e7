//! The budget file: where money comes in at first start, and from then on an image of the ledger. Behind it stands
//! [`BudgetBackEnd`], so that something else than a file may take its place.
//!
//! Invariants: the file is replaced whole or not at all, and its former content stays beside it; before a replacement
//! the hash of the new content is noted as pending in `state.db`, after it as confirmed, so a start can tell our own
//! file from one that somebody else wrote; what somebody else wrote is never overwritten without being kept aside. A
//! clean stop notes the last fact that the file shows: while that is the last fact of all, whatever the file says
//! otherwise is an edit of a stopped daemon's file.

mod back_end;
mod file;
mod images;
mod in_place;
mod start;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use crate::market::{BudgetFileError, BudgetLine};
use crate::model::FactNumber;

use super::opened::Opened;
use super::state_store::Store;
pub use back_end::BudgetBackEnd;
use file::ImageFile;
use images::Images;
use thread::{Order, publish_all};

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

/// Publishes budgets from a thread of its own: to the budget file, or to what else stands behind it. Dropping it writes what waits, but hides errors: prefer
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
    /// A back-end that is no file cannot give or take budgets.
    #[error("cannot {action} the budgets in {place}: {reason}")]
    BackEnd {
        /// What was tried: `load`, `publish`.
        action: &'static str,
        /// Where: a database, a table.
        place: String,
        /// What it said.
        reason: String,
    },
    /// The system gives no thread to publish from.
    #[error("the system refuses a thread for the budgets: {0}")]
    Thread(std::io::Error),
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
        let shared = Arc::new(Shared::default());
        let mut images = Images::new(file, store.notes(), opened.budget_image.clone(), Arc::clone(&shared));
        let found = match precedence {
            _ if opened.first_start => ImageAtStart::First(images.load()?),
            Precedence::File => images.force()?,
            Precedence::Ledger => images.judge()?,
        };
        Ok((Self::start(images, shared)?, found))
    }

    /// The same with another back-end than the file. What it shows is never read again after the first start, so there
    /// are no edits to take over.
    ///
    /// # Errors
    /// At first start what [`BudgetBackEnd::load`] says.
    pub fn with_back_end(
        mut back_end: impl BudgetBackEnd + 'static,
        opened: &Opened,
    ) -> Result<(Self, ImageAtStart), BudgetImageError> {
        let found = if opened.first_start { ImageAtStart::First(back_end.load()?) } else { ImageAtStart::Ours };
        Ok((Self::start(back_end, Arc::default())?, found))
    }

    fn start(mut back_end: impl BudgetBackEnd + 'static, shared: Arc<Shared>) -> Result<Self, BudgetImageError> {
        let (orders, inbox) = mpsc::channel();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("budget-image".to_owned());
        let thread = thread.spawn(move || publish_all(&mut back_end, &inbox, &theirs));
        let thread = thread.map_err(BudgetImageError::Thread)?;
        Ok(Self { orders, shared, thread: Some(thread) })
    }

    /// Has the back-end show these accounts, all there are after that tick, soon. Never waits; of several that wait the
    /// newest is published.
    pub fn publish(&self, accounts: Vec<BudgetLine>, tick: u64) {
        // A thread that is gone has told why.
        let _ = self.orders.send(Order::Publish { accounts, tick });
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
