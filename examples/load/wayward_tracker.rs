//! A tracker whose tasks end as they are told to, well or badly.

use crate::fake_tracker::{Slots, usual_resources};

use jobtracker::model::{AttemptId, AttemptState, Kind};
use jobtracker::wire::{
    Action, Counter, CounterGroup, Counters, HealthStatus, HeartbeatRequest, HeartbeatResponse, Phase, RecordRange,
    ReduceProgress, ReportedCounters, Task, TaskStatus, TaskTrackerStatus, Text,
};

/// What a task does until the next heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nothing new.
    Wait,
    /// Its next step towards success.
    Advance,
    /// It throws.
    Fail,
    /// Its process ends, and what it left must be removed.
    FailUnclean,
    /// It is ended from outside, and what it left must be removed.
    DieUnclean,
    /// It is ended from outside before it left anything.
    Die,
}

/// What a task is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A part of its job.
    Work,
    /// Cleaning up after an attempt.
    TaskCleanup,
    /// Setting up or cleaning up its job.
    Housekeeping,
}

/// A task of a tracker.
#[derive(Clone, Debug)]
pub struct WaywardTask {
    /// Its attempt.
    pub attempt: AttemptId,
    /// What it is for.
    pub role: Role,
    /// Its state.
    pub state: AttemptState,
    /// Quarters of it that are done.
    pub quarters: u8,
    /// Has leave to commit.
    may_commit: bool,
    /// Maps whose output it could not fetch, not told yet.
    failed_fetches: Vec<AttemptId>,
    diagnostics: &'static str,
}

/// The tracker.
#[derive(Clone, Debug)]
pub struct WaywardTracker {
    name: Text,
    host: Text,
    http_port: i32,
    slots: Slots,
    response_id: i16,
    is_registered: bool,
    is_restarted: bool,
    /// What it runs or has not told the end of.
    pub tasks: Vec<WaywardTask>,
    /// Maps it has the output of.
    pub outputs: Vec<AttemptId>,
    /// Outputs that are gone, not told yet.
    lost_outputs: Vec<AttemptId>,
    /// Maps whose output went when it lost everything.
    gone: Vec<AttemptId>,
    unanswered: Option<HeartbeatRequest>,
}

/// By the trackers' clocks; no JobTracker compares it with its own.
const START_MS: i64 = 1_795_252_000_000;
const RUN_MS: i64 = 30_000;

// === impl WaywardTracker ===

impl WaywardTracker {
    /// A tracker of that number on that host, that has not called yet.
    pub fn new(number: u32, host: &str, slots: Slots) -> Self {
        Self {
            name: format!("tracker_{host}:localhost/127.0.0.1:{}", 20_000 + number).into(),
            host: host.into(),
            http_port: 50_060 + number as i32,
            slots,
            response_id: -1,
            is_registered: false,
            is_restarted: true,
            tasks: Vec::new(),
            outputs: Vec::new(),
            lost_outputs: Vec::new(),
            gone: Vec::new(),
            unanswered: None,
        }
    }

    /// Everything it ran and held is gone; a new process (or with `reinit` the old one) registers with the next heartbeat.
    pub fn restart(&mut self, reinit: bool) {
        // A map that it was about to tell of may be done for the JobTracker.
        self.gone.extend(self.tasks.drain(..).map(|task| task.attempt));
        self.gone.append(&mut self.outputs);
        self.gone.append(&mut self.lost_outputs);
        self.unanswered = None;
        self.is_registered = false;
        self.is_restarted = !reinit;
        if !reinit {
            self.response_id = -1;
        }
    }

    /// The attempts it had, or had the output of, when it last lost everything.
    pub fn forget_lost(&mut self) -> Vec<AttemptId> {
        std::mem::take(&mut self.gone)
    }

    /// Maps whose end it is telling of, or has told of.
    pub fn ended_maps(&self) -> Vec<AttemptId> {
        let ended = self.tasks.iter().filter(|task| !task.is_kept()).map(|task| task.attempt);
        ended.filter(|attempt| attempt.task.kind == Kind::Map).chain(self.outputs.iter().copied()).collect()
    }

    /// Whether its last heartbeat is still to be answered.
    pub fn is_unanswered(&self) -> bool {
        self.unanswered.is_some()
    }

    /// Gives it other slots.
    pub fn set_slots(&mut self, slots: Slots) {
        self.slots = slots;
    }

    /// Says with the next heartbeat that the output of a map is gone.
    pub fn lose_output(&mut self, attempt: AttemptId) {
        self.outputs.retain(|output| *output != attempt);
        self.lost_outputs.push(attempt);
    }

