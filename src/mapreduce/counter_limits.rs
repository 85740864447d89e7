//! How many counters a job may have, and how long their names may be (1.2.1 `Counters`).
//!
//! The limits hold for a job's sums, not for what one task reports: its own process has counted by the same limits.

use std::collections::BTreeMap;

use crate::model::CounterLimits;
use crate::wire::{Counter, CounterGroup, Counters, Text};

use super::job::{Job, TaskKey};
use super::job_state::JobOutcome;
use super::{CounterTotal, CounterValues, JobContext};

/// A job has too many counters. The texts are those of 1.2.1 `JobTracker.getJobCounters`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountersExceeded {
    #[error("Counters Exceeded limit: {limit}")]
    Counters { limit: u32 },
    #[error(
        "java.lang.RuntimeException: Error: Exceeded limits on number of groups in counters - Groups={} Limit={limit}",
        u64::from(*limit) + 1
    )]
    Groups { limit: u32 },
}

impl CounterLimits {
    /// Applies the limits to the sums of a job, in which no name is repeated: names that are too long lose their
    /// beginning, and counters whose names are then equal are added up.
    pub(crate) fn apply(&self, counters: Counters) -> Result<Counters, CountersExceeded> {
        let counters = if self.fits(&counters) { counters } else { self.shorten_all(counters) };
        let count: usize = counters.groups.iter().map(|group| group.counters.len()).sum();
        if count as u64 > u64::from(self.counters) {
            return Err(CountersExceeded::Counters { limit: self.counters });
        }
        if counters.groups.len() as u64 > u64::from(self.groups) + 1 {
            return Err(CountersExceeded::Groups { limit: self.groups });
        }
        Ok(counters)
    }

    /// Whether certainly no name is too long: no text has more UTF-16 units than bytes.
    fn fits(&self, counters: &Counters) -> bool {
        counters.groups.iter().all(|group| {
            group.name.0.len() <= self.group_name_length as usize
                && group.counters.iter().all(|counter| counter.name.0.len() <= self.name_length as usize)
        })
    }

    fn shorten_all(&self, counters: Counters) -> Counters {
        let mut groups: BTreeMap<String, (Text, BTreeMap<String, Counter>)> = BTreeMap::new();
        for group in counters.groups {
            let name = end_of(&group.name.0, self.group_name_length).to_owned();
            let (_, kept) = groups.entry(name).or_insert_with(|| (group.display_name, BTreeMap::new()));
            for counter in group.counters {
                let counter = self.shorten(counter);
                if let Some(known) = kept.get_mut(&counter.name.0) {
                    known.value = known.value.wrapping_add(counter.value);
                } else {
                    kept.insert(counter.name.0.clone(), counter);
                }
            }
        }
        let groups = groups.into_iter().map(|(name, (display_name, counters))| CounterGroup {
            name: Text(name),
            display_name,
            counters: counters.into_values().collect(),
        });
        Counters { groups: groups.collect() }
    }

    fn shorten(&self, counter: Counter) -> Counter {
        let name = end_of(&counter.name.0, self.name_length);
        if name.len() == counter.name.0.len() {
            return counter;
        }
        let name = Text(name.to_owned());
        Counter { name, display_name: counter.display_name.or(Some(counter.name)), value: counter.value }
    }
}

/// The last `units` UTF-16 units of a text.
fn end_of(text: &str, units: u32) -> &str {
    let mut left = units as usize;
    let mut start = text.len();
    for (position, character) in text.char_indices().rev() {
        let Some(rest) = left.checked_sub(character.len_utf16()) else { break };
        (left, start) = (rest, position);
    }
    &text[start..]
}

impl CountersExceeded {
    /// Why the job failed, in the words of 1.2.1 `JobInProgress.checkCounterLimitsAndFail`. For too many groups 1.2.1
    /// has none: it fails the heartbeat.
    fn failure_info(self) -> String {
        match self {
            CountersExceeded::Counters { limit } => format!("Counters Exceeded: Limit: {limit}"),
            CountersExceeded::Groups { limit } => format!("Counters Exceeded: Groups Limit: {limit}"),
        }
    }
}

impl Job {
    /// The server's own counters and the sums over maps and reduces; setup and cleanup are not in the sums.
    pub(crate) fn counters(&self, limits: &CounterLimits) -> Result<Counters, CountersExceeded> {
        if let Some(finished_summary) = &self.finished_summary {
            return Ok(finished_summary.counters());
        }
        let mut total = CounterTotal::default();
        if self.has_begun() {
            self.add_counters(&mut total);
        }
        limits.apply(total.into_counters())
    }

