//! The budget file as a back-end: how it is checked at a start, and written.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::market::{BudgetLine, budget_file};
use crate::model::FactNumber;
use crate::store::fact_sender::{MetaWriteError, MetaWriter};
use crate::store::fault_point::FaultPoint;
use crate::store::loaded_state::BudgetFileHashes;
use crate::store::schema::{BUDGET_FILE_CONFIRMED, BUDGET_FILE_PENDING, BUDGET_FILE_SHOWN, BUDGETS_KEPT_IN};

use super::back_end::{BudgetAtStart, BudgetBackEnd, BudgetBackEndError};
use super::file::{BudgetFile, WriteMethod, hash};

/// Which side holds if the budget file is neither what we wrote nor an edit after a clean stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precedence {
    /// The ledger; the file is kept under another name.
    #[default]
    Ledger,
    /// The file, by order of the administrator (`serve --take-budget-file`).
    File,
}

#[derive(Debug)]
pub(super) struct FileBackEnd {
    file: BudgetFile,
    meta: MetaWriter,
    known: BudgetFileHashes,
    /// No write may wait for a failing store any more.
    is_closing: Arc<AtomicBool>,
    /// Hash of a foreign content that has been copied already.
    set_aside: Option<String>,
    has_logged_in_place: bool,
}

impl BudgetBackEnd for FileBackEnd {
    fn place(&self) -> String {
        self.file.path().display().to_string()
    }

    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        self.load_initial()
    }

    /// The file has no tick: one thread writes it, in order, and an unchanged content is not written.
    fn publish(&mut self, accounts: &[BudgetLine], _tick: u64) -> Result<(), BudgetBackEndError> {
        self.write(&budget_file::render(accounts))?;
        if self.known.kept_in.is_some() {
            let is_closing = Arc::clone(&self.is_closing);
            self.persist(BUDGETS_KEPT_IN, "", move || !is_closing.load(Ordering::Relaxed))?;
            self.known.kept_in = None;
        }
        Ok(())
    }

    fn stopped(&mut self, shown: FactNumber) -> Result<(), BudgetBackEndError> {
        self.persist(BUDGET_FILE_SHOWN, &shown.0.to_string(), || false)?;
        FaultPoint::StopShown.pass();
        Ok(())
    }
}

impl FileBackEnd {
    pub(super) fn new(
        file: BudgetFile,
        meta: MetaWriter,
        known: BudgetFileHashes,
        is_closing: Arc<AtomicBool>,
    ) -> Self {
        Self { file, meta, known, is_closing, set_aside: None, has_logged_in_place: false }
    }

