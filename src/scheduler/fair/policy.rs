//! The fair policy: pools as groups, ordered by what they run beside what they are due.
//!
//! Demands and weights are those of the last update, running tasks those of this moment. A job that was added or set
//! up, and a priority that has changed, make an update due at once; the next heartbeat makes it, once for all of them.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::{Kind, Now, PerKind};
use crate::scheduler::app::App;
use crate::scheduler::change::{Asked, Change, Reaction};
use crate::scheduler::detail::{AppDetail, GroupDetail};
use crate::scheduler::fifo::submission_key;
use crate::scheduler::group::Group;
use crate::scheduler::heartbeat::Heartbeat;
use crate::scheduler::hold::{Hold, LimitOwner, LimitUnit, LocalityEnd};
use crate::scheduler::key::{AppKey, GroupKey, Ratio};
use crate::scheduler::node::{Node, Totals};
use crate::scheduler::policy::{HeartbeatLimits, LaunchRules, Leaf, Policy, SKIP_BUDGET};
use crate::scheduler::verdict::Verdict;
use crate::scheduler::view::View;
use crate::scheduler::{AppId, AppSize, AppSpec, GroupId, Level};

use super::allocations::{Allocations, SchedulingMode};
use super::deficit_update::{JobDeficit, divide_by_deficit};
use super::heartbeat_plan::HeartbeatLoad;
use super::locality_wait::{LocalityDelays, LocalityWait};
use super::options::{FairOptions, JobOrdering};
use super::pool_detail::PooledJobDetail;
use super::pools::Pools;
use super::rank::Standing;
use super::running_limits::RunningLimit;
use super::update::{JobFacts, JobStanding, Update};

/// State of the fair policy.
#[derive(Debug)]
pub(in crate::scheduler) struct Fair {
    options: FairOptions,
    allocations: Allocations,
    pools: Pools,
    // Looked up, never iterated.
    jobs: FxHashMap<AppId, FairJob>,
    /// All jobs in order of priority, start and id, in which limits admit them.
    line: BTreeSet<(AppKey, AppId)>,
    /// Demand of all pools at the last update.
    runnable: PerKind<u64>,
    delays: LocalityDelays,
    /// Jobs that limits admit and that have not begun yet, in order.
    admitted: Vec<AppId>,
    /// Whether an update is due before its time.
    is_stale: bool,
    last_update_ms: u64,
    last_heartbeat_ms: u64,
    /// Jobs that the last heartbeat asked for a map in vain: their waits grow by the time to the next one.
    skipped: Vec<AppId>,
    heartbeat: HeartbeatNotes,
}

/// The heartbeat in hand.
#[derive(Debug, Default)]
struct HeartbeatNotes {
    /// Tasks on the node before it.
    in_use: PerKind<u32>,
    /// Jobs asked for a map in vain.
    missed: Vec<AppId>,
    /// Jobs that launched a map.
    launched: Vec<AppId>,
}

#[derive(Debug)]
struct FairJob {
    pool: usize,
    is_running: bool,
    standing: JobStanding,
    /// Used in the order by deficit alone.
    deficit: PerKind<JobDeficit>,
    wait: LocalityWait,
    /// When its last waiting map left, ms: since then it has waited for slots like a job that is skipped.
    without_maps_since_ms: Option<u64>,
}

// === impl Fair ===

impl Fair {
    /// A policy without pools and jobs.
    pub(in crate::scheduler) fn new(options: FairOptions, allocations: Allocations) -> Self {
        Self {
            options,
            allocations,
            pools: Pools::default(),
            jobs: FxHashMap::default(),
            line: BTreeSet::new(),
            runnable: PerKind::default(),
            delays: options.delays.delays(options.heartbeat_interval_ms),
            admitted: Vec::new(),
            is_stale: false,
            last_update_ms: 0,
            last_heartbeat_ms: 0,
            skipped: Vec::new(),
            heartbeat: HeartbeatNotes::default(),
        }
    }

