//! The laws of money, held against what a dead daemon left: every sum is worked out anew from the ledger's rows.

use std::collections::{BTreeMap, BTreeSet};

use super::amount::decimal;
use super::evidence::{Evidence, LedgerRow, Tick};

/// What earlier looks found: rows that must not change any more.
#[derive(Debug, Default)]
pub struct Seen {
    /// Every movement there ever was, by its number.
    pub ledger: BTreeMap<i64, LedgerRow>,
    ticks: BTreeMap<i64, Tick>,
}

/// What is wrong, and how many charges were looked at for the first time. From then on `seen` holds the ledger in detail.
/// `before` is what the daemon found that left this.
pub fn violations(evidence: &Evidence, before: &Evidence, seen: &mut Seen) -> (Vec<String>, usize) {
    let mut wrong = Vec::new();
    takes_over(evidence, before, &mut wrong);
    numbers(evidence, &mut wrong);
    rows(evidence, &mut wrong);
    balances(evidence, &mut wrong);
    costs(evidence, &mut wrong);
    ticks(evidence, &mut wrong);
    let new_charges = history(evidence, seen, &mut wrong);
    (wrong, new_charges)
}

/// Rows and ticks have numbers without gaps; a daily sum stands for as many as it says.
fn numbers(evidence: &Evidence, wrong: &mut Vec<String>) {
    let folded = evidence.folded_through();
    let movements: i64 = evidence.ledger.iter().map(|row| row.movements).sum();
    let last = evidence.ledger.last().map_or(0, |row| row.number);
    if movements != last {
        wrong.push(format!("the ledger ends with number {last}, but has {movements} movements"));
    }
    for (expected, row) in (folded + 1..).zip(evidence.ledger.iter().filter(|row| row.number > folded)) {
        if row.number != expected {
            wrong.push(format!("row {} of the ledger stands where {expected} should", row.number));
            break;
        }
    }
    for (expected, tick) in (1..).zip(&evidence.ticks) {
        if tick.number != expected {
            wrong.push(format!("tick {} stands where {expected} should", tick.number));
            break;
        }
    }
}

/// Each row is of a kind that there is, at its place among the ticks, and each charge is rate x slots x their part of the
/// interval, once an interval.
fn rows(evidence: &Evidence, wrong: &mut Vec<String>) {
    let rows_up_to: BTreeMap<i64, i64> = evidence.ticks.iter().map(|tick| (tick.number, tick.ledger_rows)).collect();
    let mut charged = BTreeSet::new();
    for row in &evidence.ledger {
        let mut say = |text: String| wrong.push(format!("row {} of the ledger {text}: {row:?}", row.number));
        let (from, to) = (row.debit.as_str(), row.credit.as_str());
        let is_known = match row.reason.as_str() {
            "charge" => from.starts_with("queue:") && to == "revenue",
            "endowment" => from == "issued" && to.starts_with("queue:"),
            "closing" => from.starts_with("queue:") && to == "issued",
            "top_up" | "adjustment" => {
                [(from, to), (to, from)].iter().any(|(a, b)| *a == "issued" && b.starts_with("queue:"))
            }
            _ => false,
        };
        if !is_known || row.amount <= 0 || row.of_queue().map(|(queue, _)| queue) != row.queue.as_deref() {
            say("is no movement that there may be".to_owned());
        }
        let is_charge = row.reason == "charge";
        if is_charge != row.slot_ms.is_some() {
            say("has slots where it should not, or none where it should".to_owned());
        }
        if let (Some(rate), Some((maps, reduces)), Some(interval_ms)) = (row.rate, row.slot_ms, row.interval_ms)
            && rate * i128::from(maps + reduces) / i128::from(interval_ms.max(1)) != row.amount
        {
            say(format!("is not {} x {} ms of slots / {interval_ms} ms", decimal(rate), maps + reduces));
        }
        if row.day.is_some() {
            continue;
        }
        if is_charge && (row.rate.is_none() || row.interval_ms.is_none()) {
            say("has no rate or no length".to_owned());
        }
        if is_charge && !charged.insert((row.queue.clone(), row.tick)) {
            say("charges an interval a second time".to_owned());
        }
        // A charge belongs to the tick that ends the interval and stands before it, everything else to the one before.
        let (after, before) = if is_charge { (row.tick - 1, row.tick) } else { (row.tick, row.tick + 1) };
        let first = if after == 0 { Some(&0) } else { rows_up_to.get(&after) };
        let last = rows_up_to.get(&before);
        if first.is_none_or(|first| row.number <= *first)
            || last.is_some_and(|last| row.number > *last)
            || (is_charge && last.is_none())
        {
            say(format!("lies beside the ticks {after} ({first:?} rows) and {before} ({last:?} rows)"));
        }
    }
}

