//! Divisions of slots: exact, bounded by balances and wants, and equal to a naive one.

use proptest::prelude::*;

use super::*;

const ALL_TASKS: PerPool<u32> = PerPool::new(u32::MAX, u32::MAX, 0);

fn credits(text: &str) -> Credits {
    Credits::parse_exact(text).unwrap()
}

fn bid(balance: &str, rate: &str) -> Bid {
    Bid { balance: credits(balance), rate: credits(rate), want: ALL_TASKS, ..Bid::default() }
}

fn quotas(grants: &[Grant], pool: impl Into<Pool>) -> Vec<u32> {
    let pool = pool.into();
    grants.iter().map(|grant| grant.quota[pool]).collect()
}

/// Repeats the allocation with its own remainders.
fn rounds(bids: &mut [Bid], slots: PerPool<u32>, count: usize) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for _ in 0..count {
        let (_, grants) = allocate(bids, slots);
        bids.iter_mut().zip(&grants).for_each(|(bid, grant)| bid.remainder = grant.remainder);
        all.push(quotas(&grants, Kind::Map));
    }
    all
}

#[test]
fn the_originals_quota_test_holds() {
    let (price, grants) = allocate(&[bid("1000", "1"), bid("1000", "2")], PerPool::new(100, 10, 0));
    assert_eq!(price, credits("3"));
    assert_eq!([grants[0].share.to_string(), grants[1].share.to_string()], ["0.333333333", "0.666666666"]);
    assert_eq!(quotas(&grants, Kind::Map), [33, 67]);
    assert_eq!(quotas(&grants, Kind::Reduce), [3, 7]);
}

#[test]
fn the_originals_spending_test_holds() {
    let (price, grants) = allocate(&[bid("100", "5"), bid("100", "1")], PerPool::new(6, 6, 0));
    assert_eq!((price, grants[0].share), (credits("6"), Share::new(credits("5"), credits("6"))));
    assert_eq!(quotas(&grants, Kind::Map), [5, 1]);
}

/// Three bidders as seen on the running original: 6 map slots at 2.0, 1.0 and 0.5.
#[test]
fn live_shares_of_the_original_hold() {
    let (price, grants) = allocate(&[bid("900", "2"), bid("900", "1"), bid("900", "0.5")], PerPool::new(6, 2, 0));
    assert_eq!(price, credits("3.5"));
    let shares: Vec<String> = grants.iter().map(|grant| grant.share.to_string()).collect();
    assert_eq!(shares, ["0.571428571", "0.285714285", "0.142857142"]);
    assert_eq!(quotas(&grants, Kind::Map), [3, 2, 1]);
}

/// Defect 10: a queue that cannot pay had a share of 50.0 and the shares summed to more than 1.
#[test]
fn defect_10_only_funded_queues_count() {
    let (price, grants) = allocate(&[bid("0", "50"), bid("100", "1"), bid("9", "0")], PerPool::new(10, 0, 0));
    assert_eq!(price, credits("1"));
    assert_eq!(quotas(&grants, Kind::Map), [0, 10, 0]);
    assert_eq!(grants[0].share, Share::ZERO);
}

/// Defect 36: a queue with one interval's money took 99 slots free of charge.
#[test]
fn defect_36_a_quota_is_cut_to_what_can_be_paid() {
    let (_, grants) = allocate(&[bid("1", "1")], PerPool::new(90, 10, 0));
    assert_eq!(grants[0].quota, PerPool::new(1, 0, 0));
    let (_, grants) = allocate(&[bid("50.5", "1")], PerPool::new(90, 10, 0));
    assert_eq!(grants[0].quota, PerPool::new(45, 5, 0));
}

#[test]
fn a_cut_keeps_the_slots_in_use() {
    let only_reduces = Bid { running: PerKind::new(0, 4), ..bid("3", "1") };
    assert_eq!(allocate(&[only_reduces], PerPool::new(90, 10, 0)).1[0].quota, PerPool::new(0, 3, 0));
    let few_maps = Bid { running: PerKind::new(2, 1), ..bid("5", "1") };
    assert_eq!(allocate(&[few_maps], PerPool::new(90, 10, 0)).1[0].quota, PerPool::new(4, 1, 0));
}

