//! What was recorded of a stretch of time: jobs with the times of their tasks, trackers, and what moved the market.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mapreduce::{JobSpec, SplitTable};
use crate::market::Order;
use crate::model::{Credits, JobId, Kind, PerKind, QueueName, RunState};
use crate::scheduler::constraint::DeadlineSpec;

/// Everything that a play needs. Lists are in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Jobs that were submitted then and are over.
    pub jobs: Vec<RecordedJob>,
    pub trackers: Vec<RecordedTracker>,
    pub market: Option<RecordedMarket>,
    pub start_ms: i64,
    /// Jobs of that time that are not over: they are left out.
    pub unfinished: usize,
}

#[derive(Clone, Debug)]
pub struct RecordedJob {
    pub id: JobId,
    /// As it was submitted; with its last deadline where it is not known when that was set.
    pub spec: Arc<JobSpec>,
    /// Deadlines that it was given later, with when, epoch ms; none in place of one: it was cleared.
    pub deadline_changes: Vec<(i64, Option<DeadlineSpec>)>,
    pub splits: Arc<SplitTable>,
    pub submit_ms: i64,
    /// When it was killed or had failed, epoch ms; none: it was not, or that is not known.
    pub ending_ms: Option<i64>,
    pub finish_ms: i64,
    /// When it was to be done, by its deadline or else its last order, epoch ms.
    pub deadline_ms: Option<i64>,
    /// SUCCEEDED, FAILED or KILLED.
    pub state: RunState,
    pub times: RecordedTimes,
}

#[derive(Clone, Debug, Default)]
pub struct RecordedTimes {
    /// Of each task by its number; none where it never succeeded.
    pub tasks: PerKind<Vec<Option<TaskTimes>>>,
    /// Of attempts that failed, the first one first.
    pub failures: BTreeMap<(Kind, i32), Vec<TaskTimes>>,
    /// What tasks took that were killed and never succeeded, up to then: they take longer.
    pub cut: BTreeMap<(Kind, i32), TaskTimes>,
    pub setup: TaskTimes,
    pub cleanup: TaskTimes,
}

