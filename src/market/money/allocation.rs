//! The allocation of one interval: price, shares and quotas from the bids of the active queues.
//!
//! Exact integer arithmetic. All fractions of a kind have one denominator, so they are compared by numerators; only the
//! [`RoundingRemainder`] that is remembered from interval to interval is rounded, to a billionth of a slot. With at
//! most [`MAX_QUEUES`] rates of at most [`Credits::MAX`] every product fits an `i128`.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::model::{Credits, Kind, PerKind};

use super::budget_file::MAX_QUEUES;
use super::share::Share;

/// Billionths in a slot.
pub(super) const NANO: i128 = 1_000_000_000;

// Twice the common denominator, price x NANO, and every rate x slots of both kinds must fit.
const _: () = assert!(Credits::MAX.units() < i128::MAX / (2 * NANO * MAX_QUEUES as i128));
const _: () = assert!(Credits::MAX.units() < i128::MAX / (2 * u32::MAX as i128));

/// The part of a slot that rounding withheld from a queue (negative: granted in excess), in billionths; within
/// (-1, 1) slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RoundingRemainder(i64);

/// The bid of an active queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bid {
    /// Its balance after the charge.
    pub balance: Credits,
    /// Its spending rate.
    pub rate: Credits,
    /// Its running attempts.
    pub running: PerKind<u32>,
    /// What rounding left from the previous interval.
    pub remainder: PerKind<RoundingRemainder>,
}

// === impl RoundingRemainder ===

impl RoundingRemainder {
    /// So many billionths of a slot, within a slot.
    #[cfg(test)]
    pub(in crate::market) fn of(nanos: i64) -> Self {
        Self(nanos)
    }

    /// In billionths of a slot.
    pub(super) fn nanos(self) -> i128 {
        self.0.into()
    }
}

// === impl Bid ===

impl Bid {
    /// Whether its queue takes part.
    pub(super) fn is_funded(&self) -> bool {
        is_funded(self.balance, self.rate)
    }
}

/// What the allocation grants to a queue for one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Its part of the cluster, and in it the rate that will be charged: the bid, or 0 when the queue is not funded.
    pub share: Share,
    /// The slots it may use for its money.
    pub quota: PerKind<u32>,
    /// What rounding left for the next tick.
    pub remainder: PerKind<RoundingRemainder>,
}

/// Whether a queue takes part: it bids something and can pay one slot for one interval.
pub fn is_funded(balance: Credits, rate: Credits) -> bool {
    rate > Credits::ZERO && balance >= rate
}

/// Sets the price, the sum of the funded bids, and gives each bid its grant, in the same order. `bids` are those of
/// the active queues (something running or pending), in order of their names, which decides ties; `slots` are the
/// cluster's.
pub fn allocate(bids: &[Bid], slots: PerKind<u32>) -> (Credits, Vec<Grant>) {
    let funded: Vec<usize> = (0..bids.len()).filter(|&index| bids[index].is_funded()).collect();
    let price = Credits::from_units(funded.iter().map(|&index| bids[index].rate.units()).sum());
    let mut grants = vec![Grant::default(); bids.len()];
    for &index in &funded {
        grants[index].share = Share::new(bids[index].rate, price);
    }
    for kind in Kind::ALL {
        let claims: Vec<Claim> = funded
            .iter()
            .map(|&index| Claim::new(bids[index].rate, price, slots[kind], bids[index].remainder[kind]))
            .collect();
        for (&index, (quota, remainder)) in funded.iter().zip(round_claims(&claims, price, slots[kind])) {
            grants[index].quota[kind] = quota;
            grants[index].remainder[kind] = remainder;
        }
    }
    for &index in &funded {
        let Bid { balance, rate, running, .. } = bids[index];
        grants[index].quota = cut_to_affordable(grants[index].quota, running, balance.units() / rate.units());
    }
    (price, grants)
}

/// The slots of one kind that the bid at a place would be granted if it could pay all of them. A bid of nothing is granted
/// nothing, whatever rounding left to it.
pub(super) fn uncut_quota(bids: &[Bid], place: usize, kind: Kind, slots: u32) -> u32 {
    let taking_part = || bids.iter().enumerate().filter(|(index, bid)| *index == place || bid.is_funded());
    let price = Credits::from_units(taking_part().map(|(_, bid)| bid.rate.units()).sum());
    if bids[place].rate <= Credits::ZERO {
        return 0;
    }
    let claims: Vec<Claim> =
        taking_part().map(|(_, bid)| Claim::new(bid.rate, price, slots, bid.remainder[kind])).collect();
    let before = taking_part().take_while(|(index, _)| *index < place).count();
    match rounded_claim(&claims, before, slots) {
        Some(quota) => quota,
        None => round_claims(&claims, price, slots).nth(before).map_or(0, |(quota, _)| quota),
    }
}

