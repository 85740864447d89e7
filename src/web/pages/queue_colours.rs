//! The colour of each queue: by its place among the names, the first six; the rest is hatched.

use std::collections::BTreeMap;

use crate::engine::ClusterSnapshot;

const CLASSES: [&str; 6] = ["q0", "q1", "q2", "q3", "q4", "q5"];
pub(super) const OTHERS: &str = "others";

#[derive(Clone, Debug, Default)]
pub(super) struct Colours<'a>(BTreeMap<&'a str, &'static str>);

impl<'a> Colours<'a> {
    pub(super) fn of_queues(overview: &'a ClusterSnapshot) -> Self {
        Self::of(overview.queues.iter().map(|queue| &*queue.name))
    }

    pub(super) fn of(names: impl Iterator<Item = &'a str>) -> Self {
        let names: std::collections::BTreeSet<&str> = names.collect();
        Self(names.into_iter().zip(CLASSES).collect())
    }

    pub(super) fn class(&self, name: &str) -> &'static str {
        self.0.get(name).copied().unwrap_or(OTHERS)
    }
}
