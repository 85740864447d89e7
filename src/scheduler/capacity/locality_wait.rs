//! How long a job waits for a map near its data: it must be passed over by enough trackers first.

/// Opportunities of a job that got a reserved node: far maps are allowed until a near one resets the count.
const OVERRIDDEN: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MissedOpportunities {
    opportunities: u64,
}

/// The part of the trackers that must have passed a job over, as a fraction. Fixed when the job is initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitFactor {
    part: u64,
    whole: u64,
}

impl MissedOpportunities {
    pub(crate) fn count_opportunity(&mut self) {
        self.opportunities = self.opportunities.saturating_add(1);
    }

    pub(crate) fn reset(&mut self) {
        self.opportunities = 0;
    }

    /// The job got the node that was reserved for it, so distance does not matter.
    pub(crate) fn ignore_distance(&mut self) {
        self.opportunities = OVERRIDDEN;
    }

    /// Whether the job, with so many unfinished maps, may get a far map in a cluster of so many trackers.
    pub(crate) fn allows_off_switch(&self, unfinished_maps: u32, trackers: u64, factor: WaitFactor) -> bool {
        let required = u128::from(u64::from(unfinished_maps).min(trackers)) * u128::from(factor.part);
        required < u128::from(self.opportunities) * u128::from(factor.whole)
    }

    /// How many more opportunities until [`Self::allows_off_switch`] does; zero: the next one may be far.
    pub(crate) fn opportunities_left(&self, unfinished_maps: u32, trackers: u64, factor: WaitFactor) -> u64 {
        let required = u128::from(u64::from(unfinished_maps).min(trackers)) * u128::from(factor.part);
        let first_allowed = required / u128::from(factor.whole.max(1)) + 1;
        let next = u128::from(self.opportunities) + 1;
        u64::try_from(first_allowed.saturating_sub(next)).unwrap_or(u64::MAX)
    }
}

impl WaitFactor {
    pub(crate) const ONE: WaitFactor = WaitFactor { part: 1, whole: 1 };

    /// The factor of a job whose splits are on `split_hosts` distinct hosts of a cluster of `cluster_hosts`.
    ///
    /// `configured_millionths` is `mapreduce.job.locality.wait.factor`, which counts unless it is 1. Zero for splits
    /// without hosts; one while no tracker is known.
    pub(crate) fn new(configured_millionths: u64, split_hosts: u64, cluster_hosts: u64) -> Self {
        const WHOLE: u64 = 1_000_000;
        if configured_millionths != WHOLE {
            return Self { part: configured_millionths, whole: WHOLE };
        }
        match cluster_hosts {
            0 => Self::ONE,
            _ => Self { part: split_hosts.min(cluster_hosts), whole: cluster_hosts },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_map_waits_for_more_opportunities_than_the_trackers_that_count() {
        let mut wait = MissedOpportunities::default();
        let half = WaitFactor::new(1_000_000, 5, 10);
        let allowed: Vec<bool> = (0..4)
            .map(|_| {
                wait.count_opportunity();
                wait.allows_off_switch(4, 10, half)
            })
            .collect();
        assert_eq!(allowed, [false, false, true, true]);
        wait.reset();
        assert!(!wait.allows_off_switch(4, 10, half));
    }

    #[test]
    fn splits_without_hosts_never_wait() {
        let mut wait = MissedOpportunities::default();
        wait.count_opportunity();
        assert!(wait.allows_off_switch(100, 100, WaitFactor::new(1_000_000, 0, 10)));
    }

    #[test]
    fn an_unknown_cluster_and_a_configured_factor_count_as_they_are() {
        assert_eq!(WaitFactor::new(1_000_000, 3, 0), WaitFactor::ONE);
        let mut wait = MissedOpportunities::default();
        wait.count_opportunity();
        assert!(wait.allows_off_switch(9, 9, WaitFactor::new(100_000, 9, 9)));
        assert!(!wait.allows_off_switch(10, 10, WaitFactor::new(100_000, 9, 9)));
    }

    #[test]
    fn a_reserved_node_ends_the_wait_until_a_near_map() {
        let mut wait = MissedOpportunities::default();
        wait.ignore_distance();
        assert!(wait.allows_off_switch(10_000, 10_000, WaitFactor::ONE));
        wait.reset();
        assert!(!wait.allows_off_switch(1, 1, WaitFactor::ONE));
    }
}
