//! The policy: queues by how full they are, users by their limits, jobs in the order of their queue.
//!
//! Each user of a queue has a leaf of its own, so that a user at the limit is parked with all jobs at once. The original
//! counts all usage when a heartbeat begins; here sums follow each change, and what it would see only at the next
//! heartbeat is deferred to the end of this one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Kind, Now, PerKind, PerPool, Pool};
use crate::scheduler::app::App;
use crate::scheduler::change::{AskedApp, Change, Reaction};
use crate::scheduler::constraint::JobPlan;
use crate::scheduler::group::Group;
use crate::scheduler::key::{AppKey, FirstApp, GroupKey, Ratio};
use crate::scheduler::node::{Node, Totals};
use crate::scheduler::policy::{
    AppDetail, AppRefusal, GroupDetail, Heartbeat, HeartbeatLimits, Hold, LaunchRules, Leaf, NewApp, OfferedContainer,
    Policy, PolicyView, SKIP_BUDGET, Verdict,
};
use crate::scheduler::{AppId, AppSize, AppSpec, GroupId, Level};

use super::live_queue::{LiveApp, LiveQueue, sum};
use super::queue_slots::AppHolding;
use super::{
    CapacityConfig, CapacityQueue, JobReport, JobStage, ListedJob, MissedOpportunities, QueuedJobDetail, SlotVerdict,
};

#[derive(Debug)]
pub(in crate::scheduler) struct Capacity {
    config: CapacityConfig,
    /// `jobtracker.scheduler.compatible`: one reduce a heartbeat, every job asked for every slot.
    is_compatible: bool,
    pub(super) queues: BTreeMap<GroupId, LiveQueue>,
    // Looked up, never iterated.
    pub(super) apps: FxHashMap<AppId, LiveApp>,
    is_in_heartbeat: bool,
    /// Apps whose counts drop when the heartbeat ends.
    deferred: Vec<(AppId, Kind)>,
    /// Apps that were added since jobs were last chosen to begin.
    added: Vec<AppId>,
    /// Queues in which a job may begin, because something changed.
    may_begin: BTreeSet<GroupId>,
}

impl Capacity {
    pub(in crate::scheduler) fn new(config: CapacityConfig, is_compatible: bool) -> Self {
        Self {
            config,
            is_compatible,
            queues: BTreeMap::new(),
            apps: FxHashMap::default(),
            is_in_heartbeat: false,
            deferred: Vec::new(),
            added: Vec::new(),
            may_begin: BTreeSet::new(),
        }
    }

    /// Whether a node with too few free slots should wait for the app (1.2.1 `getTaskFromQueue`).
    fn should_reserve(&self, app: &App, kind: Kind, node: Option<&Node>) -> bool {
        let slots_per_task = app.slots_per_task(kind);
        app.reserved_nodes[kind].len() < app.pending[kind] as usize
            && node.is_some_and(|node| slots_per_task <= node.slots[kind])
    }

    fn farthest_level(
        &self,
        app: &App,
        live: &LiveApp,
        kind: Kind,
        heartbeat: &Heartbeat,
        view: &PolicyView<'_>,
    ) -> Level {
        if kind == Kind::Reduce || app.slots_per_task(kind) > 1 {
            return Level::Any;
        }
        let mut wait = live.wait;
        wait.count_opportunity();
        let factor = live.wait_factor(app, view);
        let is_allowed = wait.allows_off_switch(live.unfinished_maps, view.totals.nodes, factor);
        match heartbeat.since_off_switch.map.is_none() && is_allowed {
            true => Level::Any,
            false => Level::Rack,
        }
    }

    fn open_queue(&mut self, id: GroupId, view: &PolicyView<'_>) {
        // The groups in a queue are its users.
        let Some(group) = view.group(id).filter(|group| group.parent.is_none()) else { return };
        let mut queues = self.config.queues().iter().zip(0..);
        let (settings, rank) = match queues.find(|(queue, _)| queue.name() == group.name) {
            Some((settings, rank)) => (settings.clone(), rank),
            None => (CapacityQueue::without_share(&group.name), i64::MAX),
        };
        self.queues.insert(id, LiveQueue::new(settings, rank, view.totals));
    }