/// What an attempt took, ms, and what it made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTimes {
    /// From its launch to the start of its process.
    pub delay_ms: u32,
    /// Of a map: from the start of its process to its end. Of a reduce: from then or the end of the job's last map,
    /// whichever was later, to the end of its copying.
    pub first_ms: u32,
    /// Of a reduce: from there to its end.
    pub rest_ms: u32,
    /// Bytes of a map's output; -1: unknown.
    pub output_bytes: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTracker {
    pub name: Arc<str>,
    pub host: Arc<str>,
    /// Slots that counted.
    pub slots: PerKind<u32>,
    /// Since when, epoch ms.
    pub from_ms: i64,
    /// Until when; none: it is there.
    pub until_ms: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct RecordedMarket {
    /// Queues at the start: balance and bid.
    pub accounts: BTreeMap<QueueName, (Credits, Credits)>,
    /// What changed later, with when, epoch ms.
    pub changes: Vec<(i64, MarketChange)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarketChange {
    /// Money came to a queue, or left it (below zero) other than by a charge.
    Money(QueueName, Credits),
    Bid(QueueName, Credits),
    /// An order stands, or is changed.
    Order(Order),
    OrderTakenBack(JobId),
}

impl Recording {
    /// When the last of its jobs ended, epoch ms.
    pub(super) fn end_ms(&self) -> i64 {
        self.jobs.iter().map(|job| job.finish_ms).max().unwrap_or(self.start_ms)
    }
}

impl TaskTimes {
    /// From the start of its process, or from the last map for a reduce, to its end.
    pub(crate) fn run_ms(self) -> u64 {
        u64::from(self.first_ms) + u64::from(self.rest_ms)
    }

    /// From its launch to its end.
    pub(crate) fn all_ms(self) -> u64 {
        u64::from(self.delay_ms) + self.run_ms()
    }

    /// With the delay of others, and as long as these at least.
    fn at_least(self, least: Self) -> Self {
        if self.run_ms() < least.run_ms() { least } else { Self { delay_ms: least.delay_ms, ..self } }
    }
}

impl RecordedTimes {
    /// Times of the next attempt of a task after so many that failed, and whether it succeeds. A task that never
    /// succeeded takes what its like took: in this job, else what is `usual`; and no less than until it was killed.
    pub(super) fn of_attempt(&self, kind: Kind, task: i32, failed: usize, usual: TaskTimes) -> (TaskTimes, bool) {
        if let Some(times) = self.failures.get(&(kind, task)).and_then(|failures| failures.get(failed)) {
            return (*times, false);
        }
        let own = usize::try_from(task).ok().and_then(|task| self.tasks[kind].get(task).copied().flatten());
        let of_its_like = || mean(self.tasks[kind].iter().flatten().copied()).unwrap_or(usual);
        let cut = self.cut.get(&(kind, task));
        (own.unwrap_or_else(|| cut.map_or_else(of_its_like, |cut| of_its_like().at_least(*cut))), true)
    }
}

pub(super) fn mean(times: impl Iterator<Item = TaskTimes>) -> Option<TaskTimes> {
    let (mut count, mut sums) = (0_u64, [0_u64; 3]);
    for TaskTimes { delay_ms, first_ms, rest_ms, .. } in times {
        count += 1;
        for (sum, ms) in sums.iter_mut().zip([delay_ms, first_ms, rest_ms]) {
            *sum += u64::from(ms);
        }
    }
    let [delay_ms, first_ms, rest_ms] =
        sums.map(|sum| u32::try_from(sum.checked_div(count).unwrap_or(0)).unwrap_or(u32::MAX));
    (count > 0).then_some(TaskTimes { delay_ms, first_ms, rest_ms, output_bytes: -1 })
}

impl Recording {
    /// How many trackers were there at one time or another.
    pub(crate) fn nodes(&self) -> usize {
        self.names().len()
    }

    /// The same with so many trackers: the first of those recorded, then others like these by turns, there all the time,
    /// each on a host of its own.
    #[must_use]
    pub(crate) fn with_nodes(&self, nodes: usize) -> Self {
        let names = self.names();
        let kept: BTreeSet<&Arc<str>> = names.iter().take(nodes).collect();
        let mut trackers: Vec<RecordedTracker> =
            self.trackers.iter().filter(|tracker| kept.contains(&tracker.name)).cloned().collect();
        for number in 1..=nodes.saturating_sub(names.len()) {
            let Some(name) = names.get((number - 1) % names.len().max(1)) else { break };
            let Some(like) = self.trackers.iter().find(|tracker| tracker.name == *name) else { break };
            trackers.push(RecordedTracker {
                name: format!("tracker_what-if-{number}:localhost/127.0.0.1:0").into(),
                host: format!("what-if-{number}").into(),
                from_ms: self.start_ms,
                until_ms: None,
                ..like.clone()
            });
        }
        Self { trackers, ..self.clone() }
    }

    /// Names of trackers, in the order of their first coming.
    fn names(&self) -> Vec<Arc<str>> {
        let mut seen = BTreeSet::new();
        self.trackers
            .iter()
            .map(|tracker| Arc::clone(&tracker.name))
            .filter(|name| seen.insert(Arc::clone(name)))
            .collect()
    }
}

/// A job as it was played; jobs are in the order of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayedJob {
    /// When its first task was launched, epoch ms.
    pub first_launch_ms: Option<i64>,
    /// How and when it ended, epoch ms; none: not while the play lasted.
    pub end: Option<(RunState, i64)>,
    pub refusal: Option<String>,
    pub kills: u64,
    /// Time that its attempts held slots, ms of one slot.
    pub slot_ms: u64,
    pub cost: Credits,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    pub jobs: Vec<PlayedJob>,
    /// Events that the engine has processed.
    pub events: u64,
    /// When it was over, epoch ms.
    pub end_ms: i64,
    /// Jobs that were put into another queue, for theirs does not exist under this scheduler.
    pub moved: usize,
}

#[cfg(test)]
mod tests {
    use crate::model::PerKind;

    use super::*;

    #[test]
    fn fewer_are_the_first_and_more_are_like_them() {
        let tracker = |name: &str, maps: u32, from_ms: i64| RecordedTracker {
            name: name.into(),
            host: name.into(),
            slots: PerKind::new(maps, 1),
            from_ms,
            until_ms: Some(from_ms + 10),
        };
        let trackers = vec![tracker("a", 2, 0), tracker("b", 4, 5), tracker("a", 3, 20)];
        let recording = Recording { trackers, ..Recording::default() };
        let maps = |nodes: usize| -> Vec<u32> {
            recording.with_nodes(nodes).trackers.iter().map(|tracker| tracker.slots.map).collect()
        };
        assert_eq!(recording.nodes(), 2);
        assert_eq!(maps(1), [2, 3]);
        assert_eq!(maps(2), [2, 4, 3]);
        assert_eq!(maps(5), [2, 4, 3, 2, 4, 2]);
    }
}
