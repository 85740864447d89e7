//! Rows of the market's facts.

use rusqlite::{Transaction, params};

use crate::engine::JobCost;
use crate::market::{
    Allowance, Consumer, ForgottenStamps, LedgerAccount, LedgerEntry, MarketFact, Metered, Order, OrderEnd, QueueTick,
    Reason, TakenTopUp, Tick,
};
use crate::model::{Credits, FactNumber, JobId, QueueName};
use crate::store::durable::{MissedUpdates, update_row};
use crate::store::enum_text::json;

pub(super) fn record(
    transaction: &Transaction<'_>,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    fact: &MarketFact,
) -> rusqlite::Result<()> {
    let execute = |sql, values: &[&dyn rusqlite::ToSql]| transaction.prepare_cached(sql)?.execute(values).map(drop);
    match fact {
        MarketFact::Account { queue, balance, rate } => {
            record_bid(transaction, number, queue, *rate)?;
            set_account(transaction, queue, *balance, *rate)
        }
        MarketFact::AccountRemoved { queue } => {
            let remove = "DELETE FROM account WHERE queue = ?1";
            update_row(transaction, missed_updates, number, remove, params![queue.as_str()])?;
            // A new queue of that name must not find the old one's interval.
            ["allocation", "allowance", "market_order"].iter().try_for_each(|table| {
                let sql = format!("DELETE FROM {table} WHERE queue = ?1");
                transaction.prepare_cached(&sql)?.execute(params![queue.as_str()]).map(drop)
            })
        }
        MarketFact::OrderSet { queue, order } => {
            record_order_change(transaction, number, queue, order.job, Some(order))?;
            set_order(transaction, queue, order)
        }
        MarketFact::OrderEnded { queue, job, end } => {
            if *end == OrderEnd::Unbid {
                record_order_change(transaction, number, queue, *job, None)?;
            }
            let end = "DELETE FROM market_order WHERE job = ?1";
            update_row(transaction, missed_updates, number, end, params![job.to_string()])
        }
        MarketFact::AllowanceSet { queue, allowance } => record_allowance(transaction, queue, allowance),
        MarketFact::AllowanceEnded { queue } => {
            let end = "DELETE FROM allowance WHERE queue = ?1";
            update_row(transaction, missed_updates, number, end, params![queue.as_str()])
        }
        MarketFact::TopUpTaken(taken) => {
            let TakenTopUp { reference, queue, amount, ledger } = taken;
            execute(
                "INSERT INTO taken_top_up (reference, queue, amount, amount_units, ledger) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![reference, queue.as_str(), amount.to_string(), units(*amount), ledger.cast_signed()],
            )
        }
        MarketFact::Ledger(entry) => record_ledger_entry(transaction, entry),
        MarketFact::Stamp(stamp) => {
            let (key_id, text_id) = (format!("{:016x}", stamp.key_id.0), format!("{:016x}", stamp.text.0));
            execute(
                "INSERT OR REPLACE INTO used_signature (consumer, user, key_id, timestamp_ms, text_id, uses)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![consumer(stamp.consumer), stamp.user, key_id, stamp.timestamp_ms, text_id, stamp.uses],
            )
        }
        MarketFact::StampsForgotten(forgotten) => forget_stamps(transaction, forgotten),
        MarketFact::Tick(tick) => record_tick(transaction, missed_updates, number, tick),
        MarketFact::Metered(metered) => record_metered(transaction, number, metered),
    }
}

fn set_account(
    transaction: &Transaction<'_>,
    queue: &QueueName,
    balance: Credits,
    rate: Credits,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO account (queue, balance, balance_units, rate, rate_units) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (queue) DO UPDATE SET balance = excluded.balance, balance_units = excluded.balance_units,
                 rate = excluded.rate, rate_units = excluded.rate_units",
        )?
        .execute(params![queue.as_str(), balance.to_string(), units(balance), rate.to_string(), units(rate)])
        .map(drop)
}

