//! Hosts that a job avoids because too many of its attempts failed there (1.2.1 `JobInProgress.addTrackerTaskFailure`,
//! `shouldRunOnTaskTracker`).
//!
//! Invariant: hosts are avoided only while they are less than a quarter of the trackers in service, so a job that fails
//! everywhere by its own fault does not run out of hosts.

use std::collections::BTreeMap;

use crate::model::Kind;
use crate::scheduler::HostId;

use super::NodeRegistry;
use super::node_registry::EligibleHosts;

#[derive(Debug)]
pub(super) struct FlakyHosts {
    failures: BTreeMap<HostId, u32>,
    /// Hosts with at least `limit` failures.
    flaky: usize,
    /// Failures that make a host flaky, at least 1.
    limit: u32,
}

impl FlakyHosts {
    /// No failures; `limit` of them make a host flaky (`mapred.max.tracker.failures`).
    pub(super) fn new(limit: u32) -> Self {
        Self { failures: BTreeMap::new(), flaky: 0, limit: limit.max(1) }
    }

    /// Counts a failure, unless too many hosts are flaky already. `trackers`: those in service.
    pub(super) fn add(&mut self, host: HostId, trackers: usize) {
        if !self.is_in_force(trackers) {
            return;
        }
        let failures = self.failures.entry(host).or_default();
        *failures = failures.saturating_add(1);
        if *failures == self.limit {
            self.flaky += 1;
        }
    }

    /// Counts a failure from before a restart, whatever the number of trackers was.
    pub(super) fn restore_failure(&mut self, host: HostId) {
        self.add(host, usize::MAX);
    }

    /// Whether flaky hosts are avoided: they are less than a quarter of the trackers in service.
    fn is_in_force(&self, trackers: usize) -> bool {
        4 * self.flaky < trackers
    }

    pub(super) fn avoids(&self, host: HostId, trackers: usize) -> bool {
        self.flaky > 0 && self.is_in_force(trackers) && self.failures.get(&host).is_some_and(|n| *n >= self.limit)
    }

    pub(super) fn with_failures(&self) -> impl Iterator<Item = (HostId, u32)> {
        let limit = self.limit;
        self.failures.iter().filter(move |(_, failures)| **failures >= limit).map(|(host, failures)| (*host, *failures))
    }

    pub(super) fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.with_failures().map(|(host, _)| host)
    }

    /// Whether a task that failed on these hosts has no other host left, since all others are avoided. It may then run
    /// again where it failed: else the job would wait forever.
    pub(super) fn leave_no_other_host(
        &self,
        failed: &[HostId],
        kind: Kind,
        nodes: &NodeRegistry,
        hosts: EligibleHosts<'_>,
    ) -> bool {
        if self.flaky == 0 || !self.is_in_force(nodes.in_service()) {
            return false;
        }
        let offers = |host: &HostId| hosts.offers(*host, kind);
        let failed_there = failed.iter().filter(|host| offers(host)).count();
        failed_there + self.hosts().filter(|host| !failed.contains(host)).filter(offers).count() >= hosts.offering(kind)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::scheduler::Topology;

    use super::*;

    fn hosts(count: usize) -> Vec<HostId> {
        let mut topology = Topology::default();
        (0..count).map(|host| topology.intern_host(&format!("h{host}"), "/r")).collect()
    }

    #[test]
    fn the_last_failure_allowed_is_the_one_before_the_limit() {
        let h = hosts(2);
        let mut flaky = FlakyHosts::new(3);
        for _ in 0..2 {
            flaky.add(h[0], 5);
            assert!(!flaky.avoids(h[0], 5));
        }
        flaky.add(h[0], 5);
        assert!(flaky.avoids(h[0], 5));
        assert!(!flaky.avoids(h[1], 5));
        assert!(!flaky.avoids(h[0], 4), "one of four is a quarter");
    }

    #[test]
    fn nothing_is_recorded_once_a_quarter_is_flaky() {
        let h = hosts(2);
        let mut flaky = FlakyHosts::new(1);
        flaky.add(h[0], 4);
        flaky.add(h[1], 4);
        assert_eq!(flaky.hosts().collect::<Vec<_>>(), [h[0]]);
    }

    proptest! {
        #[test]
        fn never_is_a_quarter_of_the_trackers_avoided(
            failures in prop::collection::vec((0usize..20, 1usize..24), 0..200), limit in 1u32..5
        ) {
            let h = hosts(20);
            let mut flaky = FlakyHosts::new(limit);
            for (host, trackers) in failures {
                flaky.add(h[host], trackers);
                prop_assert_eq!(flaky.flaky, flaky.hosts().count());
                let avoided = h.iter().filter(|host| flaky.avoids(**host, trackers)).count();
                prop_assert!(4 * avoided < trackers);
            }
        }
    }
}
