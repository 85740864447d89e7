//! Reads the ledger for statements, and price and spending over time, on its own connection: what it sees is durable.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::api::{MovementReason, PriceHistory, PricePoint, SpendingHistory, SpendingPoint, Statement, StatementRow};
use crate::market::{HistoryPage, Spans, StatementPage};
use crate::model::{Capability, Credits, QueueName};

use super::database_reader::DatabaseReader;
use super::error::StoreError;
use super::loader::{optional_units_column, units_column};
use super::tables::ledger::slot_ms_columns;

/// Reads the ledger of a state database. Cheap to clone; each call opens its own connection.
#[derive(Clone, Debug)]
pub struct LedgerReader {
    database: DatabaseReader,
    /// What the slot of a container has, which reports count by.
    pub(super) container_slot: Capability,
}

impl LedgerReader {
    pub(super) fn new(database: &Path) -> Self {
        Self { database: DatabaseReader::new(database), container_slot: Capability::new(1, 1) }
    }

    /// The same, with slots of that size for containers.
    #[must_use]
    pub(crate) fn with_container_slot(self, container_slot: Capability) -> Self {
        Self { container_slot, ..self }
    }

    /// A part of a queue's history; none if the queue never existed. Blocks on the disk.
    pub fn statement(&self, queue: &QueueName, page: StatementPage) -> Result<Option<Statement>, StoreError> {
        self.read(|database| read(database, queue, page, StatementPage::MOST_ROWS))
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.database.read(|database| Ok(read(database)?))
    }

    /// The price over time. Blocks on the disk.
    pub(crate) fn price_history(&self, page: HistoryPage) -> Result<PriceHistory, StoreError> {
        self.read(|database| prices(database, page))
    }

    /// Spending of a queue over time; none if the queue never existed. Blocks on the disk.
    pub(crate) fn spending_history(
        &self,
        queue: &QueueName,
        page: HistoryPage,
    ) -> Result<Option<SpendingHistory>, StoreError> {
        self.read(|database| spending(database, queue, page))
    }
}

/// From the newest row backwards: each balance is the one after it less what moved then.
fn read(
    database: &Connection,
    queue: &QueueName,
    page: StatementPage,
    most_rows: usize,
) -> rusqlite::Result<Option<Statement>> {
    let balance = database
        .query_row("SELECT balance_units FROM account WHERE queue = ?1", [queue.as_str()], |row| units_column(row, 0))
        .optional()?;
    // Two walks backwards that are merged; an OR would sort all rows first.
    let mut select = database.prepare(
        "SELECT number, wall_ms, tick, reason, rate_units, map_slots, reduce_slots, amount_units, day, movements,
             credit = 'queue:' || queue, other_queue, made_by, note, container_slots, interval_ms, map_slot_ms,
             reduce_slot_ms, container_slot_ms
         FROM ledger WHERE queue = ?1
         UNION ALL
         SELECT number, wall_ms, tick, reason, rate_units, map_slots, reduce_slots, amount_units, day, movements,
             1, queue, made_by, note, container_slots, interval_ms, map_slot_ms, reduce_slot_ms,
             container_slot_ms
         FROM ledger WHERE other_queue = ?1
         ORDER BY number DESC",
    )?;
    let mut found = select.query([queue.as_str()])?;
    let mut walk = BalanceWalk { balance: balance.unwrap_or_default(), day: None };
    let mut rows = Vec::new();
    let mut has_history = false;
    let mut has_earlier = false;
    while let Some(row) = found.next()? {
        has_history = true;
        let row = walk.row(row)?;
        if page.since_ms.is_some_and(|since_ms| row.time_ms < since_ms) {
            break;
        }
        if rows.len() == most_rows {
            has_earlier = true;
            break;
        }
        if page.before.is_none_or(|before| row.number < before) {
            rows.push(row);
        }
    }
    rows.reverse();
    if balance.is_none() && !has_history {
        return Ok(None);
    }
    Ok(Some(Statement { queue: queue.clone(), balance: balance.unwrap_or_default(), rows, has_earlier }))
}

/// The way back through the rows.
struct BalanceWalk {
    /// After the row that comes.
    balance: Credits,
    /// Of the row before, when that was a sum.
    day: Option<String>,
}

