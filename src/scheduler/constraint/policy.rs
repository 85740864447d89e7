//! The policy: earliest deadline first, each job with the least slots that keep its deadline; what no job is promised goes to the others.
//!
//! No task is preempted, so a slot that may soon be claimed is not lent: what is beyond the promises is counted before each
//! grant to a job that was promised nothing.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::model::{Kind, Now, PerKind, Pool, Violations};
use crate::scheduler::app::App;
use crate::scheduler::change::{Change, Reaction};
use crate::scheduler::fifo::submission_key;
use crate::scheduler::group::Group;
use crate::scheduler::key::{AppKey, FirstApp, GroupKey};
use crate::scheduler::node::{Node, Totals};
use crate::scheduler::policy::{
    AppDetail, AppRefusal, Heartbeat, HeartbeatLimits, Leaf, NewApp, OfferedContainer, Policy, PolicyView, SKIP_BUDGET,
    Verdict,
};
use crate::scheduler::{AppId, AppSpec, GroupId, Hold, Level};

use super::admission::TimeOfDay;
use super::deadline_job::{DeadlineJob, ReducePlan};
use super::{
    AdmissionRule, AppDeadline, ConstraintConfig, DeadlineState, JobPlan, Model, OnMissed, PromiseLedger, RejectedJob,
    Seconds, SlotSupply, Strategy, TimedWork, WhatIf, admit, what_if,
};

#[derive(Debug)]
pub(crate) struct Constraint {
    pub(super) config: ConstraintConfig,
    /// Jobs with a deadline whose end is not decided. Looked up, never iterated.
    pub(super) jobs: FxHashMap<AppId, DeadlineJob>,
    /// The same, in the order of their deadlines.
    pub(super) by_due: BTreeSet<(i64, AppId)>,
    /// Those whose promise begins or ends by the clock, by when.
    pub(super) moments: BTreeSet<(i64, AppId)>,
    /// The last job that was planned again, by its deadline: the next ones are first.
    pub(super) planned_last: Option<(i64, AppId)>,
    pub(super) ledger: PromiseLedger,
    /// Slots that jobs with a promise hold.
    pub(super) held: PerKind<u64>,
    /// Jobs whose last map has ended since the last heartbeat.
    ended_maps: Vec<AppId>,
    /// Jobs whose reduces wait for slots that others were promised, by when they must start.
    waiting_reduces: BTreeSet<(i64, AppId)>,
    /// Jobs that missed their deadlines since the engine asked.
    pub(super) missed: Vec<AppId>,
    /// Of the last heartbeat or tick.
    pub(super) now: Now,
}

/// Jobs below their minimums.
const CLAIMS: u8 = 0;
/// Jobs that have their minimums and may have more.
const BEYOND_MINIMUM: u8 = 1;
const LATE: u8 = 2;
/// Jobs without a deadline, by priority from here on.
const BEST_EFFORT: u8 = 3;

/// A task of a job that was promised nothing is believed to end within this time.
pub(super) const LENT_FOR_US: i64 = 3_600_000_000;

enum ListPlace {
    Claim,
    /// It may have one that is promised to no job.
    Beyond,
    /// It has all that it may have.
    Full,
}

impl Constraint {
    pub(in crate::scheduler) fn new(config: ConstraintConfig) -> Self {
        Self {
            config,
            jobs: FxHashMap::default(),
            by_due: BTreeSet::new(),
            moments: BTreeSet::new(),
            planned_last: None,
            ledger: PromiseLedger::default(),
            held: PerKind::default(),
            ended_maps: Vec::new(),
            waiting_reduces: BTreeSet::new(),
            missed: Vec::new(),
            now: Now { mono_ms: 0, wall_ms: 0 },
        }
    }

    pub(super) fn now_us(&self) -> i64 {
        us(self.now.wall_ms)
    }

    /// Slots that deadlines may count on: all but those of jobs that are promised nothing, and those that have no room beside containers.
    pub(super) fn supply(&self, totals: &Totals) -> SlotSupply {
        let of = |kind: Kind| {
            let others = totals.held[kind].saturating_sub(self.held[kind]);
            totals.slots[kind].saturating_sub(others).saturating_sub(totals.bags.blocked)
        };
        let slots = PerKind::new(of(Kind::Map), of(Kind::Reduce));
        SlotSupply { slots, has_workers: totals.slots != PerKind::default() }
    }

