//! The graylist: hosts with many faults (1.2.1 `JobTracker.FaultyTrackersInfo`).
//!
//! A fault of a host is a successful job that had to avoid it. Too many faults within a window put the host on the
//! graylist, which is for display only.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultConfig {
    /// Least faults within the window, at least 1 (`mapred.max.tracker.blacklists`).
    pub(crate) threshold: u32,
    /// Faults are counted in buckets of this width, ms (`mapred.jobtracker.blacklist.fault-bucket-width`).
    pub(crate) bucket_ms: i64,
    /// Buckets in the window, the running one included (`mapred.jobtracker.blacklist.fault-timeout-window`).
    pub(crate) buckets: i64,
    /// Least excess of the faults over the cluster's average, millionths of it (`mapred.cluster.average.blacklist.threshold`).
    pub(crate) excess_millionths: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterSize {
    pub(crate) in_service: usize,
    pub(crate) graylisted: usize,
    pub(crate) registered: usize,
}

#[derive(Debug, Default)]
pub(crate) struct HostFaults {
    hosts: BTreeMap<Arc<str>, FaultRecord>,
}

#[derive(Debug, Default)]
struct FaultRecord {
    /// Bucket number since 1970 and its faults, oldest first; without empty buckets.
    buckets: VecDeque<(i64, u32)>,
    /// Faults when the host was last put on the graylist; none while it is not graylisted.
    graylisted_at: Option<u32>,
}

const MAX_HOSTS: usize = 10_000;

impl FaultConfig {
    /// From window and bucket width in minutes, as in 1.2.1: a bucket is at most as wide as the window, and a remainder
    /// of the window adds one bucket.
    #[must_use]
    pub(crate) fn new(threshold: u32, window_min: u32, bucket_min: u32, excess_millionths: u64) -> Self {
        let window = i64::from(window_min.max(1));
        let bucket = i64::from(bucket_min.max(1)).min(window);
        Self {
            threshold: threshold.max(1),
            bucket_ms: bucket * 60_000,
            buckets: (window + bucket - 1) / bucket,
            excess_millionths,
        }
    }
}

impl Default for FaultConfig {
    fn default() -> Self {
        Self::new(4, 180, 15, 500_000)
    }
}

impl FaultRecord {
    fn add(&mut self, bucket: i64) {
        match self.buckets.back_mut() {
            // A clock that was set back opens no older bucket.
            Some((last, faults)) if *last >= bucket => *faults = faults.saturating_add(1),
            _ => self.buckets.push_back((bucket, 1)),
        }
    }

    /// Faults in the window that ends with `bucket`; drops older ones.
    fn count(&mut self, bucket: i64, window: i64) -> u32 {
        while self.buckets.front().is_some_and(|(old, _)| *old <= bucket.saturating_sub(window)) {
            self.buckets.pop_front();
        }
        self.buckets.iter().fold(0, |sum, (_, faults)| sum.saturating_add(*faults))
    }
}

impl HostFaults {
    /// Records a fault of a host at `at_ms`, epoch ms. Returns whether that puts the host on the graylist.
    pub(crate) fn add(&mut self, host: &Arc<str>, at_ms: i64, cluster: ClusterSize, config: &FaultConfig) -> bool {
        let bucket = at_ms.div_euclid(config.bucket_ms);
        if self.hosts.len() >= MAX_HOSTS && !self.hosts.contains_key(host) {
            return false;
        }
        self.hosts.entry(host.clone()).or_default().add(bucket);
        let mut sum = 0_u64;
        self.hosts.retain(|_, record| {
            let faults = record.count(bucket, config.buckets);
            sum += u64::from(faults);
            faults > 0 || record.graylisted_at.is_some()
        });
        let Some(record) = self.hosts.get_mut(host) else { return false };
        let faults = record.count(bucket, config.buckets);
        if faults < config.threshold || !exceeds_average(faults, sum, cluster, config) {
            return false;
        }
        record.graylisted_at.replace(faults).is_none()
    }

    /// Drops old faults of a host. Returns whether that takes the host off the graylist.
    pub(crate) fn expire(&mut self, host: &str, now_ms: i64, config: &FaultConfig) -> bool {
        let Some(record) = self.hosts.get_mut(host) else { return false };
        let faults = record.count(now_ms.div_euclid(config.bucket_ms), config.buckets);
        if faults >= config.threshold {
            return false;
        }
        let was_listed = record.graylisted_at.take().is_some();
        if faults == 0 {
            self.hosts.remove(host);
        }
        was_listed
    }

    /// Drops all faults of a host. Returns whether that takes the host off the graylist.
    pub(crate) fn forget(&mut self, host: &str) -> bool {
        self.hosts.remove(host).is_some_and(|record| record.graylisted_at.is_some())
    }

