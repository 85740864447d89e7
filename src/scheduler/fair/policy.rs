//! The fair policy: pools as groups, ordered by what they run beside what they are due.
//!
//! Demands are those of the last update, running tasks and priorities those of this moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{Kind, Now, PerKind, PerPool, Pool};
use crate::scheduler::app::App;
use crate::scheduler::change::{AskedApp, Change, Reaction};
use crate::scheduler::fifo::submission_key;
use crate::scheduler::group::Group;
use crate::scheduler::key::{AppKey, FirstApp, GroupKey, Ratio};
use crate::scheduler::node::{Node, Totals};
use crate::scheduler::policy::{
    AppDetail, BeginLimitUnit, GroupDetail, Heartbeat, HeartbeatLimits, Hold, LaunchRules, Leaf, LimitOwner,
    LocalityEnd, OfferedContainer, Policy, PolicyView, SKIP_BUDGET, Verdict,
};
use crate::scheduler::{AppId, AppSpec, GroupId, Level};

use super::allocations::{Allocations, SchedulingMode};
use super::deficit::JobDeficit;
use super::fair_job::FairJob;
use super::heartbeat_plan::{HeartbeatLoad, HeartbeatNotes};
use super::locality_wait::LocalityDelays;
use super::options::{FairOptions, JobOrdering};
use super::pool_detail::PooledJobDetail;
use super::pools::Pools;
use super::rank::RankStanding;
use super::starvation::{PoolClaim, PoolClaims};
use super::update::RunningLimit;

#[derive(Debug)]
pub(in crate::scheduler) struct Fair {
    pub(super) options: FairOptions,
    pub(super) allocations: Arc<Allocations>,
    pub(super) pools: Pools,
    // Looked up, never iterated.
    pub(super) jobs: FxHashMap<AppId, FairJob>,
    /// All jobs in order of priority, start and id, in which limits admit them.
    pub(super) line: BTreeSet<(AppKey, AppId)>,
    /// Demand of all pools at the last update.
    pub(super) runnable: PerKind<u64>,
    pub(super) delays: LocalityDelays,
    pub(super) added: Vec<AppId>,
    /// Jobs that limits admit and that have not begun yet, in order.
    pub(super) admitted: Vec<AppId>,
    pub(super) ended: Vec<AppId>,
    pub(super) last_update: Now,
    last_heartbeat_ms: u64,
    /// Jobs that the last heartbeat asked for a map in vain: their waits grow by the time to the next one.
    skipped: Vec<AppId>,
    heartbeat: HeartbeatNotes,
}

impl Fair {
    pub(in crate::scheduler) fn new(options: FairOptions, allocations: Arc<Allocations>) -> Self {
        Self {
            options,
            allocations,
            pools: Pools::default(),
            jobs: FxHashMap::default(),
            line: BTreeSet::new(),
            runnable: PerKind::default(),
            delays: options.delays.delays(options.heartbeat_interval_ms),
            added: Vec::new(),
            admitted: Vec::new(),
            ended: Vec::new(),
            last_update: Now { mono_ms: 0, wall_ms: 0 },
            last_heartbeat_ms: 0,
            skipped: Vec::new(),
            heartbeat: HeartbeatNotes::default(),
        }
    }

    fn open_pool(&mut self, id: GroupId, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let Some(group) = view.group(id) else { return };
        // Full trackers have no heartbeats here; an update is never long ago.
        let now_ms = self.last_heartbeat_ms.max(self.last_update.mono_ms);
        match (group.is_listed(), group.parent) {
            (false, Some(parent)) => self.pools.open_own_part(id, parent, now_ms),
            _ => self.pools.open(id, &group.name, &self.allocations, now_ms),
        }
        reaction.rekey_all();
    }

    fn add_job(&mut self, app: &App) {
        let Some(pool) = self.pools.index(app.home) else { return };
        let job = FairJob::new(app, pool);
        self.line.insert((job.place, app.spec.id));
        self.jobs.insert(app.spec.id, job);
        self.added.push(app.spec.id);
    }

