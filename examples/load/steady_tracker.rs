//! A tracker whose tasks take one step a heartbeat and never fail.

use jobtracker::fake_tracker::{AttemptStep, FakeAttempt, FakeTracker, Role};
use jobtracker::model::{AttemptState, Kind, PerKind};
use jobtracker::wire::{
    Counter, CounterGroup, Counters, HeartbeatRequest, HeartbeatResponse, Phase, RecordRange, ReduceProgress,
    ReportedCounters, ResourceStatus, TaskStatus, Text,
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

/// Slots of a tracker, for maps and for reduces.
pub type Slots = PerKind<u32>;

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
pub struct SteadyTracker {
    tracker: FakeTracker,
    ending: Ending,
    counters: ReportedCounters,
}

/// What tasks say of their start and their end; no JobTracker compares it with its own clock.
const START_MS: i64 = 1_795_252_000_000;
const RUN_MS: i64 = 30_000;

/// The host of the tracker of that number: an address, so that nobody asks a name server for it.
pub fn host_of(number: u32) -> String {
    let [_, a, b, c] = number.to_be_bytes();
    format!("10.{a}.{b}.{c}")
}

// === impl SteadyTracker ===

impl SteadyTracker {
    /// A tracker that has not called yet.
    pub fn new(number: u32, slots: Slots, ending: Ending) -> Self {
        let host = host_of(number);
        let name = format!("tracker_{host}:localhost/127.0.0.1:{}", 20_000 + number);
        let tracker = FakeTracker { resources: usual_resources(), ..FakeTracker::new(name, host, slots) };
        Self { tracker, ending, counters: ReportedCounters::from(&usual_counters()) }
    }

    /// Has its tasks end otherwise from now on.
    #[allow(dead_code, reason = "the loads leave them as they are")]
    pub fn set_ending(&mut self, ending: Ending) {
        self.ending = ending;
    }

    /// Every task does its next step; the heartbeat that reports it.
    pub fn heartbeat(&mut self) -> HeartbeatRequest {
        for attempt in &mut self.tracker.attempts {
            attempt.advance(next_step(attempt, self.ending));
        }
        let reports = self.tracker.attempts.iter().map(|attempt| report(attempt, &self.counters)).collect();
        self.tracker.request(reports)
    }

    /// Does what the answer says.
    pub fn obey(&mut self, answer: &HeartbeatResponse) -> Told {
        let obeyed = self.tracker.obey(answer, |_| ());
        let launched = obeyed.launched.iter().filter(|(_, role)| *role == Role::Work).count() as u64;
        Told { launched, housekeeping: obeyed.launched.len() as u64 - launched, ended: obeyed.succeeded }
    }
}

fn next_step(attempt: &FakeAttempt, ending: Ending) -> AttemptStep {
    let ends = match ending {
        _ if attempt.role != Role::Work || attempt.state != AttemptState::Running => true,
        Ending::Soon => true,
        Ending::MapsSoon => attempt.kind() == Kind::Map,
        Ending::Never => false,
    };
    if ends { AttemptStep::Advance } else { AttemptStep::Wait }
}

fn report(attempt: &FakeAttempt, counters: &ReportedCounters) -> TaskStatus {
    let is_running = matches!(attempt.state, AttemptState::Unassigned | AttemptState::Running);
    let is_over = attempt.state == AttemptState::Succeeded;
    let is_map = attempt.kind() == Kind::Map;
    let finish_ms = if is_over { START_MS + RUN_MS } else { 0 };
    TaskStatus {
        attempt: attempt.id,
        progress: if is_running { 0.5 } else { 1.0 },
        num_slots: 1,
        state: attempt.state,
        diagnostics: Text::default(),
        state_text: if is_map { "file:/load/input/part-00000:0+67108864" } else { "reduce > reduce" }.into(),
        phase: match attempt.kind() {
            _ if attempt.role == Role::TaskCleanup => Phase::Cleanup,
            Kind::Map => Phase::Map,
            Kind::Reduce => Phase::Reduce,
        },
        start_ms: START_MS,
        finish_ms,
        output_bytes: if is_over && is_map && attempt.role == Role::Work { 1 << 20 } else { -1 },
        counters: (!is_running).then(|| counters.clone()),
        next_record_range: RecordRange::default(),
        reduce: (!is_map).then(|| ReduceProgress {
            shuffle_finish_ms: if is_running { 0 } else { START_MS + RUN_MS / 3 },
            sort_finish_ms: if is_running { 0 } else { START_MS + RUN_MS / 2 },
            failed_fetches: Vec::new(),
        }),
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
