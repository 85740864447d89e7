//! Rows of the market but the ledger: accounts, orders, allowances, top-ups that were taken, ticks, used signatures.
//!
//! What is loaded are the facts that restore it by [`Market::apply`](crate::market::Market::apply), in its order.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::market::{
    Allowance, Charge, Consumer, ForgottenStamps, Interval, KeyId, LedgerTotals, MarketFact, Metered, Order, OrderEnd,
    QueueTick, SignedTextId, Stamp, TakenTopUp, Tick,
};
use crate::model::{Credits, JobId, QueueName};
use crate::store::enum_text::{self, json};
use crate::store::loader::{LoadError, first_row, from_json, named, parse, rows, units, unsigned, wrong};

use super::ledger::{self, record_entry, units_text};
use super::row_writer::RowWriter;

pub(super) fn record(writer: &mut RowWriter<'_>, fact: &MarketFact) -> rusqlite::Result<()> {
    match fact {
        MarketFact::Account { queue, balance, rate } => {
            record_bid(writer, queue, *rate)?;
            set_account(writer, queue, *balance, *rate)
        }
        MarketFact::AccountRemoved { queue } => {
            writer.update("DELETE FROM account WHERE queue = ?1", params![queue.as_str()])?;
            // A new queue of that name must not find the old one's interval.
            ["allocation", "allowance", "market_order"].iter().try_for_each(|table| {
                writer.execute(&format!("DELETE FROM {table} WHERE queue = ?1"), params![queue.as_str()])
            })
        }
        MarketFact::OrderSet { queue, order } => {
            record_order_change(writer, queue, order.job, Some(order))?;
            set_order(writer, queue, order)
        }
        MarketFact::OrderEnded { queue, job, end } => {
            if *end == OrderEnd::Unbid {
                record_order_change(writer, queue, *job, None)?;
            }
            writer.update("DELETE FROM market_order WHERE job = ?1", params![job.to_string()])
        }
        MarketFact::AllowanceSet { queue, allowance } => record_allowance(writer, queue, allowance),
        MarketFact::AllowanceEnded { queue } => {
            writer.update("DELETE FROM allowance WHERE queue = ?1", params![queue.as_str()])
        }
        MarketFact::TopUpTaken(taken) => {
            let TakenTopUp { reference, queue, amount, ledger } = taken;
            writer.execute(
                "INSERT INTO taken_top_up (reference, queue, amount, amount_units, ledger) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![reference, queue.as_str(), amount.to_string(), units_text(*amount), ledger.cast_signed()],
            )
        }
        MarketFact::Ledger(entry) => record_entry(writer, entry),
        MarketFact::Stamp(stamp) => {
            let (key_id, text_id) = (format!("{:016x}", stamp.key_id.0), format!("{:016x}", stamp.text.0));
            let consumer = enum_text::consumer(stamp.consumer);
            writer.execute(
                "INSERT OR REPLACE INTO used_signature (consumer, user, key_id, timestamp_ms, text_id, uses)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![consumer, stamp.user, key_id, stamp.timestamp_ms, text_id, stamp.uses],
            )
        }
        MarketFact::StampsForgotten(forgotten) => forget_stamps(writer, forgotten),
        MarketFact::Tick(tick) => record_tick(writer, tick),
        MarketFact::Metered(metered) => record_metered(writer, metered),
    }
}

fn set_account(writer: &RowWriter<'_>, queue: &QueueName, balance: Credits, rate: Credits) -> rusqlite::Result<()> {
    writer.execute(
        "INSERT INTO account (queue, balance, balance_units, rate, rate_units) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (queue) DO UPDATE SET balance = excluded.balance, balance_units = excluded.balance_units,
                 rate = excluded.rate, rate_units = excluded.rate_units",
        params![queue.as_str(), balance.to_string(), units_text(balance), rate.to_string(), units_text(rate)],
    )
}

fn set_order(writer: &RowWriter<'_>, queue: &QueueName, order: &Order) -> rusqlite::Result<()> {
    let Order { job, deadline_ms, max_rate, max_cost } = order;
    writer.execute(
        "INSERT OR REPLACE INTO market_order
                 (job, queue, deadline_ms, max_rate, max_rate_units, max_cost, max_cost_units)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            job.to_string(),
            queue.as_str(),
            deadline_ms,
            max_rate.to_string(),
            units_text(*max_rate),
            max_cost.map(|cost| cost.to_string()),
            max_cost.map(units_text)
        ],
    )
}