    fn place(&self, job: &DeadlineJob, kind: Kind) -> ListPlace {
        let (held, minimum) = (job.held()[kind], job.minimum()[kind]);
        let is_late = job.state == DeadlineState::Late;
        let limit = self.config.strategy.most(minimum).filter(|_| !is_late).unwrap_or(u32::MAX);
        match () {
            () if is_late && self.config.on_missed == OnMissed::Continue => ListPlace::Claim,
            () if held >= limit => ListPlace::Full,
            () if !is_late && held < minimum && job.is_promised(kind) => ListPlace::Claim,
            () => ListPlace::Beyond,
        }
    }

    fn hold_of(&self, app: &App, kind: Kind, totals: &Totals) -> Option<Hold> {
        let job = self.jobs.get(&app.spec.id);
        if let Some(job) = job.filter(|job| kind == Kind::Reduce && !job.may_reduce()) {
            return Some(Hold::AfterMaps { has_maps: !job.has_ended_maps() });
        }
        match job.map_or(ListPlace::Beyond, |job| self.place(job, kind)) {
            ListPlace::Claim => None,
            ListPlace::Full => {
                let limit = match (self.config.strategy, job) {
                    (Strategy::Fixed(slots), _) => slots,
                    (_, Some(job)) => job.minimum()[kind],
                    (_, None) => 0,
                };
                Some(Hold::DeadlineLimit { kind, limit, held: app.held[kind] })
            }
            ListPlace::Beyond => {
                if self.lending(app.spec.id, kind, totals) == Lending::Lent {
                    return None;
                }
                let start_us = job.filter(|_| kind == Kind::Map).and_then(DeadlineJob::planned_start_us);
                match start_us {
                    Some(start_us) => Some(Hold::PlannedStart { kind, start_ms: start_us.div_euclid(1_000) }),
                    None => has_free(kind, totals).then_some(Hold::PromisedToDeadlines { kind }),
                }
            }
        }
    }

    fn set_deadline(&mut self, app: &App, reaction: &mut Reaction<'_>) {
        let id = app.spec.id;
        let before = self.forget(id);
        if let Some(mut deadline) = app.deadline.filter(|_| !app.draining && !app.is_paused) {
            // What no node could run is promised nothing; once one could, it is planned again beside what others were promised.
            if app.is_stuck || before.as_ref().is_some_and(|before| before.is_stuck) {
                deadline.plan = None;
            }
            let (model, slots, arrival_us) = (self.config.model, self.config.slots, us(app.spec.start_ms));
            let now_us = self.now_us().max(arrival_us);
            let mut job = DeadlineJob::new(deadline, arrival_us, model, slots, now_us);
            Kind::ALL.into_iter().for_each(|kind| job.set_held(kind, app.held[kind], model, now_us));
            if let Some(before) = before.filter(|before| !app.is_stuck && before.has_plan_of(&job)) {
                job.inherit(before);
            }
            job.is_stuck = app.is_stuck;
            if app.is_running() {
                job.set_left(app.size.left, model, now_us);
            }
            self.by_due.insert((job.due_us(), id));
            self.jobs.insert(id, job);
            self.renew(id, |_| {});
        }
        reaction.wake_app(id);
        reaction.rekey_app(id);
    }

    fn forget(&mut self, id: AppId) -> Option<DeadlineJob> {
        let job = self.jobs.get(&id)?;
        let state = job.state;
        self.by_due.remove(&(job.due_us(), id));
        self.waiting_reduces.remove(&(job.latest_reduce_start_us(), id));
        self.renew(id, |job| job.state = DeadlineState::Late);
        let mut job = self.jobs.remove(&id)?;
        job.state = state;
        Some(job)
    }

