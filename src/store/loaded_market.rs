//! Loads the market: the facts that restore it by [`Market::apply`](crate::market::Market::apply), in its order.

use std::collections::BTreeMap;

use rusqlite::Row;

use crate::market::{
    Allowance, Charge, Consumer, ForgottenStamps, Interval, KeyId, LedgerAccount, LedgerEntry, LedgerTotals,
    MarketFact, Metered, Order, QueueTick, Reason, SignedTextId, Stamp, TakenTopUp, Tick,
};
use crate::model::{Credits, JobId, PerPool, QueueName};

use super::error::StoreError;
use super::loader::Loader;

/// The latest accounts, the last tick with its intervals, the ledger rows after it and the stamps.
pub(super) fn load(loader: &Loader<'_>) -> Result<Vec<MarketFact>, StoreError> {
    let mut facts = Vec::new();
    let mut balances = BTreeMap::new();
    for texts in loader.texts("SELECT queue, balance_units, rate_units FROM account ORDER BY queue")? {
        let [queue, balance, rate] = texts;
        let queue: QueueName = loader.parse("account.queue", queue, "a queue's name")?;
        let balance = units(loader, "account.balance_units", balance)?;
        let rate = units(loader, "account.rate_units", rate)?;
        balances.insert(queue.clone(), balance);
        facts.push(MarketFact::Account { queue, balance, rate });
    }
    for row in loader.rows(ORDERS, OrderRow::read)? {
        facts.push(row.fact(loader)?);
    }
    facts.extend(load_allowances(loader)?);
    // Before the first tick time passes too.
    let (mut ledger_rows, mut tick_number) = (0, 0);
    if let Some(mut tick) = load_tick(loader)? {
        (ledger_rows, tick_number) = (tick.ledger.rows, tick.number);
        tick.queue_ticks = load_queue_ticks(loader, tick.number, &balances)?;
        facts.push(MarketFact::Tick(Box::new(tick)));
    }
    facts.extend(load_metered(loader, tick_number)?.into_iter().map(MarketFact::Metered));
    let sql = format!("{LEDGER} WHERE number > {ledger_rows} ORDER BY number");
    for row in loader.rows(&sql, LedgerRow::read)? {
        facts.push(MarketFact::Ledger(row.entry(loader)?));
    }
    facts.extend(load_taken_top_ups(loader)?);
    facts.extend(load_signatures(loader)?);
    Ok(facts)
}

/// Every top-up that was ever taken over from a database of budgets.
fn load_taken_top_ups(loader: &Loader<'_>) -> Result<Vec<MarketFact>, StoreError> {
    let sql = "SELECT reference, queue, amount_units, ledger FROM taken_top_up";
    type Columns = (String, String, String, i64);
    let read =
        |row: &Row<'_>| -> rusqlite::Result<Columns> { Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)) };
    let typed = |(reference, queue, amount, ledger): Columns| {
        let queue: QueueName = loader.parse("taken_top_up.queue", queue, "a queue's name")?;
        let amount = units(loader, "taken_top_up.amount_units", amount)?;
        Ok(MarketFact::TopUpTaken(TakenTopUp { reference, queue, amount, ledger: ledger.cast_unsigned() }))
    };
    loader.rows(sql, read)?.into_iter().map(typed).collect()
}