    /// Says with the next heartbeat that a reduce cannot fetch the output of these maps.
    pub fn fail_fetches(&mut self, reduce: AttemptId, maps: &[AttemptId]) {
        for task in self.tasks.iter_mut().filter(|task| task.attempt == reduce) {
            task.failed_fetches.extend(maps);
        }
    }

    /// The next heartbeat: the last one again when it was not answered, else every task does what its fate says.
    pub fn heartbeat(&mut self, mut fate: impl FnMut(&WaywardTask) -> Fate) -> HeartbeatRequest {
        if let Some(request) = &self.unanswered {
            return request.clone();
        }
        for task in &mut self.tasks {
            let fate = fate(task);
            task.advance(fate);
        }
        let is_free = |kind: Kind, slots: i32| {
            self.tasks.iter().filter(|task| task.attempt.task.kind == kind && task.is_kept()).count() < slots as usize
        };
        // The original does not count an attempt that waits for its commit, ours does; neither gives work to one that
        // asks for none.
        let commits = self.tasks.iter().any(|task| task.state == AttemptState::CommitPending);
        let has_room = is_free(Kind::Map, self.slots.maps) || is_free(Kind::Reduce, self.slots.reduces);
        // Losses first: what else is told may be the end of those who read.
        let mut reports: Vec<TaskStatus> = self.lost_outputs.drain(..).map(lost_output).collect();
        reports.extend(self.tasks.iter_mut().map(WaywardTask::report));
        let request = HeartbeatRequest {
            status: TaskTrackerStatus {
                name: self.name.clone(),
                host: self.host.clone(),
                http_port: self.http_port,
                task_failures: 0,
                dir_failures: 0,
                max_map_slots: self.slots.maps,
                max_reduce_slots: self.slots.reduces,
                resources: usual_resources(),
                tasks: reports,
                health: HealthStatus { healthy: true, report: Text::default(), last_reported_ms: 0 },
            },
            restarted: self.is_restarted,
            initial_contact: !self.is_registered,
            accept_new_tasks: has_room && !commits,
            response_id: self.response_id,
        };
        self.unanswered = Some(request.clone());
        request
    }

    /// Does what the answer says.
    pub fn obey(&mut self, answer: &HeartbeatResponse) {
        self.unanswered = None;
        self.is_registered = true;
        self.is_restarted = false;
        self.response_id = answer.response_id;
        let done = self.tasks.iter().filter(|task| task.is_finished_map()).map(|task| task.attempt);
        self.outputs.extend(done);
        self.tasks.retain(WaywardTask::is_kept);
        for action in &answer.actions {
            match action {
                Action::LaunchTask(task) => self.tasks.push(WaywardTask::new(task)),
                Action::KillTask(attempt) => {
                    let named = self.tasks.iter_mut().filter(|task| task.attempt == *attempt);
                    named.for_each(WaywardTask::kill);
                    self.outputs.retain(|output| output != attempt);
                }
                Action::KillJob(job) => {
                    self.tasks.retain(|task| task.attempt.task.job != *job);
                    self.outputs.retain(|output| output.task.job != *job);
                    self.lost_outputs.retain(|output| output.task.job != *job);
                }
                Action::CommitTask(attempt) => {
                    let named = self.tasks.iter_mut().filter(|task| task.attempt == *attempt);
                    named.for_each(|task| task.may_commit = true);
                }
                Action::ReinitTracker => self.restart(true),
            }
        }
    }
}

// === impl WaywardTask ===

impl WaywardTask {
    /// Whether its process was seen to run.
    pub fn has_begun(&self) -> bool {
        self.state != AttemptState::Unassigned
    }

    fn new(task: &Task) -> Self {
        let role = match () {
            () if task.task_cleanup => Role::TaskCleanup,
            () if task.is_ordinary() => Role::Work,
            () => Role::Housekeeping,
        };
        Self {
            attempt: task.status.attempt,
            role,
            state: task.status.state,
            quarters: 0,
            may_commit: false,
            failed_fetches: Vec::new(),
            diagnostics: "",
        }
    }

