//! The bill of a user, and whether it is right to the last digit.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::api::{MovementReason, Statement};
use crate::model::Credits;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bill {
    pub(super) text: String,
    /// Errors, one text each.
    pub(super) wrong: Vec<String>,
}

/// What a user knows without the statement.
#[derive(Clone, Debug)]
pub(super) struct ExpectedBill {
    /// The first balance, credits.
    pub(super) start: Credits,
    /// The balance that `/scheduler` shows at the end, credits.
    pub(super) end: Credits,
    /// The rates that were bid, in this order, credits for one slot over one interval.
    pub(super) bids: Vec<Credits>,
    /// Time between two ticks, ms.
    pub(super) interval_ms: u64,
    /// From the submission of the job to its end.
    pub(super) lasted: Duration,
}

/// A job of this length had running tasks at more than one tick.
const SURELY_CHARGED: Duration = Duration::from_secs(5);

/// Charges of one rate.
#[derive(Clone, Copy, Debug, Default)]
struct Lot {
    slot_ms: u64,
    ticks: u64,
    amount: Credits,
}

impl Bill {
    /// Sums the statement and compares it with what the user knows.
    pub(super) fn of(statement: &Statement, expected: &ExpectedBill) -> Self {
        let queue = statement.queue.as_str();
        let mut wrong = Vec::new();
        let mut lots: BTreeMap<Credits, Lot> = BTreeMap::new();
        let (mut received, mut charged, mut last_tick) = (Credits::ZERO, Credits::ZERO, None);
        for row in &statement.rows {
            if row.reason != MovementReason::Charge {
                received = sum(received, row.amount);
                continue;
            }
            let paid = difference(Credits::ZERO, row.amount);
            charged = sum(charged, paid);
            let slot_ms = [row.map_slot_ms, row.reduce_slot_ms, row.container_slot_ms].into_iter().flatten().sum();
            let rate = row.rate.unwrap_or_default();
            // To the last unit, rounded down: rate x slot-seconds / interval.
            let due = rate.units() * i128::from(slot_ms) / i128::from(expected.interval_ms.max(1));
            if due != paid.units() || row.interval_ms != Some(expected.interval_ms) {
                let interval_s = seconds(row.interval_ms.unwrap_or_default());
                let slot_s = seconds(slot_ms);
                wrong.push(format!(
                    "{queue}, tick {}: charged {paid}, not {rate} x {slot_s} slot-s / {interval_s} s",
                    row.tick
                ));
            }
            if !expected.bids.contains(&rate) {
                wrong.push(format!("{queue}, tick {}: charged at the rate {rate}, which was never bid", row.tick));
            }
            if last_tick.is_some_and(|last| row.tick <= last) {
                wrong.push(format!("{queue}, tick {}: charged twice", row.tick));
            }
            last_tick = Some(row.tick);
            let lot = lots.entry(rate).or_default();
            lot.ticks += 1;
            lot.slot_ms += slot_ms;
            lot.amount = sum(lot.amount, paid);
        }
        if charged == Credits::ZERO && expected.lasted >= SURELY_CHARGED {
            wrong.push(format!("{queue}: nothing was charged"));
        }
        if received != expected.start {
            wrong.push(format!("{queue}: the ledger begins with {received}, the budget file with {}", expected.start));
        }
        for (whose, end) in [("the statement", statement.balance), ("/scheduler", expected.end)] {
            if expected.start.checked_sub(charged) != Some(end) {
                wrong.push(format!("{queue}: {} - {charged} is not {end}, as {whose} has it", expected.start));
            }
        }
        Self { text: text(queue, expected, charged, lots), wrong }
    }
}

fn text(queue: &str, expected: &ExpectedBill, charged: Credits, lots: BTreeMap<Credits, Lot>) -> String {
    let ExpectedBill { start, end, bids, interval_ms, .. } = expected;
    let mut lots: Vec<_> = lots.into_iter().collect();
    // In the order of the bids.
    lots.sort_by_key(|(rate, _)| bids.iter().position(|bid| bid == rate));
    let mut text = format!("{queue}: {start} credits at the start");
    for (rate, Lot { slot_ms, ticks, amount }) in lots {
        let (slot_s, interval_s) = (seconds(slot_ms), seconds(*interval_ms));
        let line = format!("{rate} x {slot_s} slot-s / {interval_s} s, in {ticks} {}", nouns(ticks, "tick"));
        text += &format!("\n  {line:<40} = {amount:>7}", amount = amount.to_string());
    }
    text + &format!("\n  charged {charged}, left {end}")
}

