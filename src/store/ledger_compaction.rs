//! Compacts the ledger's old detail into daily sums: for each UTC day one row of each reason, debit and credit.
//!
//! Invariant: a sum over the ledger, of any queue, reason or pair of accounts, is the same before and after. Only whole
//! days are compacted, and nothing after the last tick: a start reads those rows one by one. A sum of charges has the times
//! of their slots and no rate: rates and lengths of intervals differ.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use crate::model::Credits;

use super::fault_point::FaultPoint;
use super::loader::units_column;
use super::options::days_before;
use super::schema::{meta, set_meta};

/// Key in `meta` of the number up to which the ledger is compacted.
pub(super) const FOLDED_THROUGH: &str = "ledger_folded_through";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Heading {
    day: String,
    reason: String,
    debit: String,
    credit: String,
}

/// One movement, or a sum of several.
#[derive(Clone, Debug)]
struct Sum {
    number: i64,
    tick: i64,
    wall_ms: i64,
    queue: Option<String>,
    /// Of maps, reduces and containers: slots that were charged for before charges went by time.
    sampled_slots: [Option<i64>; 3],
    /// The same, slot-milliseconds.
    slot_ms: [Option<i64>; 3],
    amount: Credits,
    movements: i64,
    other_queue: Option<String>,
    /// Author and note, if all of them had the same.
    made_by: Option<String>,
    note: Option<String>,
}

/// Compacts at most `limit_rows` rows older than `detail_days` whole days before the last tick. Returns whether there may be more.
pub(super) fn compact_ledger(database: &mut Connection, detail_days: u32, limit_rows: usize) -> rusqlite::Result<bool> {
    let last_tick = "SELECT ledger_rows, wall_ms FROM tick ORDER BY number DESC LIMIT 1";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let Some((ledger_rows, tick_ms)) = database.prepare_cached(last_tick)?.query_row([], read).optional()? else {
        return Ok(false);
    };
    let first_kept_ms = days_before(tick_ms, detail_days);
    let folded_through = meta::<i64>(database, FOLDED_THROUGH)?.unwrap_or(0);
    let movements = movements(database, folded_through, ledger_rows, limit_rows)?;
    let is_full = movements.len() == limit_rows;
    let old = movements.iter().take_while(|(_, movement)| movement.wall_ms < first_kept_ms).count();
    let Some((_, last)) = movements[..old].last() else { return Ok(false) };
    let through = last.number;
    let mut sums = BTreeMap::new();
    for (heading, movement) in movements.into_iter().take(old) {
        add(&mut sums, heading, movement)?;
    }
    let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction
        .prepare_cached("DELETE FROM ledger WHERE number > ?1 AND number <= ?2")?
        .execute([folded_through, through])?;
    FaultPoint::CompactDeleted.pass();
    for (heading, sum) in sums {
        write(&transaction, heading, sum)?;
        FaultPoint::CompactSummed.pass();
    }
    set_meta(&transaction, FOLDED_THROUGH, through)?;
    FaultPoint::CompactWritten.pass();
    transaction.commit()?;
    FaultPoint::CompactDone.pass();
    Ok(is_full && old == limit_rows)
}

fn movements(
    database: &Connection,
    after: i64,
    through: i64,
    limit_rows: usize,
) -> rusqlite::Result<Vec<(Heading, Sum)>> {
    let sql = format!("{COLUMNS} WHERE number > ?1 AND number <= ?2 ORDER BY number LIMIT ?3");
    let mut statement = database.prepare_cached(&sql)?;
    statement.query_map(params![after, through, limit_rows as i64], heading_and_sum)?.collect()
}

const COLUMNS: &str =
    "SELECT number, tick, wall_ms, queue, map_slots, reduce_slots, container_slots, amount_units, movements,
                              reason, debit, credit, other_queue, made_by, note, map_slot_ms, reduce_slot_ms,
                              container_slot_ms FROM ledger";

