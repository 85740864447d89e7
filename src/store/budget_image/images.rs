//! The budget file as a back-end: what was noted of it, and how it is written.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::market::{BudgetLine, budget_file};
use crate::model::FactNumber;
use crate::store::fault_point::FaultPoint;
use crate::store::note::NoteSink;

use super::back_end::BudgetBackEnd;
use super::file::{ImageFile, Written, hash};
use super::{BudgetImageError, CONFIRMED, ImageNotes, PENDING, SHOWN, Shared, TAKEN};

/// The file, and what is known of it.
#[derive(Debug)]
pub(super) struct Images {
    pub(super) file: ImageFile,
    notes: NoteSink,
    known: ImageNotes,
    shared: Arc<Shared>,
    /// Hash of a foreign content that has been kept aside already.
    set_aside: Option<String>,
    is_in_place_told: bool,
}

// === impl Images ===

impl BudgetBackEnd for Images {
    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetImageError> {
        self.take_in_first()
    }

    /// The file carries no tick: one thread writes it, in order, and a content that is there already is not written.
    fn publish(&mut self, accounts: &[BudgetLine], _tick: u64) -> Result<(), BudgetImageError> {
        self.write(&budget_file::render(accounts))
    }

    fn stopped(&mut self, shown: FactNumber) -> Result<(), BudgetImageError> {
        self.keep(SHOWN, &shown.0.to_string(), || false)?;
        FaultPoint::StopShown.pass();
        Ok(())
    }
}

impl Images {
    pub(super) fn new(file: ImageFile, notes: NoteSink, known: ImageNotes, shared: Arc<Shared>) -> Self {
        Self { file, notes, known, shared, set_aside: None, is_in_place_told: false }
    }

    /// Replaces the file, with the notes before and after.
    fn write(&mut self, content: &str) -> Result<(), BudgetImageError> {
        let shared = Arc::clone(&self.shared);
        let is_patient = || !shared.is_closing.load(Ordering::Relaxed);
        FaultPoint::ImageDue.pass();
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
                self.confirm(present.clone(), is_patient)?;
                FaultPoint::ImageOldConfirmed.pass();
            }
        }
        self.keep(PENDING, &new, is_patient)?;
        FaultPoint::ImagePending.pass();
        self.known.pending = Some(new.clone());
        let written = self.file.replace(content.as_bytes())?;
        if written == Written::InPlace && !std::mem::replace(&mut self.is_in_place_told, true) {
            tracing::warn!(
                "{}: its folder takes no new files, so the budget file is written in place; a whole copy is {}",
                self.file.path().display(),
                self.file.in_refuge(".copy").display()
            );
        }
        self.confirm(new, is_patient)?;
        FaultPoint::ImageConfirmed.pass();
        if self.known.taken.take().is_some() {
            // What was taken over is done with: should it come back, it is somebody's doing once more.
            self.keep(TAKEN, "", is_patient)?;
            FaultPoint::ImageTakenCleared.pass();
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
