//! What clients were told, held against what a dead daemon left: everything acknowledged is there, what was in flight is
//! there wholly or not at all, and nothing is there that nobody asked for.

use std::collections::{BTreeMap, BTreeSet};

use super::amount::decimal;
use super::book::{Book, Change, Outcome, Request};
use super::evidence::{Evidence, LedgerRow};
use super::world::World;

/// Every movement, by its number.
type Ledger = BTreeMap<i64, LedgerRow>;

/// Settles what is not known of lost answers by what is there, and tells what is wrong. `ledger` holds every movement.
pub fn violations(evidence: &Evidence, ledger: &Ledger, book: &mut Book, world: &World) -> Vec<String> {
    if ledger.is_empty() && book.requests.is_empty() {
        // The daemon has never been ready: nothing or all of the budget file has come in.
        let is_empty = evidence.accounts.is_empty() && evidence.used.is_empty() && evidence.jobs.is_empty();
        return Vec::from_iter((!is_empty).then(|| format!("there is something without a ledger: {evidence:?}")));
    }
    let mut wrong = Vec::new();
    let mut top_ups = top_ups(ledger, book, &mut wrong);
    settle(evidence, book, &top_ups);
    for (number, request) in (1..).zip(&book.requests) {
        let Change::Money(_) = request.change else { continue };
        if request.outcome.is_done() != top_ups.remove(&number).is_some() {
            wrong.push(format!(
                "request {number} has a row in the ledger, or has none, against its outcome: {request:?}"
            ));
        }
    }
    standing(evidence, book, world, &mut wrong);
    endowments(ledger, world, &mut wrong);
    closings(ledger, book, &mut wrong);
    charges(evidence, ledger, book, world, &mut wrong);
    signatures(evidence, book, world, &mut wrong);
    for submission in book.submissions.iter().filter(|submission| submission.is_accepted) {
        if !evidence.knows(&submission.job.to_string()) {
            wrong.push(format!("{} was accepted and is not there", submission.job));
        }
    }
    wrong
}

/// The rows of `addBudget` by the request each names; one that names none or another's is wrong.
fn top_ups<'a>(ledger: &'a Ledger, book: &Book, wrong: &mut Vec<String>) -> BTreeMap<usize, &'a LedgerRow> {
    let mut found = BTreeMap::new();
    for row in ledger.values().filter(|row| row.reason == "top_up") {
        let number = Change::number_in(row.amount);
        let (queue, amount) = row.of_queue().unwrap_or_default();
        let is_as_asked = book
            .request(number)
            .is_some_and(|request| request.queue == queue && request.change == Change::Money(amount));
        if !is_as_asked || found.insert(number, row).is_some() {
            wrong.push(format!("nobody asked for this row, or not twice: {row:?}"));
        }
    }
    found
}

/// Lost answers: whether what was asked is done.
fn settle(evidence: &Evidence, book: &mut Book, top_ups: &BTreeMap<usize, &LedgerRow>) {
    for (number, request) in (1..).zip(&mut book.requests) {
        if request.outcome != Outcome::Lost {
            continue;
        }
        let account = evidence.accounts.get(&request.queue);
        let is_done = match request.change {
            Change::Money(_) => top_ups.contains_key(&number),
            Change::Bid(rate) => account.is_some_and(|(_, bid)| *bid == rate),
            // Whoever asks for these is the only one, and his other requests were answered before.
            Change::Open => account.is_some_and(|(_, bid)| *bid == 0) && is_used(evidence, request),
            Change::Close => account.is_none() && is_used(evidence, request),
        };
        request.outcome = if is_done { Outcome::LostButDone } else { Outcome::LostAndGone };
    }
}

fn is_used(evidence: &Evidence, request: &Request) -> bool {
    let user = request.query.split('&').find_map(|part| part.strip_prefix("user="));
    user.is_some_and(|user| evidence.is_used("servlet", user, request.timestamp_ms))
}

/// Queues and their bids are as the answers say.
fn standing(evidence: &Evidence, book: &Book, world: &World, wrong: &mut Vec<String>) {
    let expected = book.standing(world);
    let found: BTreeMap<String, i128> =
        evidence.accounts.iter().map(|(queue, (_, bid))| (queue.clone(), *bid)).collect();
    for queue in expected.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        let [expected, found] = [expected.get(queue), found.get(queue)].map(|bid| bid.map(|bid| decimal(*bid)));
        if expected != found {
            wrong.push(format!("{queue} should bid {expected:?} and bids {found:?} (None: there is no such queue)"));
        }
    }
}