/// What is forgotten of used signatures, and those that are kept.
fn load_signatures(loader: &Loader<'_>) -> Result<Vec<MarketFact>, StoreError> {
    let hexadecimal = |column, text: String| {
        u64::from_str_radix(&text, 16).map_err(|_| loader.wrong(column, text, "a hexadecimal number"))
    };
    let consumer_named = |column, name: String| match name.as_str() {
        "servlet" => Ok(Consumer::Servlet),
        "job" => Ok(Consumer::Job),
        "upload" => Ok(Consumer::Upload),
        "application" => Ok(Consumer::Application),
        "secret" => Ok(Consumer::Secret),
        _ => Err(loader.wrong(column, name, "servlet, job, upload, application or secret")),
    };
    let mut facts = Vec::new();
    let sql = "SELECT consumer, user, key_id, up_to_ms FROM forgotten_signature";
    type Forgotten = (String, String, String, i64);
    let read =
        |row: &Row<'_>| -> rusqlite::Result<Forgotten> { Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)) };
    for (consumer, user, key_id, up_to_ms) in loader.rows(sql, read)? {
        let consumer = consumer_named("forgotten_signature.consumer", consumer)?;
        let key_id = KeyId(hexadecimal("forgotten_signature.key_id", key_id)?);
        facts.push(MarketFact::StampsForgotten(ForgottenStamps { consumer, user, key_id, up_to_ms }));
    }
    let sql = "SELECT consumer, user, key_id, timestamp_ms, text_id, uses FROM used_signature";
    type Used = ([String; 4], i64, u32);
    let read = |row: &Row<'_>| -> rusqlite::Result<Used> {
        Ok(([row.get(0)?, row.get(1)?, row.get(2)?, row.get(4)?], row.get(3)?, row.get(5)?))
    };
    for ([consumer, user, key_id, text], timestamp_ms, uses) in loader.rows(sql, read)? {
        let consumer = consumer_named("used_signature.consumer", consumer)?;
        let key_id = KeyId(hexadecimal("used_signature.key_id", key_id)?);
        let text = SignedTextId(hexadecimal("used_signature.text_id", text)?);
        facts.push(MarketFact::Stamp(Stamp { consumer, user, key_id, timestamp_ms, text, uses }));
    }
    Ok(facts)
}

/// The allowances of queues that exist: a program that does not know them leaves those of removed queues.
fn load_allowances(loader: &Loader<'_>) -> Result<Vec<MarketFact>, StoreError> {
    let sql = "SELECT queue, credits_units, every_s, cap_units, set_by, periods, due_ms FROM allowance
               JOIN account USING (queue) ORDER BY queue";
    type Columns = (String, String, i64, Option<String>, String, i64, i64);
    let read = |row: &Row<'_>| -> rusqlite::Result<Columns> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
    };
    let typed = |(queue, credits, every_s, cap, by, periods, due_ms): Columns| {
        let queue: QueueName = loader.parse("allowance.queue", queue, "a queue's name")?;
        let allowance = Allowance {
            credits: units(loader, "allowance.credits_units", credits)?,
            every_s: every_s.cast_unsigned(),
            cap: cap.map(|cap| units(loader, "allowance.cap_units", cap)).transpose()?,
            by,
            periods: periods.cast_unsigned(),
            due_ms,
        };
        Ok(MarketFact::AllowanceSet { queue, allowance })
    };
    loader.rows(sql, read)?.into_iter().map(typed).collect()
}

/// Jobs that may be charged for the open interval, whether they are loaded or not.
pub(super) fn metered_jobs(loader: &Loader<'_>) -> Result<Vec<JobId>, StoreError> {
    let sql = "SELECT change.value ->> '$.holder.job' AS job FROM metered, json_each(metered.changes) AS change
                   WHERE job IS NOT NULL
               UNION SELECT interval ->> '$.by_order' AS job FROM allocation WHERE job IS NOT NULL";
    let jobs = loader.texts(sql)?.into_iter();
    jobs.map(|[job]| loader.parse("metered.changes", job, "a job id")).collect()
}

const ORDERS: &str = "SELECT job, queue, deadline_ms, max_rate_units, max_cost_units FROM market_order ORDER BY job";

struct OrderRow {
    job: String,
    queue: String,
    deadline_ms: i64,
    max_rate: String,
    max_cost: Option<String>,
}

impl OrderRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            job: row.get(0)?,
            queue: row.get(1)?,
            deadline_ms: row.get(2)?,
            max_rate: row.get(3)?,
            max_cost: row.get(4)?,
        })
    }

    fn fact(self, loader: &Loader<'_>) -> Result<MarketFact, StoreError> {
        let order = Order {
            job: loader.parse("market_order.job", self.job, "a job id")?,
            deadline_ms: self.deadline_ms,
            max_rate: units(loader, "market_order.max_rate_units", self.max_rate)?,
            max_cost: self.max_cost.map(|text| units(loader, "market_order.max_cost_units", text)).transpose()?,
        };
        Ok(MarketFact::OrderSet { queue: loader.parse("market_order.queue", self.queue, "a queue's name")?, order })
    }
}