    fn add_job(&mut self, app: &App) {
        let Some(pool) = self.pools.index(app.spec.group) else { return };
        let job = FairJob {
            pool,
            is_running: false,
            standing: JobStanding::default(),
            deficit: PerKind::default(),
            wait: LocalityWait::default(),
            without_maps_since_ms: None,
        };
        self.jobs.insert(app.spec.id, job);
        self.line.insert((submission_key(&app.spec), app.spec.id));
        self.is_stale = true;
    }

    fn remove_job(&mut self, app: &App) {
        self.jobs.remove(&app.spec.id);
        self.line.remove(&(submission_key(&app.spec), app.spec.id));
    }

    fn reorder_job(&mut self, app: &App, priority_before: u8) {
        let after = submission_key(&app.spec);
        if self.line.remove(&(AppKey { class: priority_before, ..after }, app.spec.id)) {
            self.line.insert((after, app.spec.id));
        }
        self.is_stale = true;
    }

    fn update(&mut self, now: Now, view: &View<'_>, reaction: &mut Reaction<'_>) {
        self.is_stale = false;
        let elapsed_ms = now.mono_ms.saturating_sub(std::mem::replace(&mut self.last_update_ms, now.mono_ms));
        let (mut ids, mut facts) = (Vec::with_capacity(self.line.len()), Vec::with_capacity(self.line.len()));
        for (_, id) in &self.line {
            let (Some(job), Some(app)) = (self.jobs.get(id), view.app(*id)) else { continue };
            let could_use = |kind: Kind| app.running[kind].saturating_add(app.tables[kind].waiting());
            ids.push(*id);
            facts.push(JobFacts {
                pool: job.pool,
                user: &app.spec.user,
                priority: app.spec.priority,
                age_ms: u64::try_from(now.wall_ms.saturating_sub(app.spec.start_ms)).unwrap_or(0),
                is_running: job.is_running,
                could_use: PerKind::new(could_use(Kind::Map), could_use(Kind::Reduce)),
                max: PerKind::default(),
            });
        }
        let slots = view.totals.slots.narrow();
        let mut update = Update::compute(&self.allocations, self.pools.nodes(), &facts, &self.options.weights, slots);
        if self.options.ordering == JobOrdering::Deficit {
            self.update_deficits(&ids, &facts, &mut update, slots, view, elapsed_ms);
        }
        for (id, standing) in ids.into_iter().zip(update.jobs) {
            let Some(job) = self.jobs.get_mut(&id) else { continue };
            if !job.standing.is_admitted && standing.is_admitted {
                reaction.wake_app(id);
                self.admitted.push(id);
            }
            job.standing = standing;
        }
        self.pools.set_standings(update.pools);
        self.runnable = self.pools.total_demand();
        self.delays = self.options.delays.delays(self.options.heartbeat_interval_ms);
        if self.options.preempts {
            let running = |group: GroupId| view.group(group).map_or(PerKind::default(), |group| group.running);
            self.pools.update_clocks(running, now.mono_ms);
        }
        reaction.rekey_all();
    }

