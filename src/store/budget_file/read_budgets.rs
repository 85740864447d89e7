//! A look at a budget file before anything begins.

use std::path::Path;

use crate::market::{BudgetLine, budget_file};

use super::back_end::BudgetBackEndError;
use super::file::BudgetFile;

/// Reads the lines of a budget file; nothing follows from them.
///
/// # Errors
/// A missing or invalid file.
pub fn read_budgets(path: &Path) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
    let content = BudgetFile::at(path, Path::new("")).read()?;
    let content = content.ok_or_else(|| BudgetBackEndError::Missing { path: path.to_owned() })?;
    let text = std::str::from_utf8(&content);
    let text = text.map_err(|_| BudgetBackEndError::Unreadable { path: path.to_owned(), reason: "not UTF-8" })?;
    Ok(budget_file::parse(text, &path.display().to_string())?)
}
