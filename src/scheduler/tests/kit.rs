//! The kit of the tests of all policies: a cluster of jobs, task by task, that records every question to a job with its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Kind, Now, PerKind, TrackerId, Violations};
use crate::scheduler::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not requested yet: its job has not been set up.
    Ahead,
    Waiting,
    Running(TrackerId),
    Done,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) app: AppId,
    pub(crate) kind: Kind,
    pub(crate) hosts: Arc<[HostId]>,
    /// Where it has failed and must not run again.
    pub(crate) avoids: BTreeSet<HostId>,
    pub(crate) state: State,
    /// Those that it holds since it was granted.
    pub(crate) slots: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Submitted,
    Begun,
    SetUp,
    Removed,
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) spec: AppSpec,
    pub(crate) stage: Stage,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) host: HostId,
    pub(crate) slots: PerKind<u32>,
    /// By setups and cleanups.
    pub(crate) occupied: PerKind<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    pub(crate) app: AppId,
    pub(crate) kind: Kind,
    pub(crate) distance: Distance,
    /// The task that it gave.
    pub(crate) given: Option<usize>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) tasks: Vec<Task>,
    pub(crate) jobs: BTreeMap<AppId, Job>,
    pub(crate) nodes: BTreeMap<TrackerId, Node>,
    racks: BTreeMap<HostId, RackId>,
    questions: Vec<Question>,
}

impl Jobs {
    pub(crate) fn count(&self, keep: impl Fn(&Task) -> bool) -> u32 {
        self.tasks.iter().filter(|task| keep(task)).count() as u32
    }

    /// Of a job, those of each kind in some states.
    pub(crate) fn count_of(&self, app: AppId, keep: impl Fn(State) -> bool) -> PerKind<u32> {
        let of = |kind| self.count(|task| task.app == app && task.kind == kind && keep(task.state));
        PerKind::new(of(Kind::Map), of(Kind::Reduce))
    }

    pub(crate) fn waiting(&self, app: AppId, kind: Kind) -> u32 {
        self.count_of(app, |state| state == State::Waiting)[kind]
    }

    pub(crate) fn running(&self, app: AppId, kind: Kind) -> u32 {
        self.count_of(app, |state| matches!(state, State::Running(_)))[kind]
    }

    /// Slots that tasks hold.
    pub(crate) fn held(&self, keep: impl Fn(&Task, TrackerId) -> bool) -> u32 {
        let slots = |task: &Task| match task.state {
            State::Running(node) if keep(task, node) => task.slots,
            _ => 0,
        };
        self.tasks.iter().map(slots).sum()
    }

    pub(crate) fn free(&self, node: TrackerId) -> PerKind<u32> {
        let Node { slots, occupied, .. } = &self.nodes[&node];
        let free = |kind: Kind| {
            let held = self.held(|task, on| task.kind == kind && on == node);
            slots[kind].saturating_sub(occupied[kind]).saturating_sub(held)
        };
        PerKind::new(free(Kind::Map), free(Kind::Reduce))
    }

    pub(crate) fn level(&self, node: TrackerId, hosts: &[HostId]) -> Level {
        let host = self.nodes[&node].host;
        if hosts.contains(&host) {
            Level::Node
        } else if hosts.iter().any(|other| self.racks[other] == self.racks[&host]) {
            Level::Rack
        } else {
            Level::Any
        }
    }

    pub(crate) fn can_run(&self, task: &Task, kind: Kind, node: TrackerId) -> bool {
        task.kind == kind && task.state == State::Waiting && !task.avoids.contains(&self.nodes[&node].host)
    }

    /// The nearest waiting task of a job that may run on a node, with its level there; of several the first.
    pub(crate) fn nearest(&self, app: AppId, kind: Kind, node: TrackerId) -> Option<(usize, Level)> {
        let can_run = |(_, task): &(usize, &Task)| task.app == app && self.can_run(task, kind, node);
        let found = self.tasks.iter().enumerate().filter(can_run);
        found.map(|(place, task)| (place, self.level(node, &task.hosts))).min_by_key(|(_, level)| *level)
    }

    pub(crate) fn start(&mut self, task: usize, node: TrackerId) {
        let Task { app, kind, .. } = self.tasks[task];
        self.tasks[task].state = State::Running(node);
        self.tasks[task].slots = self.jobs[&app].spec.slots_per_task[kind].get();
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = (AppId, &Job)> {
        self.jobs.iter().filter(|(_, job)| job.stage != Stage::Removed).map(|(id, job)| (*id, job))
    }

    /// The tasks in some states, by their places.
    pub(crate) fn tasks_in(&self, keep: impl Fn(State) -> bool) -> Vec<usize> {
        (0..self.tasks.len()).filter(|&task| keep(self.tasks[task].state)).collect()
    }
}

impl GrantSource for Jobs {
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, distance: Distance) -> GrantResult {
        let given = self.nearest(app, kind, node).filter(|(_, level)| *level <= distance.farthest);
        self.questions.push(Question { app, kind, distance, given: given.map(|(task, _)| task) });
        let Some((task, level)) = given else { return GrantResult::NoTask };
        self.start(task, node);
        let Task { hosts, slots, .. } = self.tasks[task].clone();
        GrantResult::Task { hosts, level, origin: TaskOrigin::Fresh, slots }
    }
}

