//! Writes the rows of one fact.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Params, ToSql, Transaction};

use crate::mapreduce::CounterValues;
use crate::model::FactNumber;
use crate::store::counter_encoding::CounterNames;
use crate::store::durable::MissedUpdates;

pub(super) struct RowWriter<'a> {
    pub(super) transaction: &'a Transaction<'a>,
    pub(super) names: &'a mut CounterNames,
    pub(super) missed_updates: &'a mut MissedUpdates,
    pub(super) number: FactNumber,
}

impl RowWriter<'_> {
    /// The number of the fact, as the database has it.
    pub(super) fn fact(&self) -> i64 {
        self.number.0.cast_signed()
    }

    /// Executes a statement, which is cached.
    pub(super) fn execute(&self, sql: &str, values: impl Params) -> rusqlite::Result<()> {
        self.transaction.prepare_cached(sql)?.execute(values).map(drop)
    }

    /// Updates a row that an earlier fact has inserted; the first of `values` is its key. Counts a missing row.
    pub(super) fn update(&mut self, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
        if self.transaction.prepare_cached(sql)?.execute(values)? == 0 {
            let key = values.first().map(text_of).unwrap_or_default();
            self.missed_updates.count(|| format!("fact {} about {key}", self.number.0));
        }
        Ok(())
    }

    /// Counters as a text. Adds missing names.
    pub(super) fn counters(&mut self, counters: &CounterValues) -> rusqlite::Result<String> {
        self.names.text(self.transaction, counters)
    }
}

fn text_of(key: &&dyn ToSql) -> String {
    match key.to_sql() {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(text))) => String::from_utf8_lossy(text).into_owned(),
        Ok(ToSqlOutput::Owned(Value::Text(text))) => text,
        _ => String::new(),
    }
}
