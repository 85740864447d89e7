//! What is counted of decisions and of charges since the process began.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::{Decided, Decision};
use crate::market::MarketFact;
use crate::model::Credits;

/// Counts. Their keys are kinds, or queues and pools that have lost or paid something.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CountsSoFar {
    decisions: BTreeMap<&'static str, u64>,
    preempted_slot_ms: BTreeMap<Arc<str>, u64>,
    spent: BTreeMap<Arc<str>, Credits>,
}

/// Most queues and pools with a sum of their own, the first that have one, so that no sum ever falls; the others are summed.
const MOST_NAMES: usize = 500;
/// The name of the sum of the others.
const OTHERS: &str = "_other";

impl CountsSoFar {
    pub(super) fn count_decision(&mut self, decision: &Decision) {
        *self.decisions.entry(decision.kind()).or_default() += 1;
        if let Decided::Preempted(preempted) = &decision.what {
            let lost = preempted.lost_ms.saturating_mul(preempted.slots.into());
            let sum = sum_of(&mut self.preempted_slot_ms, &preempted.queue);
            *sum = sum.saturating_add(lost);
        }
    }

    pub(super) fn count_charges(&mut self, fact: &MarketFact) {
        let MarketFact::Tick(tick) = fact else { return };
        for queue_tick in &tick.queue_ticks {
            for charge in queue_tick.charges() {
                let sum = sum_of(&mut self.spent, queue_tick.queue.as_str());
                *sum = sum.checked_add(charge.amount()).unwrap_or(*sum);
            }
        }
    }

    pub(crate) fn decisions(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.decisions.iter().map(|(kind, count)| (*kind, *count))
    }

    /// Work of attempts and containers that gave way, slot-milliseconds, by the queue or pool that lost it.
    pub(crate) fn preempted_slot_ms(&self) -> impl Iterator<Item = (&str, u64)> {
        self.preempted_slot_ms.iter().map(|(queue, lost_ms)| (&**queue, *lost_ms))
    }

    /// What queues have paid.
    pub(crate) fn spent(&self) -> impl Iterator<Item = (&str, Credits)> {
        self.spent.iter().map(|(queue, spent)| (&**queue, *spent))
    }
}

/// The sum that a name counts into.
fn sum_of<'a, T: Default>(sums: &'a mut BTreeMap<Arc<str>, T>, name: &str) -> &'a mut T {
    let is_one_more = !sums.contains_key(name) && sums.len() >= MOST_NAMES;
    sums.entry(if is_one_more { OTHERS.into() } else { name.into() }).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Change, Preempted, Victim};

    fn lost(queue: &str, slots: u32, lost_ms: u64) -> Decision {
        let preempted = Preempted {
            victim: Victim::Attempt("attempt_1_0001_m_000002_0".parse().unwrap()),
            queue: queue.into(),
            worker: "w1".into(),
            slots,
            rate: None,
            age_ms: lost_ms,
            lost_ms,
            claimants: Vec::new().into(),
        };
        Decision { at_ms: 9, what: Decided::Preempted(preempted) }
    }

    #[test]
    fn decisions_are_counted_by_kind_and_what_they_cost_by_queue() {
        let mut counts = CountsSoFar::default();
        let kill = Change { verb: "kill".to_owned(), user: "root".to_owned(), fields: Vec::new() };
        counts.count_decision(&Decision { at_ms: 9, what: Decided::Changed(kill) });
        [lost("bob", 1, 4_000), lost("bob", 2, 500), lost("alice", 1, 7)]
            .iter()
            .for_each(|decision| counts.count_decision(decision));
        assert_eq!(counts.decisions().collect::<Vec<_>>(), [("killed", 1), ("preempted", 3)]);
        assert_eq!(counts.preempted_slot_ms().collect::<Vec<_>>(), [("alice", 7), ("bob", 5_000)]);
    }

    #[test]
    fn pools_without_end_are_one_sum() {
        let mut counts = CountsSoFar::default();
        (0..3 * MOST_NAMES).for_each(|number| counts.count_decision(&lost(&format!("pool{number}"), 1, 1)));
        let lost: BTreeMap<&str, u64> = counts.preempted_slot_ms().collect();
        assert_eq!((lost.len(), lost[OTHERS]), (MOST_NAMES + 1, 2 * MOST_NAMES as u64));
    }
}
