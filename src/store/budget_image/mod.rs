//! The budget file: where money comes in at first start, and from then on an image of the ledger.
//!
//! Invariants: the file is replaced whole or not at all, and its former content stays beside it; before a replacement
//! the hash of the new content is noted as pending in `state.db`, after it as confirmed, so a start can tell our own
//! file from one that somebody else wrote; what somebody else wrote is never overwritten without being kept aside.

mod file;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use crate::market::{BudgetFileError, BudgetLine, budget_file};

use super::note::NoteError;
use super::opened::Opened;
use super::state_store::Store;
use file::{ImageFile, hash};
use thread::{Images, Order};

/// Key of the pending hash in `meta`.
pub(super) const PENDING: &str = "budget_image_pending";
/// Key of the confirmed hash in `meta`.
pub(super) const CONFIRMED: &str = "budget_image_confirmed";

/// Hashes of what we wrote last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageHashes {
    /// Of a content that was about to be written.
    pub pending: Option<String>,
    /// Of a content that was surely written.
    pub confirmed: Option<String>,
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
    /// Not what we wrote, or gone: the ledger wins and this line tells the operator, loudly.
    Overruled(String),
}

/// A budget file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BudgetImageError {
    /// There is none at first start.
    #[error(
        "{path}: no budget file; the dynamic priority scheduler needs one at its first start, with a line `queue budget rate` for each queue (mapred.dynamic-scheduler.budget-file)"
    )]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// It has a bad line.
    #[error(transparent)]
    Line(#[from] BudgetFileError),
    /// It is not UTF-8, or too large to be a budget file.
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

// === impl BudgetImage ===

impl BudgetImage {
    /// Looks at the file and starts the thread that will write it.
    ///
    /// After [`ImageAtStart::First`] hand in the facts of the endowment, in all other cases publish the accounts at
    /// once, so that the file shows the ledger again.
    ///
    /// # Errors
    /// At first start a missing file or one that does not parse wholly; at any start a file that cannot be read.
    pub fn open(store: &Store, opened: &Opened, path: &Path) -> Result<(Self, ImageAtStart), BudgetImageError> {
        let file = ImageFile::at(path);
        let mut images = Images::new(file, store.notes(), opened.budget_image.clone());
        let found = if opened.first_start { images.take_in_first()? } else { images.judge()? };
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

    /// Why the file could not be written last, while it still waits to be.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes what waits and ends the thread. To be called before the store is closed.
    ///
    /// # Errors
    /// The last content could not be written; the ledger has it.
    pub fn close(mut self) -> Result<(), BudgetImageError> {
        self.shut()
    }

    fn shut(&mut self) -> Result<(), BudgetImageError> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.shared.is_closing.store(true, Ordering::Relaxed);
        let _ = self.orders.send(Order::Close);
        thread.join().unwrap_or_else(|_| {
            Err(BudgetImageError::Store { path: PathBuf::new(), reason: "its thread has panicked".to_owned() })
        })
    }
}

impl Drop for BudgetImage {
    fn drop(&mut self) {
        if let Err(error) = self.shut() {
            tracing::error!("{error}");
        }
    }
}

// === impl Images: the start ===

impl Images {
    /// First start: the whole file or nothing.
    fn take_in_first(&mut self) -> Result<ImageAtStart, BudgetImageError> {
        let path = self.file.path().to_owned();
        let Some(content) = self.file.read()? else { return Err(BudgetImageError::Missing { path }) };
        let text = std::str::from_utf8(&content)
            .map_err(|_| BudgetImageError::Unreadable { path: path.clone(), reason: "not UTF-8" })?;
        let lines = budget_file::parse(text, &path.display().to_string())?;
        // Noted before the money comes in: a crash in between must not make our own source look like an edit.
        self.confirm(hash(&content), || false)?;
        Ok(ImageAtStart::First(lines))
    }

    /// Any later start: our own image, or the ledger wins.
    fn judge(&mut self) -> Result<ImageAtStart, BudgetImageError> {
        let path = self.file.path().display().to_string();
        let Some(content) = self.file.read()? else {
            return Ok(ImageAtStart::Overruled(format!(
                "{path}: the budget file is gone; it is written anew from the ledger"
            )));
        };
        Ok(match self.set_aside_if_foreign(&hash(&content))? {
            None => ImageAtStart::Ours,
            Some(kept) => ImageAtStart::Overruled(format!(
                "{path}: the budget file is not the one written last; the ledger holds, the file is kept as {}",
                kept.display()
            )),
        })
    }

    fn store_error(&self, error: NoteError) -> BudgetImageError {
        BudgetImageError::Store { path: self.file.path().to_owned(), reason: error.to_string() }
    }
}
