//! A job and its context.

use std::sync::Arc;

use crate::mapreduce::*;
use crate::model::{AttemptId, AttemptState, CounterLimits, Kind, Now, PerKind, TrackerId, Violations};
use crate::scheduler::{AppId, AppSpec, FifoOptions, Scheduler};
use crate::wire::{Phase, RecordRange, ReduceProgress, TaskStatus, Text};

/// A job on trackers that have slots for everything.
pub(crate) struct Stage {
    pub(crate) job: Job,
    pub(crate) facts: Vec<JobFact>,
    pub(crate) now: Now,
    scheduler: Scheduler,
    interner: CounterInterner,
    nodes: NodeRegistry,
    housekeeping: HousekeepingQueue,
}

impl Stage {
    /// A job whose setup has succeeded.
    pub(crate) fn running(maps: u32, reduces: u32) -> Self {
        Self::changed(maps, reduces, |_| {})
    }

    /// A job changed by `change`, whose setup has succeeded.
    pub(crate) fn changed(maps: u32, reduces: u32, change: impl FnOnce(&mut JobSpec)) -> Self {
        let mut scheduler = Scheduler::fifo(FifoOptions::default());
        let group = scheduler.open_group("default");
        let app = AppId::new(1);
        let (user, slots_per_task) = ("u".into(), AppSpec::ONE_SLOT);
        let app_spec = AppSpec { id: app, group, priority: 2, start_ms: 0, order: 1, user, slots_per_task };
        scheduler.add_app(app_spec.clone()).unwrap();
        let mut splits = SplitTable::builder();
        (0..maps).for_each(|map| splits.push(i64::from(map), 100, ["h0"]));
        let mut spec = JobSpec { slowstart_millionths: 0, ..JobSpec::with_defaults("alice", "default", maps, reduces) };
        change(&mut spec);
        let accepted = AcceptedJob {
            first_attempt: 0,
            estimate: crate::mapreduce::JobEstimate::default(),
            plan: None,
            id: "job_1_0001".parse().unwrap(),
            spec: Arc::new(spec),
            splits: Arc::new(splits.build(|_| "/default-rack".into())),
            order: 1,
            submit_ms: 0,
            token_file: Arc::new([]),
            job_xml: Arc::default(),
        };
        let mut housekeeping = HousekeepingQueue::default();
        let mut job = Job::new(&accepted, &app_spec);
        job.begin(scheduler.topology_mut(), &mut housekeeping);
        let mut stage = Self {
            job,
            facts: Vec::new(),
            now: Now { mono_ms: 1_000, wall_ms: 1_000_000 },
            scheduler,
            interner: CounterInterner::default(),
            nodes: NodeRegistry::default(),
            housekeeping,
        };
        let tracker = stage.add_tracker("h0");
        let launch = stage.act(|job, context| job.launch_setup(Kind::Map, tracker, context));
        stage.report(tracker, launch.attempt, AttemptState::Succeeded);
        assert_eq!(stage.job.state(), JobState::Running);
        stage
    }

    pub(crate) fn add_tracker(&mut self, host: &str) -> TrackerId {
        let host_id = self.scheduler.topology_mut().intern_host(host, "/default-rack");
        let tracker = self.scheduler.add_node(host_id, PerKind::new(100, 100));
        let rack = self.scheduler.topology().rack_of(host_id);
        let info = NodeInfo {
            name: host.into(),
            host: host_id,
            rack,
            near: self.scheduler.topology().shared_near(host_id),
            http: format!("http://{host}:50060").into(),
            streaming_only: false,
            free_disk_bytes: None,
        };
        self.nodes.insert(tracker, info);
        tracker
    }

    /// Runs `act` with the job and its context.
    pub(crate) fn act<T>(&mut self, act: impl FnOnce(&mut Job, &mut JobContext<'_>) -> T) -> T {
        let mut context = JobContext {
            scheduler: &mut self.scheduler,
            interner: &mut self.interner,
            nodes: &self.nodes,
            housekeeping: &mut self.housekeeping,
            facts: &mut self.facts,
            counter_limits: CounterLimits::default(),
            violations: &mut Violations::default(),
            now: self.now,
        };
        act(&mut self.job, &mut context)
    }

    /// Launches an attempt of a task on a tracker, whether the task waits for one or not.
    pub(crate) fn launch(&mut self, kind: Kind, number: u32, tracker: TrackerId) -> AttemptId {
        let (launch, _) =
            self.job.launch_task(kind, number, tracker, &self.nodes, self.now, &mut Violations::default());
        self.scheduler.add_running(self.job.app, kind, tracker, launch.slots);
        launch.attempt
    }

    /// Tasks for which slots are requested.
    pub(crate) fn waiting(&self) -> PerKind<u32> {
        self.scheduler.app_waiting(self.job.app)
    }

    /// A report with only a state.
    pub(crate) fn report(&mut self, tracker: TrackerId, attempt: AttemptId, state: AttemptState) -> ReportResult {
        self.report_with(tracker, attempt, state, |_| {})
    }

    pub(crate) fn report_with(
        &mut self,
        tracker: TrackerId,
        attempt: AttemptId,
        state: AttemptState,
        change: impl FnOnce(&mut TaskStatus),
    ) -> ReportResult {
        let kind = attempt.task.kind;
        let mut report = TaskStatus {
            attempt,
            progress: 0.0,
            num_slots: 1,
            state,
            diagnostics: Text::default(),
            state_text: Text::default(),
            phase: if kind == Kind::Map { Phase::Map } else { Phase::Reduce },
            start_ms: 0,
            finish_ms: 0,
            output_bytes: -1,
            counters: None,
            next_record_range: RecordRange::default(),
            reduce: (kind == Kind::Reduce).then(ReduceProgress::default),
        };
        change(&mut report);
        let key = self.job.key_of(attempt.task).unwrap();
        self.act(|job, context| job.apply_report(key, report, tracker, context))
    }
}