/// Defect 30: a share below half a slot never had one.
#[test]
fn defect_30_small_shares_have_a_slot_over_time() {
    let mut bids: Vec<Bid> = (0..5).map(|_| bid("100", "1")).collect();
    let history = rounds(&mut bids, PerPool::new(1, 0, 0), 10);
    assert_eq!(history[..2], [vec![1, 0, 0, 0, 0], vec![0, 1, 0, 0, 0]]);
    for queue in 0..5 {
        assert_eq!(history.iter().map(|quotas| quotas[queue]).sum::<u32>(), 2, "{history:?}");
    }
}

#[test]
fn a_hundred_to_one_bid_gets_its_slot_once_in_a_hundred() {
    let mut bids = [bid("1000000", "99"), bid("1000000", "1")];
    let history = rounds(&mut bids, PerPool::new(1, 0, 0), 200);
    assert_eq!(history.iter().map(|quotas| quotas[1]).sum::<u32>(), 2);
}

#[test]
fn an_empty_market_has_no_price() {
    assert_eq!(allocate(&[], PerPool::new(5, 5, 0)), (Credits::ZERO, vec![]));
    let (price, grants) = allocate(&[bid("0", "1")], PerPool::new(5, 5, 0));
    assert_eq!((price, grants), (Credits::ZERO, vec![Grant::default()]));
}

#[test]
fn the_largest_market_stays_in_range() {
    let rich = wanting(Bid { balance: Credits::MAX, rate: Credits::MAX, want: ALL_TASKS, ..Bid::default() });
    let (more, less) = (RoundingRemainder(999_999_999), RoundingRemainder(-999_999_999));
    let owed = PerPool::new(more, less, less);
    let bids = vec![Bid { remainder: owed, ..rich }; MAX_QUEUES];
    let (price, grants) = allocate(&bids, PerPool::new(u32::MAX, u32::MAX, u32::MAX));
    assert_eq!(price.units(), Credits::MAX.units() * MAX_QUEUES as i128);
    assert!(grants.iter().all(|grant| total(grant.quota) == 1), "one slot each is all they can pay");
}

/// Water-filling in fractions, one part a round; then the largest remainders.
fn divide_naively(slots: u32, parts: &[DivisionPart]) -> Vec<u32> {
    let rate = |index: usize| parts[index].rate.units();
    let mut divided = vec![0_i128; parts.len()];
    let mut open: Vec<usize> = (0..parts.len()).filter(|index| rate(*index) > 0).collect();
    let mut left = i128::from(slots);
    loop {
        let price: i128 = open.iter().map(|index| rate(*index)).sum();
        let filled = open.iter().position(|&index| rate(index) * left >= i128::from(parts[index].most) * price);
        let Some(filled) = filled else {
            let mut by_remainder = open.clone();
            by_remainder.sort_by_key(|&index| (Reverse(rate(index) * left % price), index));
            open.iter().for_each(|&index| divided[index] = rate(index) * left / price);
            let rounded: i128 = open.iter().map(|&index| divided[index]).sum();
            let missing = if open.is_empty() { 0 } else { left - rounded };
            by_remainder.iter().take(missing as usize).for_each(|&index| divided[index] += 1);
            return divided.into_iter().map(|slots| slots as u32).collect();
        };
        let index = open.remove(filled);
        divided[index] = parts[index].most.into();
        left -= divided[index];
    }
}

#[test]
fn what_one_cannot_use_goes_to_the_others_by_their_rates() {
    let part = |rate: &str, most| DivisionPart { rate: credits(rate), most };
    assert_eq!(divide_slots(10, &[part("900", 1), part("2", 99), part("1", 99)]), [1, 6, 3]);
    assert_eq!(divide_slots(10, &[part("900", 0), part("1", 99), part("1", 2)]), [0, 8, 2]);
    assert_eq!(divide_slots(10, &[part("1", 2), part("1", 3)]), [2, 3], "no part can use the rest");
    assert_eq!(divide_slots(2, &[part("1", 9), part("1", 9), part("1", 9)]), [1, 1, 0], "ties go to the first");
    assert_eq!(divide_slots(7, &[part("0", 9), part("1", 9)]), [0, 7]);
    assert_eq!(divide_slots(u32::MAX, &[part("1", u32::MAX)]), [u32::MAX]);
    let most = DivisionPart { rate: Credits::MAX, most: u32::MAX };
    assert_eq!(
        divide_slots(u32::MAX, &vec![most; MAX_QUEUES]).into_iter().map(u64::from).sum::<u64>(),
        u64::from(u32::MAX)
    );
}

