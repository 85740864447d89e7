//! First in, first out, after Hadoop 1.2.1 `JobQueueTaskScheduler`.
//!
//! Jobs by priority, start, id; job by job, its near maps before its far ones. A light load is spread: a node holds at
//! most its share of the load (load factor), and when the cluster is almost full a heartbeat grants one task (padding).
//!
//! Spreading withholds a slot for at most one heartbeat of its node. By then every other node has reported too, so a
//! task that still waits can only use this slot: its input, its failures or a dead tracker keep it from the others. The
//! original, which `compatible_fifo` follows, lets it wait longer.

use crate::model::{Kind, Pool};

use super::app::App;
use super::group::Group;
use super::key::{AppKey, FirstApp, GroupKey};
use super::node::{Node, Totals};
use super::policy::{HeartbeatLimits, Leaf, Policy, SKIP_BUDGET};
use super::{AppSpec, GroupId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoOptions {
    /// Keep the original's caps on a heartbeat (`jobtracker.scheduler.compatible`).
    pub compatible: bool,
    /// Part of the load for which slots are kept free, in millionths (`mapred.jobtracker.taskalloc.capacitypad`).
    pub pad_millionths: u32,
}

/// Clusters up to this many nodes keep no slots free. Hadoop 1.2.1 `JobQueueTaskScheduler`.
const MIN_CLUSTER_SIZE_FOR_PADDING: u64 = 3;

#[derive(Debug)]
pub(super) struct Fifo {
    pad_millionths: u32,
}

impl Default for FifoOptions {
    /// Not compatible, 1 % padding.
    fn default() -> Self {
        Self { compatible: false, pad_millionths: 10_000 }
    }
}

impl Fifo {
    pub(super) fn new(pad_millionths: u32) -> Self {
        Self { pad_millionths }
    }
}

impl Policy for Fifo {
    fn leaf_of(&self, _app: &AppSpec) -> Leaf {
        Leaf::Root
    }

    fn app_key(&self, app: &App, _pool: Pool) -> AppKey {
        submission_key(&app.spec)
    }

    fn group_key(&self, _id: GroupId, _group: &Group, _pool: Pool, _first: FirstApp) -> GroupKey {
        GroupKey::default()
    }

    /// Setup and cleanup attempts reduce both the node's and the cluster's capacity.
    fn heartbeat_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits {
        let (held, waiting) = (totals.held[kind], totals.waiting[kind]);
        // Each waiting task takes one slot here.
        let load = held.saturating_add(waiting);
        let room = totals.slots[kind].saturating_sub(totals.occupied[kind]);
        let part = share_of_load(load, room, node.slots[kind].saturating_sub(node.occupied[kind]));
        let mut limit = part.saturating_sub(node.held[kind]);
        if held.saturating_add(padding(self.pad_millionths, load, kind, node, totals)) >= room {
            limit = limit.min(1);
        }
        if node.withheld[kind] {
            limit = free;
        }
        HeartbeatLimits { limit: limit.min(free), after_off_switch: None, only_app: None, skip_budget: SKIP_BUDGET }
    }
}

/// The order of first in, first out.
pub(super) fn submission_key(app: &AppSpec) -> AppKey {
    AppKey { class: app.priority, start_ms: app.start_ms, order: app.order, ..AppKey::default() }
}

/// Slots to keep free in a cluster that needs `needed` tasks.
///
/// The original sums up job by job and compares after each; the sum only grows, so the total alone decides.
pub(super) fn padding(pad_millionths: u32, needed: u64, kind: Kind, node: &Node, totals: &Totals) -> u64 {
    if totals.nodes <= MIN_CLUSTER_SIZE_FOR_PADDING {
        return 0;
    }
    let pad = u128::from(needed) * u128::from(pad_millionths) / 1_000_000;
    u64::try_from(pad).unwrap_or(u64::MAX).min(u64::from(node.slots[kind]))
}

/// The share of the load for a node with `slots` of `capacity`: rounded up, at most its slots.
pub(super) fn share_of_load(load: u64, capacity: u64, slots: u32) -> u32 {
    if capacity == 0 {
        return 0;
    }
    let part = (u128::from(load) * u128::from(slots)).div_ceil(u128::from(capacity));
    u32::try_from(part).unwrap_or(u32::MAX).min(slots)
}
