//! A tracker that does what it is told, one step of each task a heartbeat, and never fails.

use jobtracker::model::{AttemptId, AttemptState, Kind};
use jobtracker::wire::{
    Action, Counter, CounterGroup, Counters, HealthStatus, HeartbeatRequest, HeartbeatResponse, Phase, RecordRange,
    ReduceProgress, ReportedCounters, ResourceStatus, Task, TaskStatus, TaskTrackerStatus, Text,
};

/// When the tasks of a tracker end. Those that set up and clean up jobs always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// One heartbeat after they were reported RUNNING.
    Soon,
    /// Maps soon, reduces never.
    MapsSoon,
    /// Never.
    Never,
}

/// Slots of a tracker.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// For maps.
    pub maps: i32,
    /// For reduces.
    pub reduces: i32,
}

/// What a heartbeat brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Tasks launched by the answer that are parts of a job, not its setup or cleanup.
    pub launched: u64,
    /// Tasks launched to set up or clean up.
    pub housekeeping: u64,
    /// Parts of a job reported as SUCCEEDED, now known to the JobTracker.
    pub ended: u64,
}

/// The tracker.
#[derive(Clone, Debug)]
pub struct FakeTracker {
    name: Text,
    host: Text,
    slots: Slots,
    ending: Ending,
    response_id: i16,
    is_registered: bool,
    is_restarted: bool,
    tasks: Vec<FakeTask>,
    counters: ReportedCounters,
}

#[derive(Clone, Copy, Debug)]
struct FakeTask {
    attempt: AttemptId,
    state: AttemptState,
    /// Cleans up after an attempt.
    is_task_cleanup: bool,
    /// Sets up or cleans up a job.
    is_housekeeping: bool,
}

/// What tasks say of their start and their end; no JobTracker compares it with its own clock.
const START_MS: i64 = 1_795_252_000_000;
const RUN_MS: i64 = 30_000;

/// The host of the tracker of that number: an address, so that nobody asks a name server for it.
pub fn host_of(number: u32) -> String {
    let [_, a, b, c] = number.to_be_bytes();
    format!("10.{a}.{b}.{c}")
}

// === impl FakeTracker ===

impl FakeTracker {
    /// A tracker that has not called yet.
    pub fn new(number: u32, slots: Slots, ending: Ending) -> Self {
        let host = host_of(number);
        Self {
            name: format!("tracker_{host}:localhost/127.0.0.1:{}", 20_000 + number).into(),
            host: host.into(),
            slots,
            ending,
            response_id: -1,
            is_registered: false,
            is_restarted: true,
            tasks: Vec::new(),
            counters: ReportedCounters::from(&usual_counters()),
        }
    }

    /// Has its tasks end otherwise from now on.
    #[allow(dead_code, reason = "the loads leave them as they are")]
    pub fn set_ending(&mut self, ending: Ending) {
        self.ending = ending;
    }

    /// Every task does its next step; the heartbeat that tells of it.
    pub fn heartbeat(&mut self) -> HeartbeatRequest {
        for task in &mut self.tasks {
            task.advance(self.ending);
        }
        let free =
            |kind: Kind, slots: i32| self.tasks.iter().filter(|task| task.holds_slot(kind)).count() < slots as usize;
        let has_room = free(Kind::Map, self.slots.maps) || free(Kind::Reduce, self.slots.reduces);
        HeartbeatRequest {
            status: TaskTrackerStatus {
                name: self.name.clone(),
                host: self.host.clone(),
                http_port: 50060,
                task_failures: 0,
                dir_failures: 0,
                max_map_slots: self.slots.maps,
                max_reduce_slots: self.slots.reduces,
                resources: usual_resources(),
                tasks: self.tasks.iter().map(|task| task.report(&self.counters)).collect(),
                health: HealthStatus { healthy: true, report: Text::default(), last_reported_ms: 0 },
            },
            restarted: self.is_restarted,
            initial_contact: !self.is_registered,
            accept_new_tasks: has_room,
            response_id: self.response_id,
        }
    }

