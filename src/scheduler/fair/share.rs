//! Fair shares (1.2.1 `SchedulingAlgorithms.computeFairShares`): divides slots in proportion to weights, between minimum and demand.
//!
//! The original searches the ratio of slots to weight with 25 halvings; here it is a fraction, and shares are exact to
//! the millionth, rounded down.

use std::cmp::Ordering;
use std::fmt;

use crate::model::PartsPerMillion;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShareClaim {
    pub(crate) demand: u32,
    /// Slots that it gets first, up to its demand; all minimums together may exceed what there is.
    pub(crate) min: u32,
    /// Zero: its minimum only.
    pub(crate) weight: PartsPerMillion,
}

/// A share of slots, in millionths of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FairShare(pub(crate) u64);

/// A fraction `part / whole` of slots (millionths) to weight.
#[derive(Clone, Copy)]
struct SlotRatio {
    part: u128,
    whole: u128,
}

/// A ratio from which on a claim starts or stops to grow with it.
struct Turn {
    at: SlotRatio,
    claim: usize,
    is_end: bool,
}

/// Divides `total` among claims: for the smallest ratio `r` at which the sum reaches the total, or all demands, each
/// gets `min(max(weight * r, min), demand)`. O(n log n).
pub(crate) fn fair_shares(claims: &[ShareClaim], total: FairShare) -> Vec<FairShare> {
    let demands: u128 = claims.iter().map(|claim| claim.demand_millionths()).sum();
    let target = u128::from(total.0).min(demands);
    // Slots of claims that do not grow at the ratio in hand, and the weight of those that do.
    let mut fixed: u128 = claims.iter().map(|claim| claim.least_millionths()).sum();
    let mut growing: u128 = 0;
    let mut ratio = SlotRatio { part: 0, whole: 1 };
    for turn in turns(claims) {
        if fixed >= target || growing * turn.at.part >= (target - fixed) * turn.at.whole {
            break;
        }
        let claim = &claims[turn.claim];
        let weight = u128::from(claim.weight.0);
        if turn.is_end {
            growing -= weight;
            fixed += claim.demand_millionths();
        } else {
            growing += weight;
            fixed -= claim.least_millionths();
        }
        ratio = turn.at;
    }
    if fixed < target && growing > 0 {
        ratio = SlotRatio { part: target - fixed, whole: growing };
    }
    claims.iter().map(|claim| claim.share_at(ratio)).collect()
}

fn turns(claims: &[ShareClaim]) -> Vec<Turn> {
    let mut turns = Vec::with_capacity(claims.len() * 2);
    for (index, claim) in claims.iter().enumerate().filter(|(_, claim)| claim.weight.0 > 0 && claim.demand > claim.min)
    {
        let whole = u128::from(claim.weight.0);
        turns.push(Turn { at: SlotRatio { part: claim.least_millionths(), whole }, claim: index, is_end: false });
        turns.push(Turn { at: SlotRatio { part: claim.demand_millionths(), whole }, claim: index, is_end: true });
    }
    // Stable, so that a claim starts before it stops.
    turns.sort_by(|left, right| left.at.compare(right.at));
    turns
}

impl ShareClaim {
    fn demand_millionths(&self) -> u128 {
        u128::from(FairShare::of_slots(self.demand).0)
    }

    fn least_millionths(&self) -> u128 {
        u128::from(FairShare::of_slots(self.min.min(self.demand)).0)
    }

    fn share_at(&self, ratio: SlotRatio) -> FairShare {
        let grown = u128::from(self.weight.0) * ratio.part / ratio.whole;
        let share = grown.max(self.least_millionths()).min(self.demand_millionths());
        FairShare(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

impl FairShare {
    pub(crate) fn of_slots(slots: u32) -> Self {
        Self(u64::from(slots) * PartsPerMillion::ONE.0)
    }

    /// Whole slots in it, the rest dropped.
    pub(crate) fn whole_slots(self) -> u32 {
        u32::try_from(self.0 / PartsPerMillion::ONE.0).unwrap_or(u32::MAX)
    }

    #[must_use]
    pub(crate) fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// With one decimal, half up, as pages show it.
    pub(crate) fn to_tenths(self) -> String {
        let tenths = (self.0 + 50_000) / 100_000;
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

impl fmt::Display for FairShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PartsPerMillion(self.0).fmt(f)
    }
}

impl SlotRatio {
    fn compare(self, other: Self) -> Ordering {
        (self.part * other.whole).cmp(&(other.part * self.whole))
    }
}

#[cfg(test)]
#[path = "tests/share.rs"]
mod tests;