fn forget_stamps(writer: &RowWriter<'_>, forgotten: &ForgottenStamps) -> rusqlite::Result<()> {
    let ForgottenStamps { consumer, user, key_id, up_to_ms } = forgotten;
    let values = params![enum_text::consumer(*consumer), user, format!("{:016x}", key_id.0), up_to_ms];
    writer.execute(
        "INSERT INTO forgotten_signature (consumer, user, key_id, up_to_ms) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (consumer, user, key_id) DO UPDATE SET up_to_ms = max(up_to_ms, excluded.up_to_ms)",
        values,
    )?;
    writer.execute(
        "DELETE FROM used_signature WHERE consumer = ?1 AND user = ?2 AND key_id = ?3 AND timestamp_ms <= ?4",
        values,
    )
}

fn record_bid(writer: &RowWriter<'_>, queue: &QueueName, rate: Credits) -> rusqlite::Result<()> {
    writer.execute(
        "INSERT INTO bid_change (number, wall_ms, queue, rate_units)
             SELECT ?1, coalesce((SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1), 0), ?2, ?3
             WHERE NOT EXISTS (SELECT 1 FROM account WHERE queue = ?2 AND rate_units = ?3)",
        params![writer.fact(), queue.as_str(), units_text(rate)],
    )
}

/// Records an order as it is from now on, or that its owner took it back.
fn record_order_change(
    writer: &RowWriter<'_>,
    queue: &QueueName,
    job: JobId,
    order: Option<&Order>,
) -> rusqlite::Result<()> {
    writer.execute(
        "INSERT INTO order_change (number, wall_ms, job, queue, deadline_ms, max_rate_units, max_cost_units)
             VALUES (?1, coalesce((SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1), 0), ?2, ?3, ?4, ?5, ?6)",
        params![
            writer.fact(),
            job.to_string(),
            queue.as_str(),
            order.map(|order| order.deadline_ms),
            order.map(|order| units_text(order.max_rate)),
            order.and_then(|order| order.max_cost).map(units_text),
        ],
    )
}

fn record_allowance(writer: &RowWriter<'_>, queue: &QueueName, allowance: &Allowance) -> rusqlite::Result<()> {
    let Allowance { credits, every_s, cap, by, periods, due_ms } = allowance;
    writer.execute(
        "INSERT OR REPLACE INTO allowance
                 (queue, credits, credits_units, every_s, cap, cap_units, set_by, periods, due_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            queue.as_str(),
            credits.to_string(),
            units_text(*credits),
            every_s.cast_signed(),
            cap.map(|cap| cap.to_string()),
            cap.map(units_text),
            by,
            periods.cast_signed(),
            due_ms,
        ],
    )
}

/// Records a tick: its charges, the balances after them, the intervals it opens, and its own row.
fn record_tick(writer: &mut RowWriter<'_>, tick: &Tick) -> rusqlite::Result<()> {
    for entry in tick.charges() {
        record_entry(writer, &entry)?;
    }
    for QueueTick { queue, balance, .. } in
        tick.queue_ticks.iter().filter(|queue_tick| queue_tick.charges().next().is_some())
    {
        let charge = "UPDATE account SET balance = ?2, balance_units = ?3 WHERE queue = ?1";
        let values = params![queue.as_str(), balance.to_string(), units_text(*balance)];
        writer.update(charge, values)?;
    }
    let open = "INSERT OR REPLACE INTO allocation (queue, tick, interval) VALUES (?1, ?2, ?3)";
    for (queue, interval) in tick.intervals() {
        writer.execute(open, params![queue.as_str(), tick.number.cast_signed(), json(interval)?])?;
    }
    let Tick { number, wall_ms, interval_ms, price, ledger, .. } = tick;
    writer.execute(
        "INSERT INTO tick (number, wall_ms, price, price_units, ledger_rows, issued, issued_units, charged,
                 charged_units, interval_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            number.cast_signed(),
            wall_ms,
            price.to_string(),
            units_text(*price),
            ledger.rows.cast_signed(),
            ledger.issued.to_string(),
            units_text(ledger.issued),
            ledger.charged.to_string(),
            units_text(ledger.charged),
            interval_ms.cast_signed(),
        ],
    )?;
    // It is charged.
    writer.execute("DELETE FROM metered", [])?;
    writer.execute("DELETE FROM allocation WHERE tick < ?1", [number.cast_signed()])
}

/// Number of the row of `metered` for a moment at which nothing changed.
const UNCHANGED: i64 = 0;

