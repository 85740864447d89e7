//! What jobs go through under policies that limit and refuse: submitted, begun, set up, removed; and what one heartbeat did.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::{Kind, PerKind, TrackerId};
use crate::scheduler::*;

use crate::scheduler::tests::kit::Task;
pub(super) use crate::scheduler::tests::kit::{Cluster, Job, Jobs, Node, Question, Stage, State};

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
    pub(super) fn host(&mut self, number: usize) -> HostId {
        self.host_in(&format!("h{number}"), &format!("/r{}", number % 3))
    }

    pub(super) fn node(&mut self, host: usize, slots: PerKind<u32>) -> TrackerId {
        let host = self.host(host);
        self.add_node(host, slots)
    }

    pub(super) fn submit(&mut self, submission: &Submission) -> AppId {
        let number = self.jobs.jobs.len() as u32 + 1;
        let id = self.add_job(AppSpec {
            id: AppId::new(number),
            group: self.groups[submission.group],
            user: Arc::from(format!("u{}", submission.user)),
            priority: submission.priority,
            start_ms: self.now.wall_ms,
            order: number.into(),
            slots_per_task: submission.slots_per_task,
        });
        let slots = |kind| submission.slots_per_task[kind].get();
        let task = |kind, hosts, avoids| Task { app: id, kind, hosts, avoids, state: State::Ahead, slots: slots(kind) };
        for (hosts, avoids) in &submission.maps {
            let hosts: Arc<[HostId]> = hosts.iter().map(|&host| self.host(host)).collect();
            let avoids = avoids.iter().map(|&host| self.host(host)).collect();
            self.jobs.tasks.push(task(Kind::Map, hosts, avoids));
        }
        let reduces = (0..submission.reduces).map(|_| task(Kind::Reduce, [].into(), BTreeSet::new()));
        self.jobs.tasks.extend(reduces);
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
        let app = self.jobs.tasks[task].app;
        if !self.stop(task) || self.jobs.jobs[&app].stage == Stage::Removed {
            return;
        }
        if !is_done {
            self.request(task);
        }
        match self.jobs.count(|task| task.app == app && task.state != State::Done) == 0 {
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
        self.jobs.tasks_in(|state| state == State::Running(node)).into_iter().for_each(|task| self.end(task, false));
        self.jobs.nodes.remove(&node);
    }

    fn report(&mut self, id: AppId) {
        let pending = self.jobs.count_of(id, |state| matches!(state, State::Ahead | State::Waiting));
        let unfinished = self.jobs.count_of(id, |state| state != State::Done);
        let size = AppSize { tasks: self.jobs.count_of(id, |_| true), unfinished, left: unfinished };
        self.scheduler.set_pending(id, pending);
        if self.jobs.jobs[&id].stage == Stage::SetUp {
            self.scheduler.set_size(id, size);
        }
    }

    /// One heartbeat; `check` sees what it did.
    pub(super) fn beat(&mut self, node: TrackerId, after_ms: u64, check: impl FnOnce(&Beat<'_>)) {
        self.advance_ms(after_ms);
        let before = self.jobs.clone();
        let reservation = |kind: Kind| self.scheduler.nodes[&node].reserved[kind].map(|reservation| reservation.app);
        let reserved = PerKind::new(reservation(Kind::Map), reservation(Kind::Reduce));
        let reserved_nodes = before.live().map(|(id, _)| (id, self.scheduler.reserved_nodes(id))).collect();
        let (_, questions) = self.offer(node);
        let apps: BTreeSet<AppId> =
            questions.iter().filter(|asked| asked.given.is_some()).map(|asked| asked.app).collect();
        apps.into_iter().for_each(|app| self.report(app));
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
}
