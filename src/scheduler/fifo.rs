//! First in, first out, after Hadoop 1.2.1 `JobQueueTaskScheduler`.
//!
//! Jobs by priority, start, id; job by job, its near maps before its far ones. A light load is spread: a node holds at
//! most its share of the load (load factor), and when the cluster is almost full a heartbeat grants one task (padding).
//!
//! Spreading withholds a slot for at most one heartbeat of its node. By then every other node has reported too, so a
//! task that still waits can only use this slot: its input, its failures or a dead tracker keep it from the others. The
//! original, which `compatible_fifo` follows, lets it wait longer.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::{Kind, PerKind, Pool, TrackerId, Violations, lower, raise};

use super::app::App;
use super::change::{Change, Reaction};
use super::group::Group;
use super::key::{AppKey, FirstApp, GroupKey};
use super::node::{Node, Totals};
use super::policy::{HeartbeatLimits, LaunchRules, Leaf, Policy, PolicyView, SKIP_BUDGET};
use super::{AppId, AppSize, AppSpec, GroupId};

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

#[derive(Debug)]
pub(super) struct CompatibleFifo {
    pad_millionths: u32,
    // Sizes of running jobs; never iterated.
    sizes: FxHashMap<AppId, AppSize>,
    /// Running jobs that have reduces, waiting or not.
    with_reduces: BTreeSet<(AppKey, AppId)>,
    /// Sum over the tasks of `with_reduces`: the input of the original's padding.
    desired: PerKind<u64>,
    /// Sum over the unfinished tasks of all running jobs.
    unfinished: PerKind<u64>,
    // Slots in use by each node's last heartbeat; never iterated.
    reported: FxHashMap<TrackerId, PerKind<u32>>,
    /// Sum over `reported`, as Hadoop 1.2.1 `ClusterStatus` counts it.
    in_use: PerKind<u64>,
}

impl CompatibleFifo {
    pub(super) fn new(pad_millionths: u32) -> Self {
        Self {
            pad_millionths,
            sizes: FxHashMap::default(),
            with_reduces: BTreeSet::new(),
            desired: PerKind::default(),
            unfinished: PerKind::default(),
            reported: FxHashMap::default(),
            in_use: PerKind::default(),
        }
    }

    fn resize_app(&mut self, id: AppId, app: Option<&AppSpec>, size: AppSize, violations: &mut Violations) {
        let size = AppSize { tasks: app.map_or(PerKind::default(), |_| size.tasks), ..size };
        let before = match size == AppSize::default() {
            true => self.sizes.remove(&id),
            false => self.sizes.insert(id, size),
        };
        let before = before.unwrap_or_default();
        for kind in Kind::ALL {
            lower(&mut self.unfinished[kind], before.unfinished[kind], violations);
            raise(&mut self.unfinished[kind], size.unfinished[kind], violations);
        }
        let Some(entry) = app.map(|app| (submission_key(app), id)) else { return };
        if before.tasks.reduce > 0 && self.with_reduces.remove(&entry) {
            Kind::ALL.into_iter().for_each(|kind| lower(&mut self.desired[kind], before.tasks[kind], violations));
        }
        if size.tasks.reduce > 0 && self.with_reduces.insert(entry) {
            Kind::ALL.into_iter().for_each(|kind| raise(&mut self.desired[kind], size.tasks[kind], violations));
        }
    }

    fn reorder_app(&mut self, app: &AppSpec, priority_before: u8) {
        let after = submission_key(app);
        if self.with_reduces.remove(&(AppKey { class: priority_before, ..after }, app.id)) {
            self.with_reduces.insert((after, app.id));
        }
    }

    /// A node without slots in use leaves no entry.
    fn record_report(&mut self, node: TrackerId, in_use: PerKind<u32>, violations: &mut Violations) {
        let before = match in_use == PerKind::default() {
            true => self.reported.remove(&node),
            false => self.reported.insert(node, in_use),
        };
        let before = before.unwrap_or_default();
        for kind in Kind::ALL {
            lower(&mut self.in_use[kind], before[kind], violations);
            raise(&mut self.in_use[kind], in_use[kind], violations);
        }
    }
}

impl Policy for CompatibleFifo {
    fn leaf_of(&self, _app: &AppSpec) -> Leaf {
        Leaf::Root
    }

    fn app_key(&self, app: &App, _pool: Pool) -> AppKey {
        submission_key(&app.spec)
    }

    fn group_key(&self, _id: GroupId, _group: &Group, _pool: Pool, _first: FirstApp) -> GroupKey {
        GroupKey::default()
    }

    fn heartbeat_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits {
        let part = share_of_load(self.unfinished[kind], totals.slots[kind], node.slots[kind]);
        let limit = part.saturating_sub(node.in_use(kind)).min(free);
        let pad = padding(self.pad_millionths, self.desired[kind], kind, node, totals);
        let first = self.with_reduces.first().map(|&(_, app)| app);
        // Without a job that has reduces the original never compares.
        let exceeded = first.is_some() && self.in_use[kind].saturating_add(pad) >= totals.slots[kind];
        match kind {
            Kind::Map => HeartbeatLimits {
                limit: if exceeded { limit.min(1) } else { limit },
                after_off_switch: Some(0),
                only_app: None,
                skip_budget: u32::MAX,
            },
            Kind::Reduce => HeartbeatLimits {
                limit: limit.min(1),
                after_off_switch: None,
                only_app: first.filter(|_| exceeded),
                skip_budget: u32::MAX,
            },
        }
    }

    /// 1.2.1 sends one setup or cleanup alone, and lets a task wait for a host without slots of its kind.
    fn launch_rules(&self) -> LaunchRules {
        LaunchRules { is_housekeeping_alone: true, counts_all_hosts: true, ..LaunchRules::default() }
    }

    fn on_change(&mut self, change: &Change, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let violations = &mut *reaction.violations;
        match *change {
            Change::Size { app, size } => {
                let spec = view.app(app).filter(|app| !app.draining).map(|app| &app.spec);
                self.resize_app(app, spec, size, violations);
            }
            Change::Priority { app, before, .. } => {
                if let Some(app) = view.app(app) {
                    self.reorder_app(&app.spec, before);
                }
            }
            Change::HeartbeatStarted { node, in_use, .. } => self.record_report(node, in_use, violations),
            Change::NodeRemoved(node) => self.record_report(node, PerKind::default(), violations),
            _ => {}
        }
    }
}