/// The last tick, without its queues.
fn load_tick(loader: &Loader<'_>) -> Result<Option<Tick>, StoreError> {
    let sql = "SELECT number, ledger_rows, wall_ms, price_units, issued_units, charged_units, coalesce(interval_ms, 0)
               FROM tick ORDER BY number DESC LIMIT 1";
    type Columns = (i64, i64, i64, [String; 3], i64);
    let read = |row: &Row<'_>| -> rusqlite::Result<Columns> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, [row.get(3)?, row.get(4)?, row.get(5)?], row.get(6)?))
    };
    let Some((number, rows, wall_ms, [price, issued, charged], interval_ms)) = loader.rows(sql, read)?.pop() else {
        return Ok(None);
    };
    let ledger = LedgerTotals {
        rows: rows.cast_unsigned(),
        issued: units(loader, "tick.issued_units", issued)?,
        charged: units(loader, "tick.charged_units", charged)?,
    };
    let price = units(loader, "tick.price_units", price)?;
    let (number, interval_ms) = (number.cast_unsigned(), interval_ms.cast_unsigned());
    let (queue_ticks, laid) = (Vec::new(), Vec::new());
    Ok(Some(Tick { number, wall_ms, interval_ms, price, ledger, queue_ticks, laid }))
}

/// What was held since a tick, in the order in which it changed.
fn load_metered(loader: &Loader<'_>, tick: u64) -> Result<Vec<Metered>, StoreError> {
    let sql = format!("SELECT offset_ms, changes FROM metered WHERE tick = {tick} ORDER BY offset_ms, number");
    let rows = loader.rows(&sql, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)))?;
    let typed = rows.into_iter().map(|(offset_ms, changes)| {
        let changes = match changes {
            None => Vec::new(),
            Some(text) => serde_json::from_str(&text)
                .map_err(|_| loader.wrong("metered.changes", text, "changes of held slots as JSON"))?,
        };
        Ok(Metered { tick, offset_ms: offset_ms.cast_unsigned(), changes })
    });
    typed.collect()
}

/// The intervals that a tick opened. Its charges are in the accounts.
fn load_queue_ticks(
    loader: &Loader<'_>,
    tick: u64,
    balances: &BTreeMap<QueueName, Credits>,
) -> Result<Vec<QueueTick>, StoreError> {
    let sql = format!("SELECT queue, interval FROM allocation WHERE tick = {tick} ORDER BY queue");
    let read = |[queue, interval]: [String; 2]| {
        let queue: QueueName = loader.parse("allocation.queue", queue, "a queue's name")?;
        let Some(balance) = balances.get(&queue).copied() else {
            return Err(loader.wrong("allocation.queue", queue.to_string(), "a queue that has an account"));
        };
        let interval = serde_json::from_str::<Interval>(&interval)
            .map_err(|_| loader.wrong("allocation.interval", interval, "an interval as JSON"))?;
        let in_vain = interval.in_vain;
        let (charge, graces) = (Charge::default(), Vec::new());
        Ok(QueueTick { queue, charge, graces, balance, interval: Some(interval), in_vain, flickers: 0 })
    };
    loader.texts(&sql)?.into_iter().map(read).collect()
}

pub(super) const LEDGER: &str =
    "SELECT number, tick, wall_ms, reason, rate_units, map_slots, reduce_slots, amount_units, debit,
                          credit, made_by, note, container_slots, interval_ms, map_slot_ms, reduce_slot_ms,
                          container_slot_ms FROM ledger";

pub(super) struct LedgerRow {
    number: i64,
    tick: i64,
    wall_ms: i64,
    reason: String,
    rate: Option<String>,
    slots: Option<(u32, u32, u32)>,
    slot_ms: Option<PerPool<u64>>,
    interval_ms: Option<i64>,
    amount: String,
    debit: String,
    credit: String,
    by: Option<String>,
    note: Option<String>,
}

