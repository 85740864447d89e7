//! First in, first out exactly as Hadoop 1.2.1 `JobQueueTaskScheduler` (`jobtracker.scheduler.compatible`).
//!
//! Keeps the original's caps: an off-switch map ends a heartbeat's maps, one reduce at most, and near the full cluster
//! only the first job's reduces. Counts as the original does, with sums of its own: setup and cleanup attempts are
//! running tasks, other nodes count as last reported, the load is the unfinished tasks of all running jobs.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::{Kind, PerKind, Pool, TrackerId, Violations, lower, raise};

use super::app::App;
use super::change::{Change, Reaction};
use super::fifo::{padding, share_of_load, submission_key};
use super::group::Group;
use super::key::{AppKey, FirstApp, GroupKey};
use super::node::{Node, Totals};
use super::policy::{HeartbeatLimits, LaunchRules, Leaf, Policy};
use super::view::View;
use super::{AppId, AppSize, AppSpec, GroupId};

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

    fn on_change(&mut self, change: &Change, view: &View<'_>, reaction: &mut Reaction<'_>) {
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