fn any_bid() -> impl Strategy<Value = Bid> {
    let remainder = ((1 - NANO as i64)..NANO as i64).prop_map(RoundingRemainder);
    let remainder = (remainder.clone(), remainder.clone(), remainder);
    let want = || prop_oneof![Just(0), 0..30u32, Just(u32::MAX)];
    let rate = prop_oneof![0..5i128, 0..=Credits::MAX.units()];
    (0..2_000i128, rate, 0..9u32, 0..9u32, (want(), want(), want()), remainder).prop_map(
        |(intervals, rate, map, reduce, want, (of_maps, of_reduces, of_containers))| Bid {
            balance: Credits::from_units((rate * intervals / 10).min(Credits::MAX.units())),
            rate: Credits::from_units(rate),
            running: PerKind::new(map, reduce),
            containers: ContainerUse::default(),
            want: PerPool::new(want.0, want.1, want.2),
            remainder: PerPool::new(of_maps, of_reduces, of_containers),
        },
    )
}

fn wanting(bid: Bid) -> Bid {
    Bid { want: PerPool { container: u32::MAX, ..bid.want }, ..bid }
}

/// The slots that no map or reduce slot stands for are for those that hold or want containers, and can pay.
#[test]
fn slots_for_containers_go_to_those_that_have_any() {
    let bids = [wanting(bid("1000", "1")), bid("1000", "5"), wanting(bid("1000", "3")), wanting(bid("0", "3"))];
    let (price, grants) = allocate(&bids, PerPool::new(9, 0, 8));
    assert_eq!(price, credits("9"), "the price is that of all funded bids");
    assert_eq!(quotas(&grants, Pool::Container), [2, 0, 6, 0]);
    assert_eq!(quotas(&grants, Kind::Map), [1, 5, 3, 0]);
}

#[test]
fn slots_for_containers_are_cut_to_what_maps_and_reduces_leave_of_the_money() {
    for (balance, expected) in [("20", (4, 2, 8)), ("9.5", (4, 2, 3)), ("6", (4, 2, 0)), ("5", (3, 2, 0))] {
        let (_, grants) = allocate(&[wanting(bid(balance, "1"))], PerPool::new(4, 2, 8));
        let PerPool { map, reduce, container } = grants[0].quota;
        assert_eq!((map, reduce, container), expected, "{balance}");
    }
}

#[test]
fn slots_for_containers_are_rounded_with_a_carry_of_their_own() {
    let mut bids = [wanting(bid("100", "1")), wanting(bid("100", "1"))];
    let mut history = Vec::new();
    for _ in 0..4 {
        let (_, grants) = allocate(&bids, PerPool::new(2, 0, 1));
        bids.iter_mut().zip(&grants).for_each(|(bid, grant)| bid.remainder = grant.remainder);
        assert_eq!(quotas(&grants, Kind::Map), [1, 1]);
        history.push(quotas(&grants, Pool::Container));
    }
    assert_eq!(history, [[1, 0], [0, 1], [1, 0], [0, 1]]);
}

/// A queue is sold what it could use, and the others by their rates what it could not; the price is that of all bids.
#[test]
fn no_queue_is_sold_more_than_it_wants() {
    let wants =
        |rate: &str, map, reduce, container| Bid { want: PerPool::new(map, reduce, container), ..bid("1000", rate) };
    let slots = PerPool::new(12, 6, 0);
    let (price, grants) = allocate(&[wants("1", 99, 99, 0), wants("900", 1, 0, 0), wants("2", 99, 99, 0)], slots);
    assert_eq!((price, grants[1].share.to_string()), (credits("903"), "0.996677740".to_owned()));
    assert_eq!((quotas(&grants, Kind::Map), quotas(&grants, Kind::Reduce)), (vec![4, 1, 7], vec![2, 0, 4]));
    // Containers take the slots that are for them first, then those of maps, then those of reduces.
    let grants = |containers, beyond| {
        allocate(&[wants("3", 0, 0, containers), wants("1", 99, 99, 0)], PerPool { container: beyond, ..slots }).1
    };
    let sold = |containers, beyond| grants(containers, beyond).iter().map(|grant| grant.quota).collect::<Vec<_>>();
    assert_eq!(sold(3, 2), [PerPool::new(1, 0, 2), PerPool::new(11, 6, 0)]);
    assert_eq!(sold(3, 8), [PerPool::new(0, 0, 3), PerPool::new(12, 6, 0)]);
    assert_eq!(sold(11, 0), [PerPool::new(9, 2, 0), PerPool::new(3, 4, 0)]);
}

