//! A quote is what the next tick does.

use proptest::prelude::*;

use crate::market::tests::{hold_since_tick, in_use};
use crate::market::{
    ContainerUse, KeyId, Market, MarketConfig, MarketFact, Operation, OperationKind, ParsedQuery, QueueUse, Quote,
    Role, ServletRequest, VerifiedUser, budget_file,
};
use crate::model::{Credits, Now, PerPool, QueueName};

use super::lasts_s;

const NOW: Now = Now { mono_ms: 0, wall_ms: 1_700_000_000_000 };
const INTERVAL_MS: u64 = 20_000;
const LATER: Now = Now { mono_ms: INTERVAL_MS, ..NOW };
const NAMES: [&str; 4] = ["alice", "bob", "carol", "dave"];

fn name(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

fn credits(text: &str) -> Credits {
    text.parse().unwrap()
}

fn market(budgets: &str) -> Market {
    let mut market = Market::new(MarketConfig::default(), NOW.wall_ms);
    market.seed_budgets(budget_file::parse(budgets, "budget").unwrap(), NOW);
    market
}

fn uses(usage: &[(&str, u32, u32, u64)]) -> Vec<QueueUse> {
    let one = |&(queue, map, reduce, pending): &(&str, u32, u32, u64)| in_use(queue, (map, reduce, pending), (0, 0));
    usage.iter().map(one).collect()
}

fn quote(market: &Market, queue: &str, rate: &str, usage: &[QueueUse], slots: PerPool<u32>) -> Quote {
    market.bidding(&name(queue), usage, slots, INTERVAL_MS).unwrap().quote(credits(rate))
}

fn set_rate(market: &mut Market, queue: &str, rate: Credits, timestamp_ms: i64) {
    let query = format!("setSpending={rate}&queue={queue}&user=root&timestamp={timestamp_ms}");
    let parsed = ParsedQuery::parse(&query).unwrap();
    assert_eq!(parsed.kind, OperationKind::SetSpending);
    let verified = Some(VerifiedUser { user: "root".to_owned(), role: Role::Admin, key_id: KeyId(1) });
    let now = Now { wall_ms: timestamp_ms, ..NOW };
    market.handle_request(ServletRequest { verified, query: parsed }, now, |_| false).answer.unwrap();
}

#[test]
fn a_rate_is_quoted_against_those_who_are_active() {
    let mut market = market("alice 100 1\nbob 100 3\ncarol 100 5\n");
    let slots = PerPool::new(8, 4, 0);
    let usage = uses(&[("alice", 0, 0, 9), ("bob", 0, 0, 9)]);
    market.tick(&usage, slots, INTERVAL_MS, NOW);
    let usage = uses(&[("alice", 2, 1, 9), ("bob", 6, 3, 9)]);
    hold_since_tick(&mut market, &usage, NOW);
    let quoted = quote(&market, "alice", "3", &usage, slots);
    assert_eq!(quoted.quota, PerPool::new(4, 2, 0));
    assert_eq!((quoted.price, quoted.share.to_string().as_str()), (credits("6"), "0.500000000"));
    // The interval that runs costs 1 x 3.
    assert_eq!(quoted.balance, credits("97"));
    // 97 / 18 and 97 / 9 intervals.
    assert_eq!((quoted.full_use_lasts_s, quoted.present_use_lasts_s), (Some(107), Some(215)));
    // Idle, and quoted as if it had work.
    let quoted = quote(&market, "carol", "4", &usage, slots);
    assert_eq!((quoted.quota, quoted.price), (PerPool::new(4, 2, 0), credits("8")));
    assert_eq!(quoted.present_use_lasts_s, None);
    let unfunded = quote(&market, "carol", "100.5", &usage, slots);
    assert!(!unfunded.is_funded);
    assert_eq!((unfunded.quota, unfunded.price, unfunded.full_use_lasts_s), (PerPool::default(), credits("4"), None));
    assert_eq!(market.bidding(&name("zed"), &usage, slots, INTERVAL_MS), None);
}

#[test]
fn what_nobody_pays_lasts_for_ever() {
    assert_eq!(lasts_s(credits("10"), Credits::ZERO, 1000), None);
    assert_eq!(lasts_s(credits("10"), credits("3"), 1000), Some(3));
    assert_eq!(lasts_s(Credits::ZERO, credits("3"), 1000), Some(0));
    assert_eq!(lasts_s(Credits::MAX, Credits::from_units(1), u64::MAX), Some(u64::MAX));
}

#[test]
fn the_least_rate_for_one_slot_more_is_exact() {
    let market = market("alice 100 1\nbob 100 3\n");
    let usage = uses(&[("alice", 2, 0, 9), ("bob", 6, 0, 9)]);
    let bidding = market.bidding(&name("alice"), &usage, PerPool::new(8, 0, 0), INTERVAL_MS).unwrap();
    let least = bidding.least_rate(|quota| quota.map > 2).unwrap();
    // 8 r / (r + 3) = 2.5, and ties go to the first name.
    assert_eq!((least.rate, least.quota.map), (Credits::from_units(1_363_636_363_637), 3));
    assert_eq!(bidding.quote(Credits::from_units(least.rate.units() - 1)).quota.map, 2);
    assert_eq!(bidding.least_rate(|quota| quota.map > 8), None, "there are no more");
    assert_eq!(bidding.least_rate(|quota| quota.reduce > 0), None);
    // 90 slots of its own would have to be paid at 1000 for each.
    assert_eq!(bidding.least_rate(|quota| quota.map > 7), None);
}

#[test]
fn permitted_is_only_what_exists() {
    let mut market = market("alice 100 1\n");
    let mut ask = |user: &str, role, query: &str, timestamp_ms: i64| {
        let parsed = ParsedQuery::parse(&format!("{query}&user={user}&timestamp={timestamp_ms}")).unwrap();
        let verified = Some(VerifiedUser { user: user.to_owned(), role, key_id: KeyId(1) });
        let now = Now { wall_ms: timestamp_ms, ..NOW };
        let handled = market.handle_request(ServletRequest { verified, query: parsed }, now, |_| false);
        let facts = handled.facts;
        assert!(matches!(&facts[..], [MarketFact::Stamp(_)]), "a quote changes nothing else: {facts:?}");
        handled.answer.map(|answer| format!("{answer:?}")).map_err(|error| error.to_string())
    };
    let at = NOW.wall_ms;
    let permitted = crate::market::Answer::Permitted(Operation::Quote { queue: name("alice"), rate: credits("2") });
    assert_eq!(ask("alice", Role::User, "quote=2&queue=alice", at + 1), Ok(format!("{permitted:?}")));
    assert_eq!(ask("root", Role::Admin, "quote=2&queue=alice", at + 2), Ok(format!("{permitted:?}")));
    let refused = |answer: Result<String, String>| answer.unwrap_err();
    assert!(refused(ask("bob", Role::User, "quote=2&queue=alice", at + 3)).starts_with("ACCESS DENIED"));
    assert_eq!(refused(ask("root", Role::Admin, "quote=2&queue=bob", at + 4)), "there is no queue bob");
    assert_eq!(refused(ask("root", Role::Admin, "quote=2", at + 5)), "quote needs a parameter queue");
}

/// Use of all queues: running maps and reduces, pending tasks, containers.
fn any_use() -> impl Strategy<Value = Vec<QueueUse>> {
    let one = (0..12u32, 0..5u32, 0..3u64, prop_oneof![2 => Just(0), 3 => 0..20u32], 0..2u64);
    prop::collection::vec(one, NAMES.len()).prop_map(|all| {
        let uses = NAMES.iter().zip(all).map(|(queue, (map, reduce, pending, held, wanted))| {
            let all = in_use(queue, (map, reduce, pending), (held, wanted));
            let want = PerPool::new(map + 2 * pending as u32, reduce + pending as u32, held + 3 * wanted as u32);
            if (map + reduce) % 2 == 0 { all } else { QueueUse { want, ..all } }
        });
        uses.collect()
    })
}

proptest! {
    /// Law: set the quoted rate, tick at once, get exactly what was quoted.
    #[test]
    fn a_quote_is_what_the_next_tick_grants(
        accounts in prop::collection::vec((0..5_000i128, 0..4_000i128), NAMES.len()),
        before in prop::collection::vec(any_use(), 0..4), now in any_use(),
        slots in (0..30u32, 0..10u32, 0..20u32), rate in 0..5_000i128, of in 0..NAMES.len(),
    ) {
        let milli = |amount: i128| Credits::from_units(amount * 1_000_000_000);
        let budgets: String = NAMES
            .iter()
            .zip(&accounts)
            .map(|(queue, (budget, rate))| format!("{queue} {} {}\n", milli(*budget), milli(*rate)))
            .collect();
        let mut market = market(&budgets);
        let slots = PerPool::new(slots.0, slots.1, slots.2);
        for usage in &before {
            market.tick(usage, slots, INTERVAL_MS, NOW);
        }
        let (queue, rate) = (NAMES[of], milli(rate));
        let mut usage = now;
        hold_since_tick(&mut market, &usage, NOW);
        let quoted = market.bidding(&name(queue), &usage, slots, INTERVAL_MS).unwrap().quote(rate);
        set_rate(&mut market, queue, rate, NOW.wall_ms + 1);
        // An idle queue is quoted as if it could use all slots.
        if !usage[of].is_active(usage[of].want) {
            let containers = ContainerUse { held: 0, wanted: 1 };
            (usage[of].pending, usage[of].containers) = (1, containers);
            usage[of].want = QueueUse::wants_all(&containers);
        }
        let outcome = market.tick(&usage, slots, INTERVAL_MS, LATER);
        let (_, granted) = outcome.intervals().find(|(name, _)| name.as_str() == queue).unwrap();
        prop_assert_eq!((granted.share, granted.quota), (quoted.share, quoted.quota));
        prop_assert_eq!(granted.share.rate() > Credits::ZERO, quoted.is_funded);
        prop_assert_eq!(outcome.price, quoted.price);
        prop_assert_eq!(market.account(queue).unwrap().balance(), quoted.balance);
    }

    #[test]
    fn no_smaller_rate_gives_more(
        rates in prop::collection::vec(1..400i128, 1..4), budget in 0..4_000i128, map in 1..30u32, held in 0..10u32,
        less in 1..400i128,
    ) {
        let milli = |amount: i128| Credits::from_units(amount * 1_000_000_000);
        let mut budgets = format!("alice {} 0\n", milli(budget));
        for (queue, rate) in NAMES[1..].iter().zip(&rates) {
            budgets += &format!("{queue} 1000 {}\n", milli(*rate));
        }
        let market = market(&budgets);
        let usage: Vec<_> = NAMES[..=rates.len()].iter().map(|queue| (*queue, 0, 0, 1)).collect();
        let bidding = market.bidding(&name("alice"), &uses(&usage), PerPool::new(map, 0, 0), INTERVAL_MS).unwrap();
        let gives_more = |rate: Credits| bidding.quote(rate).quota.map > held;
        match bidding.least_rate(|quota| quota.map > held) {
            Some(least) => {
                prop_assert!(gives_more(least.rate));
                prop_assert!(!gives_more(Credits::from_units(least.rate.units() - 1)));
                prop_assert!(!gives_more(Credits::from_units((least.rate.units() - milli(less).units()).max(0))));
            }
            None => for tried in 0..400 {
                prop_assert!(!gives_more(milli(tried * 10)), "{tried}");
            }
        }
    }
}
