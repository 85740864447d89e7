//! A tracker of a play: attempts take the times that were recorded.

use crate::fake_tracker::{AttemptStep, FakeAttempt, FakeTracker, Role};
use crate::model::{AttemptState, Kind};
use crate::wire::{HeartbeatRequest, Phase, RecordRange, ReduceProgress, TaskStatus};

use super::recording::{RecordedTracker, TaskTimes};

#[derive(Clone, Copy, Debug)]
pub(super) struct PlayedAttempt {
    pub(super) job: usize,
    pub(super) times: TaskTimes,
    pub(super) succeeds: bool,
    /// When its process starts, epoch ms.
    start_ms: i64,
    /// When it ends; none while a reduce waits for maps.
    end_ms: Option<i64>,
}

#[derive(Debug)]
pub(super) struct PlayTracker {
    pub(super) fake: FakeTracker<PlayedAttempt>,
    pub(super) connection: u64,
    /// Until when it is there, epoch ms.
    pub(super) until_ms: i64,
    /// Which call is the one that was planned last: earlier ones do not count.
    call: u64,
    /// When it is due, ms of the play's monotonic clock.
    pub(super) call_ms: u64,
    /// Between two calls, as it was answered last.
    pub(super) interval_ms: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MapsDone {
    pub(super) left: u32,
    pub(super) all: u32,
    /// When the last of them ended, epoch ms.
    pub(super) last_end_ms: i64,
}

/// The part of a reduce that is copying, in progress reports.
const COPYING: f32 = 1.0 / 3.0;

impl PlayedAttempt {
    pub(super) fn new(job: usize, times: TaskTimes, succeeds: bool, now_ms: i64) -> Self {
        let start_ms = now_ms.saturating_add(times.delay_ms.into());
        Self { job, times, succeeds, start_ms, end_ms: None }
    }
}

impl PlayTracker {
    pub(super) fn new(recorded: &RecordedTracker, connection: u64) -> Self {
        let fake = FakeTracker::new(&*recorded.name, &*recorded.host, recorded.slots);
        Self { fake, connection, until_ms: i64::MIN, call: 0, call_ms: 0, interval_ms: 1 }
    }

    /// Plans a call in place of the one before: its number.
    pub(super) fn next_call(&mut self) -> u64 {
        self.call += 1;
        self.call
    }

    pub(super) fn is_call_due(&self, number: u64) -> bool {
        self.call == number
    }

    pub(super) fn has_attempt_of(&self, is_one: impl Fn(usize) -> bool) -> bool {
        self.fake.attempts.iter().any(|attempt| attempt.is_kept() && is_one(attempt.plan.job))
    }

    /// When an attempt ends next, as far as that is known, epoch ms.
    pub(super) fn next_end_ms(&self) -> Option<i64> {
        let ends = self.fake.attempts.iter().filter(|attempt| attempt.is_kept()).map(|attempt| {
            let PlayedAttempt { times, start_ms, end_ms, .. } = attempt.plan;
            end_ms.or_else(|| (!waits_for_maps(attempt)).then(|| start_ms.saturating_add_unsigned(times.run_ms())))
        });
        ends.flatten().min()
    }

    /// The next heartbeat, with each attempt as it is now; `maps` are those of a job.
    pub(super) fn request(&mut self, now_ms: i64, maps: impl Fn(usize) -> MapsDone) -> HeartbeatRequest {
        self.fake.attempts.iter_mut().for_each(|attempt| advance(attempt, now_ms, &maps));
        let reports = self.fake.attempts.iter().map(|attempt| report(attempt, now_ms, &maps)).collect();
        let mut request = self.fake.request(reports);
        request.restarted = request.initial_contact;
        request
    }
}

fn advance(attempt: &mut FakeAttempt<PlayedAttempt>, now_ms: i64, maps: &impl Fn(usize) -> MapsDone) {
    use AttemptState as S;
    if attempt.state == S::Unassigned && now_ms >= attempt.plan.start_ms {
        attempt.advance(AttemptStep::Advance);
    }
    if attempt.state != S::Running {
        return;
    }
    if attempt.plan.end_ms.is_none() {
        let begin_ms = match waits_for_maps(attempt) {
            false => Some(attempt.plan.start_ms),
            true => {
                let maps = maps(attempt.plan.job);
                (maps.left == 0).then(|| maps.last_end_ms.max(attempt.plan.start_ms))
            }
        };
        attempt.plan.end_ms = begin_ms.map(|begin_ms| begin_ms.saturating_add_unsigned(attempt.plan.times.run_ms()));
    }
    if attempt.plan.end_ms.is_some_and(|end_ms| now_ms >= end_ms) {
        attempt.advance(if attempt.plan.succeeds { AttemptStep::Advance } else { AttemptStep::Fail });
    }
}

/// Whether it copies what all maps of its job have made.
fn waits_for_maps(attempt: &FakeAttempt<PlayedAttempt>) -> bool {
    attempt.role == Role::Work && attempt.kind() == Kind::Reduce
}

fn report(attempt: &FakeAttempt<PlayedAttempt>, now_ms: i64, maps: &impl Fn(usize) -> MapsDone) -> TaskStatus {
    use AttemptState as S;
    let PlayedAttempt { job, times, start_ms, end_ms, .. } = attempt.plan;
    let is_at_work = matches!(attempt.state, S::Unassigned | S::Running);
    let is_reduce = waits_for_maps(attempt);
    let run_ms = times.run_ms();
    let progress = match (is_at_work, end_ms) {
        (false, _) => 1.0,
        (true, None) => {
            let MapsDone { left, all, .. } = maps(job);
            if attempt.state == S::Unassigned { 0.0 } else { COPYING * (1.0 - left as f32 / all.max(1) as f32) }
        }
        (true, Some(end_ms)) => {
            let left_ms = u64::try_from(end_ms - now_ms).unwrap_or(0).min(run_ms);
            let done = 1.0 - left_ms as f32 / run_ms.max(1) as f32;
            if is_reduce { COPYING + (1.0 - COPYING) * done } else { done }
        }
    };
    let copied_ms = end_ms.map(|end_ms| end_ms.saturating_sub(times.rest_ms.into())).filter(|ms| *ms <= now_ms);
    let reduce = || ReduceProgress {
        shuffle_finish_ms: copied_ms.unwrap_or(0),
        sort_finish_ms: copied_ms.unwrap_or(0),
        ..ReduceProgress::default()
    };
    TaskStatus {
        attempt: attempt.id,
        progress,
        num_slots: attempt.slots.cast_signed(),
        state: attempt.state,
        diagnostics: if attempt.state == S::Failed { "it failed as recorded".into() } else { "".into() },
        state_text: "".into(),
        phase: match (attempt.role == Role::TaskCleanup, attempt.kind(), copied_ms) {
            (true, ..) => Phase::Cleanup,
            (false, Kind::Map, _) => Phase::Map,
            (false, Kind::Reduce, None) => Phase::Shuffle,
            (false, Kind::Reduce, Some(_)) => Phase::Reduce,
        },
        start_ms: if attempt.state == S::Unassigned { 0 } else { start_ms },
        finish_ms: if is_at_work { 0 } else { end_ms.unwrap_or(now_ms).min(now_ms) },
        output_bytes: if attempt.is_output() { times.output_bytes } else { -1 },
        counters: None,
        next_record_range: RecordRange::default(),
        reduce: (attempt.kind() == Kind::Reduce).then(reduce),
    }
}
