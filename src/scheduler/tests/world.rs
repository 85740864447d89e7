//! A cluster whose every grant a model of the written rule checks, by counting all tasks.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use crate::model::{Kind, Now, PerKind, PerPool, TrackerId};
use crate::scheduler::*;

use super::kit::{Cluster, Jobs, Question, State, Task};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Fifo,
    Market,
}

/// The rule by which apps are served.
pub(super) struct Rule {
    pub(super) order: Order,
    pub(super) allocations: BTreeMap<GroupId, Allocation>,
}

pub(super) struct World {
    pub(super) cluster: Cluster,
    pub(super) rule: Rule,
    /// Every grant: app, kind, node, level.
    pub(super) log: Vec<(u32, Kind, TrackerId, Level)>,
    sizes: BTreeMap<AppId, AppSize>,
}

impl Rule {
    fn compare(&self, jobs: &Jobs, kind: Kind, left: AppId, right: AppId) -> Ordering {
        let (left, right) = (&jobs.jobs[&left].spec, &jobs.jobs[&right].spec);
        let line = |app: &AppSpec| (app.start_ms, app.order);
        if self.order == Order::Fifo {
            return left.priority.cmp(&right.priority).then(line(left).cmp(&line(right)));
        }
        let bought = |app: &AppSpec| self.allocations.get(&app.group).copied().unwrap_or_default();
        let class = |app: &AppSpec| match bought(app) {
            Allocation { rate_units: 0, .. } => 2,
            Allocation { quota, .. } if usage(jobs, app.group, kind) < quota[kind] => 0,
            _ => 1,
        };
        class(left).cmp(&class(right)).then_with(|| match class(left) {
            0 => {
                let product = |one: &AppSpec, other: &AppSpec| {
                    u64::from(usage(jobs, one.group, kind)) * u64::from(bought(other).quota[kind])
                };
                product(left, right).cmp(&product(right, left)).then(line(left).cmp(&line(right)))
            }
            1 => bought(right).rate_units.cmp(&bought(left).rate_units).then(line(left).cmp(&line(right))),
            _ => line(left).cmp(&line(right)),
        })
    }

    fn next(&self, jobs: &Jobs, kind: Kind, node: TrackerId) -> Option<AppId> {
        let free = jobs.free(node)[kind];
        let fits = |app: &AppId| jobs.jobs[app].spec.slots_per_task[kind].get() <= free;
        let runnable = jobs.tasks.iter().filter(|task| jobs.can_run(task, kind, node)).map(|task| task.app);
        let runnable: BTreeSet<AppId> = runnable.filter(fits).collect();
        runnable.into_iter().min_by(|&left, &right| self.compare(jobs, kind, left, right))
    }
}

pub(super) fn usage(jobs: &Jobs, group: GroupId, kind: Kind) -> u32 {
    jobs.held(|task, _| task.kind == kind && jobs.jobs[&task.app].spec.group == group)
}

impl World {
    pub(super) fn new(scheduler: Scheduler, order: Order, groups: usize) -> Self {
        let mut cluster = Cluster { now: Now { mono_ms: 0, wall_ms: 0 }, ..Cluster::new(scheduler) };
        cluster.groups = (0..groups).map(|i| cluster.scheduler.open_group(&format!("q{i}"))).collect();
        let rule = Rule { order, allocations: BTreeMap::new() };
        Self { cluster, rule, log: Vec::new(), sizes: BTreeMap::new() }
    }

    pub(super) fn host(&mut self, number: usize, racks: usize) -> HostId {
        self.cluster.host_in(&format!("h{number}"), &format!("/r{}", number % racks))
    }

    pub(super) fn node(&mut self, host: HostId, maps: u32, reduces: u32) -> TrackerId {
        self.cluster.add_node(host, PerKind::new(maps, reduces))
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
        let plain = AppSpec::plain(AppId::new(number), self.cluster.groups[group]);
        self.cluster.add_job(AppSpec { user: "user".into(), priority, start_ms, order: number.into(), ..plain })
    }

