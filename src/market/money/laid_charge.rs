//! A queue's charge, laid on its jobs and applications in proportion to the slot-milliseconds that each held.
//!
//! Invariant: the parts sum to the charge, exactly.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId, PerPool};

use super::metered::{SlotHolder, total_ms};

/// What a job or application pays of the charge of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaidCharge {
    pub(crate) holder: SlotHolder,
    /// What it held in the interval, within the quota and beyond it.
    pub(crate) slot_ms: PerPool<u64>,
    pub(crate) amount: Credits,
}

/// Lays an amount on holders, given in the order of their submissions; `ordered` is what one job pays alone on top, because
/// its order has raised the rate.
pub(super) fn lay(
    amount: Credits,
    ordered: Option<(JobId, Credits)>,
    holders: impl Iterator<Item = (SlotHolder, PerPool<u64>)>,
    laid: &mut Vec<LaidCharge>,
) {
    let first = laid.len();
    let holders = holders.filter(|(_, slot_ms)| total_ms(*slot_ms) > 0);
    laid.extend(holders.map(|(holder, slot_ms)| LaidCharge { holder, slot_ms, amount: Credits::ZERO }));
    lay_in_proportion(amount, &mut laid[first..]);
    let Some((job, more)) = ordered.filter(|(_, more)| *more > Credits::ZERO) else { return };
    let holder = SlotHolder::Job(job);
    match laid[first..].iter_mut().find(|charge| charge.holder == holder) {
        Some(charge) => charge.amount = Credits::from_units(charge.amount.units() + more.units()),
        None => laid.push(LaidCharge { holder, slot_ms: PerPool::default(), amount: more }),
    }
}

/// Adds parts to what is laid on the same holders from a place on.
pub(super) fn add_parts(laid: &mut Vec<LaidCharge>, first: usize, parts: Vec<LaidCharge>) {
    for part in parts {
        match laid[first..].iter_mut().find(|charge| charge.holder == part.holder) {
            Some(charge) => {
                charge.amount = Credits::from_units(charge.amount.units() + part.amount.units());
                charge.slot_ms.container = charge.slot_ms.container.saturating_add(part.slot_ms.container);
            }
            None => laid.push(part),
        }
    }
}

/// Rounded down; what is left goes by largest remainder, ties to the first.
fn lay_in_proportion(amount: Credits, laid: &mut [LaidCharge]) {
    if let [only] = laid {
        only.amount = amount;
        return;
    }
    // A sum of times of slots: far below the range.
    let sum: u64 = laid.iter().fold(0, |sum: u64, charge| sum.saturating_add(total_ms(charge.slot_ms)));
    let units = amount.units().unsigned_abs();
    let mut left = units;
    let mut remainders: Vec<(Reverse<u128>, usize)> = Vec::with_capacity(laid.len());
    for (index, charge) in laid.iter_mut().enumerate() {
        let (part, remainder) = part_of(units, total_ms(charge.slot_ms), sum);
        charge.amount = Credits::from_units(part.cast_signed());
        left -= part;
        remainders.push((Reverse(remainder), index));
    }
    remainders.sort_unstable();
    for (_, index) in remainders.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
        laid[index].amount = Credits::from_units(laid[index].amount.units() + 1);
    }
}

/// `units` x `part` / `sum` and the remainder; `part` is at most `sum`, and `units` below 2^96.
pub(super) fn part_of(units: u128, part: u64, sum: u64) -> (u128, u128) {
    const LOW_BITS: u32 = 48;
    let (part, sum) = (u128::from(part), u128::from(sum.max(1)));
    // In two steps, since the product may not fit.
    let high = (units >> LOW_BITS) * part;
    let low = ((high % sum) << LOW_BITS) + (units & ((1 << LOW_BITS) - 1)) * part;
    (((high / sum) << LOW_BITS) + low / sum, low % sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Credits, Identifier};

    fn job(number: i32) -> SlotHolder {
        let identifier: Identifier = "1".parse().unwrap();
        SlotHolder::Job(JobId { identifier, number })
    }

    fn laid(amount: i128, ordered: Option<(i32, i128)>, slot_ms: &[u64]) -> Vec<i128> {
        let holders = (1..).zip(slot_ms).map(|(number, ms)| (job(number), PerPool::new(*ms, 0, 0)));
        let ordered = ordered.map(|(number, more)| (job(number).job().unwrap(), Credits::from_units(more)));
        let mut all = Vec::new();
        lay(Credits::from_units(amount), ordered, holders, &mut all);
        all.iter().map(|charge| charge.amount.units()).collect()
    }

    #[test]
    fn a_charge_is_laid_by_slot_time_and_the_rest_by_largest_remainder_then_submission() {
        assert_eq!(laid(10, None, &[1, 1, 1]), [4, 3, 3], "equal remainders: the first submission");
        assert_eq!(laid(11, None, &[1, 1, 1]), [4, 4, 3]);
        assert_eq!(laid(10, None, &[5, 0, 11]), [3, 7], "2.5 / 16ths: what held nothing pays nothing");
        assert_eq!(laid(7, None, &[9]), [7]);
        assert_eq!(laid(0, None, &[]), [0; 0]);
    }

    #[test]
    fn what_an_order_adds_to_the_rate_is_paid_by_its_job_alone() {
        assert_eq!(laid(10, Some((2, 5)), &[1, 1]), [5, 10]);
        assert_eq!(laid(10, Some((9, 5)), &[1, 1]), [5, 5, 5], "it held nothing, and its order kept the slots");
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_charge_and_differ_from_proportion_by_less_than_a_unit(
            amount in 0..10_i128.pow(25),
            slot_ms in prop::collection::vec(1..u64::from(u32::MAX) * 1_000_000, 1..40),
        ) {
            let parts = laid(amount, None, &slot_ms);
            prop_assert_eq!(parts.iter().sum::<i128>(), amount);
            let sum: u64 = slot_ms.iter().sum();
            for (part, ms) in parts.iter().zip(&slot_ms) {
                let (down, _) = part_of(amount.unsigned_abs(), *ms, sum);
                prop_assert!(*part == down.cast_signed() || *part == down.cast_signed() + 1);
            }
        }

        #[test]
        fn a_part_is_exact(units in 0..2_u128.pow(60), part in 0..2_u64.pow(60), more in 0..2_u64.pow(60)) {
            let sum = part + more.max(1);
            let product = units * u128::from(part);
            prop_assert_eq!(part_of(units, part, sum), (product / u128::from(sum), product % u128::from(sum)));
        }
    }
}
