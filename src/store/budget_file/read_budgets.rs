//! A look at a budget file before anything begins.

use std::path::Path;

use crate::market::BudgetLine;

use super::back_end::BudgetBackEndError;
use super::file::BudgetFile;

/// Reads the lines of a budget file; nothing follows from them.
///
/// # Errors
/// A missing or invalid file.
pub fn read_budgets(path: &Path) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
    let file = BudgetFile::at(path, Path::new(""));
    file.parse(&file.read_existing()?)
}