/// Milliseconds as seconds, without needless zeros.
fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn nouns(number: u64, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// Saturates: no sum of a demo comes near the limits, and one that did would fail the check.
fn sum(one: Credits, other: Credits) -> Credits {
    one.checked_add(other).unwrap_or(Credits::MAX)
}

fn difference(from: Credits, amount: Credits) -> Credits {
    from.checked_sub(amount).unwrap_or(Credits::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::StatementRow;
    use crate::model::QueueName;

    fn credits(text: &str) -> Credits {
        text.parse().unwrap()
    }

    fn row(number: u64, tick: u64, reason: MovementReason, amount: &str) -> StatementRow {
        StatementRow {
            number,
            time_ms: 0,
            day: None,
            movements: 1,
            tick,
            reason,
            rate: None,
            interval_ms: None,
            map_slot_ms: None,
            reduce_slot_ms: None,
            container_slot_ms: None,
            map_slots: None,
            reduce_slots: None,
            container_slots: None,
            other_queue: None,
            by: None,
            note: None,
            amount: credits(amount),
            balance: None,
        }
    }

    fn charge(tick: u64, rate: &str, slot_ms: u64, amount: &str) -> StatementRow {
        StatementRow {
            rate: Some(credits(rate)),
            interval_ms: Some(2_000),
            map_slot_ms: Some(slot_ms),
            reduce_slot_ms: Some(2_000),
            container_slot_ms: Some(0),
            ..row(tick, tick, MovementReason::Charge, amount)
        }
    }

    fn statement() -> (Statement, ExpectedBill) {
        let rows = vec![
            row(0, 0, MovementReason::Endowment, "1000"),
            charge(3, "1.1", 22_000, "-13.2"),
            charge(4, "1.1", 6_001, "-4.40055"),
            charge(5, "1.1", 21_999, "-13.19945"),
            charge(6, "6.6", 0, "-6.6"),
        ];
        let balance = credits("962.6");
        let statement = Statement { queue: QueueName::new("alice").unwrap(), balance, rows, has_earlier: false };
        let bids = vec![credits("1.1"), credits("6.6")];
        let expected =
            ExpectedBill { start: credits("1000"), end: balance, bids, interval_ms: 2_000, lasted: SURELY_CHARGED };
        (statement, expected)
    }

    #[test]
    fn a_bill_says_what_was_paid_for() {
        let (statement, expected) = statement();
        let bill = Bill::of(&statement, &expected);
        assert_eq!(bill.wrong, [""; 0]);
        insta::assert_snapshot!(bill.text, @"
        alice: 1000.0 credits at the start
          1.1 x 56 slot-s / 2 s, in 3 ticks        =    30.8
          6.6 x 2 slot-s / 2 s, in 1 tick          =     6.6
          charged 37.4, left 962.6
        ");
    }

    #[test]
    fn whatever_is_wrong_is_found() {
        let wrong_after = |change: fn(&mut Statement, &mut ExpectedBill)| {
            let (mut statement, mut expected) = statement();
            change(&mut statement, &mut expected);
            Bill::of(&statement, &expected).wrong
        };
        // The last unit counts.
        let wrong = wrong_after(|statement, _| statement.rows[1].amount = credits("-13.200000000001"));
        insta::assert_snapshot!(wrong.join("\n"), @"
        alice, tick 3: charged 13.200000000001, not 1.1 x 24 slot-s / 2 s
        alice: 1000.0 - 37.400000000001 is not 962.6, as the statement has it
        alice: 1000.0 - 37.400000000001 is not 962.6, as /scheduler has it
        ");
        let wrong = wrong_after(|_, expected| expected.end = credits("962.5"));
        insta::assert_snapshot!(wrong.join("\n"), @"alice: 1000.0 - 37.4 is not 962.5, as /scheduler has it");
        let wrong = wrong_after(|statement, _| statement.balance = credits("1"));
        insta::assert_snapshot!(wrong.join("\n"), @"alice: 1000.0 - 37.4 is not 1.0, as the statement has it");
        let wrong = wrong_after(|_, expected| expected.bids.truncate(1));
        insta::assert_snapshot!(wrong.join("\n"), @"alice, tick 6: charged at the rate 6.6, which was never bid");
        let wrong = wrong_after(|statement, _| statement.rows[3].tick = 4);
        insta::assert_snapshot!(wrong.join("\n"), @"alice, tick 4: charged twice");
        let wrong = wrong_after(|statement, _| statement.rows[0].amount = credits("999"));
        insta::assert_snapshot!(wrong.join("\n"), @"alice: the ledger begins with 999.0, the budget file with 1000.0");
        let uncharged = |statement: &mut Statement, expected: &mut ExpectedBill| {
            statement.rows.truncate(1);
            (statement.balance, expected.end) = (expected.start, expected.start);
        };
        assert_eq!(wrong_after(uncharged), ["alice: nothing was charged"]);
    }
}