/// What [`round_claims`] gives to one claim, without sorting all; none where more is missing or in excess than one slot
/// for each.
fn rounded_claim(claims: &[Claim], place: usize, slots: u32) -> Option<u32> {
    let missing = i128::from(slots) - claims.iter().map(|claim| claim.whole.max(0)).sum::<i128>();
    let missing = usize::try_from(missing).ok().filter(|missing| *missing <= claims.len())?;
    let key = |index: usize| (Reverse((claims[index].whole.min(0), claims[index].part)), index);
    let own = key(place);
    let earlier = (0..claims.len()).filter(|index| key(*index) < own).count();
    u32::try_from(claims[place].whole.max(0) + i128::from(earlier < missing)).ok()
}

/// The slots of one kind that a bid entitles its queue to: `whole` + `part` / (price x NANO), the part within [0, 1).
struct Claim {
    whole: i128,
    part: i128,
}

// === impl Claim ===

impl Claim {
    /// share x slots + remainder.
    fn new(rate: Credits, price: Credits, slots: u32, remainder: RoundingRemainder) -> Claim {
        let price = price.units();
        let product = rate.units() * i128::from(slots);
        let part = (product % price) * NANO + i128::from(remainder.0) * price;
        let denominator = price * NANO;
        Claim { whole: product / price + part.div_euclid(denominator), part: part.rem_euclid(denominator) }
    }

    /// The rest of the claim after `quota` slots.
    fn remainder_after(&self, quota: i128, price: Credits) -> RoundingRemainder {
        let nanos = (self.whole - quota) * NANO + self.part / price.units();
        // Within the range of i64 by the clamp.
        RoundingRemainder(nanos.clamp(1 - NANO, NANO - 1) as i64)
    }
}

/// Rounds claims to whole slots that sum to exactly `slots`: all down, then one more each by largest part, ties to the
/// first. Old remainders can make the sum of the whole parts too large; then one less each by smallest part.
fn round_claims(claims: &[Claim], price: Credits, slots: u32) -> impl Iterator<Item = (u32, RoundingRemainder)> {
    let mut quotas: Vec<i128> = claims.iter().map(|claim| claim.whole.max(0)).collect();
    let mut order: Vec<usize> = (0..claims.len()).collect();
    // A claim below zero (more was given before than is due) comes after all others.
    order.sort_by_key(|&index| (Reverse((claims[index].whole.min(0), claims[index].part)), index));
    let mut missing = i128::from(slots) - quotas.iter().sum::<i128>();
    while missing != 0 && !claims.is_empty() {
        for &index in order.iter().take(usize::try_from(missing).unwrap_or(0)) {
            quotas[index] += 1;
            missing -= 1;
        }
        for &index in order.iter().rev() {
            if missing < 0 && quotas[index] > 0 {
                quotas[index] -= 1;
                missing += 1;
            }
        }
    }
    claims.iter().zip(quotas).map(move |(claim, quota)| {
        // Quotas lie between 0 and slots.
        (quota as u32, claim.remainder_after(quota, price))
    })
}

/// Cuts a quota so that all of it can be paid for one interval. Slots in use are kept first.
pub(super) fn cut_to_affordable(quota: PerKind<u32>, running: PerKind<u32>, affordable: i128) -> PerKind<u32> {
    let affordable = u64::try_from(affordable).unwrap_or(u64::MAX);
    if total(quota) <= affordable {
        return quota;
    }
    let in_use = PerKind::new(quota.map.min(running.map), quota.reduce.min(running.reduce));
    let kept = scale_down(in_use, affordable);
    let unused = PerKind::new(quota.map - in_use.map, quota.reduce - in_use.reduce);
    let more = scale_down(unused, affordable - total(kept));
    PerKind::new(kept.map + more.map, kept.reduce + more.reduce)
}

/// The pair scaled to a sum of at most `limit`, its ratio kept as near as whole slots allow.
fn scale_down(slots: PerKind<u32>, limit: u64) -> PerKind<u32> {
    let sum = total(slots);
    if sum <= limit {
        return slots;
    }
    // limit < sum <= 2^33, so neither product overflows and both parts are within those of `slots`.
    let map = (u64::from(slots.map) * limit + sum / 2) / sum;
    PerKind::new(map as u32, (limit - map) as u32)
}

/// The slots in use that a quota covers.
pub(super) fn within(running: PerKind<u32>, quota: PerKind<u32>) -> PerKind<u32> {
    PerKind::new(running.map.min(quota.map), running.reduce.min(quota.reduce))
}

