//! The sums that a job caches equal a recount.

use crate::mapreduce::{CounterSum, CounterTotal, Job, TaskKey, TaskState};
use crate::model::{Kind, PerKind};

impl Job {
    /// `waiting`: the scheduler's counts.
    pub(crate) fn assert_consistent(&self, waiting: PerKind<u32>) {
        if self.is_without_tasks() {
            return;
        }
        for kind in Kind::ALL {
            let tasks = || (0..self.total()[kind]).map(|number| self.task(TaskKey::Work(kind, number)));
            let in_work = tasks().filter(|task| task.has_running_attempt()).count();
            if !self.is_over_or_ending() {
                assert_eq!(self.running_tasks[kind] as usize, in_work, "{} {kind:?}: tasks in work", self.id);
                let undone = tasks().filter(|task| !task.is_over()).count();
                assert_eq!(self.pending()[kind] as usize, undone - in_work, "{} {kind:?}: pending", self.id);
            }
            let complete = tasks().filter(|task| task.is_complete()).count();
            assert_eq!(self.finished[kind] as usize, complete, "{} {kind:?}: done", self.id);
            let held = || tasks().flat_map(|task| &task.attempts).filter(|attempt| attempt.holds_slot_for_work());
            assert_eq!(self.slot_holders[kind].len(), held().count(), "{} {kind:?}: at work", self.id);
            let walked = |state: fn(&TaskState) -> bool| {
                let mut total = CounterTotal::default();
                let best = tasks().filter(|task| state(&task.state)).filter_map(|task| task.best_attempt());
                for counters in best.filter_map(|attempt| attempt.counters.as_ref()) {
                    let mut one = CounterSum::default();
                    one.add(counters);
                    one.add_to(&mut total);
                }
                total.into_counters()
            };
            let kept = |sum: &CounterSum| {
                let mut total = CounterTotal::default();
                sum.add_to(&mut total);
                total.into_counters()
            };
            let running = walked(|state| *state == TaskState::Running);
            assert_eq!(kept(&self.running_counters[kind]), running, "{} {kind:?}: counters at work", self.id);
            let done = walked(|state| matches!(state, TaskState::Complete(_)));
            assert_eq!(kept(&self.counter_sums[kind]), done, "{} {kind:?}: counters of what is done", self.id);
            for task in tasks() {
                for attempt in &task.attempts {
                    let may_be_marked = attempt.holds_slot_for_work() && !task.is_over();
                    assert!(
                        may_be_marked || attempt.preemption.is_none(),
                        "{} {kind:?}: {attempt:?} is marked",
                        self.id
                    );
                    let is_releasing = attempt.holds_slot_for_work() && (task.is_over() || attempt.is_to_end());
                    assert_eq!(attempt.is_releasing, is_releasing, "{} {kind:?}: {attempt:?} leaves", self.id);
                }
            }
            let lone = |task: &&crate::mapreduce::Task| task.attempts.iter().filter(|a| a.is_active()).count() == 1;
            let indexed = self.stragglers[kind].len();
            let can_lag = tasks().filter(|task| task.state == TaskState::Running).filter(lone).count();
            assert!(indexed <= can_lag, "{} {kind:?}: {indexed} of {can_lag} may lag", self.id);
            let open = kind == Kind::Map || self.reduces_requested;
            let waits = if open { self.waiting[kind].len() } else { 0 }
                + usize::from(self.stragglers[kind].is_slot_requested());
            assert_eq!(waiting[kind] as usize, waits, "{} {kind:?}: known to the scheduler", self.id);
        }
    }

    /// Its attempts whose slots are being released.
    pub(crate) fn releasing(&self, kind: Kind) -> usize {
        let releasing = self.work[kind].iter().flat_map(|task| &task.attempts).filter(|attempt| attempt.is_releasing);
        releasing.map(|attempt| attempt.slots as usize).sum()
    }
}
