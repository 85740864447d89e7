//! What a start makes of the budget file it finds.

use crate::market::{BudgetLine, budget_file};
use crate::store::fault_point::FaultPoint;
use crate::store::note::NoteError;

use super::file::hash;
use super::images::Images;
use super::{BudgetImageError, ImageAtStart, TAKEN};

// === impl Images: the start ===

impl Images {
    /// First start: the whole file or nothing.
    pub(super) fn take_in_first(&mut self) -> Result<Vec<BudgetLine>, BudgetImageError> {
        let content = self.read_existing()?;
        let lines = self.parse(&content)?;
        // Noted before the money comes in: a crash in between must not make our own source look like an edit.
        self.confirm(hash(&content), || false)?;
        FaultPoint::ImageFirstNoted.pass();
        Ok(lines)
    }

    /// By the administrator's word: the whole file or no start.
    pub(super) fn force(&mut self) -> Result<ImageAtStart, BudgetImageError> {
        let content = self.read_existing()?;
        let lines = self.parse(&content)?;
        if lines.is_empty() {
            return Err(self.unreadable("it names no queue, so it is not taken over"));
        }
        self.take(&content, lines)
    }

    /// Our own image, an edit after a clean stop, or the ledger wins.
    pub(super) fn judge(&mut self) -> Result<ImageAtStart, BudgetImageError> {
        let path = self.file.path().display().to_string();
        let Some(content) = self.file.read()? else {
            return Ok(ImageAtStart::Overruled(format!(
                "{path}: the budget file is gone; it is written anew from the ledger"
            )));
        };
        let present = hash(&content);
        if self.is_written_by_us(&present) {
            return Ok(ImageAtStart::Ours);
        }
        let why = match self.parse(&content) {
            // A content that names no queue is rather a write that failed than the end of all queues.
            Ok(lines) if lines.is_empty() => "it names no queue".to_owned(),
            Ok(lines) if self.notes_say_clean() => return self.take(&content, lines),
            Ok(_) => "the stop before was not a clean one, so what it meant to change cannot be told".to_owned(),
            Err(error) => error.to_string(),
        };
        Ok(match self.set_aside_if_foreign(&present)? {
            // Taken over by a start that then did not come far.
            None => ImageAtStart::Ours,
            Some(kept) => ImageAtStart::Overruled(format!(
                "{path}: THE BUDGET FILE IS NOT THE ONE WRITTEN LAST AND IS NOT TAKEN OVER: {why}. The ledger holds; the \
                 file is kept as {}. To have the file hold instead: stop, put it back, start with --take-budget-file",
                kept.display()
            )),
        })
    }

    /// Hands the lines out. The content is noted first; whether its changes came in is told by the stop no longer
    /// being the last that happened.
    fn take(&mut self, content: &[u8], lines: Vec<BudgetLine>) -> Result<ImageAtStart, BudgetImageError> {
        let hash = hash(content);
        self.keep(TAKEN, &hash, || false)?;
        FaultPoint::ImageTakenNoted.pass();
        self.note_taken(hash);
        Ok(ImageAtStart::Edited(lines))
    }

    fn read_existing(&self) -> Result<Vec<u8>, BudgetImageError> {
        self.file.read()?.ok_or_else(|| BudgetImageError::Missing { path: self.file.path().to_owned() })
    }

    fn parse(&self, content: &[u8]) -> Result<Vec<BudgetLine>, BudgetImageError> {
        let text = std::str::from_utf8(content).map_err(|_| self.unreadable("not UTF-8"))?;
        Ok(budget_file::parse(text, &self.file.path().display().to_string())?)
    }

    fn unreadable(&self, reason: &'static str) -> BudgetImageError {
        BudgetImageError::Unreadable { path: self.file.path().to_owned(), reason }
    }

    pub(super) fn store_error(&self, error: NoteError) -> BudgetImageError {
        BudgetImageError::Store { path: self.file.path().to_owned(), reason: error.to_string() }
    }
}
