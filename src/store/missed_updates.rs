//! Updates of rows, and a count of those that find none.

use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{ToSql, Transaction};

use crate::model::FactNumber;

/// Facts that should have changed a row and found none, since the store was opened. Each is a defect of its maker, and
/// lost with the next restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissedUpdates {
    pub updates: u64,
    /// Fact and row of the first one.
    pub first: Option<Arc<str>>,
}

impl MissedUpdates {
    /// Counts an update that found no row; `about` names fact and row.
    pub(super) fn count(&mut self, about: impl FnOnce() -> String) {
        self.updates += 1;
        self.first.get_or_insert_with(|| about().into());
    }

    /// Adds those of another transaction; whether they are the first.
    pub(super) fn add(&mut self, other: Self) -> bool {
        let is_first = self.updates == 0 && other.updates > 0;
        self.updates += other.updates;
        self.first = self.first.take().or(other.first);
        is_first
    }

    /// The error text, if there are any.
    pub fn complaint(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let updates = self.updates;
        Some(format!("facts that found no row to change in state.db: {updates}, the first of them {first}"))
    }
}

/// Updates a row that an earlier fact has inserted; the first of `values` is its key. Counts a missing row.
pub(super) fn update_row(
    transaction: &Transaction<'_>,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    sql: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<()> {
    if transaction.prepare_cached(sql)?.execute(values)? == 0 {
        missed_updates.count(|| format!("fact {} about {}", number.0, values.first().map(text_of).unwrap_or_default()));
    }
    Ok(())
}

fn text_of(key: &&dyn ToSql) -> String {
    match key.to_sql() {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(text))) => String::from_utf8_lossy(text).into_owned(),
        Ok(ToSqlOutput::Owned(Value::Text(text))) => text,
        _ => String::new(),
    }
}