impl LedgerRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let map_slots: Option<u32> = row.get(5)?;
        let reduce_slots: Option<u32> = row.get(6)?;
        let container_slots: u32 = row.get::<_, Option<u32>>(12)?.unwrap_or(0);
        Ok(Self {
            number: row.get(0)?,
            tick: row.get(1)?,
            wall_ms: row.get(2)?,
            reason: row.get(3)?,
            rate: row.get(4)?,
            slots: map_slots.zip(reduce_slots).map(|(map, reduce)| (map, reduce, container_slots)),
            slot_ms: slot_ms_columns(row, 14)?,
            interval_ms: row.get(13)?,
            amount: row.get(7)?,
            debit: row.get(8)?,
            credit: row.get(9)?,
            by: row.get(10)?,
            note: row.get(11)?,
        })
    }

    pub(super) fn entry(self, loader: &Loader<'_>) -> Result<LedgerEntry, StoreError> {
        let reason = match (self.reason.as_str(), self.rate, self.slots) {
            ("endowment", ..) => Reason::Endowment,
            ("top_up", ..) => Reason::TopUp,
            ("adjustment", ..) => Reason::Adjustment,
            ("closing", ..) => Reason::Closing,
            ("transfer", ..) => Reason::Transfer,
            ("allowance", ..) => Reason::Allowance,
            ("charge", Some(rate), Some((map_slots, reduce_slots, container_slots))) if self.slot_ms.is_none() => {
                let rate = units(loader, "ledger.rate_units", rate)?;
                Reason::SampledCharge { rate, map_slots, reduce_slots, container_slots }
            }
            // A daily sum has neither rate nor length.
            ("charge", rate, sampled) if self.slot_ms.or(sampled.map(|_| PerPool::default())).is_some() => {
                let rate = rate.map(|rate| units(loader, "ledger.rate_units", rate)).transpose()?;
                let interval_ms = self.interval_ms.unwrap_or(0).cast_unsigned();
                let slot_ms = self.slot_ms.unwrap_or_default();
                Reason::Charge { rate: rate.unwrap_or_default(), interval_ms, slot_ms }
            }
            _ => return Err(loader.wrong("ledger.reason", self.reason, "a reason, for charges with slots")),
        };
        Ok(LedgerEntry {
            number: self.number.cast_unsigned(),
            wall_ms: self.wall_ms,
            tick: self.tick.cast_unsigned(),
            debit: account(loader, "ledger.debit", self.debit)?,
            credit: account(loader, "ledger.credit", self.credit)?,
            amount: units(loader, "ledger.amount_units", self.amount)?,
            reason,
            by: self.by.unwrap_or_default(),
            note: self.note.unwrap_or_default(),
        })
    }
}

/// Slot-milliseconds of each pool in three columns from one on; none: the row is no charge, or one of before charges went by time.
pub(super) fn slot_ms_columns(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<PerPool<u64>>> {
    let Some(map) = row.get::<_, Option<i64>>(first)? else { return Ok(None) };
    let column =
        |index: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(index)?.unwrap_or(0).cast_unsigned());
    Ok(Some(PerPool::new(map.cast_unsigned(), column(first + 1)?, column(first + 2)?)))
}

fn account(loader: &Loader<'_>, column: &'static str, text: String) -> Result<LedgerAccount, StoreError> {
    match text.as_str() {
        "issued" => return Ok(LedgerAccount::Issued),
        "revenue" => return Ok(LedgerAccount::Revenue),
        _ => {}
    }
    match text.strip_prefix("queue:").and_then(|queue| queue.parse().ok()) {
        Some(queue) => Ok(LedgerAccount::Queue(queue)),
        None => Err(loader.wrong(column, text, "issued, revenue or queue:NAME")),
    }
}

pub(super) fn units(loader: &Loader<'_>, column: &'static str, text: String) -> Result<Credits, StoreError> {
    loader.parse(column, text, "a whole number of units of 10^-12 credit").map(Credits::from_units)
}
