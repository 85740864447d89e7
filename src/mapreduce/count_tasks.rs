//! Counts of a job's tasks and attempts as pages and lists show them (1.2.1 `jobdetails.jsp`): kept or of four tasks, never by a
//! walk over all.

use crate::model::{AttemptState, Kind, TaskId};
use crate::scheduler::HostId;
use crate::wire::{Counters, TipStatus};

use super::CounterTotal;
use super::job::{Job, TaskKey};
use super::task_tally::{BadEnds, TaskTally};

impl Job {
    /// Its maps or reduces by state; none of a job that has not begun.
    pub(crate) fn work_tally(&self, kind: Kind) -> TaskTally {
        if !self.has_begun() {
            return TaskTally::default();
        }
        let (total, finished) = (self.total()[kind], self.finished()[kind].min(self.total()[kind]));
        // The tasks of a job that ends are given up, but for those that still run.
        let (running, killed) = match (self.is_over(), self.is_over_or_ending()) {
            (true, _) => (0, total - finished),
            (false, true) => {
                let running = self.running_tasks[kind].min(total - finished);
                (running, total - finished - running)
            }
            (false, false) => (self.running_tasks[kind], self.failed[kind]),
        };
        TaskTally { total, pending: total.saturating_sub(finished + running + killed), running, finished, killed }
    }

    /// Both variants of its setup by state.
    pub(crate) fn setup_tally(&self) -> TaskTally {
        self.tally_of(Kind::ALL.map(TaskKey::Setup))
    }

    /// Both variants of its cleanup by state.
    pub(crate) fn cleanup_tally(&self) -> TaskTally {
        self.tally_of(Kind::ALL.map(TaskKey::Cleanup))
    }

    fn tally_of(&self, keys: [TaskKey; 2]) -> TaskTally {
        let mut tally = TaskTally::default();
        for key in keys.into_iter().filter(|_| self.has_begun()) {
            tally.total += 1;
            match self.tip_status(key) {
                TipStatus::Complete(_) => tally.finished += 1,
                TipStatus::Running(_) => tally.running += 1,
                TipStatus::Killed | TipStatus::Failed => tally.killed += 1,
                TipStatus::Pending => tally.pending += 1,
            }
        }
        tally
    }

    /// Whether a task is one of its maps or reduces, not its setup or cleanup.
    pub(crate) fn is_work(&self, task: TaskId) -> bool {
        matches!(self.key_of(task), Some(TaskKey::Work(..)))
    }

    /// Attempts of its maps or reduces that ended without success.
    pub(crate) fn bad_ends(&self, kind: Kind) -> BadEnds {
        self.bad_ends[kind]
    }

    /// Counts an attempt that enters this state.
    pub(super) fn count_bad_end(&mut self, key: TaskKey, state: AttemptState) {
        let TaskKey::Work(kind, _) = key else { return };
        let ends = &mut self.bad_ends[kind];
        match state {
            AttemptState::Failed => ends.failed = ends.failed.saturating_add(1),
            AttemptState::Killed => ends.killed = ends.killed.saturating_add(1),
            _ => {}
        }
    }

    /// Hosts that it avoids, with the failures of its attempts there.
    pub(crate) fn flaky_host_failures(&self) -> impl Iterator<Item = (HostId, u32)> {
        self.flaky_hosts.with_failures()
    }

    /// The sum over its finished and running maps or reduces; none once tasks are retired.
    pub(crate) fn counters_of_kind(&self, kind: Kind) -> Counters {
        let mut total = CounterTotal::default();
        self.counter_sums[kind].add_to(&mut total);
        self.running_counters[kind].add_to(&mut total);
        total.into_counters()
    }
}
