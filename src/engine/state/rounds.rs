//! Rounds: work of the ruling policy that recurs by the clock, and the preemptions that it has ordered.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{AttemptId, JobId, Now};

use super::decision::Decision;
use super::presences::Presences;

/// The rounds of the ruling policy, and what the last ones have ordered.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Renews what the policy decides by: a tick of the market.
    pub(crate) update: Round,
    /// When the market's interval ends that was open when the last run ended, until a tick is set to close it.
    pub(crate) resumed_end_mono_ms: Option<u64>,
    /// Takes slots from groups that hold too many.
    pub(crate) preemption: Round,
    pub(crate) preemptions: Preemptions,
    /// Dumps of jobs and pools in the event log, each with an update of the policy.
    pub(crate) dump: Round,
}

/// Work that is due once in each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    interval_ms: u64,
    due_mono_ms: u64,
}

impl Rounds {
    /// When the next round of any kind is due; `u64::MAX`: never.
    pub(crate) fn due_mono_ms(&self) -> u64 {
        self.update.due_mono_ms().min(self.preemption.due_mono_ms())
    }

    /// Whether a round of preemption is due at this time; under a market, one that would come shortly before a tick comes with
    /// it: it takes slots for what that tick sells, not for what the interval has sold that ends.
    pub(crate) fn is_preemption_due(&self, is_market: bool, now: Now) -> bool {
        now.mono_ms >= self.preemption.due_mono_ms && !(is_market && self.is_tick_near(now))
    }

    /// The same; it is due again an interval later.
    pub(crate) fn begin_preemption_when_due(&mut self, is_market: bool, now: Now) -> bool {
        if self.is_preemption_due(is_market, now) {
            return match is_market {
                true => self.preemption.begin_spaced_when_due(now),
                false => self.preemption.begin_when_due(now),
            };
        }
        if now.mono_ms >= self.preemption.due_mono_ms {
            self.preemption.due_mono_ms = self.update.due_mono_ms;
        }
        false
    }

    /// The market's interval that was open when the last run ended ends where it would have without the time in between, once
    /// all trackers of that run have come again: before, there is nothing to sell in the next one.
    pub(crate) fn close_resumed_interval(&mut self, presences: &Presences) {
        if presences.have_all_come()
            && let Some(end_mono_ms) = self.resumed_end_mono_ms.take()
        {
            self.update.bring_forward(end_mono_ms);
        }
    }

    fn is_tick_near(&self, now: Now) -> bool {
        let shortly_ms = self.update.interval_ms.min(self.preemption.interval_ms) / 2;
        let until_tick_ms = self.update.due_mono_ms.saturating_sub(now.mono_ms);
        (1..=shortly_ms).contains(&until_tick_ms)
    }
}

impl Default for Round {
    /// Never due.
    fn default() -> Self {
        Self { interval_ms: u64::MAX, due_mono_ms: u64::MAX }
    }
}

impl Round {
    /// Due for the first time one interval from now; never without an interval.
    pub(crate) fn every(interval_ms: Option<u64>, now: Now) -> Self {
        interval_ms.map_or(Self::default(), |interval_ms| {
            let interval_ms = interval_ms.max(1);
            Self { interval_ms, due_mono_ms: now.mono_ms.saturating_add(interval_ms) }
        })
    }

    /// The same, but due for the first time together with another one.
    #[must_use]
    pub(crate) fn first_with(self, other: Round) -> Self {
        Self { due_mono_ms: self.due_mono_ms.min(other.due_mono_ms), ..self }
    }

    pub(crate) fn bring_forward(&mut self, due_mono_ms: u64) {
        self.due_mono_ms = self.due_mono_ms.min(due_mono_ms);
    }

    /// Whether it is due. It is due again after a whole number of intervals, so a late round counts once.
    pub(crate) fn begin_when_due(&mut self, now: Now) -> bool {
        let Some(late_ms) = now.mono_ms.checked_sub(self.due_mono_ms) else { return false };
        let missed = late_ms / self.interval_ms;
        self.due_mono_ms = self.due_mono_ms.saturating_add((missed + 1).saturating_mul(self.interval_ms));
        true
    }

    /// The same, but it is due again one interval from now, however late it is.
    pub(crate) fn begin_spaced_when_due(&mut self, now: Now) -> bool {
        let is_due = now.mono_ms >= self.due_mono_ms;
        if is_due {
            self.due_mono_ms = now.mono_ms.saturating_add(self.interval_ms);
        }
        is_due
    }

