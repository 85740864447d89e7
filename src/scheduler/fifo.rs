//! First in, first out: Hadoop 1.2.1 `JobQueueTaskScheduler`.
//!
//! Jobs by priority, start, id; job by job, its near maps before its far ones. A light load is spread: a node holds at
//! most its share of the load (load factor), and when the cluster is almost full a heartbeat grants one task (padding).
//!
//! Spreading withholds a slot for at most one heartbeat of its node. By then every other node has reported too, so a
//! task that still waits can only use this slot: its input, its failures or a dead tracker keep it from the others. The
//! original lets it wait longer; `compatible` does too, and keeps the original's caps: an off-switch map ends a
//! heartbeat's maps, one reduce at most, and near the full cluster only the first job's reduces.

use std::collections::BTreeSet;

use crate::model::{Kind, PerKind};

use super::count::{lower_sum, raise_sum};
use super::key::{AppKey, GroupKey};
use super::node::{Node, Totals};
use super::policy::{HeartbeatLimits, Policy, SKIP_BUDGET};
use super::{AppId, AppSpec, GroupId};

/// Options of the first-in-first-out policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoOptions {
    /// Keep the original's caps on a heartbeat (`jobtracker.fifo.compatible`).
    pub compatible: bool,
    /// Part of the load for which slots are kept free, in millionths (`mapred.jobtracker.taskalloc.capacitypad`).
    pub pad_millionths: u32,
}

/// Clusters up to this many nodes keep no slots free. Hadoop 1.2.1 `JobQueueTaskScheduler`.
const MIN_CLUSTER_SIZE_FOR_PADDING: u64 = 3;

#[derive(Debug)]
pub(super) struct Fifo {
    options: FifoOptions,
    /// Running jobs that have reduces, waiting or not, and the sum of their tasks: the input of the original's padding.
    with_reduces: BTreeSet<(AppKey, AppId)>,
    desired: PerKind<u64>,
}

// === impl FifoOptions ===

impl Default for FifoOptions {
    /// Not compatible, 1 % padding.
    fn default() -> Self {
        Self { compatible: false, pad_millionths: 10_000 }
    }
}

// === impl Fifo ===

impl Fifo {
    pub(super) fn new(options: FifoOptions) -> Self {
        Self { options, with_reduces: BTreeSet::new(), desired: PerKind::default() }
    }

    /// Slots to keep free in a cluster that needs `needed` tasks.
    ///
    /// The original sums up job by job and compares after each; the sum only grows, so the total alone decides.
    fn pad(&self, needed: u64, kind: Kind, node: &Node, totals: &Totals) -> u64 {
        if totals.nodes <= MIN_CLUSTER_SIZE_FOR_PADDING {
            return 0;
        }
        let pad = u128::from(needed) * u128::from(self.options.pad_millionths) / 1_000_000;
        u64::try_from(pad).unwrap_or(u64::MAX).min(u64::from(node.slots[kind]))
    }

    /// Setup and cleanup attempts reduce both the node's and the cluster's capacity.
    fn spreading_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits {
        let (running, waiting) = (totals.running[kind], totals.waiting[kind]);
        let load = running.saturating_add(waiting);
        let room = totals.slots[kind].saturating_sub(totals.occupied[kind]);
        let part = share_of_load(load, room, node.slots[kind].saturating_sub(node.occupied[kind]));
        let mut limit = part.saturating_sub(node.running[kind]);
        if running.saturating_add(self.pad(load, kind, node, totals)) >= room {
            limit = limit.min(1);
        }
        if node.withheld[kind] {
            limit = free;
        }
        HeartbeatLimits { limit: limit.min(free), stops_at_off_switch: false, only_app: None, skip_budget: SKIP_BUDGET }
    }

    /// Counts as the original does: setup and cleanup attempts are running tasks, other nodes count as last reported.
    fn compatible_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits {
        let part = share_of_load(totals.remaining[kind], totals.slots[kind], node.slots[kind]);
        let limit = part.saturating_sub(node.in_use(kind)).min(free);
        let padded = totals.reported[kind].saturating_add(self.pad(self.desired[kind], kind, node, totals));
        let first = self.with_reduces.first().map(|&(_, app)| app);
        // Without a job that has reduces the original never compares.
        let exceeded = first.is_some() && padded >= totals.slots[kind];
        match kind {
            Kind::Map => HeartbeatLimits {
                limit: if exceeded { limit.min(1) } else { limit },
                stops_at_off_switch: true,
                only_app: None,
                skip_budget: u32::MAX,
            },
            Kind::Reduce => HeartbeatLimits {
                limit: limit.min(1),
                stops_at_off_switch: false,
                only_app: first.filter(|_| exceeded),
                skip_budget: u32::MAX,
            },
        }
    }
}

impl Policy for Fifo {
    fn leaf_of(&self, _group: GroupId) -> GroupId {
        GroupId::ROOT
    }

    fn app_key(&self, app: &AppSpec) -> AppKey {
        AppKey { priority: app.priority, start_ms: app.start_ms, order: app.order }
    }

    fn group_key(&self, _leaf: GroupId, _kind: Kind, _running: u32, _first: AppKey) -> GroupKey {
        GroupKey::default()
    }

    fn heartbeat_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits {
        if self.options.compatible {
            self.compatible_limits(kind, free, node, totals)
        } else {
            self.spreading_limits(kind, free, node, totals)
        }
    }

    fn on_app_resized(&mut self, app: &AppSpec, before: PerKind<u32>, after: PerKind<u32>) {
        let entry = (self.app_key(app), app.id);
        if before.reduce > 0 && self.with_reduces.remove(&entry) {
            Kind::ALL.into_iter().for_each(|kind| lower_sum(&mut self.desired[kind], before[kind]));
        }
        if after.reduce > 0 && self.with_reduces.insert(entry) {
            Kind::ALL.into_iter().for_each(|kind| raise_sum(&mut self.desired[kind], after[kind]));
        }
    }
}

/// The share of the load for a node with `slots` of `capacity`: rounded up, at most its slots.
fn share_of_load(load: u64, capacity: u64, slots: u32) -> u32 {
    if capacity == 0 {
        return 0;
    }
    let part = (u128::from(load) * u128::from(slots)).div_ceil(u128::from(capacity));
    u32::try_from(part).unwrap_or(u32::MAX).min(slots)
}