/// The budget file came in once.
fn endowments(ledger: &Ledger, world: &World, wrong: &mut Vec<String>) {
    let rows = ledger.values().filter(|row| row.reason == "endowment");
    let mut found: Vec<_> = rows.filter_map(|row| row.of_queue()).map(|(queue, sum)| (queue.to_owned(), sum)).collect();
    found.sort();
    let expected: Vec<_> = world.first_accounts().into_iter().map(|(queue, (budget, _))| (queue, budget)).collect();
    if found != expected {
        wrong.push(format!("the ledger begins with {found:?}, the budget file with {expected:?}"));
    }
}

/// A queue that was closed with money has given it back, once.
fn closings(ledger: &Ledger, book: &Book, wrong: &mut Vec<String>) {
    let mut closed: BTreeMap<&str, i64> = BTreeMap::new();
    for request in book.requests.iter().filter(|request| request.change == Change::Close && request.outcome.is_done()) {
        *closed.entry(&request.queue).or_default() += 1;
    }
    for row in ledger.values().filter(|row| row.reason == "closing") {
        *closed.entry(row.queue.as_deref().unwrap_or_default()).or_default() -= row.movements;
    }
    // Queues without money leave no row, so there may be fewer.
    wrong
        .extend(closed.iter().filter(|(_, left)| **left < 0).map(|(queue, _)| format!("{queue} was closed too often")));
}

/// Every charge is at a rate that was in force at the tick that opened the interval.
fn charges(evidence: &Evidence, ledger: &Ledger, book: &Book, world: &World, wrong: &mut Vec<String>) {
    let opened_ms: BTreeMap<i64, i64> = evidence.ticks.iter().map(|tick| (tick.number, tick.wall_ms)).collect();
    // For each queue its bids in order: when each was first and when it was last in force, by what the clients saw.
    let mut bids: BTreeMap<&str, Vec<(i128, i64, i64)>> = BTreeMap::new();
    for (signer, (_, rate)) in world.users.iter().zip(&world.endowments) {
        bids.insert(&signer.user, vec![(*rate, i64::MIN, i64::MAX)]);
    }
    for request in book.requests.iter().filter(|request| request.outcome.is_done()) {
        let Change::Bid(rate) = request.change else { continue };
        let bids = bids.entry(&request.queue).or_default();
        if let Some(last) = bids.last_mut() {
            // One whose answer got lost was there at the latest when the next one was sent.
            last.2 = request.answered_ms.unwrap_or(i64::MAX);
        }
        bids.push((rate, request.sent_ms, i64::MAX));
    }
    for row in ledger.values().filter(|row| row.reason == "charge") {
        let Some(at_ms) = opened_ms.get(&(row.tick - 1)) else {
            wrong.push(format!("this charge is for an interval that no tick opened: {row:?}"));
            continue;
        };
        let bids = row.queue.as_deref().and_then(|queue| bids.get(queue)).map(Vec::as_slice).unwrap_or_default();
        let is_in_force =
            |(rate, from_ms, to_ms): &(i128, i64, i64)| row.rate == Some(*rate) && from_ms <= at_ms && at_ms <= to_ms;
        if !bids.iter().any(is_in_force) {
            wrong.push(format!("this rate was not the bid when tick {} opened the interval: {row:?}", row.tick - 1));
        }
    }
}

