//! Rows of the ledger, but for its compaction.

use rusqlite::{Connection, Row, params};

use crate::market::{LedgerAccount, LedgerEntry, Reason};
use crate::model::{Credits, PerPool};
use crate::store::loader::{LoadError, rows, units, unsigned, wrong};

use super::row_writer::RowWriter;

pub(super) fn record_entry(writer: &RowWriter<'_>, entry: &LedgerEntry) -> rusqlite::Result<()> {
    let (mut rate, mut interval_ms, mut slots, mut slot_ms) = (None, None, None, None);
    match &entry.reason {
        Reason::Charge { rate: at, interval_ms: length_ms, slot_ms: held_ms } => {
            rate = Some(*at);
            interval_ms = Some(length_ms.cast_signed());
            slot_ms = Some(*held_ms);
        }
        Reason::SampledCharge { rate: at, map_slots, reduce_slots, container_slots } => {
            rate = Some(*at);
            slots = Some((*map_slots, *reduce_slots, *container_slots));
        }
        Reason::Endowment
        | Reason::TopUp
        | Reason::Adjustment
        | Reason::Closing
        | Reason::Transfer
        | Reason::Allowance => {}
    }
    let other_queue = match (&entry.debit, &entry.credit) {
        (LedgerAccount::Queue(_), LedgerAccount::Queue(to)) => Some(to.as_str()),
        _ => None,
    };
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let queue = match (&entry.debit, &entry.credit) {
        (LedgerAccount::Queue(queue), _) | (_, LedgerAccount::Queue(queue)) => Some(queue.as_str()),
        _ => None,
    };
    writer.execute(
        "INSERT INTO ledger (number, tick, wall_ms, queue, reason, rate, rate_units, map_slots, reduce_slots,
                 container_slots, amount, amount_units, debit, credit, other_queue, made_by, note, interval_ms,
                 map_slot_ms, reduce_slot_ms, container_slot_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        params![
            entry.number.cast_signed(),
            entry.tick.cast_signed(),
            entry.wall_ms,
            queue,
            reason(&entry.reason),
            rate.map(|rate| rate.to_string()),
            rate.map(units_text),
            slots.map(|(map, ..)| map),
            slots.map(|(_, reduce, _)| reduce),
            slots.map(|(.., container)| container),
            entry.amount.to_string(),
            units_text(entry.amount),
            account_text(&entry.debit),
            account_text(&entry.credit),
            other_queue,
            given(&entry.by),
            given(&entry.note),
            interval_ms,
            slot_ms.map(|slot_ms| slot_ms.map.cast_signed()),
            slot_ms.map(|slot_ms| slot_ms.reduce.cast_signed()),
            slot_ms.map(|slot_ms| slot_ms.container.cast_signed()),
        ],
    )
}

pub(super) fn units_text(amount: Credits) -> String {
    amount.units().to_string()
}

fn account_text(account: &LedgerAccount) -> String {
    match account {
        LedgerAccount::Issued => "issued".to_owned(),
        LedgerAccount::Revenue => "revenue".to_owned(),
        LedgerAccount::Queue(queue) => format!("queue:{queue}"),
    }
}

fn reason(reason: &Reason) -> &'static str {
    match reason {
        Reason::Endowment => "endowment",
        Reason::TopUp => "top_up",
        Reason::Charge { .. } | Reason::SampledCharge { .. } => "charge",
        Reason::Adjustment => "adjustment",
        Reason::Closing => "closing",
        Reason::Transfer => "transfer",
        Reason::Allowance => "allowance",
    }
}

const LEDGER: &str = "SELECT number, tick, wall_ms, reason, rate_units, map_slots, reduce_slots, amount_units, debit,
                          credit, made_by, note, container_slots, interval_ms, map_slot_ms, reduce_slot_ms,
                          container_slot_ms FROM ledger";

/// The entries after one.
pub(in crate::store) fn load_after(database: &Connection, number: u64) -> Result<Vec<LedgerEntry>, LoadError> {
    rows(database, &format!("{LEDGER} WHERE number > {number} ORDER BY number"), [], read_entry)
}

fn read_entry(row: &Row<'_>) -> Result<LedgerEntry, LoadError> {
    let (name, rate): (String, Option<String>) = (row.get(3)?, row.get(4)?);
    let (map_slots, reduce_slots): (Option<u32>, Option<u32>) = (row.get(5)?, row.get(6)?);
    let slot_ms = slot_ms_columns(row, 14)?;
    let reason = match (&*name, rate, map_slots.zip(reduce_slots)) {
        ("endowment", ..) => Reason::Endowment,
        ("top_up", ..) => Reason::TopUp,
        ("adjustment", ..) => Reason::Adjustment,
        ("closing", ..) => Reason::Closing,
        ("transfer", ..) => Reason::Transfer,
        ("allowance", ..) => Reason::Allowance,
        ("charge", Some(rate), Some((map_slots, reduce_slots))) if slot_ms.is_none() => Reason::SampledCharge {
            rate: units("ledger.rate_units", rate)?,
            map_slots,
            reduce_slots,
            container_slots: row.get::<_, Option<u32>>(12)?.unwrap_or(0),
        },
        // A daily sum has neither rate nor length.
        ("charge", rate, sampled) if slot_ms.is_some() || sampled.is_some() => Reason::Charge {
            rate: rate.map(|rate| units("ledger.rate_units", rate)).transpose()?.unwrap_or_default(),
            interval_ms: row.get::<_, Option<i64>>(13)?.unwrap_or(0).cast_unsigned(),
            slot_ms: slot_ms.unwrap_or_default(),
        },
        _ => return Err(wrong("ledger.reason", name, "a reason, for charges with slots")),
    };
    Ok(LedgerEntry {
        number: unsigned(row, 0)?,
        wall_ms: row.get(2)?,
        tick: unsigned(row, 1)?,
        debit: account("ledger.debit", row.get(8)?)?,
        credit: account("ledger.credit", row.get(9)?)?,
        amount: units("ledger.amount_units", row.get(7)?)?,
        reason,
        by: row.get::<_, Option<String>>(10)?.unwrap_or_default(),
        note: row.get::<_, Option<String>>(11)?.unwrap_or_default(),
    })
}

/// Slot-milliseconds of each pool in three columns from one on; none: the row is no charge, or one of before charges went by time.
pub(in crate::store) fn slot_ms_columns(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<PerPool<u64>>> {
    let Some(map) = row.get::<_, Option<i64>>(first)? else { return Ok(None) };
    let column =
        |index: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(index)?.unwrap_or(0).cast_unsigned());
    Ok(Some(PerPool::new(map.cast_unsigned(), column(first + 1)?, column(first + 2)?)))
}

fn account(column: &'static str, text: String) -> Result<LedgerAccount, LoadError> {
    match text.as_str() {
        "issued" => return Ok(LedgerAccount::Issued),
        "revenue" => return Ok(LedgerAccount::Revenue),
        _ => {}
    }
    match text.strip_prefix("queue:").and_then(|queue| queue.parse().ok()) {
        Some(queue) => Ok(LedgerAccount::Queue(queue)),
        None => Err(wrong(column, text, "issued, revenue or queue:NAME")),
    }
}