    pub(super) fn set_slots_per_task(&mut self, app: AppId, slots: PerKind<NonZeroU32>) {
        self.cluster.scheduler.set_slots_per_task(app, slots);
        if let Some(job) = self.cluster.jobs.jobs.get_mut(&app) {
            job.spec.slots_per_task = slots;
        }
    }

    pub(super) fn resize(&mut self, app: AppId, tasks: PerKind<u32>) {
        self.sizes.entry(app).or_default().tasks = tasks;
        self.cluster.scheduler.set_size(app, self.sizes[&app]);
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
        self.cluster.add_tasks(app, kind, hosts, count, failed_on);
        self.report_remaining(app);
    }

    fn report_remaining(&mut self, app: AppId) {
        let unfinished = self.cluster.jobs.count_of(app, |state| state != State::Done);
        self.sizes.entry(app).or_default().unfinished = unfinished;
        self.cluster.scheduler.set_size(app, self.sizes[&app]);
    }

    pub(super) fn beat(&mut self, node: TrackerId) -> AssignmentReport {
        let mut jobs = self.cluster.jobs.clone();
        let free = jobs.free(node);
        let (report, questions) = self.cluster.offer(node);
        assert!(report.granted.map <= free.map && report.granted.reduce <= free.reduce);
        for question in &questions {
            self.check(&mut jobs, node, question);
        }
        let tried = report.skipped + report.granted.map + report.granted.reduce;
        // An app whose tasks are too large for what is left is not asked.
        let are_all_small = jobs.jobs.values().all(|job| job.spec.slots_per_task == AppSpec::ONE_SLOT);
        let asked = questions.len() as u32;
        assert!(asked == tried || (asked < tried && !are_all_small));
        report
    }

    /// Checks a question against the jobs just before it, where it then takes place.
    fn check(&mut self, jobs: &mut Jobs, node: TrackerId, question: &Question) {
        let Question { app, kind, distance, given } = *question;
        let of_app = |task: &&Task| task.app == app && task.kind == kind && task.state == State::Waiting;
        let nearest = jobs.tasks.iter().filter(of_app).map(|task| jobs.level(node, &task.hosts)).min();
        assert_eq!(nearest, Some(distance.nearest), "{app} was offered a {kind:?} slot at the wrong level");
        let Some(task) = given else {
            assert_eq!(jobs.nearest(app, kind, node), None);
            return;
        };
        assert_eq!(self.rule.next(jobs, kind, node), Some(app), "another app was to have the {kind:?} slot");
        self.log.push((app.get(), kind, node, jobs.level(node, &jobs.tasks[task].hosts)));
        jobs.start(task, node);
    }

    pub(super) fn maps_to(&mut self, node: TrackerId) -> Vec<u32> {
        let before = self.log.len();
        self.beat(node);
        self.log[before..].iter().filter(|grant| grant.1 == Kind::Map).map(|grant| grant.0).collect()
    }

    pub(super) fn end(&mut self, task: usize) {
        if self.cluster.stop(task) {
            self.report_remaining(self.cluster.jobs.tasks[task].app);
        }
    }

    pub(super) fn set_allocations(&mut self, bought: &[(usize, u32, u32, i128)]) {
        let allocation = |&(group, maps, reduces, rate_units): &(usize, u32, u32, i128)| {
            (self.cluster.groups[group], Allocation { quota: PerPool::new(maps, reduces, 0), rate_units })
        };
        self.rule.allocations = bought.iter().map(allocation).collect();
        self.cluster.scheduler.set_allocations(&self.bought());
    }

    pub(super) fn bought(&self) -> Vec<(GroupId, Allocation)> {
        self.rule.allocations.iter().map(|(&group, &bought)| (group, bought)).collect()
    }

    /// Slots left free on a node while a task waits that may run there.
    pub(super) fn wasted(&self, node: TrackerId) -> PerKind<u32> {
        let jobs = &self.cluster.jobs;
        let free = jobs.free(node);
        let wasted = |kind| {
            let fits = |task: &Task| jobs.jobs[&task.app].spec.slots_per_task[kind].get() <= free[kind];
            free[kind].min(jobs.count(|task| jobs.can_run(task, kind, node) && fits(task)))
        };
        PerKind::new(wasted(Kind::Map), wasted(Kind::Reduce))
    }
}
