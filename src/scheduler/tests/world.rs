//! A cluster of jobs with a reference model, task by task, that checks every grant.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::{Kind, Now, PerKind, PerPool, TrackerId};
use crate::scheduler::*;

const NOW: Now = Now { mono_ms: 0, wall_ms: 0 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Waiting,
    Running(TrackerId),
    Done,
}

#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) app: AppId,
    pub(super) kind: Kind,
    pub(super) hosts: Arc<[HostId]>,
    /// Where it has failed and must not run again.
    pub(super) failed_on: BTreeSet<HostId>,
    pub(super) state: State,
    /// Slots that it holds since it was granted.
    pub(super) held: u32,
}

#[derive(Clone, Debug)]
pub(super) struct QueuePosition {
    pub(super) host: HostId,
    pub(super) slots: PerKind<u32>,
    pub(super) occupied: PerKind<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Fifo,
    Market,
}

pub(super) struct Model {
    pub(super) tasks: Vec<Task>,
    pub(super) apps: BTreeMap<AppId, AppSpec>,
    pub(super) nodes: BTreeMap<TrackerId, QueuePosition>,
    pub(super) allocations: BTreeMap<GroupId, Allocation>,
    pub(super) racks: BTreeMap<HostId, RackId>,
    pub(super) order: Order,
    /// Every grant: app, kind, node, level.
    pub(super) log: Vec<(u32, Kind, TrackerId, Level)>,
    pub(super) asked: u32,
}

pub(super) struct World {
    pub(super) scheduler: Scheduler,
    pub(super) model: Model,
    pub(super) groups: Vec<GroupId>,
    /// Apps that were removed; they stay in the model for their attempts that still run.
    pub(super) removed: BTreeSet<AppId>,
    sizes: BTreeMap<AppId, AppSize>,
}

impl Model {
    pub(super) fn count(&self, keep: impl Fn(&Task) -> bool) -> u32 {
        self.tasks.iter().filter(|task| keep(task)).count() as u32
    }

    pub(super) fn held(&self, keep: impl Fn(&Task) -> bool) -> u32 {
        let runs = |task: &&Task| matches!(task.state, State::Running(_)) && keep(task);
        self.tasks.iter().filter(runs).map(|task| task.held).sum()
    }

    pub(super) fn held_on(&self, node: TrackerId, kind: Kind) -> u32 {
        self.held(|task| task.kind == kind && task.state == State::Running(node))
    }

    pub(super) fn usage(&self, group: GroupId, kind: Kind) -> u32 {
        self.held(|task| task.kind == kind && self.apps[&task.app].group == group)
    }

    pub(super) fn slots_per_task(&self, app: AppId, kind: Kind) -> u32 {
        self.apps[&app].slots_per_task[kind].get()
    }

    pub(super) fn start(&mut self, task: usize, node: TrackerId) {
        let held = self.slots_per_task(self.tasks[task].app, self.tasks[task].kind);
        self.tasks[task].state = State::Running(node);
        self.tasks[task].held = held;
    }

    pub(super) fn free(&self, node: TrackerId) -> PerKind<u32> {
        let place = &self.nodes[&node];
        let free =
            |kind| place.slots[kind].saturating_sub(place.occupied[kind]).saturating_sub(self.held_on(node, kind));
        PerKind::new(free(Kind::Map), free(Kind::Reduce))
    }

    pub(super) fn can_run(&self, task: &Task, kind: Kind, node: TrackerId) -> bool {
        task.kind == kind && task.state == State::Waiting && !task.failed_on.contains(&self.nodes[&node].host)
    }

    fn level(&self, node: TrackerId, hosts: &[HostId]) -> Level {
        let host = self.nodes[&node].host;
        if hosts.contains(&host) {
            Level::Node
        } else if hosts.iter().any(|other| self.racks[other] == self.racks[&host]) {
            Level::Rack
        } else {
            Level::Any
        }
    }

