//! Trackers that call at their times, jobs whose tasks last as long as the test says, and a clock.

use std::collections::BTreeMap;

use crate::model::{Kind, Now, PerKind, TrackerId, Violations};
use crate::scheduler::constraint::{AppDeadline, ConstraintConfig, JobPlan, JobWork, TimedWork};
use crate::scheduler::{
    AppId, AppRefusal, AppSize, AppSpec, Distance, GrantResult, GrantSource, HostId, Level, NewApp, NodeOffer,
    Scheduler, TaskOrigin,
};

pub(super) const HEARTBEAT_MS: u64 = 3_000;
/// Between the heartbeats of a tracker and the next, ms.
const OFFSET_MS: u64 = 300;
const TICK_MS: u64 = 1_000;
const START_MS: i64 = 1_700_000_000_000;

pub(super) struct VirtualCluster {
    scheduler: Scheduler,
    jobs: Jobs,
    trackers: Vec<(TrackerId, PerKind<u32>)>,
    now_ms: u64,
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

#[derive(Default)]
struct Jobs {
    jobs: BTreeMap<AppId, JobState>,
    running: Vec<RunningTask>,
    now_ms: u64,
}

struct JobState {
    plan: JobPlanned,
    waiting: PerKind<u32>,
    unfinished: PerKind<u32>,
    ended_ms: PerKind<Option<u64>>,
    most_at_a_time: PerKind<u32>,
}

struct RunningTask {
    app: AppId,
    kind: Kind,
    node: TrackerId,
    end_ms: u64,
}

impl GrantSource for Jobs {
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, _: Distance) -> GrantResult {
        let Some(job) = self.jobs.get_mut(&app).filter(|job| job.waiting[kind] > 0) else { return GrantResult::NoTask };
        assert!(
            kind == Kind::Map || job.plan.deadline_ms.is_none() || job.unfinished.map == 0,
            "a reduce before the last map"
        );
        job.waiting[kind] -= 1;
        self.running.push(RunningTask { app, kind, node, end_ms: self.now_ms + job.plan.task_ms[kind] });
        let running = self.running.iter().filter(|task| task.app == app && task.kind == kind).count() as u32;
        job.most_at_a_time[kind] = job.most_at_a_time[kind].max(running);
        GrantResult::Task { hosts: [].into(), level: Level::Any, origin: TaskOrigin::Fresh, slots: 1 }
    }
}

impl VirtualCluster {
    pub(super) fn new(config: ConstraintConfig, trackers: usize, slots: PerKind<u32>) -> Self {
        let mut scheduler = Scheduler::constraint(config);
        let trackers = (0..trackers).map(|number| {
            let host: HostId = scheduler.topology_mut().intern_host(&format!("host{number}"), "/rack");
            (scheduler.add_node(host, slots), slots)
        });
        let trackers = trackers.collect();
        Self { scheduler, jobs: Jobs::default(), trackers, now_ms: 0 }
    }

    fn now(&self) -> Now {
        Now { mono_ms: self.now_ms, wall_ms: START_MS + self.now_ms as i64 }
    }

    fn timed(&self, plan: &JobPlanned) -> Option<TimedWork> {
        let arrival_us = self.now().wall_ms * 1_000;
        let deadline_us = arrival_us + plan.deadline_ms? as i64 * 1_000;
        Some(TimedWork { work: plan.work, arrival_us, now_us: arrival_us, deadline_us })
    }

    pub(super) fn check(&mut self, plan: &JobPlanned) -> Result<Option<JobPlan>, AppRefusal> {
        let group = self.scheduler.open_group("default");
        let deadline = self.timed(plan);
        self.scheduler.check_new_app(&NewApp { name: "job_1", group, user: "u", tasks: 1, deadline })
    }

