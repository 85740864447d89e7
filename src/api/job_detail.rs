//! A job down to its tasks, attempts, counters and completion events, as pages show it; and what holds a slot now.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{AttemptId, AttemptState, PerKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskState {
    /// No attempt of it runs, and it is not done.
    Waiting,
    /// An attempt of it runs.
    Running,
    Succeeded,
    /// It was given up after its failures.
    Failed,
    /// It was stopped with its job, and does not run again.
    Killed,
    /// It waits again since its last attempt was preempted.
    Preempted,
}

/// A job down to its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobDetail {
    /// The states of its maps and of its reduces in the order of their numbers, as lengths of runs of one state.
    pub(crate) runs: PerKind<Vec<(TaskState, u32)>>,
    /// Its attempts: those that have failed, were killed or run come before those that have succeeded; each by kind, task and number.
    pub(crate) attempts: Vec<AttemptDetail>,
    /// Attempts that are not among them.
    pub(crate) attempts_left_out: u64,
    /// Its output folder; none if it names none.
    pub(crate) output: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttemptDetail {
    pub(crate) attempt: AttemptId,
    /// `setup`, `map`, `reduce` or `cleanup`.
    pub(crate) task: &'static str,
    /// Its state: RUNNING for all live ones.
    pub(crate) state: AttemptState,
    /// Whether it was ended because another queue or pool had a right to its slot.
    pub(crate) is_preempted: bool,
    pub(crate) tracker: Arc<str>,
    pub(crate) launch_ms: i64,
    pub(crate) finish_ms: Option<i64>,
    /// When copying ended (reduces), epoch ms.
    pub(crate) shuffle_ms: Option<i64>,
    /// When merging ended (reduces), epoch ms.
    pub(crate) sort_ms: Option<i64>,
    pub(crate) slots: u32,
    pub(crate) diagnostics: Box<str>,
    pub(crate) status: Box<str>,
}

/// A live attempt: it holds slots of a tracker.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveAttempt {
    pub(crate) attempt: AttemptId,
    pub(crate) user: Arc<str>,
    pub(crate) queue: Arc<str>,
    pub(crate) tracker: Arc<str>,
    pub(crate) launch_ms: i64,
    pub(crate) slots: u32,
}

impl TaskState {
    /// All, in the order in which pages list them.
    pub(crate) const ALL: [TaskState; 6] =
        [Self::Succeeded, Self::Running, Self::Waiting, Self::Preempted, Self::Failed, Self::Killed];

    /// The word for people.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Preempted => "preempted",
        }
    }
}

impl JobDetail {
    /// Its attempts that have failed, the first to end first.
    pub(crate) fn failures(&self) -> Vec<&AttemptDetail> {
        let is_failed = |state| matches!(state, AttemptState::Failed | AttemptState::FailedUnclean);
        let mut failures: Vec<_> = self.attempts.iter().filter(|attempt| is_failed(attempt.state)).collect();
        failures.sort_by_key(|attempt| (attempt.finish_ms.unwrap_or(i64::MAX), attempt.attempt));
        failures
    }
}

impl AttemptDetail {
    pub(crate) fn is_live(&self) -> bool {
        self.finish_ms.is_none() && !self.state.is_over()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobCounter {
    pub(crate) group: String,
    /// Hadoop's name of the group: a class, or the text of a command.
    pub(crate) group_id: String,
    /// Hadoop's name.
    pub(crate) id: String,
    pub(crate) name: String,
    /// The sum over its tasks.
    pub(crate) value: i64,
    /// How even its tasks are; none unless at least two that are done count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tasks: Option<CounterSpread>,
}

/// A counter over the tasks that are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CounterSpread {
    pub(crate) count: usize,
    pub(crate) smallest: i64,
    pub(crate) median: i64,
    pub(crate) largest: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobEvent {
    /// Its number in the job's list of events.
    pub(crate) number: i32,
    pub(crate) attempt: AttemptId,
    /// `map`, `reduce`, or `setup or cleanup`, which run in slots of either kind.
    pub(crate) task: &'static str,
    /// Its final status, in Hadoop's spelling.
    pub(crate) status: &'static str,
    /// Address of the worker, which has the log.
    pub(crate) tracker: String,
    pub(crate) run_time_ms: i32,
}

impl CounterSpread {
    /// Of these values; none of fewer than two.
    pub(crate) fn of(mut values: Vec<i64>) -> Option<Self> {
        values.sort_unstable();
        let (smallest, largest) = (*values.first()?, *values.last()?);
        let median = *values.get(values.len() / 2)?;
        (values.len() > 1).then_some(Self { count: values.len(), smallest, median, largest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_middle_of_what_is_counted_and_needs_two() {
        let spread = CounterSpread::of(vec![9, 1, 4]).unwrap();
        assert_eq!((spread.count, spread.smallest, spread.median, spread.largest), (3, 1, 4, 9));
        assert_eq!(CounterSpread::of(vec![7]), None);
        assert_eq!(CounterSpread::of(Vec::new()), None);
    }
}