    fn add_app(&mut self, id: AppId, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let Some(app) = view.app(id).filter(|app| !app.draining) else { return };
        let slots_per_task = PerKind::new(app.slots_per_task(Kind::Map), app.slots_per_task(Kind::Reduce));
        let (queue, user) = (app.spec.group, app.leaf);
        let Some(live) = self.queues.get_mut(&queue) else { return };
        let rank = live.rank_of(&app.spec);
        // Its tasks are counted before the next jobs begin.
        let job = ListedJob {
            id,
            user: Arc::clone(&app.spec.user),
            tasks: 0,
            rank,
            stage: JobStage::Waiting,
            is_stuck: app.is_stuck,
            is_paused: has_paused(app),
        };
        live.jobs.add_job(job);
        for kind in Kind::ALL {
            live.slots[kind].add_app(user, &app.spec.user, slots_per_task[kind]);
        }
        self.apps.insert(
            id,
            LiveApp {
                queue,
                user,
                slots_per_task,
                holding: PerKind::default(),
                used_reservations: PerKind::default(),
                is_active: PerKind::default(),
                unfinished_maps: 0,
                wait: MissedOpportunities::default(),
                cluster_hosts: None,
                split_hosts: 0,
                wait_factor: None,
            },
        );
        self.release(queue, reaction);
        self.added.push(id);
        self.may_begin.insert(queue);
    }

    /// Until its job is over it keeps its place among the jobs, but holds nothing of the queue and makes its user active
    /// no more. The original counts slots and tasks of a killed job until its cleanup has ended.
    fn withdraw_app(&mut self, id: AppId, reaction: &mut Reaction<'_>) {
        if self.is_compatible {
            return;
        }
        let Some(app) = self.apps.get_mut(&id) else { return };
        let (was_active, before) = (std::mem::take(&mut app.is_active), std::mem::take(&mut app.holding));
        let (queue, user) = (app.queue, app.user);
        let Some(live) = self.queues.get_mut(&queue) else { return };
        for kind in Kind::ALL {
            live.slots[kind].change_holding(user, before[kind], AppHolding::default());
            if was_active[kind] {
                live.slots[kind].set_active(user, false);
            }
        }
        reaction.rekey_group(queue);
        self.wake_user(queue, user, reaction);
        self.release(queue, reaction);
    }

    /// Its job is over: attempts that still run hold nothing of the queue.
    fn end_app(&mut self, id: AppId, reaction: &mut Reaction<'_>) {
        let Some(app) = self.apps.remove(&id) else { return };
        let Some(queue) = self.queues.get_mut(&app.queue) else { return };
        for kind in Kind::ALL {
            let slots = &mut queue.slots[kind];
            slots.change_holding(app.user, app.holding[kind], AppHolding::default());
            if app.is_active[kind] {
                slots.set_active(app.user, false);
            }
            slots.remove_app(app.user, app.slots_per_task[kind]);
        }
        queue.jobs.remove_job(id);
        self.may_begin.insert(app.queue);
        reaction.rekey_group(app.queue);
        self.wake_user(app.queue, app.user, reaction);
        self.release(app.queue, reaction);
    }

    /// The job runs once its tasks count.
    fn count_size(&mut self, id: AppId, size: AppSize, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        if view.app(id).is_some_and(|app| app.is_kept) {
            Kind::ALL.into_iter().for_each(|kind| self.count_activity(id, kind, view, reaction));
        }
        let Some(live) = self.apps.get_mut(&id) else { return };
        live.unfinished_maps = size.unfinished.map;
        let Some(queue) = self.queues.get_mut(&live.queue).filter(|_| size != AppSize::default()) else { return };
        if queue.jobs.job(id).is_some_and(|job| job.stage != JobStage::Running) {
            queue.jobs.set_stage(id, JobStage::Running);
        }
    }

    fn move_job(&mut self, id: AppId, view: &PolicyView<'_>) {
        let Some(app) = view.app(id) else { return };
        if let Some(queue) = self.queues.get_mut(&app.spec.group) {
            let rank = queue.rank_of(&app.spec);
            queue.jobs.set_rank(id, rank);
            self.may_begin.insert(app.spec.group);
        }
    }