    /// The order of the written rule, by counting all tasks.
    fn compare(&self, kind: Kind, left: AppId, right: AppId) -> Ordering {
        let (left, right) = (&self.apps[&left], &self.apps[&right]);
        let line = |app: &AppSpec| (app.start_ms, app.order);
        if self.order == Order::Fifo {
            return left.priority.cmp(&right.priority).then(line(left).cmp(&line(right)));
        }
        let bought = |app: &AppSpec| self.allocations.get(&app.group).copied().unwrap_or_default();
        let class = |app: &AppSpec| match bought(app) {
            Allocation { rate_units: 0, .. } => 2,
            Allocation { quota, .. } if self.usage(app.group, kind) < quota[kind] => 0,
            _ => 1,
        };
        class(left).cmp(&class(right)).then_with(|| match class(left) {
            0 => {
                let product = |one: &AppSpec, other: &AppSpec| {
                    u64::from(self.usage(one.group, kind)) * u64::from(bought(other).quota[kind])
                };
                product(left, right).cmp(&product(right, left)).then(line(left).cmp(&line(right)))
            }
            1 => bought(right).rate_units.cmp(&bought(left).rate_units).then(line(left).cmp(&line(right))),
            _ => line(left).cmp(&line(right)),
        })
    }

    fn next(&self, kind: Kind, node: TrackerId) -> Option<AppId> {
        let free = self.free(node)[kind];
        let fits = |app: &AppId| self.slots_per_task(*app, kind) <= free;
        let runnable = self.tasks.iter().filter(|task| self.can_run(task, kind, node)).map(|task| task.app);
        let runnable: BTreeSet<AppId> = runnable.filter(fits).collect();
        runnable.into_iter().min_by(|&left, &right| self.compare(kind, left, right))
    }
}

impl GrantSource for Model {
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, distance: Distance) -> GrantResult {
        self.asked += 1;
        let of_app = |task: &&Task| task.app == app && task.kind == kind && task.state == State::Waiting;
        let nearest = self.tasks.iter().filter(of_app).map(|task| self.level(node, &task.hosts)).min();
        assert_eq!(nearest, Some(distance.nearest), "{app} was offered a {kind:?} slot at the wrong level");

        let pick = (0..self.tasks.len())
            .filter(|&i| self.tasks[i].app == app && self.can_run(&self.tasks[i], kind, node))
            .min_by_key(|&i| self.level(node, &self.tasks[i].hosts));
        let Some(pick) = pick else { return GrantResult::NoTask };
        assert_eq!(self.next(kind, node), Some(app), "another app was to have the {kind:?} slot");
        let level = self.level(node, &self.tasks[pick].hosts);
        self.log.push((app.get(), kind, node, level));
        self.start(pick, node);
        let Task { hosts, held: slots, .. } = self.tasks[pick].clone();
        GrantResult::Task { hosts, level, origin: TaskOrigin::Fresh, slots }
    }
}

impl World {
    pub(super) fn new(scheduler: Scheduler, order: Order, groups: usize) -> Self {
        let model = Model {
            tasks: Vec::new(),
            apps: BTreeMap::new(),
            nodes: BTreeMap::new(),
            allocations: BTreeMap::new(),
            racks: BTreeMap::new(),
            order,
            log: Vec::new(),
            asked: 0,
        };
        let mut world = Self { scheduler, model, groups: Vec::new(), removed: BTreeSet::new(), sizes: BTreeMap::new() };
        world.groups = (0..groups).map(|i| world.scheduler.open_group(&format!("q{i}"))).collect();
        world
    }

    pub(super) fn host(&mut self, number: usize, racks: usize) -> HostId {
        let host = self.scheduler.topology_mut().intern_host(&format!("h{number}"), &format!("/r{}", number % racks));
        self.model.racks.insert(host, self.scheduler.topology().rack_of(host));
        host
    }

    pub(super) fn node(&mut self, host: HostId, maps: u32, reduces: u32) -> TrackerId {
        let slots = PerKind::new(maps, reduces);
        let node = self.scheduler.add_node(host, slots);
        self.model.nodes.insert(node, QueuePosition { host, slots, occupied: PerKind::default() });
        node
    }

    /// Nodes `h0`, `h1` ... in racks `/r0`, `/r1`, alternating.
    pub(super) fn cluster(&mut self, nodes: usize, maps: u32, reduces: u32) -> Vec<TrackerId> {
        (0..nodes)
            .map(|number| {
                let host = self.host(number, 2);
                self.node(host, maps, reduces)
            })
            .collect()
    }