    fn move_job(&mut self, app: &App) {
        if let (Some(job), Some(pool)) = (self.jobs.get_mut(&app.spec.id), self.pools.index(app.home)) {
            job.pool = pool;
        }
    }

    /// A changed priority counts at once in the weight of a job that runs, and from the next update on in the line.
    fn reorder_job(&mut self, id: AppId, priority: u8) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        self.line.remove(&(job.place, id));
        job.place.class = priority;
        self.line.insert((job.place, id));
        if job.standing.is_runnable {
            job.weigh(self.last_update, &self.options.weights);
        }
    }

    fn start_heartbeat(&mut self, in_use: PerKind<u32>, now_ms: u64) {
        let gap_ms = now_ms.saturating_sub(self.last_heartbeat_ms);
        self.last_heartbeat_ms = now_ms;
        for id in self.skipped.drain(..) {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.wait.add_ms(gap_ms);
            }
        }
        self.heartbeat.in_use = in_use;
    }

    fn on_map_asked(&mut self, asked: &AskedApp) {
        match asked.granted {
            Some(task) => {
                self.heartbeat.note_launch(asked.app);
                if let Some(job) = self.jobs.get_mut(&asked.app) {
                    job.wait.on_launch(task.level);
                }
            }
            None => self.heartbeat.note_miss(asked.app),
        }
    }

    /// Tasks that could run: by the last update, or by what has begun to wait since, which the original does not see.
    fn runnable_now(&self, kind: Kind, totals: &Totals) -> u64 {
        match self.options.is_compatible {
            true => self.runnable[kind],
            false => self.runnable[kind].max(totals.running[kind].saturating_add(totals.waiting[kind])),
        }
    }

    /// The first pool on the path of a pool that holds its maximum, with that.
    fn full_pool(&self, pool: usize, kind: Kind, view: &PolicyView<'_>) -> Option<(GroupId, u32)> {
        self.pools.path(pool).find_map(|(pool, id, node)| {
            let max = node.settings.max[kind]?;
            let is_full = |group: &Group| self.pools.running(pool, group)[kind] >= max;
            view.group(id).is_some_and(is_full).then_some((id, max))
        })
    }

    fn slot_holds(&self, app: &App, job: &FairJob, view: &PolicyView<'_>, now: Now) -> Vec<Hold> {
        let mut holds = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|&kind| app.tables[kind].waiting() > 0) {
            let full = self.full_pool(job.pool, kind, view);
            holds.extend(full.and_then(|(group, maximum)| {
                let pool = view.group(group)?;
                Some(Hold::GroupMaximum { kind, group: pool.name.clone(), maximum, held: pool.running[kind] })
            }));
        }
        let farthest = self.allowed_level(app, job, now.mono_ms);
        let waits_near = farthest != Level::Any && app.tables.map.waiting() > 0;
        let is_map_limited = self.full_pool(job.pool, Kind::Map, view).is_some();
        if let Some(ms) = job.wait.remaining_ms(self.delays).filter(|_| waits_near && !is_map_limited) {
            holds.push(Hold::Locality { farthest, until: LocalityEnd::AfterMs(ms) });
        }
        holds
    }

    /// The place of an application in its pool: by all that it holds to its weight, where the pool is fair.
    fn container_key(&self, app: &App, job: &FairJob) -> AppKey {
        let submission = submission_key(&app.spec);
        let is_by_turn = self.options.ordering == JobOrdering::Deficit
            || self.pools.nodes()[job.pool].settings.mode == SchedulingMode::Fifo;
        if is_by_turn {
            return submission;
        }
        let weight = self.options.weights.weight(1, app.spec.priority, 0);
        let rank = RankStanding { running: beside(app.running, app.held), weight, ..RankStanding::default() }.rank();
        AppKey { class: rank.class as u8, ratio: rank.ratio, ..submission }
    }

    /// How a pool stands for containers: by all that it holds to its weight. Minimums are of maps and reduces.
    fn container_standing(&self, pool: usize, group: &Group) -> RankStanding {
        let weight = self.pools.nodes()[pool].settings.weight;
        RankStanding { running: beside(group.running, group.held), weight, ..RankStanding::default() }
    }

    fn allowed_level(&self, app: &App, job: &FairJob, now_ms: u64) -> Level {
        let is_starving = || self.options.preempts && self.pools.is_starving(job.pool, &self.allocations, now_ms);
        match app.tables.map.has_unplaced() || is_starving() {
            true => Level::Any,
            false => job.wait.allowed_level(self.delays),
        }
    }
}