    fn update_deficits(
        &mut self,
        ids: &[AppId],
        facts: &[JobFacts<'_>],
        update: &mut Update,
        slots: PerKind<u32>,
        view: &View<'_>,
        elapsed_ms: u64,
    ) {
        let running = |id: &AppId| view.app(*id).map_or(PerKind::default(), |app| app.running);
        let deficit = |id: &AppId| self.jobs.get(id).map_or(PerKind::default(), |job| job.deficit);
        let mut deficits: Vec<_> = ids.iter().map(|id| (deficit(id), running(id))).collect();
        for kind in Kind::ALL {
            deficits.iter_mut().for_each(|(deficit, _)| deficit[kind].advance(elapsed_ms));
        }
        divide_by_deficit(self.pools.nodes(), facts, &mut update.jobs, &mut deficits, slots);
        for (id, (deficit, _)) in ids.iter().zip(deficits) {
            if let Some(job) = self.jobs.get_mut(id) {
                job.deficit = deficit;
            }
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

    fn end_heartbeat(&mut self) {
        let HeartbeatNotes { missed, launched, .. } = &mut self.heartbeat;
        self.skipped.extend(missed.drain(..).filter(|id| !launched.contains(id)));
        launched.clear();
    }

    fn on_map_asked(&mut self, asked: &Asked) {
        match asked.granted {
            Some(task) => {
                self.heartbeat.launched.push(asked.app);
                if let Some(job) = self.jobs.get_mut(&asked.app) {
                    job.wait.on_launch(task.level);
                }
            }
            None => self.heartbeat.missed.push(asked.app),
        }
    }

    /// A job without waiting maps is asked too by the original, so its wait grows and counts when one returns.
    fn on_map_demand(&mut self, app: &App) {
        let Some(job) = self.jobs.get_mut(&app.spec.id).filter(|job| job.is_running) else { return };
        match (app.tables.map.waiting(), job.without_maps_since_ms) {
            (0, None) => job.without_maps_since_ms = Some(self.last_heartbeat_ms),
            (1.., Some(since_ms)) => {
                job.wait.add_ms(self.last_heartbeat_ms.saturating_sub(since_ms));
                job.without_maps_since_ms = None;
            }
            _ => {}
        }
    }

    /// The first pool on the path of a pool that holds its maximum, with that.
    fn full_pool(&self, pool: usize, kind: Kind, view: &View<'_>) -> Option<(GroupId, u32)> {
        self.pools.path(pool).find_map(|(group, node)| {
            let max = node.settings.max[kind]?;
            view.group(group).is_some_and(|group| group.running[kind] >= max).then_some((group, max))
        })
    }

    /// What keeps a job that runs from more slots.
    fn slot_holds(&self, app: &App, job: &FairJob, view: &View<'_>, now: Now) -> Vec<Hold> {
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

    fn allowed_level(&self, app: &App, job: &FairJob, now_ms: u64) -> Level {
        let is_starving = || self.options.preempts && self.pools.is_starving(job.pool, &self.allocations, now_ms);
        match app.tables.map.has_unplaced() || is_starving() {
            true => Level::Any,
            false => job.wait.allowed_level(self.delays),
        }
    }
}

impl Policy for Fair {
    fn leaf_of(&self, _app: &AppSpec) -> Leaf {
        match self.options.ordering {
            JobOrdering::Fair => Leaf::Group,
            JobOrdering::Deficit => Leaf::Root,
        }
    }

    fn app_key(&self, app: &App, kind: Kind) -> AppKey {
        let submission = submission_key(&app.spec);
        let Some(job) = self.jobs.get(&app.spec.id) else { return submission };
        if self.options.ordering == JobOrdering::Deficit {
            let JobDeficit { deficit, min, .. } = job.deficit[kind];
            let class = u8::from(app.running[kind] >= min);
            return AppKey { class, ratio: Ratio::descending(deficit.narrow()), ..submission };
        }
        if self.pools.nodes()[job.pool].settings.mode == SchedulingMode::Fifo {
            return submission;
        }
        let standing =
            Standing { running: app.running[kind], weight: job.standing.weight[kind], ..Standing::default() };
        let rank = standing.rank();
        AppKey { class: rank.class as u8, ratio: rank.ratio, ..submission }
    }

    fn group_key(&self, id: GroupId, group: &Group, kind: Kind, _first: AppKey) -> GroupKey {
        let Some(pool) = self.pools.index(id) else { return GroupKey::default() };
        let rank = self.pools.standing(pool, kind, group.running[kind]).rank();
        let name_rank = self.pools.name_rank(pool);
        GroupKey { class: rank.class as u8, ratio: rank.ratio, rank: name_rank, ..GroupKey::default() }
    }

    fn heartbeat_limits(&self, kind: Kind, free: u32, node: &Node, totals: &Totals) -> HeartbeatLimits {
        let load = HeartbeatLoad {
            free,
            slots: node.slots[kind],
            running_here: node.in_use(kind),
            total_slots: totals.slots[kind],
            runnable: self.runnable[kind],
            running: totals.running[kind],
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

    fn review(&self, app: &App, kind: Kind, heartbeat: &Heartbeat, view: &View<'_>) -> Verdict {
        let Some(job) = self.jobs.get(&app.spec.id).filter(|job| job.standing.is_admitted && job.is_running) else {
            return Verdict::ParkApp;
        };
        match (self.full_pool(job.pool, kind, view), kind) {
            (Some((group, _)), _) if self.options.ordering == JobOrdering::Fair => Verdict::ParkGroup(group),
            // Apps of the pool stand among those of others.
            (Some(_), _) => Verdict::NotOnThisNode,
            (None, Kind::Map) => Verdict::Ask(self.allowed_level(app, job, heartbeat.now.mono_ms)),
            (None, Kind::Reduce) => Verdict::Ask(Level::Any),
        }
    }

    fn on_change(&mut self, change: &Change, view: &View<'_>, reaction: &mut Reaction<'_>) {
        match *change {
            Change::GroupOpened(group) => {
                let name = view.groups.name(group).unwrap_or_default();
                self.pools.open(group, name, &self.allocations, self.last_heartbeat_ms);
                reaction.rekey_all();
            }
            Change::AppAdded(id) => {
                if let Some(app) = view.app(id) {
                    self.add_job(app);
                }
            }
            Change::AppRemoved(id) => {
                if let Some(app) = view.app(id) {
                    self.remove_job(app);
                }
            }
            Change::Size { app, size } => {
                if let Some(job) = self.jobs.get_mut(&app) {
                    let was_running = std::mem::replace(&mut job.is_running, size != AppSize::default());
                    if !was_running && job.is_running {
                        self.is_stale = true;
                        reaction.wake_app(app);
                    }
                }
            }
            Change::Priority { app, before } => {
                if let Some(app) = view.app(app) {
                    self.reorder_job(app, before);
                }
            }
            Change::Demand { app, kind: Kind::Map } => {
                if let Some(app) = view.app(app) {
                    self.on_map_demand(app);
                }
            }
            Change::Usage { app, .. } => reaction.rekey_app(app),
            Change::HeartbeatStarted { in_use, now, .. } => {
                if self.is_stale {
                    self.update(now, view, reaction);
                }
                self.start_heartbeat(in_use, now.mono_ms);
            }
            Change::Asked(ref asked) if asked.kind == Kind::Map => self.on_map_asked(asked),
            Change::HeartbeatEnded { .. } => self.end_heartbeat(),
            Change::Tick(now) => {
                if now.mono_ms.saturating_sub(self.last_update_ms) >= self.options.update_interval_ms {
                    self.update(now, view, reaction);
                }
            }
            Change::Demand { .. }
            | Change::Asked(_)
            | Change::AppEnded(_)
            | Change::ClusterSlots
            | Change::NodeRemoved(_)
            | Change::GroupClosed(_)
            | Change::Reserved { .. }
            | Change::ReservationEnded { .. } => {}
        }
    }

    /// Each admitted job once. One that is not among the waiting ones yet is kept.
    fn choose_beginners(&mut self, waiting: &BTreeSet<AppId>, _view: &View<'_>) -> Vec<AppId> {
        let (ready, others): (Vec<AppId>, Vec<AppId>) =
            std::mem::take(&mut self.admitted).into_iter().partition(|id| waiting.contains(id));
        let is_to_begin = |id: &AppId| self.jobs.get(id).is_some_and(|job| !job.is_running);
        self.admitted = others.into_iter().filter(is_to_begin).collect();
        ready
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

    fn holds(&self, app: &App, view: &View<'_>, now: Now) -> Vec<Hold> {
        let Some(job) = self.jobs.get(&app.spec.id) else { return Vec::new() };
        let (of, limit) = match job.standing.refused_by {
            Some(RunningLimit::OfUser { limit }) => (LimitOwner::User, limit),
            Some(RunningLimit::OfPool { pool, limit }) => (LimitOwner::Group(self.pools.name(pool).to_owned()), limit),
            None if job.is_running => return self.slot_holds(app, job, view, now),
            None => return Vec::new(),
        };
        let (limit, counts) = (u64::from(limit), LimitUnit::Apps);
        vec![Hold::BeginLimit { of, counts, limit, used: limit }]
    }

    /// 1.2.1 sends one setup or cleanup alone, and lets a task wait for a host without slots of its kind.
    fn launch_rules(&self) -> LaunchRules {
        let is_compatible = self.options.is_compatible;
        LaunchRules { is_housekeeping_alone: is_compatible, counts_all_hosts: is_compatible }
    }
}