    /// Replaces the file; records its hash before and after.
    fn write(&mut self, content: &str) -> Result<(), BudgetBackEndError> {
        let is_closing = Arc::clone(&self.is_closing);
        let may_wait = || !is_closing.load(Ordering::Relaxed);
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
            // A crash, a failure or a take-over left this content pending; the next pending hash would overwrite its record.
            if self.known.pending.as_ref() == Some(present) && self.known.confirmed.as_ref() != Some(present) {
                self.confirm(present.clone(), may_wait)?;
                FaultPoint::BudgetFileOldConfirmed.pass();
            }
        }
        self.begin(new.clone(), may_wait)?;
        FaultPoint::BudgetFilePending.pass();
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
        Ok(())
    }

    fn begin(&mut self, hash: String, may_wait: impl Fn() -> bool) -> Result<(), BudgetBackEndError> {
        self.persist(BUDGET_FILE_PENDING, &hash, may_wait)?;
        self.known.pending = Some(hash);
        Ok(())
    }

    fn confirm(&mut self, hash: String, may_wait: impl Fn() -> bool) -> Result<(), BudgetBackEndError> {
        self.persist(BUDGET_FILE_CONFIRMED, &hash, may_wait)?;
        self.known.confirmed = Some(hash);
        Ok(())
    }

    fn persist(&self, key: &'static str, value: &str, may_wait: impl Fn() -> bool) -> Result<(), BudgetBackEndError> {
        self.meta.persist(key, value, may_wait).map_err(|error| self.store_error(error))
    }

    /// Whether we wrote a content of this hash last, or had begun to write it or to take it over.
    fn is_known(&self, present: &str) -> bool {
        [&self.known.pending, &self.known.confirmed].into_iter().flatten().any(|known| known == present)
    }

    /// Copies the file to another name if its content is foreign; returns that name.
    fn set_aside_if_foreign(&mut self, present: &str) -> Result<Option<PathBuf>, BudgetBackEndError> {
        if self.is_known(present) || self.set_aside.as_deref() == Some(present) {
            return Ok(None);
        }
        let kept = self.file.set_aside()?;
        self.set_aside = Some(present.to_owned());
        Ok(Some(kept))
    }

    /// First start: the whole file or nothing.
    pub(super) fn load_initial(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        let content = self.file.read_existing()?;
        let lines = self.file.parse(&content)?;
        // Recorded before the budgets are credited: after a crash in between the same file must not look like an edit.
        self.confirm(hash(&content), || false)?;
        FaultPoint::BudgetFileFirstNoted.pass();
        Ok(lines)
    }

    /// By order of the administrator: the whole file or no start.
    pub(super) fn take_over_file(&mut self) -> Result<BudgetAtStart, BudgetBackEndError> {
        let content = self.file.read_existing()?;
        let lines = self.file.parse(&content)?;
        if lines.is_empty() {
            return Err(self.file.unreadable("it names no queue, so it is not taken over"));
        }
        self.take(&content, lines)
    }

    /// Our own content, an edit after a clean stop, or the ledger holds.
    pub(super) fn check_at_start(&mut self) -> Result<BudgetAtStart, BudgetBackEndError> {
        let path = self.file.path().display().to_string();
        let Some(content) = self.file.read()? else {
            return Ok(BudgetAtStart::Overridden(format!(
                "{path}: the budget file is missing; it is rewritten from the ledger"
            )));
        };
        let present = hash(&content);
        let is_confirmed = self.known.confirmed.as_ref() == Some(&present);
        // After a clean stop only an edit is pending and not confirmed: its take-over has no facts yet.
        if is_confirmed || (self.is_known(&present) && !self.known.is_clean) {
            return Ok(BudgetAtStart::Unchanged);
        }
        let why = match self.file.parse(&content) {
            // A file without queues is more likely a failed write than the removal of all queues.
            Ok(lines) if lines.is_empty() => "it names no queue".to_owned(),
            Ok(lines) if self.known.is_clean => return self.take(&content, lines),
            Ok(_) => {
                "the last stop was not clean, or the state is a restored backup, so the intended change is unknown"
                    .to_owned()
            }
            Err(error) => error.to_string(),
        };
        Ok(match (self.set_aside_if_foreign(&present)?, &self.known.kept_in) {
            // Its take-over has begun before.
            (None, _) => BudgetAtStart::Unchanged,
            (Some(kept), Some(place)) => BudgetAtStart::Overridden(format!(
                "{path}: the budget file is not taken over, since the budgets were in {place} meanwhile: its balances may be old. \
                 The ledger holds; the file is kept as {}",
                kept.display()
            )),
            (Some(kept), None) => BudgetAtStart::Overridden(format!(
                "{path}: THE BUDGET FILE IS NOT THE ONE WRITTEN LAST AND IS NOT TAKEN OVER: {why}. The ledger holds; the \
                 file is kept as {}. To use the file instead: stop, put it back, start with --take-budget-file",
                kept.display()
            )),
        })
    }

    /// Returns the lines. The hash is recorded first: once the changes are facts, the clean stop no longer is the last
    /// fact, and the same content must not look like another edit.
    fn take(&mut self, content: &[u8], lines: Vec<BudgetLine>) -> Result<BudgetAtStart, BudgetBackEndError> {
        self.begin(hash(content), || false)?;
        FaultPoint::BudgetFileTakenNoted.pass();
        Ok(BudgetAtStart::Edited(lines))
    }

    fn store_error(&self, error: MetaWriteError) -> BudgetBackEndError {
        BudgetBackEndError::Store { path: self.file.path().to_owned(), reason: error.to_string() }
    }
}