/// The accounts are what the rows sum to, each and all together, and were never below zero.
fn balances(evidence: &Evidence, wrong: &mut Vec<String>) {
    let mut sums: BTreeMap<&str, i128> = BTreeMap::new();
    for row in &evidence.ledger {
        let Some((queue, amount)) = row.of_queue() else { continue };
        let sum = sums.entry(queue).or_default();
        *sum += amount;
        // Within a day the order of sums is lost.
        if *sum < 0 && row.day.is_none() {
            wrong.push(format!("after row {} of the ledger {queue} has {}", row.number, decimal(*sum)));
        }
    }
    let (issued, charged) = evidence.issued_and_charged(i64::MAX);
    let total: i128 = evidence.accounts.values().map(|(balance, _)| balance).sum();
    if total != issued - charged {
        let [total, issued, charged] = [total, issued, charged].map(decimal);
        wrong.push(format!("the accounts hold {total}, but {issued} was issued and {charged} charged"));
    }
    for (queue, (balance, _)) in &evidence.accounts {
        let sum = sums.remove(queue.as_str()).unwrap_or(0);
        if sum != *balance {
            wrong.push(format!("{queue} has {}, but its rows sum to {}", decimal(*balance), decimal(sum)));
        }
    }
    for (queue, sum) in sums.into_iter().filter(|(_, sum)| *sum != 0) {
        wrong.push(format!("{queue} is gone, but its rows sum to {}", decimal(sum)));
    }
}

/// What a queue was charged is what its jobs have cost.
fn costs(evidence: &Evidence, wrong: &mut Vec<String>) {
    let mut charged: BTreeMap<String, i128> = BTreeMap::new();
    for row in evidence.ledger.iter().filter(|row| row.reason == "charge") {
        *charged.entry(row.queue.clone().unwrap_or_default()).or_default() += row.amount;
    }
    for queue in charged.keys().chain(evidence.costs.keys()).collect::<BTreeSet<_>>() {
        let [charged, costs] = [&charged, &evidence.costs].map(|sums| decimal(sums.get(queue).copied().unwrap_or(0)));
        if charged != costs {
            wrong.push(format!("{queue} was charged {charged}, its jobs have cost {costs}"));
        }
    }
}

/// The totals that each tick tells are those of the rows up to it.
fn ticks(evidence: &Evidence, wrong: &mut Vec<String>) {
    let mut rows = evidence.ledger.iter().peekable();
    let (mut issued, mut charged) = (0, 0);
    let mut last_ms = i64::MIN;
    for tick in &evidence.ticks {
        while let Some(row) = rows.next_if(|row| row.number <= tick.ledger_rows) {
            issued += row.issued();
            charged += row.charged();
        }
        // Of a tick among rows that were folded the rows no longer tell.
        if tick.ledger_rows >= evidence.folded_through() && (tick.issued, tick.charged) != (issued, charged) {
            let [issued, charged] = [issued, charged].map(decimal);
            wrong.push(format!("the rows up to tick {} sum to {issued} and {charged}: {tick:?}", tick.number));
        }
        if tick.wall_ms < last_ms {
            wrong.push(format!("tick {} lies before the one before it", tick.number));
        }
        last_ms = tick.wall_ms;
    }
    let last = evidence.last_tick();
    if let Some((queue, of)) =
        evidence.allocations.iter().find(|(_, of)| last.is_none_or(|last| of.tick != last.number))
    {
        wrong.push(format!("the interval of {queue} is not of the last tick: {of:?}"));
    }
}

