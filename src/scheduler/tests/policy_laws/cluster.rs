//! A cluster of jobs, task by task, that records every question to a job with its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::{Kind, Now, PerKind, TrackerId, Violations};
use crate::scheduler::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not requested yet: its job has not been set up.
    Ahead,
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
    pub(super) avoids: Option<HostId>,
    pub(super) state: State,
    pub(super) slots: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Submitted,
    Begun,
    SetUp,
    Removed,
}

#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) spec: AppSpec,
    pub(super) stage: Stage,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) host: HostId,
    pub(super) slots: PerKind<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) app: AppId,
    pub(super) kind: Kind,
    pub(super) farthest: Level,
    pub(super) given: Option<usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    pub(super) tasks: Vec<Task>,
    pub(super) jobs: BTreeMap<AppId, Job>,
    pub(super) nodes: BTreeMap<TrackerId, Node>,
    racks: BTreeMap<HostId, RackId>,
    questions: Vec<Question>,
}

pub(super) struct Beat<'a> {
    pub(super) scheduler: &'a Scheduler,
    pub(super) node: TrackerId,
    pub(super) before: &'a Jobs,
    pub(super) after: &'a Jobs,
    /// The job that the node was reserved for before it.
    pub(super) reserved: PerKind<Option<AppId>>,
    /// Nodes reserved for each job before it.
    pub(super) reserved_nodes: BTreeMap<AppId, PerKind<u32>>,
    pub(super) questions: &'a [Question],
}

pub(super) struct Cluster {
    pub(super) scheduler: Scheduler,
    pub(super) jobs: Jobs,
    pub(super) groups: Vec<GroupId>,
    pub(super) now: Now,
}

#[derive(Clone, Debug)]
pub(super) struct Submission {
    pub(super) group: usize,
    pub(super) user: usize,
    pub(super) priority: u8,
    pub(super) slots_per_task: PerKind<NonZeroU32>,
    /// Hosts with the input of each map, and one where it has failed.
    pub(super) maps: Vec<(Vec<usize>, Option<usize>)>,
    pub(super) reduces: u32,
}

impl Jobs {
    pub(super) fn count(&self, app: AppId, kind: Kind, keep: impl Fn(State) -> bool) -> u32 {
        let of_job = self.tasks.iter().filter(|task| task.app == app && task.kind == kind && keep(task.state));
        of_job.count() as u32
    }

    pub(super) fn waiting(&self, app: AppId, kind: Kind) -> u32 {
        self.count(app, kind, |state| state == State::Waiting)
    }

    pub(super) fn running(&self, app: AppId, kind: Kind) -> u32 {
        self.count(app, kind, |state| matches!(state, State::Running(_)))
    }

    pub(super) fn held(&self, keep: impl Fn(&Task, TrackerId) -> bool) -> u32 {
        let slots = |task: &Task| match task.state {
            State::Running(node) if keep(task, node) => task.slots,
            _ => 0,
        };
        self.tasks.iter().map(slots).sum()
    }

    pub(super) fn free(&self, node: TrackerId) -> PerKind<u32> {
        let free = |kind: Kind| {
            self.nodes[&node].slots[kind].saturating_sub(self.held(|task, on| task.kind == kind && on == node))
        };
        PerKind::new(free(Kind::Map), free(Kind::Reduce))
    }

    pub(super) fn level(&self, node: TrackerId, hosts: &[HostId]) -> Level {
        let host = self.nodes[&node].host;
        if hosts.contains(&host) {
            Level::Node
        } else if hosts.iter().any(|other| self.racks[other] == self.racks[&host]) {
            Level::Rack
        } else {
            Level::Any
        }
    }

    /// Waiting tasks of a job that may run on a node, the nearest first.
    fn candidates(&self, app: AppId, kind: Kind, node: TrackerId) -> Vec<usize> {
        let host = self.nodes[&node].host;
        let can_run = |task: &Task| {
            task.app == app && task.kind == kind && task.state == State::Waiting && task.avoids != Some(host)
        };
        let mut candidates: Vec<usize> = (0..self.tasks.len()).filter(|&task| can_run(&self.tasks[task])).collect();
        candidates.sort_by_key(|&task| self.level(node, &self.tasks[task].hosts));
        candidates
    }

    pub(super) fn nearest(&self, app: AppId, kind: Kind, node: TrackerId) -> Option<Level> {
        let task = *self.candidates(app, kind, node).first()?;
        Some(self.level(node, &self.tasks[task].hosts))
    }