    /// One that no node could run, or that is paused and runs nothing, takes no place among the jobs that have begun.
    fn count_fit(&mut self, id: AppId, view: &PolicyView<'_>) {
        let Some(app) = view.app(id) else { return };
        if let Some(queue) = self.queues.get_mut(&app.spec.group) {
            queue.jobs.set_stuck(id, app.is_stuck, has_paused(app));
            self.may_begin.insert(app.spec.group);
        }
    }

    /// Counts the tasks of new jobs; one that does not wait had begun before a restart.
    fn count_new_jobs(&mut self, waiting: &BTreeSet<AppId>, view: &PolicyView<'_>) {
        for id in std::mem::take(&mut self.added) {
            let Some(app) = view.app(id) else { continue };
            let Some(queue) = self.queues.get_mut(&app.spec.group) else { continue };
            let tasks = if app.size == AppSize::default() { app.pending } else { app.size.tasks };
            queue.jobs.set_tasks(id, u64::from(tasks.map) + u64::from(tasks.reduce));
            let has_begun = !waiting.contains(&id) && !app.begins_once_resumed;
            if has_begun && queue.jobs.job(id).is_some_and(|job| job.stage == JobStage::Waiting) {
                queue.jobs.set_stage(id, JobStage::Initializing);
            }
        }
    }

    fn count_holding(&mut self, id: AppId, kind: Kind, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let (Some(live), Some(app)) = (self.apps.get_mut(&id), view.app(id)) else { return };
        if app.draining && !self.is_compatible {
            return;
        }
        let nodes = u32::try_from(app.reserved_nodes[kind].len()).unwrap_or(u32::MAX);
        let reserved = nodes.saturating_add(live.used_reservations[kind]).saturating_mul(live.slots_per_task[kind]);
        let now = AppHolding { running_tasks: app.running[kind], slots: app.held[kind].saturating_add(reserved) };
        let before = std::mem::replace(&mut live.holding[kind], now);
        if before == now {
            return;
        }
        let (id, user) = (live.queue, live.user);
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.slots[kind].change_holding(user, before, now);
        }
        reaction.rekey_group(id);
        if now.slots < before.slots {
            self.wake_user(id, user, reaction);
        }
        self.release(id, reaction);
    }

    fn count_used_reservation(&mut self, id: AppId, kind: Kind) {
        if let Some(live) = self.apps.get_mut(&id).filter(|_| self.is_in_heartbeat) {
            live.used_reservations[kind] += 1;
            if kind == Kind::Map {
                live.wait.ignore_distance();
            }
            self.deferred.push((id, kind));
        }
    }

    /// Counts whether its user is active because of it.
    fn count_activity(&mut self, id: AppId, kind: Kind, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let (Some(live), Some(app)) = (self.apps.get_mut(&id), view.app(id)) else { return };
        if app.draining && !app.is_kept {
            return;
        }
        if kind == Kind::Map && live.wait_factor.is_none() {
            live.split_hosts = live.split_hosts.max(app.tables.map.hosts() as u64);
        }
        let is_active = has_pending_tasks(app, kind);
        if is_active == live.is_active[kind] {
            return;
        }
        if !is_active && self.is_in_heartbeat {
            self.deferred.push((id, kind));
            return;
        }
        live.is_active[kind] = is_active;
        let (queue, user) = (live.queue, live.user);
        if let Some(live) = self.queues.get_mut(&queue) {
            live.slots[kind].set_active(user, is_active);
        }
        self.release(queue, reaction);
    }

    fn count_slots(&mut self, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        for (&id, queue) in &mut self.queues {
            queue.set_cluster_slots(view.totals);
            reaction.rekey_group(id);
        }
        let ids: Vec<GroupId> = self.queues.keys().copied().collect();
        ids.into_iter().for_each(|id| self.release(id, reaction));
        if view.totals.waiting.container > 0 {
            reaction.wake_containers_below(GroupId::ROOT);
        }
    }

    fn count_question(&mut self, asked: &AskedApp, view: &PolicyView<'_>) {
        let (Some(live), Some(app)) = (self.apps.get_mut(&asked.app), view.app(asked.app)) else { return };
        if asked.kind == Kind::Reduce {
            return;
        }
        live.wait_factor = Some(live.wait_factor(app, view));
        live.wait.count_opportunity();
        if asked.granted.is_some_and(|task| !task.is_off_switch()) {
            live.wait.reset();
        }
    }

    fn end_heartbeat(&mut self, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        self.is_in_heartbeat = false;
        for (app, kind) in std::mem::take(&mut self.deferred) {
            if let Some(live) = self.apps.get_mut(&app) {
                live.used_reservations[kind] = 0;
            }
            self.count_activity(app, kind, view, reaction);
            self.count_holding(app, kind, view, reaction);
        }
    }

    fn wake_user(&self, queue: GroupId, user: GroupId, reaction: &mut Reaction<'_>) {
        let has_one_size = |queue: &LiveQueue| Kind::ALL.into_iter().all(|kind| queue.slots[kind].has_one_size());
        match self.queues.get(&queue).is_some_and(has_one_size) {
            true => reaction.wake_group(user),
            false => reaction.wake_all_below(user),
        }
    }

    fn release(&mut self, id: GroupId, reaction: &mut Reaction<'_>) {
        let Some(queue) = self.queues.get_mut(&id) else { return };
        for kind in Kind::ALL {
            let released = queue.slots[kind].release();
            let is_raised = released.queue || !released.users.is_empty();
            if released.single_apps || is_raised && !queue.slots[kind].has_one_size() {
                reaction.wake_all_below(id);
            } else if is_raised {
                reaction.wake_group(id);
                released.users.into_iter().for_each(|user| reaction.wake_group(user));
            }
        }
    }
}

