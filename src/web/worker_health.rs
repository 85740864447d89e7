//! What is wrong with the workers as a whole: none is connected, or some are silent.

use crate::engine::{ClusterSnapshot, TrackerSnapshot};

/// How many workers are in which state of health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerHealth {
    /// They call in time and report themselves healthy.
    pub(super) healthy: usize,
    /// Of those, workers that offer less than they have.
    pub(super) short: usize,
    /// They call in time and report an error.
    pub(super) unhealthy: usize,
    /// They call in time and are drained, whatever they report.
    pub(super) draining: usize,
    /// They have missed three heartbeats.
    pub(super) silent: usize,
}

// === impl WorkerHealth ===

impl WorkerHealth {
    /// Counts the workers of a snapshot.
    pub(super) fn of(overview: &ClusterSnapshot) -> Self {
        let count = |is: fn(&&TrackerSnapshot) -> bool| overview.trackers.iter().filter(is).count();
        Self {
            healthy: count(|tracker| !tracker.is_silent && !tracker.is_draining && tracker.healthy),
            short: count(|tracker| !tracker.is_silent && !tracker.is_draining && tracker.is_short),
            unhealthy: count(|tracker| !tracker.is_silent && !tracker.is_draining && !tracker.healthy),
            draining: count(|tracker| !tracker.is_silent && tracker.is_draining),
            silent: count(|tracker| tracker.is_silent),
        }
    }

    /// What keeps jobs from running, or slows them down, in a snapshot.
    pub(super) fn complaint_of(overview: &ClusterSnapshot) -> Option<String> {
        Self::of(overview).complaint().or_else(|| {
            let is_there = |tracker: &&TrackerSnapshot| !tracker.is_silent && !tracker.is_draining;
            let ill = overview.trackers.iter().filter(is_there).filter(|tracker| !tracker.healthy || tracker.is_short);
            let (ill, all) = (ill.collect::<Vec<_>>(), overview.trackers.len());
            let first = ill.iter().find(|tracker| !tracker.healthy).or(ill.first())?;
            let how = if first.healthy { "short" } else { "unhealthy" };
            let why = first.complaints.lines().next().unwrap_or_default();
            let of_all = match ill.len() {
                _ if all == 1 => String::new(),
                1 => format!("1 of {all} workers is not well: "),
                ill => format!("{ill} of {all} workers are not well: "),
            };
            Some(format!("{of_all}{} is {how}: {why}", first.worker))
        })
    }

    /// What is wrong with the workers as far as their numbers say.
    fn complaint(self) -> Option<String> {
        let Self { healthy, unhealthy, draining, silent, short: _ } = self;
        match (healthy + unhealthy + draining + silent, silent) {
            (0, _) => Some("no worker is connected; start one: jobtracker tasktracker".to_owned()),
            (all, 0) if draining == all => Some("all workers are draining: no task starts".to_owned()),
            (_, 0) => None,
            (1, _) => Some("the only worker is silent".to_owned()),
            (all, silent) => {
                Some(format!("{silent} of {all} workers {} silent", if silent == 1 { "is" } else { "are" }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_name_what_is_missing() {
        let complaint =
            |healthy, unhealthy, silent| WorkerHealth { healthy, short: 0, unhealthy, draining: 0, silent }.complaint();
        assert_eq!(complaint(0, 0, 0).unwrap(), "no worker is connected; start one: jobtracker tasktracker");
        assert_eq!(complaint(0, 0, 1).unwrap(), "the only worker is silent");
        assert_eq!(complaint(1, 1, 1).unwrap(), "1 of 3 workers is silent");
        assert_eq!(complaint(0, 0, 2).unwrap(), "2 of 2 workers are silent");
        assert_eq!(complaint(1, 1, 0), None);
        let draining = WorkerHealth { healthy: 1, short: 0, unhealthy: 0, draining: 1, silent: 0 };
        assert_eq!(draining.complaint(), None);
        let all = WorkerHealth { healthy: 0, ..draining }.complaint();
        assert_eq!(all.unwrap(), "all workers are draining: no task starts");
    }
}