/// What rounding owes to a queue ends where it has all that it wants; what it was given in excess does not.
#[test]
fn a_queue_that_has_all_it_wants_is_owed_nothing() {
    let [owed, excess] = [400_000_000, -400_000_000].map(RoundingRemainder);
    let of = |remainder| Bid {
        want: PerPool::new(1, 0, 0),
        remainder: PerPool::new(remainder, remainder, remainder),
        ..bid("1000", "1")
    };
    let (_, grants) = allocate(&[of(owed), of(excess), bid("1000", "1")], PerPool::new(9, 0, 0));
    assert_eq!(quotas(&grants, Kind::Map), [1, 1, 7]);
    assert_eq!([grants[0].remainder.map, grants[1].remainder.map].map(|left| left.0), [0, -400_000_000]);
}

#[test]
fn containers_may_use_what_maps_and_reduces_leave() {
    let quota = PerPool::new(4, 2, 3);
    let left = |map, reduce| quota.left_for_containers(PerKind::new(map, reduce));
    assert_eq!([left(0, 0), left(3, 0), left(4, 2), left(9, 9)], [9, 6, 3, 3]);
    let used = |map, reduce, container| within(PerPool::new(map, reduce, container), quota);
    assert_eq!(used(1, 9, 99), PerPool::new(1, 2, 6));
    assert_eq!(used(0, 0, 5), PerPool::new(0, 0, 5));
}

