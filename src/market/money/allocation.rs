//! The allocation of one interval: price, shares and quotas from the bids of the active queues.
//!
//! Exact integer arithmetic. All fractions of a kind have one denominator, so they are compared by numerators; only the
//! [`RoundingRemainder`] that is remembered from interval to interval is rounded, to a billionth of a slot. With at
//! most [`MAX_QUEUES`] rates of at most [`Credits::MAX`] every product fits an `i128`.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::model::{Credits, Kind, PerKind, PerPool, Pool};

use super::budget_file::MAX_QUEUES;
use super::container_use::ContainerUse;
use super::share::Share;

/// Billionths in a slot.
pub(super) const NANO: i128 = 1_000_000_000;

// Twice the common denominator, price x NANO, and every rate x slots of all pools must fit.
const _: () = assert!(Credits::MAX.units() < i128::MAX / (2 * NANO * MAX_QUEUES as i128));
const _: () = assert!(Credits::MAX.units() < i128::MAX / (3 * u32::MAX as i128));

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
    /// Its containers.
    pub containers: ContainerUse,
    /// What rounding left from the previous interval.
    pub remainder: PerPool<RoundingRemainder>,
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

    /// Whether it claims slots of a pool. Those beyond maps and reduces are for queues that hold or want containers.
    fn claims(&self, pool: Pool) -> bool {
        match pool {
            Pool::Map | Pool::Reduce => true,
            Pool::Container => self.containers.has_any(),
        }
    }
}

/// What the allocation grants to a queue for one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// Its part of the cluster, and in it the rate that will be charged: the bid, or 0 when the queue is not funded.
    pub share: Share,
    /// The slots it may use for its money.
    pub quota: PerPool<u32>,
    /// What rounding left for the next tick.
    pub remainder: PerPool<RoundingRemainder>,
}

/// A part in a division of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is weighted by; 0 gets nothing.
    pub rate: Credits,
    /// The slots that it can use.
    pub most: u32,
}

/// Divides whole slots among parts in proportion to their rates, none above what it can use: what one cannot use goes to
/// the others. Rounded by largest remainder, ties to the first; at most [`MAX_QUEUES`] parts, of at most
/// [`Credits::MAX`].
pub fn divide_slots(slots: u32, parts: &[Part]) -> Vec<u32> {
    let filled = fill(slots, parts);
    let claims: Vec<Claim> = filled
        .open
        .iter()
        .map(|&index| Claim::new(parts[index].rate, filled.price, filled.left, RoundingRemainder::default()))
        .collect();
    let mut divided: Vec<u32> =
        parts.iter().map(|part| if part.rate > Credits::ZERO { part.most } else { 0 }).collect();
    for (&index, (slots, _)) in filled.open.iter().zip(round_claims(&claims, filled.price, filled.left)) {
        divided[index] = slots;
    }
    divided
}

/// What is left once all parts that can use no more than their proportion have what they can use.
struct Filled {
    /// The others, in their order: each can use more than its proportion of what is left.
    open: Vec<usize>,
    /// The sum of their rates.
    price: Credits,
    /// The slots for them.
    left: u32,
}

/// Sweeps over all parts before the rest are sorted: few parts reach what they can use after the first ones.
const SWEEPS: usize = 6;

fn fill(slots: u32, parts: &[Part]) -> Filled {
    let mut open: Vec<usize> = (0..parts.len()).filter(|&index| parts[index].rate > Credits::ZERO).collect();
    let mut price: i128 = open.iter().map(|&index| parts[index].rate.units()).sum();
    let mut left = slots;
    for _ in 0..SWEEPS {
        let before = open.len();
        let (proportion_of, at_price) = (left, price);
        open.retain(|&index| {
            let is_filled = is_filled(&parts[index], proportion_of, at_price);
            if is_filled {
                (left, price) = (left - parts[index].most, price - parts[index].rate.units());
            }
            !is_filled
        });
        if open.len() == before {
            return Filled { open, price: Credits::from_units(price), left };
        }
    }
    // The part that can use least for its rate is filled first.
    open.sort_unstable_by(|&a, &b| {
        let weight = |of: usize, by: usize| i128::from(parts[of].most) * parts[by].rate.units();
        weight(a, b).cmp(&weight(b, a)).then(a.cmp(&b))
    });
    let filled = open.iter().take_while(|&&index| {
        let is_filled = is_filled(&parts[index], left, price);
        if is_filled {
            (left, price) = (left - parts[index].most, price - parts[index].rate.units());
        }
        is_filled
    });
    let filled = filled.count();
    open.drain(..filled);
    open.sort_unstable();
    Filled { open, price: Credits::from_units(price), left }
}

/// Whether a part can use no more than its proportion of so many slots.
fn is_filled(part: &Part, slots: u32, price: i128) -> bool {
    // A product that is out of range is more than any proportion.
    let most = price.checked_mul(part.most.into());
    most.is_some_and(|most| part.rate.units() * i128::from(slots) >= most)
}

