//! The allocation of one interval: price, shares and quotas from the bids of the active queues.
//!
//! Exact integer arithmetic. All fractions of a kind have one denominator, so they are compared by numerators; only the
//! [`RoundingRemainder`] that is remembered from interval to interval is rounded, to a billionth of a slot. With at
//! most [`MAX_QUEUES`] rates of at most [`Credits::MAX`] every product fits an `i128`.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::model::{Credits, Kind, PerKind, PerPool, Pool};

use super::budget_file::MAX_QUEUES;
use super::share::Share;

/// Containers of a queue at the time of a tick, in slots (resource requests, section 6: s(c)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerUse {
    /// Slots of all that are granted and not complete.
    pub held: u32,
    /// Containers, not slots, that are still wanted.
    pub wanted: u64,
}

impl ContainerUse {
    pub(crate) fn has_any(&self) -> bool {
        self.held > 0 || self.wanted > 0
    }
}

/// Billionths in a slot.
pub(super) const NANO: i128 = 1_000_000_000;

// Twice the common denominator, price x NANO, and every rate x slots of all pools must fit.
const _: () = assert!(Credits::MAX.units() < i128::MAX / (2 * NANO * MAX_QUEUES as i128));
const _: () = assert!(Credits::MAX.units() < i128::MAX / (3 * u32::MAX as i128));

/// The part of a slot that rounding withheld from a queue (negative: granted in excess), in billionths; within (-1, 1) slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RoundingRemainder(i64);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bid {
    /// Its balance after the charge.
    pub(crate) balance: Credits,
    pub(crate) rate: Credits,
    pub(crate) running: PerKind<u32>,
    pub(crate) containers: ContainerUse,
    /// The slots that it holds or could use: it is sold no more.
    pub(crate) want: PerPool<u32>,
    pub(crate) remainder: PerPool<RoundingRemainder>,
}

impl RoundingRemainder {
    /// So many billionths of a slot, within a slot.
    #[cfg(test)]
    pub(in crate::market) fn of(nanos: i64) -> Self {
        Self(nanos)
    }

    pub(super) fn nanos(self) -> i128 {
        i128::from(self.0).clamp(1 - NANO, NANO - 1)
    }
}

impl Bid {
    pub(super) fn is_funded(&self) -> bool {
        is_funded(self.balance, self.rate)
    }

    /// The slots that it can pay over a whole interval.
    pub(super) fn affordable(&self) -> u32 {
        u32_at_most(self.balance.units().max(0) / self.rate.units().max(1))
    }

    /// The slots of a pool that it may be sold beside others: no more than it wants and can pay, so that one that is poor
    /// keeps nothing from them.
    pub(super) fn most(&self, pool: Pool) -> u32 {
        self.want[pool].min(self.affordable())
    }
}

fn u32_at_most(slots: i128) -> u32 {
    u32::try_from(slots).unwrap_or(u32::MAX)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Its part of the cluster, and in it the rate that will be charged: the bid, or 0 when the queue is not funded.
    pub(crate) share: Share,
    /// The slots it may use for its money.
    pub(crate) quota: PerPool<u32>,
    pub(crate) remainder: PerPool<RoundingRemainder>,
}

/// A part in a division of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DivisionPart {
    /// What it is weighted by; 0 gets nothing.
    pub(crate) rate: Credits,
    /// The slots that it can use.
    pub(crate) most: u32,
}

/// Divides whole slots among parts in proportion to their rates, none above what it can use: what one cannot use goes to the others.
/// Rounded by largest remainder, ties to the first; at most [`MAX_QUEUES`] parts, of at most [`Credits::MAX`].
pub(crate) fn divide_slots(slots: u32, parts: &[DivisionPart]) -> Vec<u32> {
    divide(slots, parts, |_| RoundingRemainder::default()).into_iter().map(|(slots, _)| slots).collect()
}

