//! The movements of accounts in the ledger of `state.db`, in order of their numbers.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::model::Credits;
use crate::store::ledger_compaction::FOLDED_THROUGH;
use crate::store::ledger_reader::LedgerReader;
use crate::store::loader::units_column;
use crate::store::schema::meta;

use super::error::PostgresError;

/// Ledger entries of one transaction of the database.
pub(super) const BATCH_ENTRIES: usize = 20_000;

/// Before the name of an account that is a queue's.
const QUEUE: &str = "queue:";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LedgerEnds {
    pub(super) last: i64,
    /// Entries up to this one are daily sums.
    pub(super) compacted: i64,
}

/// Movements, column by column, and the number of the last entry among them.
#[derive(Debug, Default)]
pub(super) struct Movements {
    pub(super) last: i64,
    pub(super) ledger: Vec<i64>,
    pub(super) account: Vec<String>,
    pub(super) wall_ms: Vec<i64>,
    pub(super) reason: Vec<String>,
    /// Above 0 where the account got it.
    pub(super) amount: Vec<String>,
    pub(super) made_by: Vec<String>,
    pub(super) note: Vec<String>,
}

pub(super) fn ends(ledger: &LedgerReader) -> Result<LedgerEnds, PostgresError> {
    let read = |database: &Connection| {
        let last = "SELECT number FROM ledger ORDER BY number DESC LIMIT 1";
        let last = database.query_row(last, [], |row| row.get(0)).optional()?.unwrap_or(0);
        Ok(LedgerEnds { last, compacted: meta(database, FOLDED_THROUGH)?.unwrap_or(0) })
    };
    ledger.read(read).map_err(|error| PostgresError::Ledger(error.to_string()))
}

/// The next movements after an entry, and what the ledger had at that moment.
pub(super) fn movements_after(ledger: &LedgerReader, number: i64) -> Result<(LedgerEnds, Movements), PostgresError> {
    let read = |database: &Connection| {
        let compacted = meta(database, FOLDED_THROUGH)?.unwrap_or(0);
        let mut movements = Movements { last: number, ..Movements::default() };
        let sql =
            "SELECT number, wall_ms, reason, debit, credit, amount_units, coalesce(made_by, ''), coalesce(note, '')
                   FROM ledger WHERE number > ?1 ORDER BY number LIMIT ?2";
        let mut select = database.prepare(sql)?;
        let mut rows = select.query([number, BATCH_ENTRIES as i64])?;
        while let Some(row) = rows.next()? {
            movements.add(row)?;
        }
        Ok((LedgerEnds { last: movements.last, compacted }, movements))
    };
    ledger.read(read).map_err(|error| PostgresError::Ledger(error.to_string()))
}

/// Of each account the sum of its movements up to an entry, in units, where it is not 0.
pub(super) fn sums_through(ledger: &LedgerReader, number: i64) -> Result<BTreeMap<String, i128>, PostgresError> {
    let read = |database: &Connection| {
        let mut sums: BTreeMap<String, i128> = BTreeMap::new();
        let mut select = database.prepare("SELECT debit, credit, amount_units FROM ledger WHERE number <= ?1")?;
        let mut rows = select.query([number])?;
        while let Some(row) = rows.next()? {
            let amount = units_column(row, 2)?.units();
            for (column, amount) in [(0, -amount), (1, amount)] {
                let Some(account) = row.get_ref(column)?.as_str()?.strip_prefix(QUEUE) else { continue };
                match sums.get_mut(account) {
                    Some(sum) => *sum = sum.saturating_add(amount),
                    None => _ = sums.insert(account.to_owned(), amount),
                }
            }
        }
        sums.retain(|_, sum| *sum != 0);
        Ok(sums)
    };
    ledger.read(read).map_err(|error| PostgresError::Ledger(error.to_string()))
}

impl Movements {
    pub(super) fn is_empty(&self) -> bool {
        self.ledger.is_empty()
    }

    /// Adds an entry; a transfer moves the money of two accounts.
    fn add(&mut self, entry: &Row<'_>) -> rusqlite::Result<()> {
        self.last = entry.get(0)?;
        let amount = units_column(entry, 5)?;
        for (side, amount) in [(3, Credits::from_units(-amount.units())), (4, amount)] {
            let Some(account) = entry.get_ref(side)?.as_str()?.strip_prefix(QUEUE) else { continue };
            self.ledger.push(self.last);
            self.account.push(account.to_owned());
            self.wall_ms.push(entry.get(1)?);
            self.reason.push(entry.get(2)?);
            self.amount.push(amount.to_string());
            self.made_by.push(entry.get(6)?);
            self.note.push(entry.get(7)?);
        }
        Ok(())
    }
}