    /// When it is due, ms of the monotonic clock; `u64::MAX`: never.
    pub(crate) fn due_mono_ms(&self) -> u64 {
        self.due_mono_ms
    }
}

#[derive(Debug, Default)]
pub(crate) struct Preemptions {
    /// Attempts chosen for preemption, whose trackers have no order yet; some may have ended.
    pub(crate) victims: BTreeMap<AttemptId, Decision>,
    /// The last round that preempted attempts, for each job in memory.
    last_by_job: BTreeMap<JobId, LastPreemption>,
}

/// The last round that preempted attempts of a job.
#[derive(Clone, Debug)]
pub(crate) struct LastPreemption {
    /// When, epoch ms.
    pub(crate) at_ms: i64,
    pub(crate) attempts: u32,
    /// Victims of the job in all rounds so far.
    pub(crate) so_far: u64,
    /// Queues that were below their quota, with the number of missing slots.
    pub(crate) short: Arc<BTreeMap<String, u32>>,
}

impl Preemptions {
    pub(crate) fn record_round(
        &mut self,
        victims: impl Iterator<Item = AttemptId>,
        short: BTreeMap<String, u32>,
        at_ms: i64,
    ) {
        let mut hit: BTreeMap<JobId, u32> = BTreeMap::new();
        victims.for_each(|id| *hit.entry(id.task.job).or_default() += 1);
        let short = Arc::new(short);
        for (job, attempts) in hit {
            let so_far = self.last_of(job).map_or(0, |last| last.so_far) + u64::from(attempts);
            self.last_by_job.insert(job, LastPreemption { at_ms, attempts, so_far, short: short.clone() });
        }
    }

    pub(crate) fn last_of(&self, job: JobId) -> Option<&LastPreemption> {
        self.last_by_job.get(&job)
    }

    pub(crate) fn forget_job(&mut self, job: JobId) {
        self.last_by_job.remove(&job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_ms: u64) -> Now {
        Now { mono_ms, wall_ms: 0 }
    }

    /// Ticks that each come a little late, and a round with every second of them.
    #[test]
    fn rounds_of_preemption_come_with_ticks_not_before_them() {
        let [update, preemption] = [100, 200].map(|interval_ms| Round::every(Some(interval_ms), at(0)));
        let mut rounds = Rounds { update, preemption, ..Rounds::default() };
        let mut steps = Vec::new();
        for mono_ms in (1..2_000).filter(|mono_ms| mono_ms % 3 == 0) {
            let now = at(mono_ms);
            let is_tick = rounds.update.begin_spaced_when_due(now);
            let is_round = rounds.begin_preemption_when_due(true, now);
            steps.extend((is_tick || is_round).then_some((is_tick, is_round)));
        }
        let expected: Vec<_> = (1..=steps.len()).map(|tick| (true, tick % 2 == 0)).collect();
        assert_eq!((steps.len(), steps), (19, expected));
    }

    #[test]
    fn a_round_is_due_after_each_interval_and_a_late_one_once() {
        let mut round = Round::every(Some(100), at(50));
        assert!(!round.begin_when_due(at(149)));
        assert!(round.begin_when_due(at(150)));
        assert!(!round.begin_when_due(at(150)));
        assert!(round.begin_when_due(at(575)));
        assert_eq!(round.due_mono_ms(), 650);
    }

    #[test]
    fn a_round_that_begins_spaced_is_due_one_interval_after_a_late_one() {
        let mut round = Round::every(Some(100), at(50));
        assert!(round.begin_spaced_when_due(at(575)));
        assert!(!round.begin_spaced_when_due(at(674)));
        assert_eq!(round.due_mono_ms(), 675);
    }

    #[test]
    fn without_an_interval_it_is_never_due() {
        let mut round = Round::every(None, at(50));
        assert!(!round.begin_when_due(at(u64::MAX - 1)));
        let mut rounds = Rounds { update: Round::every(Some(7), at(0)), ..Rounds::default() };
        assert_eq!(rounds.due_mono_ms(), 7);
        rounds.preemption = Round::every(Some(5), at(0));
        assert_eq!(rounds.due_mono_ms(), 5);
    }
}