/// The same with what rounding left to each part before; and what it leaves now. A part that has all it can use is owed nothing more.
fn divide(
    slots: u32,
    parts: &[DivisionPart],
    remainder: impl Fn(usize) -> RoundingRemainder,
) -> Vec<(u32, RoundingRemainder)> {
    let filled = fill(slots, parts);
    let most_of = |part: &DivisionPart| if part.rate > Credits::ZERO { part.most } else { 0 };
    let owes = |index| remainder(index).min(RoundingRemainder::default());
    let mut divided: Vec<_> = parts.iter().enumerate().map(|(index, part)| (most_of(part), owes(index))).collect();
    let claims = filled.claims(parts, remainder);
    for (&index, rounded) in filled.open.iter().zip(round_claims(&claims, filled.price, filled.left)) {
        divided[index] = rounded;
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

impl Filled {
    /// What the open parts claim of what is left.
    fn claims(&self, parts: &[DivisionPart], remainder: impl Fn(usize) -> RoundingRemainder) -> Vec<QueueClaim> {
        let claim = |&index: &usize| QueueClaim::new(&parts[index], self.price, self.left, remainder(index));
        self.open.iter().map(claim).collect()
    }
}

/// Sweeps over all parts before the rest are sorted: few parts reach what they can use after the first ones.
const SWEEPS: usize = 6;

fn fill(slots: u32, parts: &[DivisionPart]) -> Filled {
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
fn is_filled(part: &DivisionPart, slots: u32, price: i128) -> bool {
    if part.most > slots {
        return false;
    }
    // A product that is out of range is more than any proportion.
    let most = price.checked_mul(part.most.into());
    most.is_some_and(|most| part.rate.units() * i128::from(slots) >= most)
}

/// Whether a queue takes part: it bids something and can pay one slot for one interval.
pub(crate) fn is_funded(balance: Credits, rate: Credits) -> bool {
    rate > Credits::ZERO && balance >= rate
}

/// Sets the price, the sum of the funded bids, and gives each bid its grant, in the same order. `bids` are those of
/// the active queues (something held, or wanted), in order of their names, which decides ties; `slots` are the
/// cluster's, for containers those that no map or reduce slot stands for (resource requests, section 10: X).
///
/// The slots of each pool are divided among the funded bids by their rates, none beyond what it wants. Containers that the
/// slots for containers are too few for may use map and reduce slots, so these count as wanted too.
pub(crate) fn allocate(bids: &[Bid], slots: PerPool<u32>) -> (Credits, Vec<Grant>) {
    let funded: Vec<usize> = (0..bids.len()).filter(|&index| bids[index].is_funded()).collect();
    let sum_of_rates = |places: &[usize]| places.iter().map(|&index| bids[index].rate.units()).sum();
    let price = Credits::from_units(sum_of_rates(&funded));
    let mut grants = vec![Grant::default(); bids.len()];
    for &index in &funded {
        grants[index].share = Share::new(bids[index].rate, price);
    }
    // Divisions of wide numbers take a good part of a tick, so each is made once.
    let payable: Vec<i128> =
        funded.iter().map(|&index| bids[index].balance.units() / bids[index].rate.units()).collect();
    // One alone keeps nothing from others.
    let most_payable = |place: usize| if funded.len() > 1 { u32_at_most(payable[place]) } else { u32::MAX };
    let wanted = |place: usize, pool: Pool| bids[funded[place]].want[pool].min(most_payable(place));
    // Of each, the slots for containers that are still to be found.
    let mut containers = vec![0_u32; funded.len()];
    for pool in [Pool::Container, Pool::Map, Pool::Reduce] {
        let part = |(place, more): (usize, &u32)| DivisionPart {
            rate: bids[funded[place]].rate,
            most: wanted(place, pool).saturating_add(*more),
        };
        let parts: Vec<DivisionPart> = containers.iter().enumerate().map(part).collect();
        let remainder = |place: usize| bids[funded[place]].remainder[pool];
        for (place, (quota, remainder)) in divide(slots[pool], &parts, remainder).into_iter().enumerate() {
            let (grant, want) = (&mut grants[funded[place]], wanted(place, pool));
            (grant.quota[pool], grant.remainder[pool]) = (quota, remainder);
            containers[place] = match pool {
                Pool::Container => want.saturating_sub(quota),
                Pool::Map | Pool::Reduce => containers[place].saturating_sub(quota.saturating_sub(want)),
            };
        }
    }
    for (&index, payable) in funded.iter().zip(payable) {
        grants[index].quota = cut_to_affordable(grants[index].quota, bids[index].running, payable);
    }
    (price, grants)
}

/// The slots of one kind that the bid at a place would be granted if it could pay all of them. A bid of nothing is granted
/// nothing, whatever rounding left to it.
pub(super) fn uncut_quota(bids: &[Bid], place: usize, kind: Kind, slots: u32) -> u32 {
    if bids[place].rate <= Credits::ZERO {
        return 0;
    }
    let taking_part: Vec<usize> = (0..bids.len()).filter(|&index| index == place || bids[index].is_funded()).collect();
    let part = |&index: &usize| {
        let bid = &bids[index];
        // What is bought for an order, its job is to use; of the others' containers all may need such slots.
        let most = || bid.most(kind.into()).saturating_add(bid.most(Pool::Container));
        DivisionPart { rate: bid.rate, most: if index == place { u32::MAX } else { most() } }
    };
    let parts: Vec<DivisionPart> = taking_part.iter().map(part).collect();
    let filled = fill(slots, &parts);
    let own = taking_part.partition_point(|&index| index < place);
    let claims = filled.claims(&parts, |index| bids[taking_part[index]].remainder[kind]);
    // It can use all slots, so it is filled only where it takes part alone.
    let Ok(own) = filled.open.binary_search(&own) else { return slots };
    match rounded_claim(&claims, own, filled.left) {
        Some(quota) => quota,
        None => round_claims(&claims, filled.price, filled.left).nth(own).map_or(0, |(quota, _)| quota),
    }
}

/// What [`round_claims`] gives to one claim, without sorting all; none where more is missing or in excess than one slot
/// for each, and where one of them could not use a slot more.
fn rounded_claim(claims: &[QueueClaim], place: usize, slots: u32) -> Option<u32> {
    if claims.iter().any(|claim| claim.whole >= claim.most) {
        return None;
    }
    let missing = i128::from(slots) - claims.iter().map(|claim| claim.whole.max(0)).sum::<i128>();
    let missing = usize::try_from(missing).ok().filter(|missing| *missing <= claims.len())?;
    let own = rank(claims, place);
    let earlier = (0..claims.len()).filter(|index| rank(claims, *index) < own).count();
    u32::try_from(claims[place].whole.max(0) + i128::from(earlier < missing)).ok()
}

/// The slots of one pool that a bid entitles its queue to: `whole` + `part` / (price x NANO), the part within [0, 1).
struct QueueClaim {
    whole: i128,
    part: i128,
    most: i128,
}

impl QueueClaim {
    /// share x slots + remainder.
    fn new(of: &DivisionPart, price: Credits, slots: u32, remainder: RoundingRemainder) -> QueueClaim {
        let price = price.units();
        let product = of.rate.units() * i128::from(slots);
        let whole = product / price;
        let part = (product - whole * price) * NANO + remainder.nanos() * price;
        // The remainder is within a slot, so the part is less than one beyond [0, 1).
        let denominator = price * NANO;
        let carried = i128::from(part >= denominator) - i128::from(part < 0);
        QueueClaim { whole: whole + carried, part: part - carried * denominator, most: of.most.into() }
    }

    /// The rest of the claim after `quota` slots.
    fn remainder_after(&self, quota: i128, price: Credits) -> RoundingRemainder {
        let nanos = (self.whole - quota) * NANO + self.part / price.units();
        // Within the range of i64 by the clamp.
        RoundingRemainder(nanos.clamp(1 - NANO, NANO - 1) as i64)
    }
}

/// The place of a claim among those that get one slot more. One below zero (more was given before than is due) comes after all others.
fn rank(claims: &[QueueClaim], index: usize) -> impl Ord + use<> {
    (Reverse((claims[index].whole.min(0), claims[index].part)), index)
}

/// Rounds claims to whole slots that sum to exactly `slots`: all down, then one more each by largest part, ties to the first, none beyond
/// what it can use. Old remainders can make the sum of the whole parts too large; then one less each by smallest part.
fn round_claims(claims: &[QueueClaim], price: Credits, slots: u32) -> impl Iterator<Item = (u32, RoundingRemainder)> {
    let mut quotas: Vec<i128> = claims.iter().map(|claim| claim.whole.max(0).min(claim.most)).collect();
    let mut missing = i128::from(slots) - quotas.iter().sum::<i128>();
    while missing != 0 {
        let step = missing.signum();
        let can_change = |&index: &usize| if step > 0 { quotas[index] < claims[index].most } else { quotas[index] > 0 };
        let mut changing: Vec<usize> = (0..claims.len()).filter(can_change).collect();
        if changing.is_empty() {
            break;
        }
        // As many as are missing, or all of them once, and then again.
        let count = usize::try_from(missing.abs()).map_or(changing.len(), |missing| missing.min(changing.len()));
        if count < changing.len() {
            let rank = |index: usize| rank(claims, index);
            changing.select_nth_unstable_by(count, |&one, &other| match step {
                1 => rank(one).cmp(&rank(other)),
                _ => rank(other).cmp(&rank(one)),
            });
        }
        changing[..count].iter().for_each(|&index| quotas[index] += step);
        missing -= step * count as i128;
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

pub(super) fn total(slots: PerPool<u32>) -> u64 {
    total_of_tasks(slots.slots()) + u64::from(slots.container)
}

fn total_of_tasks(slots: PerKind<u32>) -> u64 {
    u64::from(slots.map) + u64::from(slots.reduce)
}

#[cfg(test)]
#[path = "../tests/allocation.rs"]
mod tests;
