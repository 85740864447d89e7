//! The bill of a user, and whether it is right to the last digit.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::api::{MovementReason, Statement};
use crate::model::Credits;

/// A user's charges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bill {
    /// The printed text.
    pub(super) text: String,
    /// Errors, one text each.
    pub(super) wrong: Vec<String>,
}

/// What a user knows without the statement.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// The first balance, credits.
    pub(super) start: Credits,
    /// The balance that `/scheduler` shows at the end, credits.
    pub(super) end: Credits,
    /// The rates that were bid, in this order, credits for one slot over one interval.
    pub(super) bids: Vec<Credits>,
    /// From the submission of the job to its end.
    pub(super) lasted: Duration,
}

/// A job of this length had running tasks at more than one tick.
const SURELY_CHARGED: Duration = Duration::from_secs(5);

/// Charges of one rate for one number of slots.
#[derive(Clone, Copy, Debug, Default)]
struct Lot {
    /// The first tick.
    first: u64,
    ticks: u64,
    amount: Credits,
}

// === impl Bill ===

impl Bill {
    /// Sums the statement and compares it with what the user knows.
    pub(super) fn of(statement: &Statement, expected: &Expected) -> Self {
        let queue = statement.queue.as_str();
        let mut wrong = Vec::new();
        let mut lots: BTreeMap<(Credits, u64), Lot> = BTreeMap::new();
        let (mut received, mut charged, mut last_tick) = (Credits::ZERO, Credits::ZERO, None);
        for row in &statement.rows {
            if row.reason != MovementReason::Charge {
                received = sum(received, row.amount);
                continue;
            }
            let paid = difference(Credits::ZERO, row.amount);
            charged = sum(charged, paid);
            let slots = [row.map_slots, row.reduce_slots, row.container_slots].into_iter().flatten().sum();
            let rate = row.rate.unwrap_or_default();
            if rate.checked_mul(slots) != Some(paid) {
                wrong.push(format!("{queue}, tick {}: charged {paid}, not {rate} x {slots}", row.tick));
            }
            if !expected.bids.contains(&rate) {
                wrong.push(format!("{queue}, tick {}: charged at the rate {rate}, which was never bid", row.tick));
            }
            if last_tick.is_some_and(|last| row.tick <= last) {
                wrong.push(format!("{queue}, tick {}: charged twice", row.tick));
            }
            last_tick = Some(row.tick);
            let lot = lots.entry((rate, slots)).or_insert(Lot { first: row.tick, ..Lot::default() });
            lot.ticks += 1;
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

fn text(queue: &str, expected: &Expected, charged: Credits, lots: BTreeMap<(Credits, u64), Lot>) -> String {
    let Expected { start, end, bids, .. } = expected;
    let mut lots: Vec<_> = lots.into_iter().collect();
    // In the order of the bids, then of time.
    lots.sort_by_key(|((rate, _), lot)| (bids.iter().position(|bid| bid == rate), lot.first));
    let mut text = format!("{queue}: {start} credits at the start");
    for ((rate, slots), Lot { ticks, amount, .. }) in lots {
        let line = format!("{rate} x {slots:>2} {} x {ticks} {}", nouns(slots, "slot"), nouns(ticks, "tick"));
        text += &format!("\n  {line:<25} = {:>7}", amount.to_string());
    }
    text + &format!("\n  charged {charged}, left {end}")
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

    fn charge(tick: u64, rate: &str, slots: u64, amount: &str) -> StatementRow {
        StatementRow {
            rate: Some(credits(rate)),
            map_slots: Some(slots),
            reduce_slots: Some(1),
            ..row(tick, tick, MovementReason::Charge, amount)
        }
    }

    fn statement() -> (Statement, Expected) {
        let rows = vec![
            row(0, 0, MovementReason::Endowment, "1000"),
            charge(3, "1.1", 11, "-13.2"),
            charge(4, "1.1", 3, "-4.4"),
            charge(5, "1.1", 11, "-13.2"),
            charge(6, "6.6", 0, "-6.6"),
        ];
        let balance = credits("962.6");
        let statement = Statement { queue: QueueName::new("alice").unwrap(), balance, rows, has_earlier: false };
        let bids = vec![credits("1.1"), credits("6.6")];
        let expected = Expected { start: credits("1000"), end: balance, bids, lasted: SURELY_CHARGED };
        (statement, expected)
    }

    #[test]
    fn a_bill_says_what_was_paid_for() {
        let (statement, expected) = statement();
        let bill = Bill::of(&statement, &expected);
        assert_eq!(bill.wrong, [""; 0]);
        insta::assert_snapshot!(bill.text, @"
        alice: 1000.0 credits at the start
          1.1 x 12 slots x 2 ticks  =    26.4
          1.1 x  4 slots x 1 tick   =     4.4
          6.6 x  1 slot x 1 tick    =     6.6
          charged 37.4, left 962.6
        ");
    }

    #[test]
    fn whatever_is_wrong_is_found() {
        let wrong_after = |change: fn(&mut Statement, &mut Expected)| {
            let (mut statement, mut expected) = statement();
            change(&mut statement, &mut expected);
            Bill::of(&statement, &expected).wrong
        };
        // The last unit counts.
        let wrong = wrong_after(|statement, _| statement.rows[1].amount = credits("-13.200000000001"));
        insta::assert_snapshot!(wrong.join("\n"), @"
        alice, tick 3: charged 13.200000000001, not 1.1 x 12
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
        let uncharged = |statement: &mut Statement, expected: &mut Expected| {
            statement.rows.truncate(1);
            (statement.balance, expected.end) = (expected.start, expected.start);
        };
        assert_eq!(wrong_after(uncharged), ["alice: nothing was charged"]);
    }
}
