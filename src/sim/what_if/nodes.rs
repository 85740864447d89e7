//! A recording with more or fewer trackers.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::recording::{RecordedTracker, Recording};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PerKind;

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