fn set_order(transaction: &Transaction<'_>, queue: &QueueName, order: &Order) -> rusqlite::Result<()> {
    let Order { job, deadline_ms, max_rate, max_cost } = order;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO market_order
                 (job, queue, deadline_ms, max_rate, max_rate_units, max_cost, max_cost_units)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            job.to_string(),
            queue.as_str(),
            deadline_ms,
            max_rate.to_string(),
            units(*max_rate),
            max_cost.map(|cost| cost.to_string()),
            max_cost.map(units)
        ])
        .map(drop)
}

fn forget_stamps(transaction: &Transaction<'_>, forgotten: &ForgottenStamps) -> rusqlite::Result<()> {
    let ForgottenStamps { consumer: of, user, key_id, up_to_ms } = forgotten;
    let values = params![consumer(*of), user, format!("{:016x}", key_id.0), up_to_ms];
    transaction
        .prepare_cached(
            "INSERT INTO forgotten_signature (consumer, user, key_id, up_to_ms) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (consumer, user, key_id) DO UPDATE SET up_to_ms = max(up_to_ms, excluded.up_to_ms)",
        )?
        .execute(values)?;
    transaction
        .prepare_cached(
            "DELETE FROM used_signature WHERE consumer = ?1 AND user = ?2 AND key_id = ?3 AND timestamp_ms <= ?4",
        )?
        .execute(values)
        .map(drop)
}

fn record_bid(
    transaction: &Transaction<'_>,
    number: FactNumber,
    queue: &QueueName,
    rate: Credits,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO bid_change (number, wall_ms, queue, rate_units)
             SELECT ?1, coalesce((SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1), 0), ?2, ?3
             WHERE NOT EXISTS (SELECT 1 FROM account WHERE queue = ?2 AND rate_units = ?3)",
        )?
        .execute(params![number.0.cast_signed(), queue.as_str(), units(rate)])
        .map(drop)
}

/// Records an order as it is from now on, or that its owner took it back.
fn record_order_change(
    transaction: &Transaction<'_>,
    number: FactNumber,
    queue: &QueueName,
    job: JobId,
    order: Option<&Order>,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO order_change (number, wall_ms, job, queue, deadline_ms, max_rate_units, max_cost_units)
             VALUES (?1, coalesce((SELECT wall_ms FROM tick ORDER BY number DESC LIMIT 1), 0), ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            number.0.cast_signed(),
            job.to_string(),
            queue.as_str(),
            order.map(|order| order.deadline_ms),
            order.map(|order| units(order.max_rate)),
            order.and_then(|order| order.max_cost).map(units),
        ])
        .map(drop)
}

fn record_allowance(transaction: &Transaction<'_>, queue: &QueueName, allowance: &Allowance) -> rusqlite::Result<()> {
    let Allowance { credits, every_s, cap, by, periods, due_ms } = allowance;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO allowance
                 (queue, credits, credits_units, every_s, cap, cap_units, set_by, periods, due_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            queue.as_str(),
            credits.to_string(),
            units(*credits),
            every_s.cast_signed(),
            cap.map(|cap| cap.to_string()),
            cap.map(units),
            by,
            periods.cast_signed(),
            due_ms,
        ])
        .map(drop)
}

/// Records a tick: its charges, the balances after them, the intervals it opens, and its own row.
fn record_tick(
    transaction: &Transaction<'_>,
    missed_updates: &mut MissedUpdates,
    fact: FactNumber,
    tick: &Tick,
) -> rusqlite::Result<()> {
    for entry in tick.charges() {
        record_ledger_entry(transaction, &entry)?;
    }
    for QueueTick { queue, balance, .. } in
        tick.queue_ticks.iter().filter(|queue_tick| queue_tick.charges().next().is_some())
    {
        let charge = "UPDATE account SET balance = ?2, balance_units = ?3 WHERE queue = ?1";
        let values = params![queue.as_str(), balance.to_string(), units(*balance)];
        update_row(transaction, missed_updates, fact, charge, values)?;
    }
    let mut open =
        transaction.prepare_cached("INSERT OR REPLACE INTO allocation (queue, tick, interval) VALUES (?1, ?2, ?3)")?;
    for (queue, interval) in tick.intervals() {
        let interval = json(interval)?;
        open.execute(params![queue.as_str(), tick.number.cast_signed(), interval])?;
    }
    let Tick { number, wall_ms, interval_ms, price, ledger, .. } = tick;
    transaction
        .prepare_cached(
            "INSERT INTO tick (number, wall_ms, price, price_units, ledger_rows, issued, issued_units, charged,
                 charged_units, interval_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            number.cast_signed(),
            wall_ms,
            price.to_string(),
            units(*price),
            ledger.rows.cast_signed(),
            ledger.issued.to_string(),
            units(ledger.issued),
            ledger.charged.to_string(),
            units(ledger.charged),
            interval_ms.cast_signed(),
        ])?;
    // It is charged.
    transaction.prepare_cached("DELETE FROM metered")?.execute([])?;
    transaction
        .prepare_cached("DELETE FROM allocation WHERE tick < ?1")?
        .execute(params![number.cast_signed()])
        .map(drop)
}

