//! The least rate that buys what an order needs.

use proptest::prelude::*;

use crate::market::QueueUse;
use crate::model::{Credits, JobId, Kind, PerKind, PerPool, QueueName};

use super::super::allocation::{Bid, ContainerUse, RoundingRemainder, uncut_quota};
use super::OpenBids;

fn open<'a>(queues: &'a [QueueName], bids: &[Bid], slots: PerPool<u32>) -> OpenBids<'a> {
    let mut open = OpenBids::new(slots);
    queues.iter().zip(bids).for_each(|(queue, bid)| open.push(queue, *bid));
    open
}

fn names(number: usize) -> Vec<QueueName> {
    (0..number).map(|index| QueueName::new(&format!("q{index:02}")).unwrap()).collect()
}

fn bid(rate: &str) -> Bid {
    let want = QueueUse::wants_all(&ContainerUse::default());
    Bid { balance: Credits::MAX, rate: rate.parse().unwrap(), want, ..Bid::default() }
}

#[test]
fn a_third_of_the_slots_costs_half_of_what_the_others_bid() {
    let queues = names(3);
    let bids = [bid("1"), bid("0.5"), bid("1")];
    let open = open(&queues, &bids, PerPool::new(9, 3, 2));
    let rate = |map, reduce| open.least_rate(1, PerKind::new(map, reduce)).map(|rate| rate.to_string());
    assert_eq!(rate(0, 0).as_deref(), Some("0.0"));
    // Its claim need not be whole: the largest part of a slot is rounded up.
    for (map, reduce) in [(3, 0), (0, 1), (3, 1), (5, 2), (8, 0), (9, 3)] {
        let least = open.least_rate(1, PerKind::new(map, reduce)).unwrap();
        let quota = open.quota(1, least);
        assert!(quota.map >= map && quota.reduce >= reduce, "{least} buys {quota:?}");
        let less = open.quota(1, Credits::from_units(least.units() - 1));
        assert!(less.map < map || less.reduce < reduce, "one unit less than {least} buys {less:?}");
    }
    assert_eq!(rate(10, 0), None);
}

#[test]
fn without_others_the_least_rate_there_is_buys_everything() {
    let queues = names(2);
    let idle = Bid::default();
    let open = open(&queues, &[idle, bid("7")], PerPool::new(9, 3, 2));
    assert_eq!(open.least_rate(1, PerKind::new(9, 3)), Some(Credits::from_units(1)));
}

#[test]
fn only_a_higher_rate_of_an_order_counts() {
    let queues = names(1);
    let mut open = open(&queues, &[bid("2")], PerPool::new(1, 0, 0));
    let job: JobId = "job_1_0001".parse().unwrap();
    open.raise(0, "2".parse().unwrap(), job);
    assert_eq!((open.rate(0).to_string(), open.order_at(0)), ("2.0".to_owned(), (None, None)));
    open.raise(0, "2.5".parse().unwrap(), job);
    let own_rate = Some("2".parse().unwrap());
    assert_eq!((open.rate(0).to_string(), open.order_at(0)), ("2.5".to_owned(), (Some(job), own_rate)));
    assert_eq!((open.place("q00"), open.place("q01")), (Some(0), None));
}

fn any_bid() -> impl Strategy<Value = Bid> {
    let remainder = -999_999_999..1_000_000_000i64;
    (
        0..3i128,
        prop_oneof![0..50i128, 0..1_000_000_000_000_000i128, 0..=Credits::MAX.units()],
        remainder.clone(),
        remainder,
    )
        .prop_map(|(funded, rate, map, reduce)| Bid {
            balance: Credits::from_units(if funded == 0 { 0 } else { Credits::MAX.units() }),
            rate: Credits::from_units(rate),
            running: PerKind::default(),
            containers: ContainerUse { held: 3, wanted: 0 },
            want: PerPool::new(u32::MAX, u32::MAX, 0),
            remainder: PerPool::new(
                RoundingRemainder::of(map),
                RoundingRemainder::of(reduce),
                RoundingRemainder::of(0),
            ),
        })
}

proptest! {
    #[test]
    fn one_unit_less_buys_less(
        bids in prop::collection::vec(any_bid(), 1..9), place in 0..8usize, map in 0..60u32, reduce in 0..9u32,
        needed in (0..60u32, 0..9u32),
    ) {
        let place = place % bids.len();
        let (queues, slots, needed) = (names(bids.len()), PerPool::new(map, reduce, 5), PerKind::new(needed.0, needed.1));
        let open = open(&queues, &bids, slots);
        let buys = |units: i128| {
            let mut bids = bids.clone();
            bids[place].rate = Credits::from_units(units);
            Kind::ALL.into_iter().all(|kind| {
                needed[kind] == 0 || uncut_quota(&bids, place, kind, slots[kind]) >= needed[kind]
            })
        };
        match open.least_rate(place, needed) {
            None => prop_assert!(!buys(Credits::MAX.units())),
            Some(rate) if needed == PerKind::default() => prop_assert_eq!(rate, Credits::ZERO),
            Some(rate) => {
                prop_assert!(buys(rate.units()), "{} buys too little", rate);
                prop_assert!(!buys(rate.units() - 1), "one unit less than {} is enough", rate);
            }
        }
    }

    /// With too many bids to look at, a rate claims whole slots: it is no less than the least, and surely enough.
    #[test]
    fn a_rate_in_closed_form_is_enough(
        bids in prop::collection::vec(any_bid(), 1..9), place in 0..8usize, map in 0..60u32, reduce in 0..9u32,
        needed in (0..60u32, 0..9u32),
    ) {
        let place = place % bids.len();
        let (queues, slots, needed) = (names(bids.len()), PerPool::new(map, reduce, 5), PerKind::new(needed.0, needed.1));
        let bids: Vec<Bid> = bids.iter().map(|bid| Bid { remainder: PerPool::default(), ..*bid }).collect();
        let mut open = open(&queues, &bids, slots);
        let least = open.least_rate(place, needed);
        open.expect_orders(usize::MAX);
        let sure = open.least_rate(place, needed);
        let (Some(least), Some(sure)) = (least, sure) else { return Ok(()) };
        prop_assert!(sure >= least, "{} is less than {}", sure, least);
        let mut own = bids.clone();
        own[place] = Bid { rate: sure, balance: Credits::MAX, ..own[place] };
        for kind in Kind::ALL.into_iter().filter(|kind| needed[*kind] > 0 && sure < Credits::MAX) {
            prop_assert!(uncut_quota(&own, place, kind, slots[kind]) >= needed[kind], "{} buys too little", sure);
        }
        let quota = open.quota(place, sure);
        let exact = super::allocate(&own, slots).1[place].quota.slots();
        let total = |slots: PerKind<u32>| u64::from(slots.map) + u64::from(slots.reduce);
        prop_assert!(total(quota) <= total(exact), "{:?} of {:?}", quota, exact);
        // What the balance cannot pay is cut from both kinds in their ratio.
        let is_paid = sure.units() * i128::from(total(slots.slots())) <= Credits::MAX.units();
        let is_within = Kind::ALL.into_iter().all(|kind| quota[kind] <= exact[kind]);
        prop_assert!(!is_paid || is_within, "{:?} of {:?}", quota, exact);
    }
}