impl Policy for Fair {
    /// A pool with pools in it has a part for its own jobs.
    fn leaf_of(&self, app: &AppSpec) -> Leaf {
        let has_pools =
            || self.pools.index(app.group).is_some_and(|pool| self.allocations.has_pools_in(self.pools.name(pool)));
        match self.options.ordering {
            JobOrdering::Deficit => Leaf::Root,
            JobOrdering::Fair if has_pools() => Leaf::Child("".into()),
            JobOrdering::Fair => Leaf::Group,
        }
    }

    fn app_key(&self, app: &App, pool: Pool) -> AppKey {
        let submission = submission_key(&app.spec);
        let Some(job) = self.jobs.get(&app.spec.id) else { return submission };
        let Some(kind) = pool.kind() else { return self.container_key(app, job) };
        if self.options.ordering == JobOrdering::Deficit {
            let JobDeficit { deficit, min, .. } = job.deficit[kind];
            let class = u8::from(app.running[kind] >= min);
            return AppKey { class, ratio: Ratio::descending(deficit.narrow()), ..submission };
        }
        if self.pools.nodes()[job.pool].settings.mode == SchedulingMode::Fifo {
            return submission;
        }
        let standing =
            RankStanding { running: app.running[kind], weight: job.standing.weight[kind], ..RankStanding::default() };
        let rank = standing.rank();
        AppKey { class: rank.class as u8, ratio: rank.ratio, ..submission }
    }

    /// Limits admit jobs in this order, whatever the mode of their pool.
    fn begin_key(&self, app: &App) -> AppKey {
        submission_key(&app.spec)
    }

    fn group_key(&self, id: GroupId, group: &Group, pool: Pool, first: FirstApp) -> GroupKey {
        let rank = match (self.options.ordering, pool.kind(), self.pools.index(id)) {
            (JobOrdering::Deficit, None, _) => return GroupKey::by_first(first),
            (_, _, None) => return GroupKey::default(),
            (_, Some(kind), Some(pool)) => {
                self.pools.standing(pool, kind, self.pools.running(pool, group)[kind]).rank()
            }
            (_, None, Some(pool)) => self.container_standing(pool, group).rank(),
        };
        let Some(pool) = self.pools.index(id) else { return GroupKey::default() };
        let name_rank = self.pools.name_rank(pool);
        GroupKey { class: rank.class as u8, ratio: rank.ratio, rank: name_rank, ..GroupKey::default() }
    }

    fn heartbeat_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits {
        let load = HeartbeatLoad {
            free,
            slots: node.slots[kind],
            running_here: node.in_use(kind),
            total_slots: totals.slots[kind],
            runnable: self.runnable_now(kind, totals),
            running: self.pools.running_of_all(kind, totals.running[kind]),
        };
        HeartbeatLimits {
            limit: self.options.heartbeat_caps.limit(kind, &self.options.load_cap, &load),
            after_off_switch: None,
            only_app: None,
            skip_budget: if self.options.is_compatible { u32::MAX } else { SKIP_BUDGET },
        }
    }

    fn next_kind(&self, heartbeat: &Heartbeat) -> Option<Kind> {
        self.options.heartbeat_caps.next_kind(self.heartbeat.in_use, heartbeat.granted, heartbeat.is_open)
    }