    pub(super) fn start(&mut self, task: usize, node: TrackerId) {
        self.tasks[task].state = State::Running(node);
    }

    pub(super) fn live(&self) -> impl Iterator<Item = (AppId, &Job)> {
        self.jobs.iter().filter(|(_, job)| job.stage != Stage::Removed).map(|(id, job)| (*id, job))
    }

    fn is_done(&self, app: AppId) -> bool {
        self.tasks.iter().all(|task| task.app != app || task.state == State::Done)
    }
}

impl GrantSource for Jobs {
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, distance: Distance) -> GrantResult {
        let nearest = self.candidates(app, kind, node).first().copied();
        let given = nearest.filter(|&task| self.level(node, &self.tasks[task].hosts) <= distance.farthest);
        self.questions.push(Question { app, kind, farthest: distance.farthest, given });
        let Some(task) = given else { return GrantResult::NoTask };
        self.start(task, node);
        let Task { hosts, slots, .. } = self.tasks[task].clone();
        let level = self.level(node, &hosts);
        GrantResult::Task { hosts, level, origin: TaskOrigin::Fresh, slots }
    }
}

impl Beat<'_> {
    /// Each grant, with the jobs just before it, the jobs that were asked in vain until then, and whether the node was
    /// reserved for its job.
    pub(super) fn replay(&self, mut check: impl FnMut(&Jobs, usize, &BTreeSet<(AppId, Kind)>, bool)) {
        let (mut jobs, mut refusing, mut reserved) = (self.before.clone(), BTreeSet::new(), self.reserved);
        for question in self.questions {
            let is_reserved = reserved[question.kind].take() == Some(question.app);
            match question.given {
                Some(task) => {
                    check(&jobs, task, &refusing, is_reserved);
                    jobs.start(task, self.node);
                }
                None => {
                    refusing.insert((question.app, question.kind));
                }
            }
        }
    }

    /// The app for which the node is reserved after it.
    pub(super) fn reserved_after(&self, kind: Kind) -> Option<AppId> {
        self.scheduler.nodes[&self.node].reserved[kind].map(|reservation| reservation.app)
    }
}