/// What slots cost over one interval. Within the range of `i128`: see above.
pub(super) fn cost(rate: Credits, slots: PerKind<u32>) -> Credits {
    Credits::from_units(rate.units() * i128::from(total(slots)))
}

/// The slots of both kinds together.
pub(super) fn total(slots: PerKind<u32>) -> u64 {
    u64::from(slots.map) + u64::from(slots.reduce)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn credits(text: &str) -> Credits {
        Credits::parse_exact(text).unwrap()
    }

    fn bid(balance: &str, rate: &str) -> Bid {
        Bid { balance: credits(balance), rate: credits(rate), ..Bid::default() }
    }

    fn quotas(grants: &[Grant], kind: Kind) -> Vec<u32> {
        grants.iter().map(|grant| grant.quota[kind]).collect()
    }

    /// Repeats the allocation with its own remainders.
    fn rounds(bids: &mut [Bid], slots: PerKind<u32>, count: usize) -> Vec<Vec<u32>> {
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
        let (price, grants) = allocate(&[bid("1000", "1"), bid("1000", "2")], PerKind::new(100, 10));
        assert_eq!(price, credits("3"));
        assert_eq!([grants[0].share.to_string(), grants[1].share.to_string()], ["0.333333333", "0.666666666"]);
        assert_eq!(quotas(&grants, Kind::Map), [33, 67]);
        assert_eq!(quotas(&grants, Kind::Reduce), [3, 7]);
    }

    #[test]
    fn the_originals_spending_test_holds() {
        let (price, grants) = allocate(&[bid("100", "5"), bid("100", "1")], PerKind::new(6, 6));
        assert_eq!((price, grants[0].share), (credits("6"), Share::new(credits("5"), credits("6"))));
        assert_eq!(quotas(&grants, Kind::Map), [5, 1]);
    }

    /// Three bidders as seen on the running original: 6 map slots at 2.0, 1.0 and 0.5.
    #[test]
    fn live_shares_of_the_original_hold() {
        let (price, grants) = allocate(&[bid("900", "2"), bid("900", "1"), bid("900", "0.5")], PerKind::new(6, 2));
        assert_eq!(price, credits("3.5"));
        let shares: Vec<String> = grants.iter().map(|grant| grant.share.to_string()).collect();
        assert_eq!(shares, ["0.571428571", "0.285714285", "0.142857142"]);
        assert_eq!(quotas(&grants, Kind::Map), [3, 2, 1]);
    }

    /// Defect 10: a queue that cannot pay had a share of 50.0 and the shares summed to more than 1.
    #[test]
    fn defect_10_only_funded_queues_count() {
        let (price, grants) = allocate(&[bid("0", "50"), bid("100", "1"), bid("9", "0")], PerKind::new(10, 0));
        assert_eq!(price, credits("1"));
        assert_eq!(quotas(&grants, Kind::Map), [0, 10, 0]);
        assert_eq!(grants[0].share, Share::ZERO);
    }

    /// Defect 36: a queue with one interval's money took 99 slots free of charge.
    #[test]
    fn defect_36_a_quota_is_cut_to_what_can_be_paid() {
        let (_, grants) = allocate(&[bid("1", "1")], PerKind::new(90, 10));
        assert_eq!(grants[0].quota, PerKind::new(1, 0));
        let (_, grants) = allocate(&[bid("50.5", "1")], PerKind::new(90, 10));
        assert_eq!(grants[0].quota, PerKind::new(45, 5));
    }

    #[test]
    fn a_cut_keeps_the_slots_in_use() {
        let only_reduces = Bid { running: PerKind::new(0, 4), ..bid("3", "1") };
        assert_eq!(allocate(&[only_reduces], PerKind::new(90, 10)).1[0].quota, PerKind::new(0, 3));
        let few_maps = Bid { running: PerKind::new(2, 1), ..bid("5", "1") };
        assert_eq!(allocate(&[few_maps], PerKind::new(90, 10)).1[0].quota, PerKind::new(4, 1));
    }

    /// Defect 30: a share below half a slot never had one.
    #[test]
    fn defect_30_small_shares_have_a_slot_over_time() {
        let mut bids: Vec<Bid> = (0..5).map(|_| bid("100", "1")).collect();
        let history = rounds(&mut bids, PerKind::new(1, 0), 10);
        assert_eq!(history[..2], [vec![1, 0, 0, 0, 0], vec![0, 1, 0, 0, 0]]);
        for queue in 0..5 {
            assert_eq!(history.iter().map(|quotas| quotas[queue]).sum::<u32>(), 2, "{history:?}");
        }
    }

    #[test]
    fn a_hundred_to_one_bid_gets_its_slot_once_in_a_hundred() {
        let mut bids = [bid("1000000", "99"), bid("1000000", "1")];
        let history = rounds(&mut bids, PerKind::new(1, 0), 200);
        assert_eq!(history.iter().map(|quotas| quotas[1]).sum::<u32>(), 2);
    }

    #[test]
    fn an_empty_market_has_no_price() {
        assert_eq!(allocate(&[], PerKind::new(5, 5)), (Credits::ZERO, vec![]));
        let (price, grants) = allocate(&[bid("0", "1")], PerKind::new(5, 5));
        assert_eq!((price, grants), (Credits::ZERO, vec![Grant::default()]));
    }

    #[test]
    fn the_largest_market_stays_in_range() {
        let rich = Bid { balance: Credits::MAX, rate: Credits::MAX, ..Bid::default() };
        let owed = PerKind::new(RoundingRemainder(999_999_999), RoundingRemainder(-999_999_999));
        let bids = vec![Bid { remainder: owed, ..rich }; MAX_QUEUES];
        let (price, grants) = allocate(&bids, PerKind::new(u32::MAX, u32::MAX));
        assert_eq!(price.units(), Credits::MAX.units() * MAX_QUEUES as i128);
        assert!(grants.iter().all(|grant| total(grant.quota) == 1), "one slot each is all they can pay");
    }

    fn any_bid() -> impl Strategy<Value = Bid> {
        let remainder = (1 - NANO as i64)..NANO as i64;
        (0..2_000i128, prop_oneof![0..5i128, 0..=Credits::MAX.units()], 0..9u32, 0..9u32, remainder.clone(), remainder)
            .prop_map(|(intervals, rate, map, reduce, owed_map, owed_reduce)| Bid {
                balance: Credits::from_units((rate * intervals / 10).min(Credits::MAX.units())),
                rate: Credits::from_units(rate),
                running: PerKind::new(map, reduce),
                remainder: PerKind::new(RoundingRemainder(owed_map), RoundingRemainder(owed_reduce)),
            })
    }

    proptest! {
        #[test]
        fn no_grant_exceeds_money_or_cluster(
            bids in prop::collection::vec(any_bid(), 0..20), map in 0..500u32, reduce in 0..50u32,
        ) {
            let slots = PerKind::new(map, reduce);
            let (price, grants) = allocate(&bids, slots);
            let rates: i128 = grants.iter().map(|grant| grant.share.rate().units()).sum();
            prop_assert_eq!(rates, price.units(), "shares sum to 1, or there are none");
            for kind in Kind::ALL {
                let sum: u32 = quotas(&grants, kind).iter().sum();
                prop_assert!(sum <= slots[kind]);
            }
            for (bid, grant) in bids.iter().zip(&grants) {
                let cost = grant.share.rate().units() * i128::from(total(grant.quota));
                prop_assert!(cost <= bid.balance.units());
                prop_assert_eq!(grant.share.rate() > Credits::ZERO, is_funded(bid.balance, bid.rate));
                prop_assert!(i128::from(grant.remainder.map.0).abs() < NANO && i128::from(grant.remainder.reduce.0).abs() < NANO);
            }
        }

        #[test]
        fn one_claim_is_rounded_as_all_are(
            bids in prop::collection::vec(any_bid(), 1..20), place in 0..20usize, slots in 0..500u32,
        ) {
            let funded: Vec<Bid> = bids.into_iter().filter(Bid::is_funded).collect();
            prop_assume!(!funded.is_empty());
            let place = place % funded.len();
            let rich = |bid: &Bid| Bid { balance: Credits::from_units(i128::from(u32::MAX) * bid.rate.units()), ..*bid };
            let (_, grants) = allocate(&funded.iter().map(rich).collect::<Vec<_>>(), PerKind::new(slots, 0));
            prop_assert_eq!(uncut_quota(&funded, place, Kind::Map, slots), grants[place].quota.map);
        }

        #[test]
        fn without_carries_quotas_are_within_one_of_the_share(
            rates in prop::collection::vec(1..1_000_000i128, 1..20), slots in 0..1000u32,
        ) {
            let bids: Vec<Bid> = rates
                .iter()
                .map(|&rate| Bid { balance: Credits::MAX, rate: Credits::from_units(rate), ..Bid::default() })
                .collect();
            let (price, grants) = allocate(&bids, PerKind::new(slots, 0));
            prop_assert_eq!(quotas(&grants, Kind::Map).iter().sum::<u32>(), slots);
            for (rate, grant) in rates.iter().zip(&grants) {
                let exact = rate * i128::from(slots);
                let got = i128::from(grant.quota.map) * price.units();
                prop_assert!((exact - got).abs() < price.units());
            }
        }
    }
}