/// Records what was held in the open interval: a row for each change, and one for the last moment without any.
fn record_metered(writer: &RowWriter<'_>, metered: &Metered) -> rusqlite::Result<()> {
    let Metered { tick, offset_ms, changes } = metered;
    let (number, changes) = match changes.is_empty() {
        true => (UNCHANGED, None),
        false => (writer.fact(), Some(json(changes)?)),
    };
    let insert = "INSERT OR REPLACE INTO metered (number, tick, offset_ms, changes) VALUES (?1, ?2, ?3, ?4)";
    writer.execute(insert, params![number, tick.cast_signed(), offset_ms.cast_signed(), changes])
}

/// The latest accounts, the last tick with its intervals, the ledger rows after it and the stamps.
pub(in crate::store) fn load(database: &Connection) -> Result<Vec<MarketFact>, LoadError> {
    let sql = "SELECT queue, balance_units, rate_units FROM account ORDER BY queue";
    let accounts = rows(database, sql, [], |row| {
        let queue: QueueName = parse("account.queue", row.get(0)?, QUEUE)?;
        let balance = units("account.balance_units", row.get(1)?)?;
        Ok((queue, balance, units("account.rate_units", row.get(2)?)?))
    })?;
    let balances: BTreeMap<QueueName, Credits> =
        accounts.iter().map(|(queue, balance, _)| (queue.clone(), *balance)).collect();
    let account = |(queue, balance, rate)| MarketFact::Account { queue, balance, rate };
    let mut facts: Vec<MarketFact> = accounts.into_iter().map(account).collect();
    facts.extend(load_orders(database)?);
    facts.extend(load_allowances(database)?);
    // Before the first tick time passes too.
    let (mut ledger_rows, mut tick_number) = (0, 0);
    if let Some(mut tick) = load_tick(database)? {
        (ledger_rows, tick_number) = (tick.ledger.rows, tick.number);
        tick.queue_ticks = load_queue_ticks(database, tick.number, &balances)?;
        facts.push(MarketFact::Tick(Box::new(tick)));
    }
    facts.extend(load_metered(database, tick_number)?.into_iter().map(MarketFact::Metered));
    facts.extend(ledger::load_after(database, ledger_rows)?.into_iter().map(MarketFact::Ledger));
    facts.extend(load_taken_top_ups(database)?);
    facts.extend(load_signatures(database)?);
    Ok(facts)
}

/// What is expected in a column with the name of a queue.
const QUEUE: &str = "a queue's name";

/// Every top-up that was ever taken over from a database of budgets.
fn load_taken_top_ups(database: &Connection) -> Result<Vec<MarketFact>, LoadError> {
    rows(database, "SELECT reference, queue, amount_units, ledger FROM taken_top_up", [], |row| {
        Ok(MarketFact::TopUpTaken(TakenTopUp {
            reference: row.get(0)?,
            queue: parse("taken_top_up.queue", row.get(1)?, QUEUE)?,
            amount: units("taken_top_up.amount_units", row.get(2)?)?,
            ledger: unsigned(row, 3)?,
        }))
    })
}

/// What is forgotten of used signatures, and those that are kept.
fn load_signatures(database: &Connection) -> Result<Vec<MarketFact>, LoadError> {
    let hexadecimal =
        |column, text: String| u64::from_str_radix(&text, 16).map_err(|_| wrong(column, text, "a hexadecimal number"));
    let consumer = |column, name: String| -> Result<Consumer, LoadError> {
        named(column, name, enum_text::parse_consumer, "servlet, job, upload, application or secret")
    };
    let forgotten = "SELECT consumer, user, key_id, up_to_ms FROM forgotten_signature";
    let mut facts = rows(database, forgotten, [], |row| {
        Ok(MarketFact::StampsForgotten(ForgottenStamps {
            consumer: consumer("forgotten_signature.consumer", row.get(0)?)?,
            user: row.get(1)?,
            key_id: KeyId(hexadecimal("forgotten_signature.key_id", row.get(2)?)?),
            up_to_ms: row.get(3)?,
        }))
    })?;
    let used = "SELECT consumer, user, key_id, timestamp_ms, text_id, uses FROM used_signature";
    facts.extend(rows(database, used, [], |row| {
        Ok(MarketFact::Stamp(Stamp {
            consumer: consumer("used_signature.consumer", row.get(0)?)?,
            user: row.get(1)?,
            key_id: KeyId(hexadecimal("used_signature.key_id", row.get(2)?)?),
            timestamp_ms: row.get(3)?,
            text: SignedTextId(hexadecimal("used_signature.text_id", row.get(4)?)?),
            uses: row.get(5)?,
        }))
    })?);
    Ok(facts)
}

