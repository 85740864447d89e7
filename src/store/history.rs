//! Reads price and spending over time on its own connection: what it sees is durable.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use crate::api::{PriceHistory, PricePoint, SpendingHistory, SpendingPoint};
use crate::market::{HistoryPage, Spans};
use crate::model::QueueName;

use super::error::StoreError;
use super::loader::{optional_units_column, units_column};
use super::statement::LedgerReader;

impl LedgerReader {
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

/// From the first tick to the last.
fn spans(database: &Connection, page: HistoryPage) -> rusqlite::Result<Spans> {
    let at = |sql| database.query_row(sql, [], |row| row.get::<_, i64>(0)).optional();
    let first_ms = at("SELECT wall_ms FROM tick ORDER BY number LIMIT 1")?;
    let last_ms = at("SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1")?;
    Ok(page.spans(first_ms.unwrap_or_default(), last_ms.unwrap_or_default()))
}

/// From the newest tick backwards.
fn prices(database: &mut Connection, page: HistoryPage) -> rusqlite::Result<PriceHistory> {
    let snapshot = database.transaction()?;
    let spans = spans(&snapshot, page)?;
    let mut select = snapshot.prepare("SELECT number, wall_ms, price_units FROM tick ORDER BY number DESC")?;
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
fn spending(
    database: &mut Connection,
    queue: &QueueName,
    page: HistoryPage,
) -> rusqlite::Result<Option<SpendingHistory>> {
    let snapshot = database.transaction()?;
    let known =
        "SELECT EXISTS (SELECT 1 FROM account WHERE queue = ?1) OR EXISTS (SELECT 1 FROM ledger WHERE queue = ?1)";
    if !snapshot.query_row(known, [queue.as_str()], |row| row.get(0))? {
        return Ok(None);
    }
    let spans = spans(&snapshot, page)?;
    let mut select = snapshot.prepare(
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
#[path = "tests/history.rs"]
mod tests;
