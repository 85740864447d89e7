//! Publishes budgets from its own thread, which retries the newest accounts until the back-end accepts them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::market::BudgetLine;
use crate::model::FactNumber;
use crate::store::loaded_state::LoadedState;
use crate::store::state_store::Store;

use super::back_end::{BudgetAtStart, BudgetBackEnd, BudgetBackEndError};
use super::file::BudgetFile;
use super::file_back_end::{FileBackEnd, Precedence};

/// The first pause before a failed publication is retried; doubles at each failure.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(200);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// Publishes budgets from its own thread: to the budget file or another back-end. Dropping it writes what waits and
/// only logs errors: prefer [`BudgetPublisher::close`].
#[derive(Debug)]
pub struct BudgetPublisher {
    orders: mpsc::Sender<PublisherOrder>,
    shared: Arc<SharedPublisher>,
    thread: Option<JoinHandle<Result<(), BudgetBackEndError>>>,
}

/// A request to the thread.
#[derive(Debug)]
enum PublisherOrder {
    /// Publish all accounts.
    Publish {
        accounts: Vec<BudgetLine>,
        /// The tick that they are the balances after.
        tick: u64,
    },
    /// Publish what waits, and end.
    Close {
        /// The last fact of all, where the stop is a clean one.
        shown: Option<FactNumber>,
    },
}

#[derive(Debug, Default)]
struct SharedPublisher {
    is_closing: Arc<AtomicBool>,
    trouble: Mutex<Option<String>>,
}

/// Shows other threads whether budgets are published.
#[derive(Clone, Debug)]
pub struct BudgetStatus(Arc<SharedPublisher>);

impl BudgetStatus {
    /// The error of the last try, while it is being retried.
    pub fn last_error(&self) -> Option<String> {
        self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

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
        let shared = Arc::new(SharedPublisher::default());
        let mut images =
            FileBackEnd::new(file, store.meta_writer(), loaded.budget_file.clone(), Arc::clone(&shared.is_closing));
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

    fn start(
        mut back_end: impl BudgetBackEnd + 'static,
        shared: Arc<SharedPublisher>,
    ) -> Result<Self, BudgetBackEndError> {
        let (orders, inbox) = mpsc::channel();
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("budget-file".to_owned());
        let thread = thread.spawn(move || publish_all(&mut back_end, &inbox, &theirs));
        let thread = thread.map_err(BudgetBackEndError::Thread)?;
        Ok(Self { orders, shared, thread: Some(thread) })
    }

    /// Publishes all accounts after a tick, soon. Never waits; of several waiting calls the newest is published.
    pub fn publish(&self, accounts: Vec<BudgetLine>, tick: u64) {
        // A thread that ended has logged why.
        let _ = self.orders.send(PublisherOrder::Publish { accounts, tick });
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
        let _ = self.orders.send(PublisherOrder::Close { shown });
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

/// Publishes until [`PublisherOrder::Close`].
///
/// # Errors
/// The last accounts could not be published.
fn publish_all(
    back_end: &mut dyn BudgetBackEnd,
    orders: &Receiver<PublisherOrder>,
    shared: &SharedPublisher,
) -> Result<(), BudgetBackEndError> {
    let mut waiting: Option<(Vec<BudgetLine>, u64)> = None;
    let mut pause = RETRY_PAUSE_MIN;
    let mut is_open = true;
    let mut at_close = None;
    while is_open {
        let first = match waiting {
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) => orders.recv_timeout(pause),
        };
        is_open = !matches!(first, Err(RecvTimeoutError::Disconnected));
        for order in first.into_iter().chain(orders.try_iter()) {
            match order {
                PublisherOrder::Publish { accounts, tick } => waiting = Some((accounts, tick)),
                PublisherOrder::Close { shown } => {
                    is_open = false;
                    at_close = shown;
                }
            }
        }
        let Some((accounts, tick)) = &waiting else { continue };
        let published = back_end.publish(accounts, *tick);
        let trouble = published.as_ref().err().map(ToString::to_string);
        shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&trouble);
        match trouble {
            None => {
                waiting = None;
                pause = RETRY_PAUSE_MIN;
            }
            Some(_) if !is_open => return published,
            Some(trouble) => {
                tracing::warn!("{trouble}; retrying");
                pause = (pause * 2).min(RETRY_PAUSE_MAX);
            }
        }
    }
    match at_close {
        None => Ok(()),
        Some(shown) => back_end.stopped(shown),
    }
}