    pub(super) fn job(&mut self, number: u32, group: usize, priority: u8, start_ms: i64) -> AppId {
        let (id, group, user) = (AppId::new(number), self.groups[group], "user".into());
        let (order, slots_per_task) = (number.into(), AppSpec::ONE_SLOT);
        let spec = AppSpec { id, group, user, priority, start_ms, order, slots_per_task };
        self.scheduler.add_app(spec.clone()).unwrap();
        self.model.apps.insert(spec.id, spec.clone());
        spec.id
    }

    pub(super) fn set_slots_per_task(&mut self, app: AppId, slots: PerKind<NonZeroU32>) {
        self.scheduler.set_slots_per_task(app, slots);
        if let Some(spec) = self.model.apps.get_mut(&app) {
            spec.slots_per_task = slots;
        }
    }

    pub(super) fn resize(&mut self, app: AppId, tasks: PerKind<u32>) {
        self.sizes.entry(app).or_default().tasks = tasks;
        self.scheduler.set_size(app, self.sizes[&app]);
    }

    pub(super) fn tasks(&mut self, app: AppId, kind: Kind, hosts: &[HostId], count: u32) {
        self.tasks_that_failed_on(app, kind, hosts, count, &BTreeSet::new());
    }

    pub(super) fn tasks_that_failed_on(
        &mut self,
        app: AppId,
        kind: Kind,
        hosts: &[HostId],
        count: u32,
        failed_on: &BTreeSet<HostId>,
    ) {
        self.scheduler.request_slots(app, kind, hosts, count);
        let task =
            Task { app, kind, hosts: hosts.into(), failed_on: failed_on.clone(), state: State::Waiting, held: 0 };
        self.model.tasks.extend((0..count).map(|_| task.clone()));
        self.report_remaining(app);
    }

    fn report_remaining(&mut self, app: AppId) {
        let of = |kind| {
            let left = |task: &&Task| task.app == app && task.kind == kind && task.state != State::Done;
            self.model.tasks.iter().filter(left).count() as u32
        };
        let unfinished = PerKind::new(of(Kind::Map), of(Kind::Reduce));
        self.sizes.entry(app).or_default().unfinished = unfinished;
        self.scheduler.set_size(app, self.sizes[&app]);
    }

    pub(super) fn beat(&mut self, node: TrackerId) -> AssignmentReport {
        self.model.asked = 0;
        let free = self.model.free(node);
        let report = self.scheduler.assign_slots(NodeOffer { node, free, now: NOW }, &mut self.model);
        assert!(report.granted.map <= free.map && report.granted.reduce <= free.reduce);
        let tried = report.skipped + report.granted.map + report.granted.reduce;
        // An app whose tasks are too large for what is left is not asked.
        let are_all_small = self.model.apps.values().all(|app| app.slots_per_task == AppSpec::ONE_SLOT);
        assert!(self.model.asked == tried || (self.model.asked < tried && !are_all_small));
        report
    }

    pub(super) fn maps_to(&mut self, node: TrackerId) -> Vec<u32> {
        let before = self.model.log.len();
        self.beat(node);
        self.model.log[before..].iter().filter(|grant| grant.1 == Kind::Map).map(|grant| grant.0).collect()
    }

    pub(super) fn end(&mut self, task: usize) {
        let Task { app, kind, state, held, .. } = self.model.tasks[task];
        if let State::Running(node) = state {
            self.model.tasks[task].state = State::Done;
            self.scheduler.remove_running(app, kind, node, held);
            self.report_remaining(app);
        }
    }

    pub(super) fn set_allocations(&mut self, bought: &[(usize, u32, u32, i128)]) {
        self.model.allocations = bought
            .iter()
            .map(|&(group, maps, reduces, rate_units)| {
                (self.groups[group], Allocation { quota: PerPool::new(maps, reduces, 0), rate_units })
            })
            .collect();
        let list: Vec<_> = self.model.allocations.iter().map(|(&group, &bought)| (group, bought)).collect();
        self.scheduler.set_allocations(&list);
    }

    /// Slots left free on a node while a task waits that may run there.
    pub(super) fn wasted(&self, node: TrackerId) -> PerKind<u32> {
        let free = self.model.free(node);
        let wasted = |kind| {
            let fits = |task: &Task| self.model.slots_per_task(task.app, kind) <= free[kind];
            free[kind].min(self.model.count(|task| self.model.can_run(task, kind, node) && fits(task)))
        };
        PerKind::new(wasted(Kind::Map), wasted(Kind::Reduce))
    }
}