    /// Changes a job, and with it what it is promised and what the promised hold.
    pub(super) fn renew(&mut self, id: AppId, change: impl FnOnce(&mut DeadlineJob)) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let before = job.counted_held;
        change(job);
        let moment_us = job.next_moment_us();
        if let Some(noted_us) = job.noted_moment_us.filter(|_| job.noted_moment_us != moment_us) {
            self.moments.remove(&(noted_us, id));
        }
        if let Some(moment_us) = moment_us.filter(|_| job.noted_moment_us != moment_us) {
            self.moments.insert((moment_us, id));
        }
        job.noted_moment_us = moment_us;
        let promise = job.promise();
        job.counted_held = if promise.is_some() { job.held() } else { PerKind::default() };
        for kind in Kind::ALL {
            let more = self.held[kind].saturating_add(job.counted_held[kind].into());
            self.held[kind] = more.saturating_sub(before[kind].into());
        }
        if job.has_ended_maps() {
            self.ended_maps.push(id);
        }
        self.ledger.set(id, promise);
    }

    /// Starts the reduces of jobs whose last map has ended, as soon as the slots are promised to no other: at the latest
    /// when they must start.
    fn start_ended_maps(&mut self, totals: &Totals, reaction: &mut Reaction<'_>) {
        let now_us = self.now_us();
        for id in std::mem::take(&mut self.ended_maps) {
            self.start_reduces(id, totals, reaction);
        }
        while let Some((_, id)) = self.waiting_reduces.first().copied().filter(|(latest_us, _)| *latest_us <= now_us) {
            self.waiting_reduces.pop_first();
            self.start_reduces(id, totals, reaction);
        }
    }

    fn retry_reduces(&mut self, totals: &Totals, reaction: &mut Reaction<'_>) {
        for (_, id) in std::mem::take(&mut self.waiting_reduces) {
            self.start_reduces(id, totals, reaction);
        }
    }

    fn start_reduces(&mut self, id: AppId, totals: &Totals, reaction: &mut Reaction<'_>) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.has_ended_maps()) else { return };
        let latest_us = job.latest_reduce_start_us();
        let own = self.ledger.get(id);
        self.ledger.set(id, None);
        let plan = self.plan_reduces(job, self.supply(totals).slots.reduce);
        self.ledger.set(id, own);
        match plan {
            Some(plan) => {
                self.renew(id, |job| job.start_reduces(plan));
                reaction.wake_app(id);
                reaction.rekey_app(id);
            }
            None => drop(self.waiting_reduces.insert((latest_us, id))),
        }
    }

    /// The least reduces until the deadline, or all of them for a short time, whichever takes from no other; none: it is too
    /// early to take from others. The ledger has the promises of the others alone.
    fn plan_reduces(&self, job: &DeadlineJob, supply: u64) -> Option<ReducePlan> {
        let (model, start_us) = (self.config.model, self.now_us());
        let others = |until_us: i64| self.ledger.most_reduces(start_us, until_us);
        let fits = |plan: &ReducePlan| others(plan.until_us).saturating_add(plan.at_a_time.into()) <= supply;
        let (least, all) = (job.least_reduces(model, start_us), job.all_reduces(model, start_us));
        let is_due = start_us >= job.latest_reduce_start_us();
        // Slots were lost: a job is late anyway.
        let is_kept = u64::from(least.at_a_time) <= supply && others(least.until_us) <= supply;
        match () {
            () if fits(&least) => Some(least),
            () if fits(&all) => Some(all),
            () => (is_due || !is_kept).then_some(ReducePlan { is_kept: false, ..least }),
        }
    }
}

impl Policy for Constraint {
    fn check_new_app(&self, app: &NewApp<'_>, view: &PolicyView<'_>) -> Result<Option<JobPlan>, AppRefusal> {
        let Some(timed) = &app.deadline else { return Ok(None) };
        match admit(timed, self.config.model, &self.ledger, self.supply(view.totals)) {
            Ok(plan) => Ok(Some(plan)),
            Err(_) if self.config.admission == AdmissionRule::Warn => Ok(None),
            Err(rejection) => Err(RejectedJob { name: app.name.to_owned(), rejection }.into()),
        }
    }

    fn check_deadline(
        &self,
        app: &App,
        name: &str,
        deadline: &AppDeadline,
        now: Now,
        view: &PolicyView<'_>,
    ) -> Result<Option<JobPlan>, AppRefusal> {
        self.check_changed(app, name, deadline, now, view)
    }

    fn leaves_out_stuck_apps(&self) -> bool {
        true
    }

    fn leaf_of(&self, _app: &AppSpec) -> Leaf {
        Leaf::Root
    }

    fn app_key(&self, app: &App, pool: Pool) -> AppKey {
        let job = self.jobs.get(&app.spec.id);
        let Some((job, kind)) = job.zip(pool.kind()) else {
            let submission = submission_key(&app.spec);
            return AppKey { class: BEST_EFFORT.saturating_add(submission.class), ..submission };
        };
        let class = match self.place(job, kind) {
            ListPlace::Claim => CLAIMS,
            _ if job.state == DeadlineState::Late => LATE,
            ListPlace::Beyond | ListPlace::Full => BEYOND_MINIMUM,
        };
        AppKey { class, start_ms: job.due_us(), order: app.spec.order, ..AppKey::default() }
    }

