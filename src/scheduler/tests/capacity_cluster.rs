//! A small cluster under the Capacity scheduler: trackers by name, jobs whose tasks are named as they start.
//!
//! `m3/j1` is the third map of job 1 that starts, `r1/j2` the first reduce of job 2. Every map has its input on the rack
//! of all trackers, as in the original's tests, where maps have no locality.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::model::{Decimal, Kind, Now, PerKind, TrackerId};
use crate::scheduler::capacity::{CapacityConfig, SlotMemory, WrittenConfig, WrittenQueue};
use crate::scheduler::*;

pub(super) fn queue(name: &str, capacity: i32) -> WrittenQueue {
    WrittenQueue::with_defaults(name, Some(Decimal::whole(capacity)))
}

#[derive(Clone, Debug)]
pub(super) struct Submission {
    pub(super) queue: &'static str,
    pub(super) user: &'static str,
    pub(super) tasks: PerKind<u32>,
    /// Memory of one task, MB; zero where slots are not sized by memory.
    pub(super) task_mb: PerKind<u64>,
    /// Finished maps from which on reduces may start.
    pub(super) slow_start: u32,
    pub(super) input: Input,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// On the rack of all trackers.
    Near,
    /// On one host of another rack.
    Far,
    /// Splits without hosts.
    Unknown,
}

#[derive(Debug)]
struct Job {
    app: AppId,
    submission: Submission,
    slots: PerKind<NonZeroU32>,
    started: PerKind<u32>,
    finished: PerKind<u32>,
    has_reduces: bool,
    /// Running tasks that may get a second attempt.
    stragglers: PerKind<Vec<String>>,
}

#[derive(Debug)]
struct Jobs {
    jobs: Vec<Job>,
    near: Arc<[HostId]>,
    far: Arc<[HostId]>,
    given: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) scheduler: Scheduler,
    memory: Option<SlotMemory>,
    trackers: BTreeMap<&'static str, (TrackerId, PerKind<u32>)>,
    jobs: Jobs,
    running: BTreeMap<String, (AppId, Kind, &'static str, u32)>,
    now_ms: u64,
}

impl Submission {
    pub(super) fn new(queue: &'static str, user: &'static str, maps: u32, reduces: u32) -> Self {
        let tasks = PerKind::new(maps, reduces);
        Self { queue, user, tasks, task_mb: PerKind::default(), slow_start: 0, input: Input::Near }
    }

    pub(super) fn memory(self, map_mb: u64, reduce_mb: u64) -> Self {
        Self { task_mb: PerKind::new(map_mb, reduce_mb), ..self }
    }
}

impl Input {
    fn level(self) -> Level {
        if self == Input::Near { Level::Rack } else { Level::Any }
    }
}

impl Jobs {
    fn hosts(&self, input: Input) -> Arc<[HostId]> {
        match input {
            Input::Near => Arc::clone(&self.near),
            Input::Far => Arc::clone(&self.far),
            Input::Unknown => Arc::from([]),
        }
    }
}

impl Job {
    fn waiting(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Reduce if !self.has_reduces => 0,
            _ => self.submission.tasks[kind] - self.started[kind],
        }
    }
}

impl GrantSource for Jobs {
    fn take_task(&mut self, app: AppId, kind: Kind, _node: TrackerId, distance: Distance) -> GrantResult {
        let number = app.get();
        let job = &mut self.jobs[number as usize - 1];
        let level = if kind == Kind::Map { job.submission.input.level() } else { Level::Rack };
        // Every running job is asked, as by the original.
        let origin = if level <= distance.farthest && job.waiting(kind) > 0 {
            job.started[kind] += 1;
            let letter = if kind == Kind::Map { 'm' } else { 'r' };
            self.given.push(format!("{letter}{}/j{number}", job.started[kind]));
            TaskOrigin::Fresh
        } else if distance.farthest == Level::Any
            && let Some(straggler) = job.stragglers[kind].pop()
        {
            self.given.push(straggler.replace('/', "'/"));
            TaskOrigin::Speculative
        } else {
            return GrantResult::NoTask;
        };
        let (slots, input) = (job.slots[kind].get(), job.submission.input);
        let hosts = if kind == Kind::Map { self.hosts(input) } else { Arc::from([]) };
        GrantResult::Task { hosts, level, origin, slots }
    }
}