impl Cluster {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        Self { scheduler, jobs: Jobs::default(), groups: Vec::new(), now: Now { mono_ms: 1_000, wall_ms: 1_000 } }
    }

    pub(super) fn host(&mut self, number: usize) -> HostId {
        let host = self.scheduler.topology_mut().intern_host(&format!("h{number}"), &format!("/r{}", number % 3));
        self.jobs.racks.insert(host, self.scheduler.topology().rack_of(host));
        host
    }

    pub(super) fn node(&mut self, host: usize, slots: PerKind<u32>) -> TrackerId {
        let host = self.host(host);
        let node = self.scheduler.add_node(host, slots);
        self.jobs.nodes.insert(node, Node { host, slots });
        node
    }

    pub(super) fn submit(&mut self, submission: &Submission) -> AppId {
        let number = self.jobs.jobs.len() as u32 + 1;
        let id = AppId::new(number);
        let spec = AppSpec {
            id,
            group: self.groups[submission.group],
            user: Arc::from(format!("u{}", submission.user)),
            priority: submission.priority,
            start_ms: self.now.wall_ms,
            order: number.into(),
            slots_per_task: submission.slots_per_task,
        };
        self.scheduler.add_app(spec.clone()).unwrap();
        self.jobs.jobs.insert(id, Job { spec: spec.clone(), stage: Stage::Submitted });
        let task = |kind: Kind, hosts: Arc<[HostId]>, avoids| Task {
            app: id,
            kind,
            hosts,
            avoids,
            state: State::Ahead,
            slots: spec.slots_per_task[kind].get(),
        };
        for (hosts, avoids) in &submission.maps {
            let hosts: Arc<[HostId]> = hosts.iter().map(|&host| self.host(host)).collect();
            let avoids = avoids.map(|host| self.host(host));
            self.jobs.tasks.push(task(Kind::Map, hosts, avoids));
        }
        (0..submission.reduces).for_each(|_| self.jobs.tasks.push(task(Kind::Reduce, [].into(), None)));
        self.report(id);
        id
    }

    pub(super) fn begin(&mut self) -> Vec<AppId> {
        let begun = self.scheduler.begin_apps(self.now);
        for id in &begun {
            let job = self.jobs.jobs.get_mut(id).unwrap();
            assert_eq!(job.stage, Stage::Submitted, "{id} begins twice");
            job.stage = Stage::Begun;
        }
        begun
    }

    pub(super) fn set_up(&mut self, id: AppId) {
        self.jobs.jobs.get_mut(&id).unwrap().stage = Stage::SetUp;
        self.report(id);
        for task in 0..self.jobs.tasks.len() {
            if self.jobs.tasks[task].app == id {
                self.request(task);
            }
        }
    }

    fn request(&mut self, task: usize) {
        self.jobs.tasks[task].state = State::Waiting;
        let Task { app, kind, hosts, .. } = self.jobs.tasks[task].clone();
        self.scheduler.request_slots(app, kind, &hosts, 1);
    }

    /// A running task ends, well or not; a job without further tasks is removed.
    pub(super) fn end(&mut self, task: usize, is_done: bool) {
        let Task { app, kind, state, slots, .. } = self.jobs.tasks[task];
        let State::Running(node) = state else { return };
        self.jobs.tasks[task].state = State::Done;
        self.scheduler.remove_running(app, kind, node, slots);
        if self.jobs.jobs[&app].stage == Stage::Removed {
            return;
        }
        if !is_done {
            self.request(task);
        }
        match self.jobs.is_done(app) {
            true => self.remove(app),
            false => self.report(app),
        }
    }

    pub(super) fn remove(&mut self, id: AppId) {
        self.scheduler.remove_app(id);
        self.scheduler.end_app(id);
        self.jobs.jobs.get_mut(&id).unwrap().stage = Stage::Removed;
        let waits = |task: &&mut Task| task.app == id && matches!(task.state, State::Waiting | State::Ahead);
        self.jobs.tasks.iter_mut().filter(waits).for_each(|task| task.state = State::Done);
    }

    pub(super) fn remove_node(&mut self, node: TrackerId) {
        self.scheduler.remove_node(node);
        for task in 0..self.jobs.tasks.len() {
            if self.jobs.tasks[task].state == State::Running(node) {
                self.end(task, false);
            }
        }
        self.jobs.nodes.remove(&node);
    }

    fn report(&mut self, id: AppId) {
        let count = |keep: &dyn Fn(State) -> bool| {
            PerKind::new(self.jobs.count(id, Kind::Map, keep), self.jobs.count(id, Kind::Reduce, keep))
        };
        let pending = count(&|state| matches!(state, State::Ahead | State::Waiting));
        let unfinished = count(&|state| state != State::Done);
        let size = AppSize { tasks: count(&|_| true), unfinished, left: unfinished };
        self.scheduler.set_pending(id, pending);
        if self.jobs.jobs[&id].stage == Stage::SetUp {
            self.scheduler.set_size(id, size);
        }
    }

    /// One heartbeat; `check` sees what it did.
    pub(super) fn beat(&mut self, node: TrackerId, after_ms: u64, check: impl FnOnce(&Beat<'_>)) {
        self.now.mono_ms += after_ms;
        self.now.wall_ms += after_ms as i64;
        self.jobs.questions.clear();
        let before = self.jobs.clone();
        let reservation = |kind: Kind| self.scheduler.nodes[&node].reserved[kind].map(|reservation| reservation.app);
        let reserved = PerKind::new(reservation(Kind::Map), reservation(Kind::Reduce));
        let reserved_nodes = before.live().map(|(id, _)| (id, self.scheduler.reserved_nodes(id))).collect();
        let free = before.free(node);
        let report = self.scheduler.assign_slots(NodeOffer { node, free, now: self.now }, &mut self.jobs);
        let questions = std::mem::take(&mut self.jobs.questions);
        let apps: BTreeSet<AppId> =
            questions.iter().filter(|asked| asked.given.is_some()).map(|asked| asked.app).collect();
        apps.into_iter().for_each(|app| self.report(app));
        let given = questions.iter().filter(|question| question.given.is_some()).count() as u32;
        assert_eq!(given, report.granted.map + report.granted.reduce);
        let scheduler = &self.scheduler;
        check(&Beat {
            scheduler,
            node,
            before: &before,
            after: &self.jobs,
            reserved,
            reserved_nodes,
            questions: &questions,
        });
    }

    /// The scheduler's sums equal a recount, and the task by task one here.
    pub(super) fn check_sums(&self) {
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
