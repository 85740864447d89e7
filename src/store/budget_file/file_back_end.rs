//! The budget file as a back-end: its recorded hashes, and how it is written.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::market::{BudgetLine, budget_file};
use crate::model::FactNumber;
use crate::store::fault_point::FaultPoint;
use crate::store::meta_writer::MetaWriter;

use super::back_end::BudgetBackEnd;
use super::file::{BudgetFile, WriteMethod, hash};
use super::{BudgetBackEndError, BudgetFileHashes, CONFIRMED, PENDING, SHOWN, Shared, TAKEN};

/// The file, and its recorded hashes.
#[derive(Debug)]
pub(super) struct FileBackEnd {
    pub(super) file: BudgetFile,
    meta: MetaWriter,
    known: BudgetFileHashes,
    shared: Arc<Shared>,
    /// Hash of a foreign content that has been copied already.
    set_aside: Option<String>,
    has_logged_in_place: bool,
}

// === impl FileBackEnd ===

impl BudgetBackEnd for FileBackEnd {
    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        self.load_initial()
    }

    /// The file has no tick: one thread writes it, in order, and an unchanged content is not written.
    fn publish(&mut self, accounts: &[BudgetLine], _tick: u64) -> Result<(), BudgetBackEndError> {
        self.write(&budget_file::render(accounts))
    }

    fn stopped(&mut self, shown: FactNumber) -> Result<(), BudgetBackEndError> {
        self.persist(SHOWN, &shown.0.to_string(), || false)?;
        FaultPoint::StopShown.pass();
        Ok(())
    }
}

impl FileBackEnd {
    pub(super) fn new(file: BudgetFile, meta: MetaWriter, known: BudgetFileHashes, shared: Arc<Shared>) -> Self {
        Self { file, meta, known, shared, set_aside: None, has_logged_in_place: false }
    }

    /// Replaces the file; records its hash before and after.
    fn write(&mut self, content: &str) -> Result<(), BudgetBackEndError> {
        let shared = Arc::clone(&self.shared);
        let may_wait = || !shared.is_closing.load(Ordering::Relaxed);
        FaultPoint::BudgetFileDue.pass();
        let new = hash(content.as_bytes());
        let present = self.file.read()?.map(|content| hash(&content));
        if let Some(present) = &present {
            if *present == new && self.known.confirmed.as_ref() == Some(&new) {
                return Ok(());
            }
            if let Some(kept) = self.set_aside_if_foreign(present)? {
                let path = self.file.path().display();
                tracing::warn!(
                    "{path} was changed by another program; the ledger holds, the changed file is kept as {}",
                    kept.display()
                );
            }
            // A crash or failure left this content pending; the next pending hash would overwrite its record.
            if self.known.pending.as_ref() == Some(present) && self.known.confirmed.as_ref() != Some(present) {
                self.confirm(present.clone(), may_wait)?;
                FaultPoint::BudgetFileOldConfirmed.pass();
            }
        }
        self.persist(PENDING, &new, may_wait)?;
        FaultPoint::BudgetFilePending.pass();
        self.known.pending = Some(new.clone());
        let written = self.file.replace(content.as_bytes())?;
        if written == WriteMethod::InPlace && !std::mem::replace(&mut self.has_logged_in_place, true) {
            tracing::warn!(
                "{}: its folder accepts no new files, so the budget file is written in place; a complete copy is {}",
                self.file.path().display(),
                self.file.in_fallback_dir(".copy").display()
            );
        }
        self.confirm(new, may_wait)?;
        FaultPoint::BudgetFileConfirmed.pass();
        if self.known.taken.take().is_some() {
            // The take-over is complete: should this content come back, it is a new edit.
            self.persist(TAKEN, "", may_wait)?;
            FaultPoint::BudgetFileTakenCleared.pass();
        }
        Ok(())
    }

    /// Records that the file has this content.
    pub(super) fn confirm(&mut self, hash: String, may_wait: impl Fn() -> bool) -> Result<(), BudgetBackEndError> {
        self.persist(CONFIRMED, &hash, may_wait)?;
        self.known.confirmed = Some(hash);
        Ok(())
    }

    /// Sets a value of `meta` durably.
    pub(super) fn persist(
        &self,
        key: &'static str,
        value: &str,
        may_wait: impl Fn() -> bool,
    ) -> Result<(), BudgetBackEndError> {
        self.meta.persist(key, value, may_wait).map_err(|error| self.store_error(error))
    }

    /// Whether we wrote a content of this hash last, or had begun to.
    pub(super) fn is_written_by_us(&self, present: &str) -> bool {
        [&self.known.pending, &self.known.confirmed].into_iter().flatten().any(|known| known == present)
    }

    /// Whether no fact followed a clean stop.
    pub(super) fn is_after_clean_stop(&self) -> bool {
        self.known.is_clean
    }

    /// The content of this hash is being taken over.
    pub(super) fn remember_taken(&mut self, hash: String) {
        self.known.taken = Some(hash);
    }

    /// Copies the file to another name if its content is foreign; returns that name.
    pub(super) fn set_aside_if_foreign(&mut self, present: &str) -> Result<Option<PathBuf>, BudgetBackEndError> {
        let is_known = |hash: &Option<String>| hash.as_deref() == Some(present);
        if self.is_written_by_us(present) || is_known(&self.known.taken) || is_known(&self.set_aside) {
            return Ok(None);
        }
        let kept = self.file.set_aside()?;
        self.set_aside = Some(present.to_owned());
        Ok(Some(kept))
    }
}