impl BalanceWalk {
    fn row(&mut self, row: &Row<'_>) -> rusqlite::Result<StatementRow> {
        let word: String = row.get(3)?;
        let unknown = || rusqlite::Error::FromSqlConversionFailure(3, Type::Text, format!("no reason: {word}").into());
        let moved = units_column(row, 7)?;
        let is_credit: bool = row.get(10)?;
        let amount = if is_credit { moved } else { Credits::from_units(-moved.units()) };
        let out_of_range =
            || rusqlite::Error::FromSqlConversionFailure(7, Type::Text, "the balance is out of range".into());
        let balance = self.balance;
        self.balance = balance.checked_sub(amount).ok_or_else(out_of_range)?;
        let day: Option<String> = row.get(8)?;
        let reason = MovementReason::from_name(&word).ok_or_else(unknown)?;
        let map_slots = row.get::<_, Option<i64>>(5)?.map(i64::cast_unsigned);
        let container_slots = row.get::<_, Option<i64>>(14)?.map(i64::cast_unsigned);
        // A charge of before containers has none.
        let container_slots = map_slots.map(|_| container_slots.unwrap_or(0));
        let slot_ms = slot_ms_columns(row, 16)?;
        let is_within_day = day.is_some() && day == self.day;
        self.day.clone_from(&day);
        Ok(StatementRow {
            number: row.get::<_, i64>(0)?.cast_unsigned(),
            time_ms: row.get(1)?,
            day,
            movements: row.get::<_, i64>(9)?.cast_unsigned(),
            tick: row.get::<_, i64>(2)?.cast_unsigned(),
            reason,
            rate: optional_units_column(row, 4)?,
            interval_ms: row.get::<_, Option<i64>>(15)?.map(i64::cast_unsigned),
            map_slot_ms: slot_ms.map(|slot_ms| slot_ms.map),
            reduce_slot_ms: slot_ms.map(|slot_ms| slot_ms.reduce),
            container_slot_ms: slot_ms.map(|slot_ms| slot_ms.container),
            map_slots,
            reduce_slots: row.get::<_, Option<i64>>(6)?.map(i64::cast_unsigned),
            container_slots,
            other_queue: optional_queue(row, 11)?,
            by: row.get(12)?,
            note: row.get(13)?,
            amount,
            balance: (!is_within_day).then_some(balance),
        })
    }
}

fn optional_queue(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<QueueName>> {
    let name: Option<String> = row.get(column)?;
    let typed = name.map(|name| QueueName::new(&name)).transpose();
    typed.map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

/// From the first tick to the last.
fn spans(database: &Connection, page: HistoryPage) -> rusqlite::Result<Spans> {
    let at = |sql| database.query_row(sql, [], |row| row.get::<_, i64>(0)).optional();
    let first_ms = at("SELECT wall_ms FROM tick ORDER BY number LIMIT 1")?;
    let last_ms = at("SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1")?;
    Ok(page.spans(first_ms.unwrap_or_default(), last_ms.unwrap_or_default()))
}

/// From the newest tick backwards.
fn prices(database: &Connection, page: HistoryPage) -> rusqlite::Result<PriceHistory> {
    let spans = spans(database, page)?;
    let mut select = database.prepare("SELECT number, wall_ms, price_units FROM tick ORDER BY number DESC")?;
    let mut rows = select.query([])?;
    let mut points: BTreeMap<u32, PricePoint> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (number, time_ms, price) = (row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?, units_column(row, 2)?);
        let Some(span) = spans.of(time_ms) else { break };
        points.entry(span).or_insert_with(|| PricePoint::of(number, time_ms, price)).add_earlier(price);
    }
    Ok(PriceHistory { step_ms: spans.step_ms, points: points.into_values().collect() })
}

/// From the newest charge backwards.
fn spending(database: &Connection, queue: &QueueName, page: HistoryPage) -> rusqlite::Result<Option<SpendingHistory>> {
    let known =
        "SELECT EXISTS (SELECT 1 FROM account WHERE queue = ?1) OR EXISTS (SELECT 1 FROM ledger WHERE queue = ?1)";
    if !database.query_row(known, [queue.as_str()], |row| row.get(0))? {
        return Ok(None);
    }
    let spans = spans(database, page)?;
    let mut select = database.prepare(
        "SELECT wall_ms, amount_units, movements, map_slots, reduce_slots, rate_units, container_slots, map_slot_ms,
             reduce_slot_ms, container_slot_ms
         FROM ledger WHERE queue = ?1 AND reason = 'charge' ORDER BY number DESC",
    )?;
    let mut rows = select.query([queue.as_str()])?;
    let mut points: BTreeMap<u32, SpendingPoint> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let count =
            |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.unwrap_or_default().cast_unsigned());
        let charge = SpendingPoint {
            time_ms: row.get(0)?,
            spent: units_column(row, 1)?,
            intervals: count(2)?,
            map_slot_ms: count(7)?,
            reduce_slot_ms: count(8)?,
            container_slot_ms: count(9)?,
            map_slots: count(3)?,
            reduce_slots: count(4)?,
            container_slots: count(6)?,
            rate: optional_units_column(row, 5)?,
        };
        let Some(span) = spans.of(charge.time_ms) else { break };
        match points.get_mut(&span) {
            None => drop(points.insert(span, charge)),
            Some(point) => {
                let out_of_range = || rusqlite::Error::IntegralValueOutOfRange(1, 0);
                point.add_earlier(&charge).then_some(()).ok_or_else(out_of_range)?;
            }
        }
    }
    let points = points.into_values().collect();
    Ok(Some(SpendingHistory { queue: queue.clone(), step_ms: spans.step_ms, points }))
}

#[cfg(test)]
#[path = "tests/statement.rs"]
mod tests;

#[cfg(test)]
#[path = "tests/history.rs"]
mod history_tests;
