//! Trackers that call at their times, jobs whose tasks last as long as the test says, and a clock.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Kind, Now, PerKind, TrackerId};
use crate::scheduler::constraint::{AppDeadline, ConstraintConfig, JobPlan, JobWork, TimedWork};
use crate::scheduler::tests::kit::{Cluster, State, Task, assert_sound};
use crate::scheduler::{AppId, AppRefusal, AppSize, AppSpec, NewApp, Scheduler};

pub(super) const HEARTBEAT_MS: u64 = 3_000;
/// Between the heartbeats of a tracker and the next, ms.
const OFFSET_MS: u64 = 300;
const TICK_MS: u64 = 1_000;
const START_MS: i64 = 1_700_000_000_000;

pub(super) struct VirtualCluster {
    kit: Cluster,
    trackers: Vec<TrackerId>,
    jobs: BTreeMap<AppId, JobState>,
    /// When each task ends, once it runs, by its place.
    end_ms: BTreeMap<usize, u64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct JobPlanned {
    pub(super) tasks: PerKind<u32>,
    pub(super) task_ms: PerKind<u64>,
    /// After the submission; none: it has none.
    pub(super) deadline_ms: Option<u64>,
    /// What is believed of its work.
    pub(super) work: JobWork,
}

struct JobState {
    plan: JobPlanned,
    ended_ms: PerKind<Option<u64>>,
    most_at_a_time: PerKind<u32>,
}

impl VirtualCluster {
    pub(super) fn new(config: ConstraintConfig, trackers: usize, slots: PerKind<u32>) -> Self {
        let now = Now { mono_ms: 0, wall_ms: START_MS };
        let mut kit = Cluster { now, ..Cluster::new(Scheduler::constraint(config)) };
        let tracker = |number| {
            let host = kit.host_in(&format!("host{number}"), "/rack");
            kit.add_node(host, slots)
        };
        let trackers = (0..trackers).map(tracker).collect();
        Self { kit, trackers, jobs: BTreeMap::new(), end_ms: BTreeMap::new() }
    }

    fn timed(&self, plan: &JobPlanned) -> Option<TimedWork> {
        let arrival_us = self.kit.now.wall_ms * 1_000;
        let deadline_us = arrival_us + plan.deadline_ms? as i64 * 1_000;
        Some(TimedWork { work: plan.work, arrival_us, now_us: arrival_us, deadline_us })
    }

    pub(super) fn check(&mut self, plan: &JobPlanned) -> Result<Option<JobPlan>, AppRefusal> {
        let group = self.kit.scheduler.open_group("default");
        let deadline = self.timed(plan);
        self.kit.scheduler.check_new_app(&NewApp { name: "job_1", group, user: "u", tasks: 1, deadline })
    }

    pub(super) fn submit(&mut self, plan: JobPlanned) -> AppId {
        let promised = self.check(&plan).unwrap_or_default();
        let id = AppId::new(self.jobs.len() as u32 + 1);
        let group = self.kit.scheduler.open_group("default");
        let deadline = self.timed(&plan);
        let start_ms = self.kit.now.wall_ms;
        let spec = AppSpec { start_ms, order: u64::from(id.get()), ..AppSpec::plain(id, group) };
        self.kit.add_job(spec);
        let due = |timed: TimedWork| AppDeadline { due_us: timed.deadline_us, work: timed.work, plan: promised };
        self.kit.scheduler.set_deadline(id, deadline.map(due));
        self.kit.scheduler.begin_apps(self.kit.now);
        self.kit.scheduler.set_size(id, AppSize { tasks: plan.tasks, unfinished: plan.tasks, left: plan.tasks });
        Kind::ALL.into_iter().for_each(|kind| self.kit.add_tasks(id, kind, &[], plan.tasks[kind], &BTreeSet::new()));
        let (ended_ms, most_at_a_time) = (PerKind::default(), PerKind::default());
        self.jobs.insert(id, JobState { plan, ended_ms, most_at_a_time });
        id
    }