    /// Does what the answer says.
    pub fn obey(&mut self, answer: HeartbeatResponse) -> Told {
        let mut told = Told::default();
        self.is_registered = true;
        self.is_restarted = false;
        self.response_id = answer.response_id;
        self.tasks.retain(|task| {
            if task.state == AttemptState::Succeeded && !task.is_housekeeping {
                told.ended += 1;
            }
            task.is_kept()
        });
        for action in answer.actions {
            match action {
                Action::LaunchTask(task) => {
                    let task = FakeTask::new(&task);
                    *(if task.is_housekeeping { &mut told.housekeeping } else { &mut told.launched }) += 1;
                    self.tasks.push(task);
                }
                Action::KillTask(attempt) => {
                    for task in self.tasks.iter_mut().filter(|task| task.attempt == attempt) {
                        task.state = match task.state {
                            AttemptState::Unassigned => AttemptState::Killed,
                            _ if task.is_housekeeping => AttemptState::Killed,
                            _ => AttemptState::KilledUnclean,
                        };
                    }
                }
                Action::KillJob(job) => self.tasks.retain(|task| task.attempt.task.job != job),
                Action::CommitTask(attempt) => {
                    for task in self.tasks.iter_mut().filter(|task| task.attempt == attempt) {
                        task.state = AttemptState::Succeeded;
                    }
                }
                Action::ReinitTracker => {
                    self.tasks.clear();
                    self.is_registered = false;
                }
            }
        }
        told
    }
}

// === impl FakeTask ===

impl FakeTask {
    fn new(task: &Task) -> Self {
        Self {
            attempt: task.status.attempt,
            state: task.status.state,
            is_task_cleanup: task.task_cleanup,
            is_housekeeping: !task.is_ordinary(),
        }
    }

    fn kind(&self) -> Kind {
        self.attempt.task.kind
    }

    fn advance(&mut self, ending: Ending) {
        let ends = match ending {
            _ if self.is_housekeeping => true,
            Ending::Soon => true,
            Ending::MapsSoon => self.kind() == Kind::Map,
            Ending::Never => false,
        };
        self.state = match self.state {
            AttemptState::FailedUnclean if self.is_task_cleanup => AttemptState::Failed,
            AttemptState::KilledUnclean if self.is_task_cleanup => AttemptState::Killed,
            AttemptState::Unassigned => AttemptState::Running,
            AttemptState::Running if !ends => AttemptState::Running,
            // Only reduces have output to commit; maps of jobs without reduces are taken to have none.
            AttemptState::Running if self.kind() == Kind::Reduce && !self.is_housekeeping => {
                AttemptState::CommitPending
            }
            AttemptState::Running => AttemptState::Succeeded,
            state => state,
        };
    }

    /// Whether it is still reported once the JobTracker has answered.
    fn is_kept(&self) -> bool {
        match self.state {
            AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed => false,
            AttemptState::FailedUnclean | AttemptState::KilledUnclean => self.is_task_cleanup,
            _ => true,
        }
    }

    fn holds_slot(&self, kind: Kind) -> bool {
        self.kind() == kind && self.is_kept()
    }