    fn review(&self, app: &App, kind: Kind, heartbeat: &Heartbeat, view: &PolicyView<'_>) -> Verdict {
        let Some(job) = self.jobs.get(&app.spec.id).filter(|job| job.standing.is_runnable && job.is_running) else {
            return Verdict::ParkApp;
        };
        if app.max_running[kind].is_some_and(|max| app.running[kind] >= max) {
            return Verdict::ParkApp;
        }
        match (self.full_pool(job.pool, kind, view), kind) {
            (Some((group, _)), _) if self.options.ordering == JobOrdering::Fair => Verdict::ParkGroup(group),
            // Apps of the pool stand among those of others.
            (Some(_), _) => Verdict::NotOnThisNode,
            (None, Kind::Map) => Verdict::Ask(self.allowed_level(app, job, heartbeat.now.mono_ms)),
            (None, Kind::Reduce) => Verdict::Ask(Level::Any),
        }
    }

    /// Limits on running jobs count an application as a job; those on maps and reduces say nothing of containers.
    fn review_container(&self, app: &App, _offered: &OfferedContainer, _view: &PolicyView<'_>) -> Verdict {
        match self.jobs.get(&app.spec.id).is_some_and(|job| job.standing.is_admitted) {
            true => Verdict::Ask(Level::Any),
            false => Verdict::ParkApp,
        }
    }

    fn set_pools(&mut self, allocations: &Arc<Allocations>) {
        self.allocations = Arc::clone(allocations);
        self.pools.renew_settings(allocations);
    }

    fn set_heartbeat_interval_ms(&mut self, interval_ms: u64) {
        self.options.heartbeat_interval_ms = interval_ms;
    }

    fn on_change(&mut self, change: &Change, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        match *change {
            Change::GroupOpened(group) => self.open_pool(group, view, reaction),
            Change::GroupClosed(group) => self.pools.close(group),
            Change::AppAdded(id) => {
                if let Some(app) = view.app(id) {
                    self.add_job(app);
                }
            }
            Change::AppRemoved(id) => self.remove_job(id),
            Change::AppEnded(id) => self.end_job(id, view),
            Change::AppMoved(id) => {
                if let Some(app) = view.app(id) {
                    self.move_job(app);
                }
            }
            Change::Size { app, size } => self.on_size(app, size, view, reaction),
            Change::Priority { app, priority, .. } => self.reorder_job(app, priority),
            Change::Usage { app, .. } => {
                self.pools.renew_leftover(app, view.app(app).map(|app| app.running.slots()));
                reaction.rekey_app(app);
            }
            Change::HeartbeatStarted { in_use, now, .. } => {
                // After a start, or under live jobs: no update has been made yet.
                self.admit_added(now, view, reaction);
                self.start_heartbeat(in_use, now.mono_ms);
            }
            Change::Asked(ref asked) if asked.kind == Kind::Map => self.on_map_asked(asked),
            Change::HeartbeatEnded => self.skipped = self.heartbeat.take_skipped(),
            Change::Tick(now) => self.update(now, view, reaction),
            Change::Demand { app, pool: Pool::Container } => {
                let asks = view.app(app).is_some_and(|app| app.waiting(Pool::Container) > 0);
                if let Some(job) = self.jobs.get_mut(&app).filter(|_| asks) {
                    job.asks_containers = true;
                    // It may not wait for a heartbeat to be admitted.
                    self.admit_added(self.last_update, view, reaction);
                }
            }
            // The next update counts it.
            Change::Fit(_)
            | Change::Demand { .. }
            | Change::Asked(_)
            | Change::Deadline(_)
            | Change::ClusterSlots
            | Change::NodeRemoved(_)
            | Change::Reserved { .. }
            | Change::ReservationEnded { .. } => {}
        }
    }

    fn leaves_out_stuck_apps(&self) -> bool {
        !self.options.is_compatible
    }

    fn choose_beginners(
        &mut self,
        waiting: &BTreeSet<AppId>,
        now: Now,
        view: &PolicyView<'_>,
        reaction: &mut Reaction<'_>,
    ) -> Vec<AppId> {
        self.admit_added(now, view, reaction);
        self.take_beginners(waiting)
    }

    fn pool_claims(&self, kind: Kind, now: Now, view: &PolicyView<'_>) -> PoolClaims {
        self.claims(kind, now.mono_ms, view)
    }