impl Cluster {
    /// A compatible scheduler over these queues. With `slot_mb`, slots are sized by memory.
    pub(super) fn new(queues: Vec<WrittenQueue>, slot_mb: Option<PerKind<u64>>) -> Self {
        Self::with_config(&WrittenConfig { queues, ..WrittenConfig::default() }, slot_mb)
    }

    pub(super) fn with_config(written: &WrittenConfig, slot_mb: Option<PerKind<u64>>) -> Self {
        let names: Vec<String> = written.queues.iter().map(|queue| queue.name.clone()).collect();
        let config = CapacityConfig::new(written).unwrap();
        let mut scheduler = Scheduler::capacity(config, true);
        for name in &names {
            scheduler.open_group(name);
        }
        // Hosts without trackers.
        let near = scheduler.topology_mut().intern_host("near", "/rack");
        let far = scheduler.topology_mut().intern_host("far", "/other-rack");
        Self {
            scheduler,
            memory: slot_mb.map(SlotMemory::new),
            trackers: BTreeMap::new(),
            jobs: Jobs { jobs: Vec::new(), near: Arc::from([near]), far: Arc::from([far]), given: Vec::new() },
            running: BTreeMap::new(),
            now_ms: 0,
        }
    }

    /// The original's fixture: two trackers with two map slots and one reduce slot each.
    pub(super) fn of_two(queues: Vec<WrittenQueue>) -> Self {
        let mut cluster = Self::new(queues, None);
        cluster.add_trackers(2, 2, 1);
        cluster
    }

    /// Adds `tt1` to `tt5`, as many as wanted.
    pub(super) fn add_trackers(&mut self, count: usize, maps: u32, reduces: u32) {
        ["tt1", "tt2", "tt3", "tt4", "tt5"][..count].iter().for_each(|name| self.add_tracker(name, maps, reduces));
    }

    pub(super) fn add_tracker(&mut self, name: &'static str, maps: u32, reduces: u32) {
        let host = self.scheduler.topology_mut().intern_host(name, "/rack");
        let slots = PerKind::new(maps, reduces);
        let id = self.scheduler.add_node(host, slots);
        self.trackers.insert(name, (id, slots));
    }

    /// Submits a job that is running at once; its number.
    pub(super) fn submit(&mut self, submission: Submission) -> usize {
        let number = self.jobs.jobs.len() + 1;
        let app = AppId::new(number as u32);
        let one = |kind: Kind| match &self.memory {
            Some(memory) => NonZeroU32::new(memory.slots_per_task(kind, submission.task_mb[kind])).unwrap(),
            None => NonZeroU32::MIN,
        };
        let slots = PerKind::new(one(Kind::Map), one(Kind::Reduce));
        self.scheduler
            .add_app(AppSpec {
                id: app,
                group: self.scheduler.group(submission.queue).unwrap(),
                user: Arc::from(submission.user),
                priority: 2,
                start_ms: number as i64,
                order: number as u64,
                slots_per_task: slots,
            })
            .unwrap();
        let none = PerKind::default();
        let stragglers = PerKind::default();
        let job = Job { app, submission, slots, started: none, finished: none, has_reduces: false, stragglers };
        let (maps, input) = (job.submission.tasks.map, self.jobs.hosts(job.submission.input));
        self.jobs.jobs.push(job);
        self.report_counts(number);
        self.scheduler.request_slots(app, Kind::Map, &input, maps);
        self.request_reduces(number);
        number
    }

