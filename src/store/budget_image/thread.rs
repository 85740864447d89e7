//! The thread that writes the budget file.

use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::engine::FactNumber;
use crate::market::{BudgetLine, budget_file};
use crate::store::note::NoteSink;

use super::file::{ImageFile, Written, hash};
use super::{BudgetImageError, CONFIRMED, ImageNotes, PENDING, SHOWN, Shared, TAKEN};

/// The first pause before a failed write is tried again; doubles at each failure.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(200);
/// The longest such pause.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// What the thread is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Have the file show these accounts.
    Write(Vec<BudgetLine>),
    /// Write what waits and end.
    Close {
        /// The last fact of all, where the stop is a clean one.
        shown: Option<FactNumber>,
    },
}

/// The thread's own state.
#[derive(Debug)]
pub(super) struct Images {
    pub(super) file: ImageFile,
    notes: NoteSink,
    known: ImageNotes,
    /// Hash of a foreign content that has been kept aside already.
    set_aside: Option<String>,
    is_in_place_told: bool,
}

// === impl Images ===

impl Images {
    pub(super) fn new(file: ImageFile, notes: NoteSink, known: ImageNotes) -> Self {
        Self { file, notes, known, set_aside: None, is_in_place_told: false }
    }

    /// Writes until it is told to close. An error tells why the last content is not on the disk.
    pub(super) fn run(mut self, orders: &Receiver<Order>, shared: &Shared) -> Result<(), BudgetImageError> {
        let mut waiting: Option<Vec<BudgetLine>> = None;
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
                    Order::Write(accounts) => waiting = Some(accounts),
                    Order::Close { shown } => {
                        is_open = false;
                        at_close = shown;
                    }
                }
            }
            let Some(accounts) = &waiting else { continue };
            let is_patient = || !shared.is_closing.load(Ordering::Relaxed);
            let written = self.write(&budget_file::render(accounts), is_patient);
            let trouble = written.as_ref().err().map(ToString::to_string);
            shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&trouble);
            match trouble {
                None => {
                    waiting = None;
                    pause = RETRY_PAUSE_MIN;
                }
                Some(_) if !is_open => return written,
                Some(trouble) => {
                    tracing::warn!("{trouble}; it is tried again");
                    pause = (pause * 2).min(RETRY_PAUSE_MAX);
                }
            }
        }
        match at_close {
            None => Ok(()),
            Some(shown) => self.keep(SHOWN, &shown.0.to_string(), || false),
        }
    }

    /// Replaces the file, with the notes before and after.
    fn write(&mut self, content: &str, is_patient: impl Fn() -> bool) -> Result<(), BudgetImageError> {
        let new = hash(content.as_bytes());
        let present = self.file.read()?.map(|content| hash(&content));
        if let Some(present) = &present {
            if *present == new && self.known.confirmed.as_ref() == Some(&new) {
                return Ok(());
            }
            if let Some(kept) = self.set_aside_if_foreign(present)? {
                let path = self.file.path().display();
                tracing::warn!(
                    "{path} was changed by somebody else; the ledger holds, their file is kept as {}",
                    kept.display()
                );
            }
            // What is there was pending when a crash or a failure came between; the coming note would forget it.
            if self.known.pending.as_ref() == Some(present) && self.known.confirmed.as_ref() != Some(present) {
                self.confirm(present.clone(), &is_patient)?;
            }
        }
        self.keep(PENDING, &new, &is_patient)?;
        self.known.pending = Some(new.clone());
        let written = self.file.replace(content.as_bytes())?;
        if written == Written::InPlace && !std::mem::replace(&mut self.is_in_place_told, true) {
            tracing::warn!(
                "{}: its folder takes no new files, so the budget file is written in place; a whole copy is {}",
                self.file.path().display(),
                self.file.in_refuge(".copy").display()
            );
        }
        self.confirm(new, &is_patient)?;
        if self.known.taken.take().is_some() {
            // What was taken over is done with: should it come back, it is somebody's doing once more.
            self.keep(TAKEN, "", is_patient)?;
        }
        Ok(())
    }

    /// Notes that the file has this content.
    pub(super) fn confirm(&mut self, hash: String, is_patient: impl Fn() -> bool) -> Result<(), BudgetImageError> {
        self.keep(CONFIRMED, &hash, is_patient)?;
        self.known.confirmed = Some(hash);
        Ok(())
    }

    /// Keeps a note durably.
    pub(super) fn keep(
        &self,
        key: &'static str,
        value: &str,
        is_patient: impl Fn() -> bool,
    ) -> Result<(), BudgetImageError> {
        self.notes.keep(key, value, is_patient).map_err(|error| self.store_error(error))
    }

    /// Whether we wrote a content of this hash last, or were about to.
    pub(super) fn is_written_by_us(&self, present: &str) -> bool {
        [&self.known.pending, &self.known.confirmed].into_iter().flatten().any(|known| known == present)
    }

    /// Whether nothing has happened since a clean stop.
    pub(super) fn notes_say_clean(&self) -> bool {
        self.known.is_clean
    }

    /// The content of this hash is being taken over.
    pub(super) fn note_taken(&mut self, hash: String) {
        self.known.taken = Some(hash);
    }

    /// Keeps the file under another name if its content is not ours; gives that name.
    pub(super) fn set_aside_if_foreign(&mut self, present: &str) -> Result<Option<PathBuf>, BudgetImageError> {
        let is_known = |hash: &Option<String>| hash.as_deref() == Some(present);
        if self.is_written_by_us(present) || is_known(&self.known.taken) || is_known(&self.set_aside) {
            return Ok(None);
        }
        let kept = self.file.set_aside()?;
        self.set_aside = Some(present.to_owned());
        Ok(Some(kept))
    }
}
