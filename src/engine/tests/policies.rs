//! A job runs from submission to success under each policy.

use std::sync::Arc;

use crate::engine::{FairConfig, PolicyConfig};
use crate::model::{Decimal, RunState};
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use crate::scheduler::fair::options::FairOptions;

use super::cluster::{Cluster, Fate, fifo, spec};

/// The Capacity scheduler with one queue, `default`.
pub(crate) fn capacity() -> PolicyConfig {
    let queue = WrittenQueue::with_defaults("default", Decimal::parse("100"));
    let written = WrittenConfig { queues: vec![queue], ..WrittenConfig::default() };
    PolicyConfig::Capacity { config: Arc::new(CapacityConfig::new(&written).unwrap()), is_compatible: false }
}

/// The Fair scheduler without declared pools.
pub(crate) fn fair() -> PolicyConfig {
    PolicyConfig::Fair(FairConfig {
        options: FairOptions::default(),
        allocations: Arc::default(),
        pool_name_property: "user.name".to_owned(),
        allows_undeclared_pools: true,
        preemption_interval_ms: None,
        only_logs_preemption: false,
        event_log: None,
    })
}

#[test]
fn a_job_succeeds_under_each_policy() {
    for policy in [fifo(), capacity(), fair()] {
        let name = format!("{policy:?}");
        let mut cluster = Cluster::new(policy);
        cluster.add_tracker("h0", 2, 1);
        cluster.add_tracker("h1", 2, 1);
        let id = cluster.submit(spec("alice", "default", 4, 1)).unwrap();
        for _ in 0..20 {
            cluster.pass_ms(1_000);
            cluster.timer();
            (0..2).for_each(|tracker| drop(cluster.beat(tracker, |_| Fate::Succeed)));
        }
        assert_eq!(cluster.state(id), RunState::Succeeded, "{name}");
    }
}