/// The interval that was open when a daemon died is charged at the rate and within the quota that it was bought with.
fn takes_over(evidence: &Evidence, before: &Evidence, wrong: &mut Vec<String>) {
    let number = before.last_tick().map_or(0, |tick| tick.number) + 1;
    for row in evidence.ledger.iter().filter(|row| row.reason == "charge" && row.day.is_none() && row.tick == number) {
        let bought = row.queue.as_ref().and_then(|queue| before.allocations.get(queue));
        let is_within = bought.zip(row.slot_ms).is_some_and(|(bought, (maps, reduces))| {
            let interval_ms = row.interval_ms.unwrap_or(0);
            let is_bought = |slot_ms: i64, slots: i64| slot_ms <= slots * interval_ms;
            row.rate == Some(bought.rate)
                && is_bought(maps, bought.map_slots)
                && is_bought(reduces, bought.reduce_slots)
        });
        if !is_within {
            wrong.push(format!("bought were {bought:?}, charged is {row:?}"));
        }
    }
}

/// What was there stays as it was: rows are only added, and folded ones are in their day's sum.
fn history(evidence: &Evidence, seen: &mut Seen, wrong: &mut Vec<String>) -> usize {
    let folded = evidence.folded_through();
    let present: BTreeMap<i64, &LedgerRow> =
        evidence.ledger.iter().filter(|row| row.number > folded).map(|row| (row.number, row)).collect();
    for (number, row) in seen.ledger.range(folded + 1..) {
        if present.get(number) != Some(&row) {
            wrong.push(format!("row {number} of the ledger was {row:?} and is {:?}", present.get(number)));
        }
    }
    type Heading = (String, String, String);
    let heading = |row: &LedgerRow| -> Heading { (row.reason.clone(), row.debit.clone(), row.credit.clone()) };
    let sum_up = |rows: &mut dyn Iterator<Item = &LedgerRow>| {
        let mut sums: BTreeMap<Heading, (i128, i64, i64)> = BTreeMap::new();
        for row in rows {
            let sum = sums.entry(heading(row)).or_default();
            let slot_ms = row.slot_ms.map_or(0, |(maps, reduces)| maps + reduces);
            *sum = (sum.0 + row.amount, sum.1 + slot_ms, sum.2 + row.movements);
        }
        sums
    };
    let before = sum_up(&mut seen.ledger.range(..=folded).map(|(_, row)| row));
    let after = sum_up(&mut evidence.ledger.iter().filter(|row| row.number <= folded));
    for (heading, sum) in &before {
        if after.get(heading) != Some(sum) {
            wrong.push(format!(
                "{heading:?}: the rows up to {folded} summed to {sum:?} and now to {:?}",
                after.get(heading)
            ));
        }
    }
    let ticks: BTreeMap<i64, &Tick> = evidence.ticks.iter().map(|tick| (tick.number, tick)).collect();
    for (number, tick) in &seen.ticks {
        if ticks.get(number) != Some(&tick) {
            wrong.push(format!("tick {number} was {tick:?} and is {:?}", ticks.get(number)));
        }
    }
    let mut new_charges = 0;
    for row in evidence.ledger.iter().filter(|row| row.day.is_none()) {
        let is_new = seen.ledger.insert(row.number, row.clone()).is_none();
        new_charges += usize::from(is_new && row.reason == "charge");
    }
    seen.ticks.extend(evidence.ticks.iter().map(|tick| (tick.number, tick.clone())));
    new_charges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bidding::evidence::Allocation;

    const STARTED_MS: i64 = 1000;

    fn row(number: i64, tick: i64, reason: &str, debit: &str, credit: &str, amount: i128) -> LedgerRow {
        let queue = [debit, credit].iter().find_map(|account| account.strip_prefix("queue:")).map(str::to_owned);
        let is_charge = reason == "charge";
        LedgerRow {
            number,
            tick,
            wall_ms: 0,
            queue,
            reason: reason.to_owned(),
            rate: is_charge.then_some(3),
            slot_ms: is_charge.then_some((1_000, 1_000)),
            interval_ms: is_charge.then_some(1_000),
            amount,
            debit: debit.to_owned(),
            credit: credit.to_owned(),
            day: None,
            movements: 1,
        }
    }

    fn tick(number: i64, ledger_rows: i64, issued: i128, charged: i128) -> Tick {
        Tick { number, wall_ms: STARTED_MS + 1000 * number, price: 3, ledger_rows, issued, charged }
    }

    /// Two queues with 100 each; a got 50 more and was charged 2 x 3 by the second tick.
    fn good() -> Evidence {
        Evidence {
            accounts: BTreeMap::from([("a".to_owned(), (144, 3)), ("b".to_owned(), (100, 0))]),
            ledger: vec![
                row(1, 0, "endowment", "issued", "queue:a", 100),
                row(2, 0, "endowment", "issued", "queue:b", 100),
                row(3, 1, "top_up", "issued", "queue:a", 50),
                row(4, 2, "charge", "queue:a", "revenue", 6),
            ],
            ticks: vec![tick(1, 2, 200, 0), tick(2, 4, 250, 6)],
            costs: BTreeMap::from([("a".to_owned(), 6)]),
            ..Evidence::default()
        }
    }

    fn before() -> Evidence {
        let bought = Allocation { tick: 1, rate: 3, map_slots: 1, reduce_slots: 1, used: 0, pending: 2 };
        let mut before = good();
        before.ticks.truncate(1);
        before.allocations.insert("a".to_owned(), bought);
        before
    }

    fn complaints(evidence: &Evidence) -> String {
        let mut seen = Seen::default();
        assert_eq!(violations(&good(), &Evidence::default(), &mut seen), (Vec::new(), 1));
        violations(evidence, &before(), &mut seen).0.join("\n")
    }

    #[test]
    fn a_right_ledger_passes_once_more() {
        assert_eq!(complaints(&good()), "");
    }

    #[test]
    fn whatever_breaks_a_law_is_told() {
        type Breakage = fn(&mut Evidence);
        let cases: [(Breakage, &str); 17] = [
            (|e| e.accounts.retain(|queue, _| queue == "a"), "is gone, but its rows sum to"),
            (|e| e.accounts.get_mut("a").unwrap().0 += 1, "the accounts hold"),
            (|e| drop(e.ledger.pop()), "row 4 of the ledger was"),
            (|e| drop(e.ledger.remove(1)), "stands where 2 should"),
            (|e| e.ledger[3].amount = 7, "is not 0.000000000003 x 2"),
            (|e| e.ledger[3].rate = None, "has no rate"),
            (|e| e.ledger[3].tick = 3, "lies beside the ticks"),
            (|e| e.ledger[2].tick = 0, "lies beside the ticks"),
            (|e| e.ledger[2].credit = "revenue".to_owned(), "is no movement"),
            (|e| e.ledger.swap(0, 3), "a has -0.0"),
            (|e| e.ledger.push(LedgerRow { number: 5, ..e.ledger[3].clone() }), "a second time"),
            (|e| e.ticks.retain(|tick| tick.number == 2), "tick 2 stands where 1 should"),
            (|e| e.ticks[1].charged = 5, "the rows up to tick 2 sum to"),
            (|e| e.ledger[3].slot_ms = Some((0, 2_000)), "bought were"),
            (|e| e.ledger[2].wall_ms = 5, "row 3 of the ledger was"),
            (|e| e.ticks[0].price = 5, "tick 1 was"),
            (|e| e.costs.clear(), "its jobs have cost 0.0"),
        ];
        for (breakage, expected) in cases {
            let mut evidence = good();
            breakage(&mut evidence);
            let told = complaints(&evidence);
            assert!(told.contains(expected), "{expected:?} is not told by {told:?}");
        }
    }

    #[test]
    fn folded_rows_must_sum_to_what_they_were() {
        let mut evidence = good();
        evidence.notes.insert("ledger_folded_through".to_owned(), "3".to_owned());
        for row in &mut evidence.ledger[..3] {
            row.day = Some("2026-10-01".to_owned());
        }
        assert_eq!(complaints(&evidence), "");
        evidence.ledger[0].amount -= 1;
        evidence.ledger[2].amount += 1;
        assert!(complaints(&evidence).contains("summed to"), "though the accounts are right");
    }
}