proptest! {
    #[test]
    fn no_grant_exceeds_money_or_cluster(
        bids in prop::collection::vec(any_bid(), 0..20), map in 0..500u32, reduce in 0..50u32, beyond in 0..80u32,
    ) {
        let slots = PerPool::new(map, reduce, beyond);
        let (price, grants) = allocate(&bids, slots);
        let rates: i128 = grants.iter().map(|grant| grant.share.rate().units()).sum();
        prop_assert_eq!(rates, price.units(), "shares sum to 1, or there are none");
        for pool in Pool::ALL {
            let sum: u32 = quotas(&grants, pool).iter().sum();
            prop_assert!(sum <= slots[pool]);
        }
        for (bid, grant) in bids.iter().zip(&grants) {
            let cost = grant.share.rate().units() * i128::from(total(grant.quota));
            prop_assert!(cost <= bid.balance.units());
            prop_assert_eq!(grant.share.rate() > Credits::ZERO, is_funded(bid.balance, bid.rate));
            for pool in Pool::ALL {
                prop_assert!(i128::from(grant.remainder[pool].0).abs() < NANO);
            }
            let want = Pool::ALL.map(|pool| u64::from(bid.want[pool])).iter().sum();
            prop_assert!(total(grant.quota) <= want, "no more than it wants");
            prop_assert!(grant.quota.container <= bid.want.container);
            // All that is sold can be paid, however much of it containers use.
            for running in [bid.running, PerKind::default(), PerKind::new(u32::MAX, 0)] {
                let used = within(PerPool::new(running.map, running.reduce, u32::MAX), grant.quota);
                prop_assert_eq!(total(used), total(grant.quota));
            }
        }
    }

    /// Where all could use all slots, and pay them or none, the slots beyond, and containers of any queue, change nothing in what maps and
    /// reduces get.
    #[test]
    fn containers_change_nothing_in_quotas_of_maps_and_reduces(
        bids in prop::collection::vec(any_bid(), 0..20), map in 0..500u32, reduce in 0..50u32, beyond in 0..80u32,
    ) {
        let able = |bid: &Bid| Bid {
            want: PerPool { container: bid.want.container, ..ALL_TASKS },
            balance: if bid.balance.units() / bid.rate.units().max(1) > 1_000 { bid.balance } else { Credits::ZERO },
            ..*bid
        };
        let bids: Vec<Bid> = bids.iter().map(able).collect();
        let without: Vec<Bid> = bids
            .iter()
            .map(|bid| {
                let PerPool { map, reduce, .. } = bid.remainder;
                let remainder = PerPool::new(map, reduce, RoundingRemainder::default());
                Bid { want: ALL_TASKS, remainder, ..*bid }
            })
            .collect();
        let (price, grants) = allocate(&bids, PerPool::new(map, reduce, beyond));
        let (price_without, grants_without) = allocate(&without, PerPool::new(map, reduce, 0));
        prop_assert_eq!(price, price_without);
        for (grant, without) in grants.iter().zip(&grants_without) {
            prop_assert_eq!(grant.share, without.share);
            prop_assert_eq!(grant.quota.slots(), without.quota.slots());
            prop_assert_eq!(grant.remainder.slots(), without.remainder.slots());
        }
    }

    /// What is left of the slots beyond is left by those that cannot pay for their part.
    #[test]
    fn slots_for_containers_are_all_sold_to_those_who_can_pay(
        rates in prop::collection::vec(1..1_000_000i128, 1..20), beyond in 0..1000u32,
    ) {
        let rich = |&rate: &i128| wanting(Bid { balance: Credits::MAX, rate: Credits::from_units(rate), ..Bid::default() });
        let bids: Vec<Bid> = rates.iter().map(rich).collect();
        let (price, grants) = allocate(&bids, PerPool::new(0, 0, beyond));
        prop_assert_eq!(quotas(&grants, Pool::Container).iter().sum::<u32>(), beyond);
        for (rate, grant) in rates.iter().zip(&grants) {
            let (exact, got) = (rate * i128::from(beyond), i128::from(grant.quota.container) * price.units());
            prop_assert!((exact - got).abs() < price.units());
        }
    }

    #[test]
    fn a_division_is_that_of_slot_after_slot(
        parts in prop::collection::vec((0..40i128, 0..30u32), 0..12), slots in 0..120u32,
    ) {
        let parts: Vec<DivisionPart> =
            parts.iter().map(|&(rate, most)| DivisionPart { rate: Credits::from_units(rate), most }).collect();
        prop_assert_eq!(divide_slots(slots, &parts), divide_naively(slots, &parts));
    }

    /// So many parts reach what they can use one after the other that the rest are sorted.
    #[test]
    fn a_division_in_many_steps_is_that_of_slot_after_slot(
        rates in prop::collection::vec(1..4i128, 12..24), slots in 0..4_000u32,
    ) {
        let parts: Vec<DivisionPart> = (0..)
            .zip(&rates)
            .map(|(step, &rate)| DivisionPart { rate: Credits::from_units(rate), most: 1 << (step / 2) })
            .collect();
        prop_assert_eq!(divide_slots(slots, &parts), divide_naively(slots, &parts));
    }

    #[test]
    fn one_claim_is_rounded_as_all_are(
        bids in prop::collection::vec(any_bid(), 1..20), place in 0..20usize, slots in 0..500u32,
    ) {
        let funded: Vec<Bid> = bids.into_iter().filter(Bid::is_funded).collect();
        prop_assume!(!funded.is_empty());
        let place = place % funded.len();
        let rich = |bid: &Bid| Bid {
            balance: Credits::from_units(i128::from(u32::MAX) * bid.rate.units()),
            want: PerPool { container: 0, ..bid.want },
            ..*bid
        };
        let mut funded: Vec<Bid> = funded.iter().map(rich).collect();
        let own = place % funded.len();
        funded[own].want.map = u32::MAX;
        let (_, grants) = allocate(&funded, PerPool::new(slots, 0, 0));
        prop_assert_eq!(uncut_quota(&funded, place, Kind::Map, slots), grants[place].quota.map);
    }

    #[test]
    fn without_carries_quotas_are_within_one_of_the_share(
        rates in prop::collection::vec(1..1_000_000i128, 1..20), slots in 0..1000u32,
    ) {
        let rich = Bid { balance: Credits::MAX, want: ALL_TASKS, ..Bid::default() };
        let bids: Vec<Bid> = rates
            .iter()
            .map(|&rate| Bid { rate: Credits::from_units(rate), ..rich })
            .collect();
        let (price, grants) = allocate(&bids, PerPool::new(slots, 0, 0));
        prop_assert_eq!(quotas(&grants, Kind::Map).iter().sum::<u32>(), slots);
        for (rate, grant) in rates.iter().zip(&grants) {
            let exact = rate * i128::from(slots);
            let got = i128::from(grant.quota.map) * price.units();
            prop_assert!((exact - got).abs() < price.units());
        }
    }
}