impl Policy for Capacity {
    fn check_new_app(&self, app: &NewApp<'_>, _view: &PolicyView<'_>) -> Result<Option<JobPlan>, AppRefusal> {
        if let Some(queue) = self.queues.get(&app.group) {
            queue.jobs.check_job(app.name, queue.settings().name(), app.user, app.tasks)?;
        }
        Ok(None)
    }

    fn leaf_of(&self, app: &AppSpec) -> Leaf {
        Leaf::Child(Arc::clone(&app.user))
    }

    fn app_key(&self, app: &App, _pool: Pool) -> AppKey {
        let queue = self.queues.get(&app.spec.group);
        let class = if queue.is_some_and(|queue| queue.settings().supports_priority()) { app.spec.priority } else { 0 };
        AppKey { class, ratio: Ratio::MIN, start_ms: app.spec.start_ms, order: app.spec.order }
    }

    /// Users of a queue follow their first jobs, so that all jobs of the queue are asked in one order.
    fn group_key(&self, id: GroupId, group: &Group, pool: Pool, first: FirstApp) -> GroupKey {
        let Some(queue) = self.queues.get(&id) else { return GroupKey::by_first(first) };
        let occupied = match pool.kind() {
            Some(kind) => queue.slots[kind].occupied(),
            None => sum(group.held),
        };
        let ratio = match pool.kind().filter(|_| self.is_compatible) {
            Some(kind) => {
                let (part, whole) = queue.slots[kind].share().fill(occupied);
                Ratio::new(u64::from(part), whole.into())
            }
            None => queue.fill(pool, occupied),
        };
        GroupKey { ratio, rank: queue.rank, ..GroupKey::default() }
    }

    fn heartbeat_limits(&self, kind: Kind, free: u32, _node: &Node, _totals: &Totals) -> HeartbeatLimits {
        let skip_budget = if self.is_compatible { u32::MAX } else { SKIP_BUDGET };
        let (limit, after_off_switch) = match kind {
            // Looked at after a map was granted, so at least one is.
            Kind::Map => (
                free.min(self.config.maximum_tasks_per_heartbeat().max(1)),
                Some(self.config.maximum_tasks_after_off_switch()),
            ),
            Kind::Reduce if self.is_compatible => (1, None),
            Kind::Reduce => (free, None),
        };
        HeartbeatLimits { limit, after_off_switch, only_app: None, skip_budget }
    }

    fn sorts_at_fixed_moments(&self) -> bool {
        true
    }

    fn asks_for_each_slot(&self) -> bool {
        self.is_compatible
    }

    fn asks_idle_apps(&self) -> bool {
        self.is_compatible
    }

    fn keeps_removed_apps(&self) -> bool {
        self.is_compatible
    }