    /// Updates the sum over running tasks after the state, the attempts or the counters of a task changed.
    pub(super) fn refresh_counters(&mut self, key: TaskKey) {
        let TaskKey::Work(kind, number) = key else { return };
        let Some(task) = self.work[kind].get_mut(number as usize) else { return };
        let counters = task.running_counters();
        if counters.map(CounterValues::values_at) == task.counted.as_ref().map(CounterValues::values_at) {
            return;
        }
        let counters = counters.cloned();
        let sum = &mut self.running_counters[kind];
        if let Some(old) = std::mem::replace(&mut task.counted, counters.clone()) {
            sum.subtract(&old);
        }
        if let Some(new) = counters {
            sum.add(&new);
        }
    }

    /// Fails the job when all its work is done and it has too many counters.
    pub(super) fn fail_on_counter_limit(&mut self, context: &mut JobContext<'_>) {
        if self.is_over_or_ending() || !self.is_work_over() {
            return;
        }
        if let Err(exceeded) = self.counters(&context.counter_limits) {
            self.decide_end(JobOutcome::Failed, exceeded.failure_info(), context);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counters(named: &[(&str, &str, i64)]) -> Counters {
        let mut total = CounterTotal::default();
        for (group, name, value) in named {
            let group = CounterGroup { name: (*group).into(), display_name: "G".into(), counters: Vec::new() };
            total.add(&group, &Counter { name: (*name).into(), display_name: None, value: 0 }, *value);
        }
        total.into_counters()
    }

    #[test]
    fn long_names_keep_their_end_and_become_one() {
        let limits = CounterLimits { name_length: 3, group_name_length: 4, ..CounterLimits::default() };
        let cut = limits.apply(counters(&[("group", "xabc", 1), ("group", "yabc", 2), ("roup", "abc", 4)])).unwrap();
        assert_eq!(cut.groups.len(), 1);
        assert_eq!(&*cut.groups[0].name, "roup");
        let only = &cut.groups[0].counters[0];
        assert_eq!((&*only.name, only.value, cut.groups[0].counters.len()), ("abc", 7, 1));
        assert_eq!(only.display_name.as_deref(), Some("xabc"), "people see the whole name");
    }

    #[test]
    fn names_are_measured_as_java_does() {
        assert_eq!(end_of("äöü", 2), "öü");
        assert_eq!(end_of("a😀", 2), "😀");
        assert_eq!(end_of("a😀", 1), "");
        assert_eq!(end_of("abc", 3), "abc");
    }

    #[test]
    fn one_more_than_the_limit_is_too_many_counters() {
        let limits = CounterLimits { counters: 2, ..CounterLimits::default() };
        assert!(limits.apply(counters(&[("g", "a", 1), ("h", "a", 1)])).is_ok());
        let exceeded = limits.apply(counters(&[("g", "a", 1), ("h", "a", 1), ("h", "b", 0)])).unwrap_err();
        assert_eq!(exceeded.to_string(), "Counters Exceeded limit: 2");
        assert_eq!(exceeded.failure_info(), "Counters Exceeded: Limit: 2");
    }

    #[test]
    fn two_more_than_the_limit_are_too_many_groups() {
        let limits = CounterLimits { groups: 1, ..CounterLimits::default() };
        assert!(limits.apply(counters(&[("g", "a", 1), ("h", "a", 1)])).is_ok());
        let exceeded = limits.apply(counters(&[("g", "a", 1), ("h", "a", 1), ("i", "a", 1)])).unwrap_err();
        assert_eq!(
            exceeded.to_string(),
            "java.lang.RuntimeException: Error: Exceeded limits on number of groups in counters - Groups=2 Limit=1"
        );
    }

    proptest! {
        #[test]
        fn cutting_names_loses_no_count(
            named in prop::collection::vec(("[a-c😀]{0,6}", "[a-c😀]{0,6}", 0i64..1000), 0..40), length in 0u32..6
        ) {
            let limits = CounterLimits { name_length: length, group_name_length: length, ..CounterLimits::default() };
            let named: Vec<(&str, &str, i64)> = named.iter().map(|(g, n, v)| (g.as_str(), n.as_str(), *v)).collect();
            let kept = limits.apply(counters(&named)).unwrap();
            let values = kept.groups.iter().flat_map(|group| &group.counters).map(|counter| counter.value);
            prop_assert_eq!(values.sum::<i64>(), named.iter().map(|(_, _, value)| value).sum::<i64>());
            for group in &kept.groups {
                prop_assert!(group.name.0.encode_utf16().count() <= length as usize);
                prop_assert!(group.counters.iter().all(|c| c.name.0.encode_utf16().count() <= length as usize));
                prop_assert!(named.iter().any(|(full, _, _)| full.ends_with(&*group.name.0)));
            }
        }
    }
}