    fn advance(&mut self, fate: Fate) {
        use AttemptState as S;
        let before = self.state;
        self.state = match (self.state, fate) {
            (state, Fate::Wait) => state,
            // What cleans up after an attempt comes to that attempt's end.
            (S::FailedUnclean, _) => {
                if self.role == Role::TaskCleanup {
                    S::Failed
                } else {
                    S::FailedUnclean
                }
            }
            (S::KilledUnclean, _) => {
                if self.role == Role::TaskCleanup {
                    S::Killed
                } else {
                    S::KilledUnclean
                }
            }
            (S::Unassigned, Fate::Advance) => S::Running,
            (S::Running, Fate::Advance) if self.quarters < 2 && self.role == Role::Work => S::Running,
            (S::Running, Fate::Advance) if self.role == Role::Work && self.attempt.task.kind == Kind::Reduce => {
                S::CommitPending
            }
            (S::Running, Fate::Advance) => S::Succeeded,
            (S::CommitPending, Fate::Advance) => {
                if self.may_commit {
                    S::Succeeded
                } else {
                    S::CommitPending
                }
            }
            (S::Unassigned | S::Running | S::CommitPending, Fate::Fail) => S::Failed,
            (S::Running | S::CommitPending, Fate::FailUnclean) if self.role == Role::Work => S::FailedUnclean,
            (S::Running | S::CommitPending, Fate::DieUnclean) if self.role == Role::Work => S::KilledUnclean,
            (S::Unassigned | S::Running | S::CommitPending, _) => S::Killed,
            (state @ (S::Succeeded | S::Failed | S::Killed), _) => state,
        };
        if self.state == S::Running && before == S::Running && fate == Fate::Advance {
            self.quarters += 1;
        }
        if self.state != before && matches!(self.state, S::Failed | S::FailedUnclean) && self.role != Role::TaskCleanup
        {
            self.diagnostics = "it broke";
        }
    }

    fn kill(&mut self) {
        use AttemptState as S;
        self.state = match (self.state, self.role) {
            (S::Running | S::CommitPending, Role::Work) => S::KilledUnclean,
            (S::Unassigned | S::Running | S::CommitPending, _) => S::Killed,
            (S::FailedUnclean, _) => S::Failed,
            (S::KilledUnclean, _) => S::Killed,
            (state, _) => state,
        };
    }

    /// Whether it is still reported once the JobTracker has answered.
    fn is_kept(&self) -> bool {
        match self.state {
            AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed => false,
            AttemptState::FailedUnclean | AttemptState::KilledUnclean => self.role == Role::TaskCleanup,
            _ => true,
        }
    }

    fn is_finished_map(&self) -> bool {
        self.state == AttemptState::Succeeded && self.role == Role::Work && self.attempt.task.kind == Kind::Map
    }

    fn report(&mut self) -> TaskStatus {
        let runs = matches!(self.state, AttemptState::Unassigned | AttemptState::Running);
        let progress = if runs { 0.25 * f32::from(self.quarters) } else { 1.0 };
        let mut report = status(self.attempt, self.state, progress);
        if self.role == Role::TaskCleanup {
            report.phase = Phase::Cleanup;
        }
        if self.is_finished_map() {
            report.output_bytes = 1 << 20;
        }
        report.diagnostics = std::mem::take(&mut self.diagnostics).into();
        if let Some(reduce) = &mut report.reduce {
            reduce.failed_fetches = std::mem::take(&mut self.failed_fetches);
        }
        report
    }
}

/// The report that the output of a map is gone.
fn lost_output(attempt: AttemptId) -> TaskStatus {
    let mut report = status(attempt, AttemptState::Failed, 0.0);
    report.diagnostics = "Map output lost, rescheduling: it broke".into();
    report
}

fn status(attempt: AttemptId, state: AttemptState, progress: f32) -> TaskStatus {
    let runs = matches!(state, AttemptState::Unassigned | AttemptState::Running);
    let finish_ms = if runs || state == AttemptState::CommitPending { 0 } else { START_MS + RUN_MS };
    let is_map = attempt.task.kind == Kind::Map;
    TaskStatus {
        attempt,
        progress,
        num_slots: 1,
        state,
        diagnostics: Text::default(),
        state_text: if is_map { "mapping" } else { "reduce > reduce" }.into(),
        phase: if is_map { Phase::Map } else { Phase::Reduce },
        start_ms: if state == AttemptState::Unassigned { 0 } else { START_MS },
        finish_ms,
        // From the setup of a job the Java JobTracker would conclude how much room its maps need.
        output_bytes: -1,
        counters: (!runs).then(|| ReportedCounters::from(&words())),
        next_record_range: RecordRange::default(),
        reduce: (!is_map).then(|| ReduceProgress {
            shuffle_finish_ms: if runs { 0 } else { START_MS + RUN_MS / 3 },
            sort_finish_ms: if runs { 0 } else { START_MS + RUN_MS / 2 },
            failed_fetches: Vec::new(),
        }),
    }
}

/// What a task counts.
fn words() -> Counters {
    let counters = vec![Counter { name: "READ".into(), display_name: Some("Read".into()), value: 10 }];
    Counters { groups: vec![CounterGroup { name: "words".into(), display_name: "Words".into(), counters }] }
}