    fn review(&self, app: &App, kind: Kind, heartbeat: &Heartbeat, view: &PolicyView<'_>) -> Verdict {
        let Some(live) = self.apps.get(&app.spec.id) else { return Verdict::NotOnThisNode };
        let Some(queue) = self.queues.get(&live.queue) else { return Verdict::NotOnThisNode };
        let slots = &queue.slots[kind];
        match slots.verdict(live.user, live.slots_per_task[kind]) {
            // What wakes it wakes no single app of a queue whose tasks all take the same number of slots.
            SlotVerdict::QueueAtMaximum { .. } if slots.is_full() || slots.has_one_size() => {
                return Verdict::ParkGroup(live.queue);
            }
            SlotVerdict::UserAtLimit { .. } if slots.has_one_size() => return Verdict::ParkGroup(live.user),
            SlotVerdict::QueueAtMaximum { .. } | SlotVerdict::UserAtLimit { .. } => return Verdict::ParkApp,
            SlotVerdict::Allowed => {}
        }
        if live.slots_per_task[kind] > heartbeat.free[kind] {
            return match self.should_reserve(app, kind, view.node(heartbeat.node)) {
                true => Verdict::Reserve,
                false => Verdict::NotOnThisNode,
            };
        }
        Verdict::Ask(self.farthest_level(app, live, kind, heartbeat, view))
    }

    /// A queue and its users may hold by containers what their maps and reduces leave of their parts of all slots.
    fn review_container(&self, app: &App, offered: &OfferedContainer, view: &PolicyView<'_>) -> Verdict {
        self.container_verdict(app.spec.id, offered.slots(), view)
    }

    fn can_use_reservation(&self, app: &App, kind: Kind, heartbeat: &Heartbeat) -> bool {
        app.slots_per_task(kind) <= heartbeat.free[kind]
    }

    fn on_change(&mut self, change: &Change, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        match *change {
            Change::GroupOpened(id) => self.open_queue(id, view),
            Change::GroupClosed(id) => drop(self.queues.remove(&id)),
            Change::AppAdded(id) => self.add_app(id, view, reaction),
            Change::AppEnded(id) => self.end_app(id, reaction),
            Change::Size { app, size } => self.count_size(app, size, view, reaction),
            Change::Priority { app, .. } => self.move_job(app, view),
            Change::Demand { app, pool } => match pool.kind() {
                Some(kind) => self.count_activity(app, kind, view, reaction),
                None => self.count_container_user(app, view, reaction),
            },
            Change::Usage { app, pool } => {
                if let Some(kind) = pool.kind() {
                    self.count_holding(app, kind, view, reaction);
                }
                if view.app(app).is_some_and(|app| app.is_paused) {
                    self.count_fit(app, view);
                }
                self.release_containers(app, view, reaction);
            }
            Change::Reserved { app, kind } => self.count_holding(app, kind, view, reaction),
            Change::ReservationEnded { app, kind } => {
                self.count_used_reservation(app, kind);
                self.count_holding(app, kind, view, reaction);
            }
            Change::ClusterSlots => self.count_slots(view, reaction),
            Change::HeartbeatStarted { .. } => self.is_in_heartbeat = true,
            Change::HeartbeatEnded => self.end_heartbeat(view, reaction),
            Change::Asked(asked) => self.count_question(&asked, view),
            Change::AppRemoved(id) => {
                self.count_container_user(id, view, reaction);
                self.withdraw_app(id, reaction);
            }
            Change::Fit(id) => self.count_fit(id, view),
            Change::AppMoved(_) | Change::Deadline(_) | Change::NodeRemoved(_) | Change::Tick(_) => {}
        }
    }

    fn set_capacities(&mut self, config: CapacityConfig, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        for (&id, live) in &mut self.queues {
            if let Some(settings) = config.queue(live.settings().name()) {
                live.set_settings(settings.clone());
            }
            self.may_begin.insert(id);
        }
        self.config = config;
        self.count_slots(view, reaction);
    }

    fn leaves_out_stuck_apps(&self) -> bool {
        !self.is_compatible
    }

    fn choose_beginners(
        &mut self,
        waiting: &BTreeSet<AppId>,
        _now: Now,
        view: &PolicyView<'_>,
        _reaction: &mut Reaction<'_>,
    ) -> Vec<AppId> {
        self.count_new_jobs(waiting, view);
        let mut begun = Vec::new();
        for id in std::mem::take(&mut self.may_begin) {
            if let Some(queue) = self.queues.get_mut(&id) {
                begun.extend(queue.jobs.initialize_jobs());
            }
        }
        for app in &begun {
            if let Some(live) = self.apps.get_mut(app) {
                live.cluster_hosts = Some(view.totals.hosts);
            }
        }
        begun
    }