    fn runnable_tasks(&self) -> PerKind<u64> {
        self.runnable
    }

    fn group_detail(&self, id: GroupId, now: Now) -> GroupDetail {
        let detail = |pool| self.pools.detail(pool, self.options.preempts, now.mono_ms);
        self.pools.index(id).map_or(GroupDetail::Plain, |pool| GroupDetail::Pool(detail(pool)))
    }

    fn app_detail(&self, app: &App) -> AppDetail {
        let Some(job) = self.jobs.get(&app.spec.id) else { return AppDetail::Plain };
        let is_by_deficit = self.options.ordering == JobOrdering::Deficit;
        let deficit = |kind: Kind| job.deficit[kind].deficit.whole_slot_ms();
        let has_shares = is_by_deficit || self.pools.nodes()[job.pool].settings.mode == SchedulingMode::Fair;
        AppDetail::Pooled(PooledJobDetail {
            is_admitted: job.standing.is_admitted,
            demand: job.standing.demand,
            weight: job.standing.weight,
            share: has_shares.then_some(job.standing.share),
            deficit_slot_ms: is_by_deficit.then(|| PerKind::new(deficit(Kind::Map), deficit(Kind::Reduce))),
            waited_ms: job.wait.waited_ms(),
            last_level: job.wait.last_level(),
        })
    }

    fn begin_hold(&self, app: &App) -> Option<Hold> {
        let (of, limit) = match self.jobs.get(&app.spec.id)?.standing.refused_by? {
            RunningLimit::OfUser { limit } => (LimitOwner::User, limit),
            RunningLimit::OfPool { pool, limit } => (LimitOwner::Group(self.pools.name(pool).to_owned()), limit),
        };
        let (limit, counts) = (u64::from(limit), BeginLimitUnit::Apps);
        Some(Hold::BeginLimit { of, counts, limit, used: limit })
    }

    fn holds(&self, app: &App, view: &PolicyView<'_>, now: Now) -> Vec<Hold> {
        if let Some(hold) = self.begin_hold(app) {
            return vec![hold];
        }
        let running = self.jobs.get(&app.spec.id).filter(|job| job.is_running);
        running.map_or_else(Vec::new, |job| self.slot_holds(app, job, view, now))
    }

    /// 1.2.1 sends one setup or cleanup alone, and lets a task wait for a host without slots of its kind.
    fn launch_rules(&self) -> LaunchRules {
        let is_compatible = self.options.is_compatible;
        LaunchRules { is_housekeeping_alone: is_compatible, counts_all_hosts: is_compatible, offers_full_nodes: true }
    }
}

/// Running maps and reduces, with the slots of containers beside them.
fn beside(running: PerPool<u32>, held: PerPool<u32>) -> u32 {
    running.map.saturating_add(running.reduce).saturating_add(held.container)
}

impl Fair {
    pub(super) fn claims(&self, kind: Kind, now_ms: u64, view: &PolicyView<'_>) -> PoolClaims {
        let nodes = self.pools.nodes();
        let mut claims = PoolClaims::default();
        let mut of_children = vec![0_u32; nodes.len()];
        for pool in (0..nodes.len()).rev() {
            let Some(group) = self.pools.group(pool) else { continue };
            let running = view.group(group).map_or(0, |group| self.pools.running(pool, group)[kind]);
            let wanted = self.pools.wanted(pool, kind, running, &self.allocations, now_ms);
            // A pool and the pools in it may starve for the same slots.
            let slots = wanted.slots().max(of_children[pool]);
            match nodes[pool].parent {
                Some(parent) => of_children[parent] = of_children[parent].saturating_add(slots),
                None => claims.wanted = claims.wanted.saturating_add(slots),
            }
            let parent = nodes[pool].parent.and_then(|parent| self.pools.group(parent));
            let share = self.pools.last_standing(pool).share[kind];
            claims.pools.push(PoolClaim { group, parent, name: self.pools.name(pool).to_owned(), share, wanted });
        }
        claims.pools.reverse();
        claims
    }
}