pub(crate) struct Cluster {
    pub(crate) scheduler: Scheduler,
    pub(crate) jobs: Jobs,
    pub(crate) groups: Vec<GroupId>,
    pub(crate) now: Now,
}

impl Cluster {
    pub(crate) fn new(scheduler: Scheduler) -> Self {
        Self { scheduler, jobs: Jobs::default(), groups: Vec::new(), now: Now { mono_ms: 1_000, wall_ms: 1_000 } }
    }

    pub(crate) fn advance_ms(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms as i64;
    }

    pub(crate) fn host_in(&mut self, host: &str, rack: &str) -> HostId {
        let host = self.scheduler.topology_mut().intern_host(host, rack);
        self.jobs.racks.insert(host, self.scheduler.topology().rack_of(host));
        host
    }

    pub(crate) fn add_node(&mut self, host: HostId, slots: PerKind<u32>) -> TrackerId {
        let node = self.scheduler.add_node(host, slots);
        self.jobs.nodes.insert(node, Node { host, slots, occupied: PerKind::default() });
        node
    }

    pub(crate) fn add_job(&mut self, spec: AppSpec) -> AppId {
        let id = spec.id;
        self.scheduler.add_app(spec.clone()).unwrap();
        self.jobs.jobs.insert(id, Job { spec, stage: Stage::Submitted });
        id
    }

    /// Adds tasks that wait from now on.
    pub(crate) fn add_tasks(
        &mut self,
        app: AppId,
        kind: Kind,
        hosts: &[HostId],
        count: u32,
        avoids: &BTreeSet<HostId>,
    ) {
        self.scheduler.request_slots(app, kind, hosts, count);
        let (hosts, avoids) = (hosts.into(), avoids.clone());
        let task = Task { app, kind, hosts, avoids, state: State::Waiting, slots: 0 };
        self.jobs.tasks.extend((0..count).map(|_| task.clone()));
    }

    /// Offers a node what is free on it: the questions to jobs, with their answers.
    pub(crate) fn offer(&mut self, node: TrackerId) -> (AssignmentReport, Vec<Question>) {
        let free = self.jobs.free(node);
        let report = self.scheduler.assign_slots(NodeOffer { node, free, now: self.now }, &mut self.jobs);
        let questions = std::mem::take(&mut self.jobs.questions);
        let given = questions.iter().filter(|question| question.given.is_some()).count() as u32;
        assert_eq!(given, report.granted.map + report.granted.reduce);
        (report, questions)
    }

    /// Ends a task if it runs; whether it did.
    pub(crate) fn stop(&mut self, task: usize) -> bool {
        let Task { app, kind, state, slots, .. } = self.jobs.tasks[task];
        let State::Running(node) = state else { return false };
        self.jobs.tasks[task].state = State::Done;
        self.scheduler.remove_running(app, kind, node, slots);
        true
    }

    /// The scheduler's sums equal a recount, and the task by task one here.
    pub(crate) fn check_sums(&self) {
        let mut violations = Violations::counting();
        self.scheduler.check_sums(&mut violations);
        assert_eq!(violations.take(), []);
        for kind in Kind::ALL {
            for (id, _) in self.jobs.live() {
                assert_eq!(self.scheduler.app_waiting(id)[kind], self.jobs.waiting(id, kind), "{id} {kind:?}");
                assert_eq!(self.scheduler.app_running(id)[kind], self.jobs.running(id, kind), "{id} {kind:?}");
                let held = self.jobs.held(|task, _| task.app == id && task.kind == kind);
                assert_eq!(self.scheduler.app_usage(id)[kind], held, "{id} {kind:?}");
            }
        }
    }
}

/// Gives tasks of one slot anywhere, while it has any.
pub(crate) struct AnyTasks {
    pub(crate) left: u32,
    pub(crate) given: Vec<(AppId, Kind)>,
}

impl AnyTasks {
    pub(crate) fn new(left: u32) -> Self {
        Self { left, given: Vec::new() }
    }
}

impl GrantSource for AnyTasks {
    fn take_task(&mut self, app: AppId, kind: Kind, _node: TrackerId, _distance: Distance) -> GrantResult {
        if self.left == 0 {
            return GrantResult::NoTask;
        }
        self.left -= 1;
        self.given.push((app, kind));
        GrantResult::Task { hosts: [].into(), level: Level::Any, origin: TaskOrigin::Fresh, slots: 1 }
    }
}

/// Nodes without slots on one host, for tests of rounds of preemption.
pub(crate) fn bare_nodes(count: usize) -> Vec<TrackerId> {
    let mut scheduler = Scheduler::dynamic();
    let host = scheduler.topology_mut().intern_host("h", "/r");
    (0..count).map(|_| scheduler.add_node(host, PerKind::default())).collect()
}

/// Nothing was found broken, and sums equal a recount.
pub(crate) fn assert_sound(scheduler: &mut Scheduler) {
    let mut violations = Violations::default();
    scheduler.report_violations(&mut violations);
    scheduler.check_sums(&mut violations);
    assert!(violations.is_empty());
}