    /// One heartbeat; the tasks that it was given, in order.
    pub(super) fn beat(&mut self, tracker: &'static str) -> Vec<String> {
        let (node, slots) = self.trackers[tracker];
        let used = |kind| {
            let here = self.running.values().filter(|(_, of_kind, on, _)| *of_kind == kind && *on == tracker);
            here.map(|(_, _, _, slots)| *slots).sum::<u32>()
        };
        let free = PerKind::new(slots.map - used(Kind::Map), slots.reduce - used(Kind::Reduce));
        self.now_ms += 3000;
        let now = Now { mono_ms: self.now_ms, wall_ms: self.now_ms as i64 };
        self.scheduler.assign_slots(NodeOffer { node, free, now }, &mut self.jobs);
        let given = std::mem::take(&mut self.jobs.given);
        for name in &given {
            let (kind, number) = parse(name);
            let job = &self.jobs.jobs[number - 1];
            self.running.insert(name.clone(), (job.app, kind, tracker, job.slots[kind].get()));
            self.report_counts(number);
        }
        given
    }

    pub(super) fn finish(&mut self, name: &str) {
        let (app, kind, tracker, slots) = self.running.remove(name).unwrap();
        let (_, number) = parse(name);
        self.jobs.jobs[number - 1].finished[kind] += 1;
        self.scheduler.remove_running(app, kind, self.trackers[tracker].0, slots);
        self.report_counts(number);
        self.request_reduces(number);
    }

    /// A running task turns out to be slow: a second attempt of it, `m1'/j1` of `m1/j1`, waits for a slot.
    pub(super) fn speculate(&mut self, name: &str) {
        let (app, kind, ..) = self.running[name];
        let (_, number) = parse(name);
        let job = &mut self.jobs.jobs[number - 1];
        job.stragglers[kind].push(name.to_owned());
        let input = job.submission.input;
        let hosts = if kind == Kind::Map { self.jobs.hosts(input) } else { Arc::from([]) };
        self.scheduler.request_slots(app, kind, &hosts, 1);
    }

    /// An attempt ends because another one of its task has succeeded.
    pub(super) fn kill(&mut self, name: &str) {
        let (app, kind, tracker, slots) = self.running.remove(name).unwrap();
        self.scheduler.remove_running(app, kind, self.trackers[tracker].0, slots);
    }

    /// The end of the job is decided; its cleanup has yet to run.
    pub(super) fn kill_job(&mut self, number: usize) {
        self.scheduler.remove_app(AppId::new(number as u32));
        self.report_counts(number);
    }

    /// The job ends, with attempts that still hold slots of their trackers.
    pub(super) fn end_job(&mut self, number: usize) {
        self.scheduler.remove_app(AppId::new(number as u32));
        self.scheduler.end_app(AppId::new(number as u32));
    }

    pub(super) fn job_report(&self, number: usize) -> String {
        self.scheduler.app_report(AppId::new(number as u32)).unwrap()
    }

    pub(super) fn queue_report(&self, queue: &str) -> String {
        self.scheduler.group_report(self.scheduler.group(queue).unwrap()).unwrap()
    }

    fn request_reduces(&mut self, number: usize) {
        let job = &mut self.jobs.jobs[number - 1];
        if !job.has_reduces && job.finished.map >= job.submission.slow_start {
            job.has_reduces = true;
            self.scheduler.request_slots(job.app, Kind::Reduce, &[], job.submission.tasks.reduce);
        }
    }

    fn report_counts(&mut self, number: usize) {
        let Job { app, submission, started, finished, .. } = &self.jobs.jobs[number - 1];
        let of = |left: &dyn Fn(Kind) -> u32| PerKind::new(left(Kind::Map), left(Kind::Reduce));
        let unfinished = of(&|kind| submission.tasks[kind] - finished[kind]);
        let pending = of(&|kind| submission.tasks[kind] - started[kind]);
        self.scheduler.set_size(*app, AppSize { tasks: submission.tasks, unfinished, left: unfinished });
        self.scheduler.set_pending(*app, pending);
    }
}

fn parse(name: &str) -> (Kind, usize) {
    let kind = if name.starts_with('m') { Kind::Map } else { Kind::Reduce };
    (kind, name.split_once("/j").unwrap().1.parse().unwrap())
}