    fn report(&self, counters: &ReportedCounters) -> TaskStatus {
        let is_running = matches!(self.state, AttemptState::Unassigned | AttemptState::Running);
        let is_over = self.state == AttemptState::Succeeded;
        let is_map = self.kind() == Kind::Map;
        let finish_ms = if is_over { START_MS + RUN_MS } else { 0 };
        TaskStatus {
            attempt: self.attempt,
            progress: if is_running { 0.5 } else { 1.0 },
            num_slots: 1,
            state: self.state,
            diagnostics: Text::default(),
            state_text: if is_map { "file:/load/input/part-00000:0+67108864" } else { "reduce > reduce" }.into(),
            phase: match self.kind() {
                _ if self.is_task_cleanup => Phase::Cleanup,
                Kind::Map => Phase::Map,
                Kind::Reduce => Phase::Reduce,
            },
            start_ms: START_MS,
            finish_ms,
            output_bytes: if is_over && is_map && !self.is_housekeeping { 1 << 20 } else { -1 },
            counters: (!is_running).then(|| counters.clone()),
            next_record_range: RecordRange::default(),
            reduce: (!is_map).then(|| ReduceProgress {
                shuffle_finish_ms: if is_running { 0 } else { START_MS + RUN_MS / 3 },
                sort_finish_ms: if is_running { 0 } else { START_MS + RUN_MS / 2 },
                failed_fetches: Vec::new(),
            }),
        }
    }
}

/// What a map of a stock job counts: 19 counters in three groups.
fn usual_counters() -> Counters {
    let group = |name: &str, display_name: &str, counters: &[(&str, &str)]| CounterGroup {
        name: name.into(),
        display_name: display_name.into(),
        counters: (1..)
            .zip(counters)
            .map(|(value, (name, display_name))| Counter {
                name: (*name).into(),
                display_name: (name != display_name).then(|| (*display_name).into()),
                value: value * 123_457,
            })
            .collect(),
    };
    let framework = [
        ("MAP_INPUT_RECORDS", "Map input records"),
        ("MAP_OUTPUT_RECORDS", "Map output records"),
        ("MAP_OUTPUT_BYTES", "Map output bytes"),
        ("MAP_OUTPUT_MATERIALIZED_BYTES", "Map output materialized bytes"),
        ("COMBINE_INPUT_RECORDS", "Combine input records"),
        ("COMBINE_OUTPUT_RECORDS", "Combine output records"),
        ("REDUCE_INPUT_GROUPS", "Reduce input groups"),
        ("REDUCE_INPUT_RECORDS", "Reduce input records"),
        ("REDUCE_OUTPUT_RECORDS", "Reduce output records"),
        ("REDUCE_SHUFFLE_BYTES", "Reduce shuffle bytes"),
        ("SPILLED_RECORDS", "Spilled Records"),
        ("SPLIT_RAW_BYTES", "SPLIT_RAW_BYTES"),
        ("CPU_MILLISECONDS", "CPU time spent (ms)"),
        ("PHYSICAL_MEMORY_BYTES", "Physical memory (bytes) snapshot"),
        ("VIRTUAL_MEMORY_BYTES", "Virtual memory (bytes) snapshot"),
        ("COMMITTED_HEAP_BYTES", "Total committed heap usage (bytes)"),
    ];
    let files = [("FILE_BYTES_READ", "FILE_BYTES_READ"), ("FILE_BYTES_WRITTEN", "FILE_BYTES_WRITTEN")];
    Counters {
        groups: vec![
            group("org.apache.hadoop.mapred.Task$Counter", "Map-Reduce Framework", &framework),
            group("FileSystemCounters", "FileSystemCounters", &files),
            group(
                "org.apache.hadoop.mapreduce.lib.input.FileInputFormat$Counter",
                "File Input Format Counters ",
                &[("BYTES_READ", "Bytes Read")],
            ),
        ],
    }
}

/// A machine with enough of everything: a JobTracker gives no map to one whose disk is full.
pub fn usual_resources() -> ResourceStatus {
    const GIB: i64 = 1 << 30;
    ResourceStatus {
        total_virtual_bytes: 64 * GIB,
        total_physical_bytes: 48 * GIB,
        available_virtual_bytes: 60 * GIB,
        available_physical_bytes: 40 * GIB,
        map_slot_bytes: -1,
        reduce_slot_bytes: -1,
        available_space_bytes: 4096 * GIB,
        cumulative_cpu_ms: 123_456_789,
        cpu_khz: 2_400_000,
        processors: 16,
        cpu_percent: 12.5,
    }
}
