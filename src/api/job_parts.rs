//! Parts of a job: its counters and its completion events.

use serde::Serialize;

use crate::model::AttemptId;

/// A counter of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobCounter {
    /// Display name of the group.
    pub(crate) group: String,
    /// Hadoop's name of the group: a class, or the text of a command.
    pub(crate) group_id: String,
    /// Hadoop's name.
    pub(crate) id: String,
    /// Display name.
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
    /// Tasks that count it.
    pub(crate) count: usize,
    /// The smallest value.
    pub(crate) smallest: i64,
    /// The middle one.
    pub(crate) median: i64,
    /// The largest.
    pub(crate) largest: i64,
}

/// A completion event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobEvent {
    /// Its number in the job's list of events.
    pub(crate) number: i32,
    /// The attempt.
    pub(crate) attempt: AttemptId,
    /// `map`, `reduce`, or `setup or cleanup`, which run in slots of either kind.
    pub(crate) task: &'static str,
    /// Its final status, in Hadoop's spelling.
    pub(crate) status: &'static str,
    /// Address of the worker, which has the log.
    pub(crate) tracker: String,
    /// Run time if it succeeded, ms.
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