    fn begin_key(&self, app: &App) -> AppKey {
        submission_key(&app.spec)
    }

    fn group_key(&self, _id: GroupId, _group: &Group, _pool: Pool, _first: FirstApp) -> GroupKey {
        GroupKey::default()
    }

    fn heartbeat_limits(&self, _kind: Kind, free: u32, _node: &Node, _totals: &Totals) -> HeartbeatLimits {
        HeartbeatLimits { limit: free, after_off_switch: None, only_app: None, skip_budget: SKIP_BUDGET }
    }

    fn review(&self, app: &App, kind: Kind, _heartbeat: &Heartbeat, view: &PolicyView<'_>) -> Verdict {
        let place = match self.jobs.get(&app.spec.id) {
            // Its reduces wait for its last map.
            Some(job) if kind == Kind::Reduce && !job.may_reduce() => ListPlace::Full,
            Some(job) => self.place(job, kind),
            None => ListPlace::Beyond,
        };
        match place {
            ListPlace::Claim => Verdict::Ask(Level::Any),
            ListPlace::Full => Verdict::ParkApp,
            ListPlace::Beyond => match self.lending(app.spec.id, kind, view.totals) {
                Lending::Lent => Verdict::Ask(Level::Any),
                // Shorter tasks may stand behind it.
                Lending::TooLong => Verdict::NotOnThisNode,
                // What stands behind it may claim none either.
                Lending::Promised => Verdict::Stop,
            },
        }
    }

    /// Containers take no room from slots that are promised, now or ever: they may last.
    fn review_container(&self, _app: &App, offered: &OfferedContainer, view: &PolicyView<'_>) -> Verdict {
        let (supply, now_us) = (self.supply(view.totals).slots, self.now_us());
        let promised =
            PerKind::new(self.ledger.most_maps(now_us, i64::MAX), self.ledger.most_reduces(now_us, i64::MAX));
        let is_kept = |kind: Kind| supply[kind].saturating_sub(offered.blocks()) >= promised[kind];
        match offered.blocks() == 0 || Kind::ALL.into_iter().all(is_kept) {
            true => Verdict::Ask(Level::Any),
            false => Verdict::NotOnThisNode,
        }
    }

    fn on_change(&mut self, change: &Change, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        match *change {
            // What is paused, or what no node could run, is promised nothing.
            Change::AppAdded(id) | Change::Deadline(id) | Change::Fit(id) => {
                if let Some(app) = view.app(id) {
                    self.set_deadline(app, reaction);
                }
            }
            Change::AppRemoved(id) => drop(self.forget(id)),
            Change::Size { app: id, size } if view.app(id).is_some_and(App::is_running) => {
                let (model, now_us) = (self.config.model, self.now_us());
                self.renew(id, |job| job.set_left(size.left, model, now_us));
            }
            Change::Usage { app: id, pool } => {
                let Some(kind) = pool.kind() else { return };
                let (held, now_us) = (view.app(id).map_or(0, |app| app.held[kind]), self.now_us());
                let model = self.config.model;
                self.renew(id, |job| job.set_held(kind, held, model, now_us));
                if self.jobs.contains_key(&id) {
                    reaction.rekey_app(id);
                }
            }
            Change::HeartbeatStarted { now, .. } => {
                self.now = now;
                self.pass_moments(reaction);
                self.start_ended_maps(view.totals, reaction);
            }
            Change::Tick(now) => {
                self.now = now;
                self.pass_moments(reaction);
                self.start_ended_maps(view.totals, reaction);
                self.retry_reduces(view.totals, reaction);
                self.check_deadlines(view.totals, reaction);
            }
            _ => {}
        }
    }

    fn check_counts(&self, view: &PolicyView<'_>, violations: &mut Violations) {
        self.check_promises(view, violations);
    }

    /// In whole tasks each waits for two heartbeats.
    fn set_heartbeat_interval_ms(&mut self, interval_ms: u64) {
        if let Model::Whole { wait_us } = &mut self.config.model {
            *wait_us = interval_ms.saturating_mul(2_000);
        }
    }

    fn take_missed(&mut self) -> Vec<AppId> {
        let missed = std::mem::take(&mut self.missed);
        if self.config.on_missed == OnMissed::Kill { missed } else { Vec::new() }
    }