/// Number of the row of `metered` for a moment at which nothing changed.
const UNCHANGED: i64 = 0;

/// Records what was held in the open interval: a row for each change, and one for the last moment without any.
fn record_metered(transaction: &Transaction<'_>, fact: FactNumber, metered: &Metered) -> rusqlite::Result<()> {
    let Metered { tick, offset_ms, changes } = metered;
    let (number, changes) = match changes.is_empty() {
        true => (UNCHANGED, None),
        false => (fact.0.cast_signed(), Some(json(changes)?)),
    };
    transaction
        .prepare_cached("INSERT OR REPLACE INTO metered (number, tick, offset_ms, changes) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![number, tick.cast_signed(), offset_ms.cast_signed(), changes])
        .map(drop)
}

pub(super) fn record_cost(transaction: &Transaction<'_>, tick: u64, cost: &JobCost) -> rusqlite::Result<()> {
    let JobCost { job, cost, slot_ms, sampled_slots } = cost;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO job_cost
                 (job, tick, map_slots, reduce_slots, map_slot_ms, reduce_slot_ms, cost, cost_units)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            job.to_string(),
            tick.cast_signed(),
            sampled_slots.map.cast_signed(),
            sampled_slots.reduce.cast_signed(),
            slot_ms.map.cast_signed(),
            slot_ms.reduce.cast_signed(),
            cost.to_string(),
            units(*cost),
        ])
        .map(drop)
}

fn record_ledger_entry(transaction: &Transaction<'_>, entry: &LedgerEntry) -> rusqlite::Result<()> {
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
    transaction
        .prepare_cached(
            "INSERT INTO ledger (number, tick, wall_ms, queue, reason, rate, rate_units, map_slots, reduce_slots,
                 container_slots, amount, amount_units, debit, credit, other_queue, made_by, note, interval_ms,
                 map_slot_ms, reduce_slot_ms, container_slot_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        )?
        .execute(params![
            entry.number.cast_signed(),
            entry.tick.cast_signed(),
            entry.wall_ms,
            queue,
            reason(&entry.reason),
            rate.map(|rate| rate.to_string()),
            rate.map(units),
            slots.map(|(map, ..)| map),
            slots.map(|(_, reduce, _)| reduce),
            slots.map(|(.., container)| container),
            entry.amount.to_string(),
            units(entry.amount),
            account(&entry.debit),
            account(&entry.credit),
            other_queue,
            given(&entry.by),
            given(&entry.note),
            interval_ms,
            slot_ms.map(|slot_ms| slot_ms.map.cast_signed()),
            slot_ms.map(|slot_ms| slot_ms.reduce.cast_signed()),
            slot_ms.map(|slot_ms| slot_ms.container.cast_signed()),
        ])
        .map(drop)
}

fn units(amount: Credits) -> String {
    amount.units().to_string()
}

fn account(account: &LedgerAccount) -> String {
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

fn consumer(consumer: Consumer) -> &'static str {
    match consumer {
        Consumer::Servlet => "servlet",
        Consumer::Job => "job",
        Consumer::Upload => "upload",
        Consumer::Application => "application",
        Consumer::Secret => "secret",
    }
}