    pub(super) fn submit(&mut self, plan: JobPlanned) -> AppId {
        let promised = self.check(&plan).unwrap_or_default();
        let id = AppId::new(self.jobs.jobs.len() as u32 + 1);
        let group = self.scheduler.open_group("default");
        let deadline = self.timed(&plan);
        let start_ms = self.now().wall_ms;
        let spec = AppSpec { start_ms, order: u64::from(id.get()), ..AppSpec::plain(id, group) };
        self.scheduler.add_app(spec).unwrap();
        let due = |timed: TimedWork| AppDeadline { due_us: timed.deadline_us, work: timed.work, plan: promised };
        self.scheduler.set_deadline(id, deadline.map(due));
        self.scheduler.begin_apps(self.now());
        self.scheduler.set_size(id, AppSize { tasks: plan.tasks, unfinished: plan.tasks, left: plan.tasks });
        Kind::ALL.into_iter().for_each(|kind| self.scheduler.request_slots(id, kind, &[], plan.tasks[kind]));
        let (waiting, unfinished) = (plan.tasks, plan.tasks);
        let (ended_ms, most_at_a_time) = (PerKind::default(), PerKind::default());
        self.jobs.jobs.insert(id, JobState { plan, waiting, unfinished, ended_ms, most_at_a_time });
        id
    }

    pub(super) fn lose_tracker(&mut self) {
        let (node, _) = self.trackers.pop().unwrap();
        assert!(self.jobs.running.iter().all(|task| task.node != node));
        self.scheduler.remove_node(node);
    }

    /// A tracker that runs nothing leaves and comes back with these slots.
    pub(super) fn change_tracker(&mut self, number: usize, slots: PerKind<u32>) {
        let (node, _) = self.trackers[number];
        assert!(self.jobs.running.iter().all(|task| task.node != node));
        self.scheduler.remove_node(node);
        let host = self.scheduler.topology_mut().intern_host(&format!("host{number}"), "/rack");
        self.trackers[number] = (self.scheduler.add_node(host, slots), slots);
    }

    pub(super) fn run_until(&mut self, until_ms: u64) {
        while self.now_ms < until_ms {
            if self.now_ms.is_multiple_of(TICK_MS) {
                self.scheduler.tick(self.now());
            }
            for number in 0..self.trackers.len() {
                let offset_ms = number as u64 * OFFSET_MS;
                if self.now_ms >= offset_ms && (self.now_ms - offset_ms).is_multiple_of(HEARTBEAT_MS) {
                    self.beat(number);
                }
            }
            self.now_ms += 100;
        }
    }

    /// A heartbeat: what has ended is reported, free slots are filled.
    fn beat(&mut self, number: usize) {
        let (node, slots) = self.trackers[number];
        let (ended, running) = std::mem::take(&mut self.jobs.running)
            .into_iter()
            .partition(|task| task.node == node && task.end_ms <= self.now_ms);
        self.jobs.running = running;
        let ended: Vec<RunningTask> = ended;
        ended.into_iter().for_each(|task| self.end(&task));
        let running =
            |kind: Kind| self.jobs.running.iter().filter(|task| task.node == node && task.kind == kind).count() as u32;
        let free = PerKind::new(slots.map - running(Kind::Map), slots.reduce - running(Kind::Reduce));
        self.jobs.now_ms = self.now_ms;
        let offer = NodeOffer { node, free, now: self.now() };
        self.scheduler.assign_slots(offer, &mut self.jobs);
        let mut violations = Violations::default();
        self.scheduler.report_violations(&mut violations);
        self.scheduler.check_sums(&mut violations);
        assert!(violations.is_empty());
    }

    fn end(&mut self, task: &RunningTask) {
        let Some(job) = self.jobs.jobs.get_mut(&task.app) else { return };
        job.unfinished[task.kind] -= 1;
        if job.unfinished[task.kind] == 0 {
            job.ended_ms[task.kind] = Some(self.now_ms);
        }
        let (tasks, unfinished) = (job.plan.tasks, job.unfinished);
        self.scheduler.remove_running(task.app, task.kind, task.node, 1);
        self.scheduler.set_size(task.app, AppSize { tasks, unfinished, left: unfinished });
        if unfinished == PerKind::default() {
            self.scheduler.remove_app(task.app);
            self.scheduler.end_app(task.app);
        }
    }

    pub(super) fn ended_ms(&self, job: AppId, kind: Kind) -> Option<u64> {
        self.jobs.jobs[&job].ended_ms[kind]
    }

    pub(super) fn most_at_a_time(&self, job: AppId) -> (u32, u32) {
        let most = self.jobs.jobs[&job].most_at_a_time;
        (most.map, most.reduce)
    }

    pub(super) fn running(&self, job: AppId) -> (u32, u32) {
        let running = self.scheduler.app_running(job);
        (running.map, running.reduce)
    }

    pub(super) fn report(&self, job: AppId) -> Option<String> {
        self.scheduler.app_report(job)
    }
}