fn heading_and_sum(row: &Row<'_>) -> rusqlite::Result<(Heading, Sum)> {
    let sum = Sum {
        number: row.get(0)?,
        tick: row.get(1)?,
        wall_ms: row.get(2)?,
        queue: row.get(3)?,
        sampled_slots: [row.get(4)?, row.get(5)?, row.get(6)?],
        slot_ms: [row.get(15)?, row.get(16)?, row.get(17)?],
        amount: units_column(row, 7)?,
        movements: row.get(8)?,
        other_queue: row.get(12)?,
        made_by: row.get(13)?,
        note: row.get(14)?,
    };
    let day = Timestamp::from_millisecond(sum.wall_ms).map_err(|error| failed(Box::new(error)))?;
    let day = day.strftime("%Y-%m-%d").to_string();
    Ok((Heading { day, reason: row.get(9)?, debit: row.get(10)?, credit: row.get(11)? }, sum))
}

fn add(sums: &mut BTreeMap<Heading, Sum>, heading: Heading, later: Sum) -> rusqlite::Result<()> {
    let sum = match sums.remove(&heading) {
        Some(earlier) => earlier.and(later)?,
        None => later,
    };
    sums.insert(heading, sum);
    Ok(())
}

/// Writes the sum of a day, added to an earlier sum of that day.
fn write(transaction: &Transaction<'_>, heading: Heading, sum: Sum) -> rusqlite::Result<()> {
    let place = params![heading.day, heading.reason, heading.debit, heading.credit];
    let sql = format!("{COLUMNS} WHERE day = ?1 AND reason = ?2 AND debit = ?3 AND credit = ?4");
    let earlier = transaction.prepare_cached(&sql)?.query_row(place, heading_and_sum).optional()?;
    let sum = match earlier {
        Some((_, earlier)) => {
            transaction.prepare_cached("DELETE FROM ledger WHERE number = ?1")?.execute([earlier.number])?;
            earlier.and(sum)?
        }
        None => sum,
    };
    transaction
        .prepare_cached(
            "INSERT INTO ledger (number, tick, wall_ms, queue, reason, map_slots, reduce_slots, container_slots,
                 map_slot_ms, reduce_slot_ms, container_slot_ms, amount, amount_units, debit, credit, day, movements,
                 other_queue, made_by, note)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        )?
        .execute(params![
            sum.number,
            sum.tick,
            sum.wall_ms,
            sum.queue,
            heading.reason,
            sum.sampled_slots[0],
            sum.sampled_slots[1],
            sum.sampled_slots[2],
            sum.slot_ms[0],
            sum.slot_ms[1],
            sum.slot_ms[2],
            sum.amount.to_string(),
            sum.amount.units().to_string(),
            heading.debit,
            heading.credit,
            heading.day,
            sum.movements,
            sum.other_queue,
            sum.made_by,
            sum.note,
        ])
        .map(drop)
}

impl Sum {
    /// The sum of both, with number, tick and time of the later one.
    fn and(self, later: Sum) -> rusqlite::Result<Sum> {
        let too_large = || failed("a sum of the ledger is out of range".into());
        let added = |one: Option<i64>, other: Option<i64>| match (one, other) {
            (Some(one), Some(other)) => one.checked_add(other).map(Some).ok_or_else(too_large),
            (one, other) => Ok(one.or(other)),
        };
        let sums = |one: [Option<i64>; 3], other: [Option<i64>; 3]| {
            Ok::<_, rusqlite::Error>([added(one[0], other[0])?, added(one[1], other[1])?, added(one[2], other[2])?])
        };
        Ok(Sum {
            made_by: later.made_by.clone().filter(|_| self.made_by == later.made_by),
            note: later.note.clone().filter(|_| self.note == later.note),
            sampled_slots: sums(self.sampled_slots, later.sampled_slots)?,
            slot_ms: sums(self.slot_ms, later.slot_ms)?,
            amount: self.amount.checked_add(later.amount).ok_or_else(too_large)?,
            movements: self.movements.saturating_add(later.movements),
            ..later
        })
    }
}

fn failed(error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error)
}

#[cfg(test)]
#[path = "tests/ledger_compaction.rs"]
mod tests;