/// Whether a queue takes part: it bids something and can pay one slot for one interval.
pub fn is_funded(balance: Credits, rate: Credits) -> bool {
    rate > Credits::ZERO && balance >= rate
}

/// Sets the price, the sum of the funded bids, and gives each bid its grant, in the same order. `bids` are those of
/// the active queues (something running, held or pending), in order of their names, which decides ties; `slots` are the
/// cluster's, for containers those that no map or reduce slot stands for (resource requests, section 10: X).
///
/// The slots of each kind are divided among all funded bids, those for containers among the funded ones that hold or
/// want any: containers change nothing in the quotas of maps and reduces.
pub fn allocate(bids: &[Bid], slots: PerPool<u32>) -> (Credits, Vec<Grant>) {
    let funded: Vec<usize> = (0..bids.len()).filter(|&index| bids[index].is_funded()).collect();
    let sum_of_rates = |places: &[usize]| places.iter().map(|&index| bids[index].rate.units()).sum();
    let price = Credits::from_units(sum_of_rates(&funded));
    let mut grants = vec![Grant::default(); bids.len()];
    for &index in &funded {
        grants[index].share = Share::new(bids[index].rate, price);
    }
    for pool in Pool::ALL {
        let claiming: Vec<usize> = funded.iter().copied().filter(|&index| bids[index].claims(pool)).collect();
        let price = Credits::from_units(sum_of_rates(&claiming));
        let claims: Vec<Claim> = claiming
            .iter()
            .map(|&index| Claim::new(bids[index].rate, price, slots[pool], bids[index].remainder[pool]))
            .collect();
        for (&index, (quota, remainder)) in claiming.iter().zip(round_claims(&claims, price, slots[pool])) {
            grants[index].quota[pool] = quota;
            grants[index].remainder[pool] = remainder;
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

/// The slots of one pool that a bid entitles its queue to: `whole` + `part` / (price x NANO), the part within [0, 1).
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

/// Cuts a quota so that all of it can be paid for one interval: containers get what maps and reduces leave of the money.
/// Slots in use are kept first.
pub(super) fn cut_to_affordable(quota: PerPool<u32>, running: PerKind<u32>, affordable: i128) -> PerPool<u32> {
    let affordable = u64::try_from(affordable).unwrap_or(u64::MAX);
    let tasks = cut_tasks(quota.slots(), running, affordable);
    let left = affordable.saturating_sub(total_of_tasks(tasks));
    PerPool::new(tasks.map, tasks.reduce, quota.container.min(u32::try_from(left).unwrap_or(u32::MAX)))
}

fn cut_tasks(quota: PerKind<u32>, running: PerKind<u32>, affordable: u64) -> PerKind<u32> {
    if total_of_tasks(quota) <= affordable {
        return quota;
    }
    let in_use = PerKind::new(quota.map.min(running.map), quota.reduce.min(running.reduce));
    let kept = scale_down(in_use, affordable);
    let unused = PerKind::new(quota.map - in_use.map, quota.reduce - in_use.reduce);
    let more = scale_down(unused, affordable - total_of_tasks(kept));
    PerKind::new(kept.map + more.map, kept.reduce + more.reduce)
}

/// The pair scaled to a sum of at most `limit`, its ratio kept as near as whole slots allow.
fn scale_down(slots: PerKind<u32>, limit: u64) -> PerKind<u32> {
    let sum = total_of_tasks(slots);
    if sum <= limit {
        return slots;
    }
    // limit < sum <= 2^33, so neither product overflows and both parts are within those of `slots`.
    let map = (u64::from(slots.map) * limit + sum / 2) / sum;
    PerKind::new(map as u32, (limit - map) as u32)
}

/// The slots in use that a quota covers, containers last.
pub(super) fn within(in_use: PerPool<u32>, quota: PerPool<u32>) -> PerPool<u32> {
    let most = quota.left_for_containers(in_use.slots());
    PerPool::new(in_use.map.min(quota.map), in_use.reduce.min(quota.reduce), in_use.container.min(most))
}

/// What slots cost over one interval. Within the range of `i128`: see above.
pub(super) fn cost(rate: Credits, slots: PerPool<u32>) -> Credits {
    Credits::from_units(rate.units() * i128::from(total(slots)))
}

/// The slots of all pools together.
pub(super) fn total(slots: PerPool<u32>) -> u64 {
    total_of_tasks(slots.slots()) + u64::from(slots.container)
}

fn total_of_tasks(slots: PerKind<u32>) -> u64 {
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
        let rich = Bid { balance: Credits::MAX, rate: Credits::MAX, ..Bid::default() };
        let (more, less) = (RoundingRemainder(999_999_999), RoundingRemainder(-999_999_999));
        let owed = PerPool::new(more, less, less);
        let containers = ContainerUse { wanted: 1, ..ContainerUse::default() };
        let bids = vec![Bid { remainder: owed, containers, ..rich }; MAX_QUEUES];
        let (price, grants) = allocate(&bids, PerPool::new(u32::MAX, u32::MAX, u32::MAX));
        assert_eq!(price.units(), Credits::MAX.units() * MAX_QUEUES as i128);
        assert!(grants.iter().all(|grant| total(grant.quota) == 1), "one slot each is all they can pay");
    }

    /// Water-filling in fractions, one part a round; then the largest remainders.
    fn divide_naively(slots: u32, parts: &[Part]) -> Vec<u32> {
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
        let part = |rate: &str, most| Part { rate: credits(rate), most };
        assert_eq!(divide_slots(10, &[part("900", 1), part("2", 99), part("1", 99)]), [1, 6, 3]);
        assert_eq!(divide_slots(10, &[part("900", 0), part("1", 99), part("1", 2)]), [0, 8, 2]);
        assert_eq!(divide_slots(10, &[part("1", 2), part("1", 3)]), [2, 3], "no part can use the rest");
        assert_eq!(divide_slots(2, &[part("1", 9), part("1", 9), part("1", 9)]), [1, 1, 0], "ties go to the first");
        assert_eq!(divide_slots(7, &[part("0", 9), part("1", 9)]), [0, 7]);
        assert_eq!(divide_slots(u32::MAX, &[part("1", u32::MAX)]), [u32::MAX]);
        let most = Part { rate: Credits::MAX, most: u32::MAX };
        assert_eq!(
            divide_slots(u32::MAX, &vec![most; MAX_QUEUES]).into_iter().map(u64::from).sum::<u64>(),
            u32::MAX.into()
        );
    }

    fn any_bid() -> impl Strategy<Value = Bid> {
        let remainder = ((1 - NANO as i64)..NANO as i64).prop_map(RoundingRemainder);
        let remainder = (remainder.clone(), remainder.clone(), remainder);
        let containers = (prop_oneof![Just(0), 0..30u32], 0..2u64);
        let rate = prop_oneof![0..5i128, 0..=Credits::MAX.units()];
        (0..2_000i128, rate, 0..9u32, 0..9u32, containers, remainder).prop_map(
            |(intervals, rate, map, reduce, (held, wanted), (of_maps, of_reduces, of_containers))| Bid {
                balance: Credits::from_units((rate * intervals / 10).min(Credits::MAX.units())),
                rate: Credits::from_units(rate),
                running: PerKind::new(map, reduce),
                containers: ContainerUse { held, chargeable: held, wanted },
                remainder: PerPool::new(of_maps, of_reduces, of_containers),
            },
        )
    }

    fn wanting(bid: Bid) -> Bid {
        Bid { containers: ContainerUse { wanted: 1, ..ContainerUse::default() }, ..bid }
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
                prop_assert!(grant.quota.container == 0 || bid.containers.has_any());
                // All that is sold can be paid, however much of it containers use.
                for running in [bid.running, PerKind::default(), PerKind::new(u32::MAX, 0)] {
                    let used = within(PerPool::new(running.map, running.reduce, u32::MAX), grant.quota);
                    prop_assert_eq!(total(used), total(grant.quota));
                }
            }
        }

        /// The slots beyond, and containers of any queue, change nothing in what maps and reduces get.
        #[test]
        fn containers_change_nothing_in_quotas_of_maps_and_reduces(
            bids in prop::collection::vec(any_bid(), 0..20), map in 0..500u32, reduce in 0..50u32, beyond in 0..80u32,
        ) {
            let without: Vec<Bid> = bids
                .iter()
                .map(|bid| {
                    let PerPool { map, reduce, .. } = bid.remainder;
                    let remainder = PerPool::new(map, reduce, RoundingRemainder::default());
                    Bid { containers: ContainerUse::default(), remainder, ..*bid }
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
            let parts: Vec<Part> =
                parts.iter().map(|&(rate, most)| Part { rate: Credits::from_units(rate), most }).collect();
            prop_assert_eq!(divide_slots(slots, &parts), divide_naively(slots, &parts));
        }

        /// So many parts reach what they can use one after the other that the rest are sorted.
        #[test]
        fn a_division_in_many_steps_is_that_of_slot_after_slot(
            rates in prop::collection::vec(1..4i128, 12..24), slots in 0..4_000u32,
        ) {
            let parts: Vec<Part> = (0..)
                .zip(&rates)
                .map(|(step, &rate)| Part { rate: Credits::from_units(rate), most: 1 << (step / 2) })
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
            let rich = |bid: &Bid| Bid { balance: Credits::from_units(i128::from(u32::MAX) * bid.rate.units()), ..*bid };
            let (_, grants) = allocate(&funded.iter().map(rich).collect::<Vec<_>>(), PerPool::new(slots, 0, 0));
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
            let (price, grants) = allocate(&bids, PerPool::new(slots, 0, 0));
            prop_assert_eq!(quotas(&grants, Kind::Map).iter().sum::<u32>(), slots);
            for (rate, grant) in rates.iter().zip(&grants) {
                let exact = rate * i128::from(slots);
                let got = i128::from(grant.quota.map) * price.units();
                prop_assert!((exact - got).abs() < price.units());
            }
        }
    }
}