/// The allowances of queues that exist: a program that does not know them leaves those of removed queues.
fn load_allowances(database: &Connection) -> Result<Vec<MarketFact>, LoadError> {
    let sql = "SELECT queue, credits_units, every_s, cap_units, set_by, periods, due_ms FROM allowance
               JOIN account USING (queue) ORDER BY queue";
    rows(database, sql, [], |row| {
        let cap: Option<String> = row.get(3)?;
        let allowance = Allowance {
            credits: units("allowance.credits_units", row.get(1)?)?,
            every_s: unsigned(row, 2)?,
            cap: cap.map(|cap| units("allowance.cap_units", cap)).transpose()?,
            by: row.get(4)?,
            periods: unsigned(row, 5)?,
            due_ms: row.get(6)?,
        };
        Ok(MarketFact::AllowanceSet { queue: parse("allowance.queue", row.get(0)?, QUEUE)?, allowance })
    })
}

/// Jobs that may be charged for the open interval, whether they are loaded or not.
pub(super) fn metered_jobs(database: &Connection) -> Result<Vec<JobId>, LoadError> {
    let sql = "SELECT change.value ->> '$.holder.job' AS job FROM metered, json_each(metered.changes) AS change
                   WHERE job IS NOT NULL
               UNION SELECT interval ->> '$.by_order' AS job FROM allocation WHERE job IS NOT NULL";
    rows(database, sql, [], |row| parse("metered.changes", row.get(0)?, "a job id"))
}

fn load_orders(database: &Connection) -> Result<Vec<MarketFact>, LoadError> {
    let sql = "SELECT job, queue, deadline_ms, max_rate_units, max_cost_units FROM market_order ORDER BY job";
    rows(database, sql, [], |row| {
        let max_cost: Option<String> = row.get(4)?;
        let order = Order {
            job: parse("market_order.job", row.get(0)?, "a job id")?,
            deadline_ms: row.get(2)?,
            max_rate: units("market_order.max_rate_units", row.get(3)?)?,
            max_cost: max_cost.map(|text| units("market_order.max_cost_units", text)).transpose()?,
        };
        Ok(MarketFact::OrderSet { queue: parse("market_order.queue", row.get(1)?, QUEUE)?, order })
    })
}

/// The last tick, without its queues.
fn load_tick(database: &Connection) -> Result<Option<Tick>, LoadError> {
    let sql = "SELECT number, ledger_rows, wall_ms, price_units, issued_units, charged_units, coalesce(interval_ms, 0)
               FROM tick ORDER BY number DESC LIMIT 1";
    first_row(database, sql, [], |row| {
        Ok(Tick {
            number: unsigned(row, 0)?,
            wall_ms: row.get(2)?,
            interval_ms: unsigned(row, 6)?,
            price: units("tick.price_units", row.get(3)?)?,
            ledger: LedgerTotals {
                rows: unsigned(row, 1)?,
                issued: units("tick.issued_units", row.get(4)?)?,
                charged: units("tick.charged_units", row.get(5)?)?,
            },
            queue_ticks: Vec::new(),
            laid: Vec::new(),
        })
    })
}

/// What was held since a tick, in the order in which it changed.
fn load_metered(database: &Connection, tick: u64) -> Result<Vec<Metered>, LoadError> {
    let sql = format!("SELECT offset_ms, changes FROM metered WHERE tick = {tick} ORDER BY offset_ms, number");
    rows(database, &sql, [], |row| {
        let changes: Option<String> = row.get(1)?;
        let changes = changes.map(|text| from_json("metered.changes", text, "changes of held slots as JSON"));
        Ok(Metered { tick, offset_ms: unsigned(row, 0)?, changes: changes.transpose()?.unwrap_or_default() })
    })
}

/// The intervals that a tick opened. Its charges are in the accounts.
fn load_queue_ticks(
    database: &Connection,
    tick: u64,
    balances: &BTreeMap<QueueName, Credits>,
) -> Result<Vec<QueueTick>, LoadError> {
    let sql = format!("SELECT queue, interval FROM allocation WHERE tick = {tick} ORDER BY queue");
    rows(database, &sql, [], |row| {
        let queue: QueueName = parse("allocation.queue", row.get(0)?, QUEUE)?;
        let Some(balance) = balances.get(&queue).copied() else {
            return Err(wrong("allocation.queue", queue.to_string(), "a queue that has an account"));
        };
        let interval: Interval = from_json("allocation.interval", row.get(1)?, "an interval as JSON")?;
        let in_vain = interval.in_vain;
        let (charge, graces) = (Charge::default(), Vec::new());
        Ok(QueueTick { queue, charge, graces, balance, interval: Some(interval), in_vain, flickers: 0 })
    })
}
