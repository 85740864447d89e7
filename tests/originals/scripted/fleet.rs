//! The trackers of a script.

use crate::dice::Dice;

use jobtracker::fake_tracker::{FakeAttempt, FakeTracker, Role};
use jobtracker::model::{AttemptId, AttemptState, Kind, PerKind};
use jobtracker::wire::{
    Counters, HeartbeatRequest, HeartbeatResponse, Phase, RecordRange, ReduceProgress, ReportedCounters,
    ResourceStatus, TaskStatus, Text,
};

use super::script::{HOSTS, Script};

/// A tracker that runs what it is given. Its tasks need no permission to commit, and leave nothing behind when they die.
#[derive(Clone, Debug)]
pub(super) struct ScriptedTracker {
    fake: FakeTracker<Running>,
}

/// What a tracker keeps about an attempt.
#[derive(Clone, Copy, Debug)]
struct Running {
    slots: u32,
    start_ms: i64,
}

/// By the trackers' clocks, at time 0 of the script.
const START_MS: i64 = 1_795_252_000_000;
const FREE_BYTES: i64 = 4_096 << 30;
/// Percentage of heartbeats at which a running task goes on.
const CONTINUES: u32 = 55;

/// The trackers of a script, none of which has called.
pub(super) fn fleet(script: &Script) -> Vec<ScriptedTracker> {
    let tracker = |(number, (host, (maps, reduces))): (usize, (&&str, &(u32, u32)))| {
        let name = format!("tracker_{host}:localhost/127.0.0.1:{}", 20_000 + number);
        let slots = PerKind::new(*maps, *reduces);
        let resources = ResourceStatus::of_space(FREE_BYTES);
        ScriptedTracker { fake: FakeTracker { resources, ..FakeTracker::new(name, *host, slots) } }
    };
    HOSTS.iter().zip(&script.slots).enumerate().map(tracker).collect()
}

// === impl ScriptedTracker ===

impl ScriptedTracker {
    /// The next heartbeat: setups and cleanups advance, tasks as the roll has it.
    pub(super) fn heartbeat(&mut self, script: &Script, roll: u64) -> HeartbeatRequest {
        for attempt in &mut self.fake.attempts {
            attempt.state = next_state(attempt, script, roll);
        }
        let reports = self.fake.attempts.iter().map(report).collect();
        HeartbeatRequest { accept_new_tasks: true, ..self.fake.request(reports) }
    }

    /// Takes what it is given. No two attempts of the fleet start at the same time.
    pub(super) fn obey(&mut self, answer: &HeartbeatResponse, now_ms: u64, launched_before: usize) {
        let mut start_ms = START_MS + now_ms.cast_signed() * 100 + launched_before as i64;
        self.fake.obey(answer, |task| {
            start_ms += 1;
            Running { slots: task.num_slots.unsigned_abs(), start_ms }
        });
        for attempt in &mut self.fake.attempts {
            if attempt.state == AttemptState::KilledUnclean {
                attempt.state = AttemptState::Killed;
            }
        }
    }

    /// Whether it runs an attempt whose end it has not reported.
    pub(super) fn runs(&self, id: AttemptId) -> bool {
        self.fake.attempts.iter().any(|attempt| attempt.id == id && attempt.is_kept())
    }
}

fn next_state(attempt: &FakeAttempt<Running>, script: &Script, roll: u64) -> AttemptState {
    match (attempt.state, attempt.role) {
        (AttemptState::Unassigned, _) => AttemptState::Running,
        (AttemptState::Running, Role::Work) => {
            let mut dice = Dice::named(script.seed ^ roll, &attempt.id.to_string());
            let chance = dice.below(100);
            if chance < CONTINUES {
                AttemptState::Running
            } else if chance < CONTINUES + script.fails {
                AttemptState::Failed
            } else {
                AttemptState::Succeeded
            }
        }
        (AttemptState::Running, _) => AttemptState::Succeeded,
        (state, _) => state,
    }
}

fn report(attempt: &FakeAttempt<Running>) -> TaskStatus {
    let Running { slots, start_ms } = attempt.plan;
    let is_map = attempt.kind() == Kind::Map;
    let finish_ms = if attempt.state == AttemptState::Running { 0 } else { start_ms + 1 };
    TaskStatus {
        attempt: attempt.id,
        progress: if finish_ms == 0 { 0.5 } else { 1.0 },
        num_slots: slots.cast_signed(),
        state: attempt.state,
        diagnostics: Text::default(),
        state_text: Text::default(),
        phase: if is_map { Phase::Map } else { Phase::Reduce },
        start_ms,
        finish_ms,
        // From a size the Java JobTracker would conclude how much room other maps need.
        output_bytes: -1,
        counters: (finish_ms != 0).then(|| ReportedCounters::from(&Counters { groups: Vec::new() })),
        next_record_range: RecordRange::default(),
        reduce: (!is_map).then(|| ReduceProgress {
            shuffle_finish_ms: finish_ms,
            sort_finish_ms: finish_ms,
            failed_fetches: Vec::new(),
        }),
    }
}