    fn what_if(&self, timed: &TimedWork, view: &PolicyView<'_>) -> Option<WhatIf> {
        Some(what_if(timed, self.config.model, &self.ledger, self.supply(view.totals)))
    }

    fn app_detail(&self, app: &App) -> AppDetail {
        let detail = |job: &DeadlineJob| AppDetail::Due(job.detail(&self.config, self.now_us().max(job.arrival_us())));
        self.jobs.get(&app.spec.id).map_or(AppDetail::Plain, detail)
    }

    fn deadline_states(&self, from: usize, count: usize) -> Vec<DeadlineState> {
        let jobs = self.by_due.iter().skip(from).take(count).filter_map(|(_, id)| self.jobs.get(id));
        jobs.map(|job| job.shown_state(&self.config, self.now_us().max(job.arrival_us()))).collect()
    }

    fn holds(&self, app: &App, view: &PolicyView<'_>, _now: Now) -> Vec<Hold> {
        let kinds = Kind::ALL.into_iter().filter(|&kind| app.tables[kind].waiting() > 0);
        kinds.filter_map(|kind| self.hold_of(app, kind, view.totals)).collect()
    }

    fn app_report(&self, app: &App) -> Option<String> {
        self.jobs.get(&app.spec.id).map(|job| self.report(app, job))
    }
}

pub(super) fn us(wall_ms: i64) -> i64 {
    wall_ms.saturating_mul(1_000)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lending {
    /// A slot is free until it ends.
    Lent,
    /// A slot is free, but not for as long.
    TooLong,
    /// All slots are promised now, or for as long as a task of unknown length lasts.
    Promised,
}

pub(super) fn has_free(kind: Kind, totals: &Totals) -> bool {
    totals.slots[kind] > totals.held[kind].saturating_add(totals.occupied[kind])
}

impl Constraint {
    /// Whether a task of an app gets a slot that is promised to no other before the task ends.
    pub(super) fn lending(&self, app: AppId, kind: Kind, totals: &Totals) -> Lending {
        let now_us = self.now_us();
        let supply = self.supply(totals).slots[kind].saturating_sub(totals.occupied[kind]);
        let soon_us = now_us.saturating_add(LENT_FOR_US);
        let job = self.jobs.get(&app).filter(|job| job.state != DeadlineState::Late);
        let is_free = has_free(kind, totals);
        match (kind, job) {
            (Kind::Reduce, _) if is_free && supply > self.ledger.most_reduces(now_us, soon_us) => Lending::Lent,
            (Kind::Map, None) if is_free && supply > self.ledger.most_maps(now_us, soon_us) => Lending::Lent,
            (Kind::Map, Some(job)) if is_free && supply > self.ledger.maps_at(now_us) => {
                let until_us = now_us.saturating_add_unsigned(job.map_us(self.config.model).max(1) - 1);
                let others = self.ledger.most_maps_beside(app, now_us, until_us);
                match supply > others.saturating_add(job.held().map.into()) {
                    true => Lending::Lent,
                    false => Lending::TooLong,
                }
            }
            _ => Lending::Promised,
        }
    }

    pub(super) fn report(&self, app: &App, job: &DeadlineJob) -> String {
        let since_arrival = |at_us: i64| Seconds { us: at_us.saturating_sub(job.arrival_us()) };
        // It may have come after the last heartbeat.
        let now_us = us(self.now.wall_ms).max(job.arrival_us());
        let left = Seconds { us: job.due_us().saturating_sub(now_us) };
        let minimum = job.minimum();
        let start = job.planned_start_us().map(|start_us| format!(" from {}", TimeOfDay(start_us)));
        let model = self.config.model;
        let overrun = job.overrun(&self.config, now_us).map(|overrun| match job.is_admitted_as_fluid(model) {
            true => format!(" Admitted by the fluid model, but {overrun}."),
            false => format!(" But {overrun}."),
        });
        format!(
            "Deadline {} s (left {left} s, {}). Maps {}/{} minimum{}. Reduces {}/{} minimum. Reduce start limit {} s.{}",
            since_arrival(job.due_us()),
            job.shown_state(&self.config, now_us),
            app.running[Kind::Map],
            minimum.map,
            start.unwrap_or_default(),
            app.running[Kind::Reduce],
            minimum.reduce,
            since_arrival(job.latest_reduce_start_us()),
            overrun.unwrap_or_default(),
        )
    }
}