    pub(super) fn lose_tracker(&mut self) {
        let node = self.trackers.pop().unwrap();
        self.remove_idle(node);
    }

    /// A tracker that runs nothing leaves and comes back with these slots.
    pub(super) fn change_tracker(&mut self, number: usize, slots: PerKind<u32>) {
        self.remove_idle(self.trackers[number]);
        let host = self.kit.host_in(&format!("host{number}"), "/rack");
        self.trackers[number] = self.kit.add_node(host, slots);
    }

    fn remove_idle(&mut self, node: TrackerId) {
        assert!(self.kit.jobs.tasks_in(|state| state == State::Running(node)).is_empty());
        self.kit.scheduler.remove_node(node);
    }

    pub(super) fn run_until(&mut self, until_ms: u64) {
        while self.kit.now.mono_ms < until_ms {
            if self.kit.now.mono_ms.is_multiple_of(TICK_MS) {
                self.kit.scheduler.tick(self.kit.now);
            }
            for number in 0..self.trackers.len() {
                let offset_ms = number as u64 * OFFSET_MS;
                if self.kit.now.mono_ms >= offset_ms && (self.kit.now.mono_ms - offset_ms).is_multiple_of(HEARTBEAT_MS)
                {
                    self.beat(number);
                }
            }
            self.kit.advance_ms(100);
        }
    }

    /// A heartbeat: what has ended is reported, free slots are filled.
    fn beat(&mut self, number: usize) {
        let node = self.trackers[number];
        for task in self.kit.jobs.tasks_in(|state| state == State::Running(node)) {
            if self.end_ms[&task] <= self.kit.now.mono_ms {
                self.end(task);
            }
        }
        let (_, questions) = self.kit.offer(node);
        for (app, kind, task) in questions.iter().filter_map(|asked| Some((asked.app, asked.kind, asked.given?))) {
            let job = self.jobs.get_mut(&app).unwrap();
            let has_maps = self.kit.jobs.count_of(app, |state| state != State::Done).map > 0;
            assert!(kind == Kind::Map || job.plan.deadline_ms.is_none() || !has_maps, "a reduce before the last map");
            self.end_ms.insert(task, self.kit.now.mono_ms + job.plan.task_ms[kind]);
            job.most_at_a_time[kind] = job.most_at_a_time[kind].max(self.kit.jobs.running(app, kind));
        }
        assert_sound(&mut self.kit.scheduler);
    }

    fn end(&mut self, task: usize) {
        assert!(self.kit.stop(task));
        let Task { app, kind, .. } = self.kit.jobs.tasks[task];
        let unfinished = self.kit.jobs.count_of(app, |state| state != State::Done);
        let job = self.jobs.get_mut(&app).unwrap();
        if unfinished[kind] == 0 {
            job.ended_ms[kind] = Some(self.kit.now.mono_ms);
        }
        let tasks = job.plan.tasks;
        self.kit.scheduler.set_size(app, AppSize { tasks, unfinished, left: unfinished });
        if unfinished == PerKind::default() {
            self.kit.scheduler.remove_app(app);
            self.kit.scheduler.end_app(app);
        }
    }

    pub(super) fn ended_ms(&self, job: AppId, kind: Kind) -> Option<u64> {
        self.jobs[&job].ended_ms[kind]
    }

    pub(super) fn most_at_a_time(&self, job: AppId) -> (u32, u32) {
        let most = self.jobs[&job].most_at_a_time;
        (most.map, most.reduce)
    }

    pub(super) fn running(&self, job: AppId) -> (u32, u32) {
        let running = self.kit.scheduler.app_running(job);
        (running.map, running.reduce)
    }

    pub(super) fn report(&self, job: AppId) -> Option<String> {
        self.kit.scheduler.app_report(job)
    }
}