    pub(crate) fn graylisted(&self) -> impl Iterator<Item = &Arc<str>> {
        self.hosts.iter().filter(|(_, record)| record.graylisted_at.is_some()).map(|(host, _)| host)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    pub(crate) fn is_graylisted(&self, host: &str) -> bool {
        self.hosts.get(host).is_some_and(|record| record.graylisted_at.is_some())
    }

    /// Why a host is on the graylist, with the text of 1.2.1; none when it is not.
    pub(crate) fn reason(&self, host: &str) -> Option<String> {
        let faults = self.hosts.get(host)?.graylisted_at?;
        Some(format!("{faults} failures on the tracker"))
    }
}

/// Whether the faults of a host exceed the cluster's average enough, and less than half of all trackers are graylisted.
fn exceeds_average(faults: u32, sum: u64, cluster: ClusterSize, config: &FaultConfig) -> bool {
    // faults - average > excess x average, with average = sum / trackers.
    let own = u128::from(faults) * cluster.in_service as u128 * 1_000_000;
    let allowed = u128::from(sum) * (1_000_000 + u128::from(config.excess_millionths));
    own > allowed && 2 * cluster.graylisted < cluster.registered
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE_MS: i64 = 60_000;

    fn of(trackers: usize) -> ClusterSize {
        ClusterSize { in_service: trackers, graylisted: 0, registered: trackers }
    }

    #[test]
    fn the_fourth_fault_puts_a_host_on_the_list_until_the_window_has_passed() {
        let config = FaultConfig::default();
        let host: Arc<str> = "h".into();
        let mut faults = HostFaults::default();
        let listed: Vec<bool> = (0..4).map(|n| faults.add(&host, n * 20 * MINUTE_MS, of(10), &config)).collect();
        assert_eq!(listed, [false, false, false, true]);
        assert_eq!(faults.reason("h").as_deref(), Some("4 failures on the tracker"));
        // The first fault lies in the first quarter of an hour, which leaves the window after three hours.
        assert!(!faults.expire("h", 180 * MINUTE_MS - 1, &config));
        assert!(faults.expire("h", 180 * MINUTE_MS, &config));
        assert!(!faults.is_graylisted("h"));
        assert!(!faults.expire("h", 1_000 * MINUTE_MS, &config));
        assert!(faults.hosts.is_empty(), "nothing is kept of a host without faults");
    }

    #[test]
    fn a_host_that_is_no_worse_than_the_rest_is_not_listed() {
        let config = FaultConfig::default();
        let hosts: Vec<Arc<str>> = (0..3).map(|host| format!("h{host}").into()).collect();
        let mut faults = HostFaults::default();
        for _ in 0..10 {
            assert!(hosts.iter().all(|host| !faults.add(host, 0, of(3), &config)));
        }
        // It takes more than half as many again as the average.
        let listed = (0..20).find(|_| faults.add(&hosts[0], 0, of(3), &config));
        assert_eq!(listed, Some(10), "21 are more than one and a half times the average of 41 over three");
    }

    #[test]
    fn half_of_the_trackers_are_listed_at_most() {
        let config = FaultConfig::default();
        let host: Arc<str> = "h".into();
        let mut faults = HostFaults::default();
        let cluster = ClusterSize { in_service: 10, graylisted: 5, registered: 10 };
        assert!((0..20).all(|_| !faults.add(&host, 0, cluster, &config)));
        assert!(faults.add(&host, 0, ClusterSize { graylisted: 4, ..cluster }, &config));
    }

    #[test]
    fn widths_are_taken_as_hadoop_takes_them() {
        let of = |window, bucket| {
            let config = FaultConfig::new(4, window, bucket, 0);
            (config.bucket_ms / MINUTE_MS, config.buckets)
        };
        assert_eq!(of(180, 15), (15, 12));
        assert_eq!(of(10, 15), (10, 1));
        assert_eq!(of(31, 15), (15, 3));
    }

    proptest! {
        #[test]
        fn a_count_is_that_of_the_faults_in_the_window(
            steps in prop::collection::vec(0i64..40, 1..60), window in 1u32..100, bucket in 1u32..30
        ) {
            let config = FaultConfig::new(1, window, bucket, 0);
            let mut record = FaultRecord::default();
            let (mut now, mut times) = (0, Vec::new());
            for step in steps {
                now += step * MINUTE_MS / 2;
                let current = now / config.bucket_ms;
                record.add(current);
                times.push(now);
                let within = times.iter().filter(|at| *at / config.bucket_ms > current - config.buckets).count();
                prop_assert_eq!(record.count(current, config.buckets) as usize, within);
                prop_assert!(record.buckets.len() as i64 <= config.buckets);
            }
        }
    }
}