/// No signature that was used is good again.
fn signatures(evidence: &Evidence, book: &Book, world: &World, wrong: &mut Vec<String>) {
    let mut used: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for (user, request) in book.last_stamped() {
        used.insert(("servlet", &world.users[user].user), request.timestamp_ms);
    }
    for (user, submission) in book.last_accepted() {
        used.insert(("job", &world.users[user].user), submission.timestamp_ms);
    }
    for ((consumer, user), timestamp_ms) in used {
        if !evidence.is_used(consumer, user, timestamp_ms) {
            wrong.push(format!("{user} has used {timestamp_ms} ({consumer}), and may use it again"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bidding::amount::UNITS_PER_CREDIT;
    use crate::bidding::evidence::Tick;

    /// Alone with a bid of one and a half credits and a budget of nine.
    fn world() -> World {
        let folder = tempfile::tempdir().unwrap();
        let mut world = World::create(folder.path(), 1, &[]).unwrap();
        world.users.truncate(1);
        world.endowments = vec![(9 * UNITS_PER_CREDIT, 3 * UNITS_PER_CREDIT / 2)];
        world
    }

    fn request(world: &World, change: Change, at_ms: i64, outcome: Outcome) -> Request {
        let user = &world.users[0].user;
        Request {
            queue: user.clone(),
            change,
            user: 0,
            query: format!("x&user={user}&timestamp={at_ms}"),
            authorization: String::new(),
            timestamp_ms: at_ms,
            sent_ms: at_ms,
            answered_ms: (outcome == Outcome::Done).then_some(at_ms + 5),
            outcome,
        }
    }

    fn movement(world: &World, number: i64, tick: i64, reason: &str, amount: i128) -> LedgerRow {
        let own = format!("queue:{}", world.users[0].user);
        let is_charge = reason == "charge";
        let (debit, credit) = if is_charge { (own, "revenue".to_owned()) } else { ("issued".to_owned(), own) };
        LedgerRow {
            number,
            tick,
            wall_ms: 0,
            queue: Some(world.users[0].user.clone()),
            reason: reason.to_owned(),
            rate: is_charge.then_some(amount),
            slot_ms: is_charge.then_some((1_000, 0)),
            interval_ms: is_charge.then_some(1_000),
            amount,
            debit,
            credit,
            day: None,
            movements: 1,
        }
    }

    struct Stage {
        world: World,
        evidence: Evidence,
        ledger: Ledger,
        book: Book,
    }

    /// A top-up (request 1) and a bid (request 2) that were acknowledged, a tick before the bid and one after, and a charge
    /// for each interval.
    fn good() -> Stage {
        let world = world();
        let user = world.users[0].user.clone();
        let money = Change::numbered(5 * UNITS_PER_CREDIT, 1);
        let bid = Change::numbered(2 * UNITS_PER_CREDIT, 2);
        let book = Book {
            requests: vec![
                request(&world, Change::Money(money), 100, Outcome::Done),
                request(&world, Change::Bid(bid), 1100, Outcome::Done),
            ],
            ..Book::default()
        };
        let rows = [
            movement(&world, 1, 0, "endowment", 9 * UNITS_PER_CREDIT),
            movement(&world, 2, 0, "top_up", money),
            movement(&world, 3, 2, "charge", 3 * UNITS_PER_CREDIT / 2),
            movement(&world, 4, 3, "charge", bid),
        ];
        let tick = |number, wall_ms| Tick { number, wall_ms, price: 0, ledger_rows: 0, issued: 0, charged: 0 };
        let evidence = Evidence {
            accounts: BTreeMap::from([(user.clone(), (0, bid))]),
            ticks: vec![tick(1, 1000), tick(2, 2000), tick(3, 3000)],
            used: BTreeMap::from([(("servlet".to_owned(), user), BTreeSet::from([1100]))]),
            ..Evidence::default()
        };
        Stage { world, evidence, ledger: rows.into_iter().map(|row| (row.number, row)).collect(), book }
    }

    fn complaints(stage: &mut Stage) -> String {
        violations(&stage.evidence, &stage.ledger, &mut stage.book, &stage.world).join("\n")
    }

    #[test]
    fn kept_promises_pass() {
        assert_eq!(complaints(&mut good()), "");
    }

    #[test]
    fn broken_promises_are_told() {
        type Breakage = fn(&mut Stage);
        let cases: [(Breakage, &str); 9] = [
            (|s| drop(s.ledger.remove(&2)), "has a row in the ledger, or has none"),
            (|s| s.ledger.get_mut(&2).unwrap().amount += 1, "nobody asked for this row"),
            (|s| drop(s.ledger.insert(5, s.ledger[&2].clone())), "nobody asked for this row"),
            (|s| s.evidence.accounts.values_mut().for_each(|account| account.1 -= 2), "should bid"),
            (|s| s.evidence.accounts.clear(), "should bid"),
            (|s| drop(s.ledger.remove(&1)), "the budget file with"),
            (|s| s.ledger.get_mut(&3).unwrap().rate = s.ledger[&4].rate, "was not the bid when tick 1"),
            (|s| s.ledger.get_mut(&4).unwrap().rate = s.ledger[&3].rate, "was not the bid when tick 2"),
            (|s| s.evidence.used.clear(), "has used 1100 (servlet)"),
        ];
        for (breakage, expected) in cases {
            let mut stage = good();
            breakage(&mut stage);
            let told = complaints(&mut stage);
            assert!(told.contains(expected), "{expected:?} is not told by {told:?}");
        }
    }

    #[test]
    fn what_was_in_flight_is_there_wholly_or_not_at_all() {
        let mut stage = good();
        for request in &mut stage.book.requests {
            (request.outcome, request.answered_ms) = (Outcome::Lost, None);
        }
        assert_eq!(complaints(&mut stage), "");
        assert!(stage.book.requests.iter().all(|request| request.outcome == Outcome::LostButDone));

        let mut stage = good();
        stage.book.requests[1].outcome = Outcome::Lost;
        let first = stage.world.endowments[0].1;
        stage.evidence.accounts.values_mut().for_each(|account| account.1 = first);
        assert!(complaints(&mut stage).contains("was not the bid when tick 2"), "the charge has come of it");
        assert_eq!(stage.book.requests[1].outcome, Outcome::LostAndGone);
    }
}