    fn launch_rules(&self) -> LaunchRules {
        let is_compatible = self.is_compatible;
        LaunchRules { is_housekeeping_alone: is_compatible, counts_all_hosts: is_compatible, ..LaunchRules::default() }
    }

    fn listed_apps(&self, group: GroupId) -> Option<Vec<AppId>> {
        Some(self.queues.get(&group)?.jobs.listed().collect())
    }

    /// That of a running job: the original sets no other.
    fn app_report(&self, app: &App) -> Option<String> {
        let queue = self.queues.get(&app.spec.group)?;
        queue.jobs.job(app.spec.id).filter(|job| job.stage == JobStage::Running)?;
        let slots = |kind| app.slots_per_task(kind);
        let reserved = |kind: Kind| reserved_nodes(app, kind);
        let report = JobReport {
            running: app.running.slots(),
            slots_per_task: PerKind::new(slots(Kind::Map), slots(Kind::Reduce)),
            reserved_nodes: PerKind::new(reserved(Kind::Map), reserved(Kind::Reduce)),
        };
        Some(report.to_string())
    }

    fn group_report(&self, id: GroupId) -> Option<String> {
        Some(self.queues.get(&id)?.report())
    }

    fn group_detail(&self, id: GroupId, _now: Now) -> GroupDetail {
        self.queues.get(&id).map_or(GroupDetail::Plain, |queue| GroupDetail::Queue(Box::new(queue.detail())))
    }

    fn app_detail(&self, app: &App) -> AppDetail {
        let stage = || Some(self.queues.get(&app.spec.group)?.jobs.job(app.spec.id)?.stage);
        let Some(stage) = stage() else { return AppDetail::Plain };
        let slots_per_task = PerKind::new(app.slots_per_task(Kind::Map), app.slots_per_task(Kind::Reduce));
        let reserved = |kind: Kind| reserved_nodes(app, kind).saturating_mul(slots_per_task[kind]);
        let reserved_slots = PerKind::new(reserved(Kind::Map), reserved(Kind::Reduce));
        AppDetail::Queued(QueuedJobDetail { stage, slots_per_task, reserved_slots })
    }

    fn begin_hold(&self, app: &App) -> Option<Hold> {
        let queue = self.queues.get(&app.spec.group)?;
        queue.jobs.hold_of(app.spec.id, queue.settings().name())
    }

    fn holds(&self, app: &App, view: &PolicyView<'_>, _now: Now) -> Vec<Hold> {
        let id = app.spec.id;
        let (Some(live), Some(queue)) = (self.apps.get(&id), self.queues.get(&app.spec.group)) else {
            return Vec::new();
        };
        let mut holds: Vec<Hold> = self.begin_hold(app).into_iter().collect();
        let limits = PerKind::new(queue.slot_limit(live, Kind::Map), queue.slot_limit(live, Kind::Reduce));
        for kind in Kind::ALL.into_iter().filter(|&kind| app.tables[kind].waiting() > 0) {
            holds.extend(limits[kind].clone());
            let nodes = reserved_nodes(app, kind);
            if nodes > 0 {
                holds.push(Hold::Reservation { kind, nodes, slots_per_task: app.slots_per_task(kind) });
            }
        }
        holds.extend(live.far_wait(app, view).filter(|_| limits.map.is_none()));
        holds
    }
}

/// Whether an app has tasks to run: reduces, once they may start. The original counts those of a killed job that runs too.
fn has_pending_tasks(app: &App, kind: Kind) -> bool {
    match app.is_kept {
        true => app.pending[kind] > 0 && app.size.unfinished[kind] > 0,
        false => app.waiting(kind.into()) > 0,
    }
}

fn has_paused(app: &App) -> bool {
    app.is_paused && app.running == PerPool::default()
}

fn reserved_nodes(app: &App, kind: Kind) -> u32 {
    u32::try_from(app.reserved_nodes[kind].len()).unwrap_or(u32::MAX)
}
