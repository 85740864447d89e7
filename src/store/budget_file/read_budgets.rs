//! A look at a budget file before anything begins.

use std::path::Path;

use crate::market::{BudgetFileError, BudgetLine};

use super::back_end::BudgetBackEndError;
use super::file::BudgetFile;

/// Reads the lines of a budget file; nothing follows from them.
///
/// # Errors
/// A missing or invalid file.
pub(crate) fn read_budgets(path: &Path) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
    let file = BudgetFile::at(path, Path::new(""));
    file.parse(&file.read_existing()?)
}

/// The lines of a budget file that are right, and all errors of the others.
///
/// # Errors
/// A missing file, or one that is no text.
pub(crate) fn read_all_budgets(path: &Path) -> Result<(Vec<BudgetLine>, Vec<BudgetFileError>), BudgetBackEndError> {
    let file = BudgetFile::at(path, Path::new(""));
    file.parse_all(&file.read_existing()?)
}
