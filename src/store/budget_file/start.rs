//! Checks the budget file at a start.

use crate::market::{BudgetLine, budget_file};
use crate::store::fault_point::FaultPoint;
use crate::store::meta_writer::MetaWriteError;

use super::file::hash;
use super::file_back_end::FileBackEnd;
use super::{BudgetAtStart, BudgetBackEndError, TAKEN};

// === impl FileBackEnd: the start ===

impl FileBackEnd {
    /// First start: the whole file or nothing.
    pub(super) fn load_initial(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        let content = self.read_existing()?;
        let lines = self.parse(&content)?;
        // Recorded before the budgets are credited: after a crash in between the same file must not look like an edit.
        self.confirm(hash(&content), || false)?;
        FaultPoint::BudgetFileFirstNoted.pass();
        Ok(lines)
    }

    /// By order of the administrator: the whole file or no start.
    pub(super) fn take_over_file(&mut self) -> Result<BudgetAtStart, BudgetBackEndError> {
        let content = self.read_existing()?;
        let lines = self.parse(&content)?;
        if lines.is_empty() {
            return Err(self.unreadable("it names no queue, so it is not taken over"));
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
        if self.is_written_by_us(&present) {
            return Ok(BudgetAtStart::Unchanged);
        }
        let why = match self.parse(&content) {
            // A file without queues is more likely a failed write than the removal of all queues.
            Ok(lines) if lines.is_empty() => "it names no queue".to_owned(),
            Ok(lines) if self.is_after_clean_stop() => return self.take(&content, lines),
            Ok(_) => "the last stop was not clean, so the intended change is unknown".to_owned(),
            Err(error) => error.to_string(),
        };
        Ok(match self.set_aside_if_foreign(&present)? {
            // Taken over by an earlier start that was interrupted.
            None => BudgetAtStart::Unchanged,
            Some(kept) => BudgetAtStart::Overridden(format!(
                "{path}: THE BUDGET FILE IS NOT THE ONE WRITTEN LAST AND IS NOT TAKEN OVER: {why}. The ledger holds; the \
                 file is kept as {}. To use the file instead: stop, put it back, start with --take-budget-file",
                kept.display()
            )),
        })
    }

    /// Returns the lines. The hash is recorded first; once the changes are facts, the clean stop no longer is the last
    /// fact.
    fn take(&mut self, content: &[u8], lines: Vec<BudgetLine>) -> Result<BudgetAtStart, BudgetBackEndError> {
        let hash = hash(content);
        self.persist(TAKEN, &hash, || false)?;
        FaultPoint::BudgetFileTakenNoted.pass();
        self.remember_taken(hash);
        Ok(BudgetAtStart::Edited(lines))
    }

    fn read_existing(&self) -> Result<Vec<u8>, BudgetBackEndError> {
        self.file.read()?.ok_or_else(|| BudgetBackEndError::Missing { path: self.file.path().to_owned() })
    }

    fn parse(&self, content: &[u8]) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        let text = std::str::from_utf8(content).map_err(|_| self.unreadable("not UTF-8"))?;
        Ok(budget_file::parse(text, &self.file.path().display().to_string())?)
    }

    fn unreadable(&self, reason: &'static str) -> BudgetBackEndError {
        BudgetBackEndError::Unreadable { path: self.file.path().to_owned(), reason }
    }

    pub(super) fn store_error(&self, error: MetaWriteError) -> BudgetBackEndError {
        BudgetBackEndError::Store { path: self.file.path().to_owned(), reason: error.to_string() }
    }
}
