//! The course of an attempt on a simulated tracker, and its reports.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::fake_tracker::{AttemptStep, FakeAttempt, Role};
use crate::model::{AttemptId, AttemptState, JobId, Kind};
use crate::wire::{
    Counter, CounterGroup, Counters, Phase, RecordRange, ReduceProgress, ReportedCounters, Task, TaskBody, TaskStatus,
};

use super::adversaries::JobShape;
use super::plan::Plan;
use super::random::mixed;
use super::{Cuts, RunPart};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Succeed,
    Fail,
    /// Fails, and leaves something that a task-cleanup must remove.
    FailUnclean,
}

pub(super) type SimAttempt = FakeAttempt<AttemptPlan>;

#[derive(Clone, Debug)]
pub(super) struct AttemptPlan {
    fate: Fate,
    /// When it begins to run and when it ends, by the clock that never goes back, ms.
    start_mono_ms: u64,
    end_mono_ms: u64,
    /// What it has written when it succeeds, bytes.
    output_bytes: i64,
    /// Map outputs that it reports once as not fetched.
    failed_fetches: Vec<AttemptId>,
}

/// What decides which attempts fail or hang, and when they end.
#[derive(Clone, Copy)]
pub(super) struct FaultModel<'a> {
    pub(super) seed: u64,
    pub(super) plan: &'a Plan,
    pub(super) cuts: &'a Cuts,
    pub(super) shapes: &'a BTreeMap<JobId, JobShape>,
    /// No fault happens any more.
    pub(super) is_draining: bool,
}

static COUNTERS: LazyLock<ReportedCounters> = LazyLock::new(|| {
    let counter = Counter { name: "MAP_INPUT_RECORDS".into(), display_name: None, value: 10 };
    let group = CounterGroup { name: "task".into(), display_name: "Task".into(), counters: vec![counter] };
    ReportedCounters::from(&Counters { groups: vec![group] })
});

impl AttemptPlan {
    /// Plans a launched task. Depends on the seed and the task's id alone, so that leaving something else out does not change it.
    pub(super) fn new(task: &Task, now_mono_ms: u64, model: FaultModel<'_>) -> Self {
        let id = task.status.attempt;
        let is_housekeeping = task.job_setup || task.job_cleanup.is_some();
        let key = [id.task.job.number, id.task.kind as i32, id.task.number, id.number, i32::from(task.task_cleanup)];
        let chance = key.iter().fold(model.seed, |chance, part| mixed(chance ^ u64::from(part.cast_unsigned())));
        let part = |shift: u32, bound: u64| (chance >> shift) % bound.max(1);
        let FaultModel { plan, cuts, is_draining, .. } = model;
        let shape = model.shapes.get(&id.task.job).filter(|_| !is_housekeeping && !task.task_cleanup);
        let fails = !is_draining && cuts.has(RunPart::FailingAttempts) && part(0, 1_000) < plan.failing_permille;
        let hangs = !is_draining && cuts.has(RunPart::HangingAttempts) && part(10, 1_000) < plan.hanging_permille;
        // Tasks of one job are alike.
        let of_job = mixed(model.seed ^ u64::from(id.task.job.number.cast_unsigned())) % 4;
        let typical_ms =
            if is_housekeeping || task.task_cleanup { plan.task_ms / 8 } else { (plan.task_ms << of_job) / 2 };
        let run_ms = match (is_draining, hangs) {
            (true, _) => 100,
            (_, true) => plan.task_timeout_ms,
            _ => shape.map_or_else(|| typical_ms / 2 + part(20, typical_ms.max(1)), |shape| shape.task_ms),
        };
        let fate = match (fails || hangs, part(40, 3)) {
            (false, _) => Fate::Succeed,
            (true, 0) if !is_housekeeping && !task.task_cleanup => Fate::FailUnclean,
            (true, _) => Fate::Fail,
        };
        // Some wait a while before they run.
        let start_delay_ms = if !is_draining && part(44, 16) == 0 { part(48, 3_000) } else { 0 };
        let maps = match task.body {
            TaskBody::Reduce { maps } if !is_housekeeping && !task.task_cleanup => Some(maps),
            _ => None,
        };
        let failed_fetches = match maps.filter(|maps| *maps > 0 && part(50, 20) == 0) {
            Some(maps) if !is_draining && cuts.has(RunPart::FailedFetches) => {
                vec![id.task.job.task(Kind::Map, part(54, u64::from(maps.cast_unsigned())) as i32).attempt(0)]
            }
            _ => Vec::new(),
        };
        let start_mono_ms = now_mono_ms + start_delay_ms;
        let end_mono_ms = start_mono_ms + run_ms;
        let output_bytes = shape.map_or(100, |shape| shape.output_bytes);
        Self { fate, start_mono_ms, end_mono_ms, output_bytes, failed_fetches }
    }

    pub(super) fn finish_soon(&mut self, now_mono_ms: u64) {
        self.fate = Fate::Succeed;
        self.start_mono_ms = self.start_mono_ms.min(now_mono_ms);
        self.end_mono_ms = self.end_mono_ms.min(now_mono_ms + 100);
    }
}

/// Advances an attempt to its next state if that is due; one state at a time, as its tracker sees them.
pub(super) fn advance(attempt: &mut SimAttempt, now_mono_ms: u64) {
    use AttemptState as S;
    let plan = &attempt.plan;
    let is_due = now_mono_ms >= if attempt.has_begun() { plan.end_mono_ms } else { plan.start_mono_ms };
    let step = match (attempt.state, plan.fate) {
        _ if !is_due => AttemptStep::Wait,
        (S::Running, Fate::Fail) => AttemptStep::Fail,
        (S::Running, Fate::FailUnclean) => AttemptStep::FailUnclean,
        (S::CommitPending, _) => AttemptStep::Wait,
        _ => AttemptStep::Advance,
    };
    attempt.advance(step);
}

pub(super) fn is_work_to_lose(attempt: &SimAttempt) -> bool {
    use AttemptState as S;
    let is_good = matches!(attempt.state, S::Unassigned | S::Running | S::CommitPending | S::Succeeded);
    is_good && attempt.role != Role::TaskCleanup
}

/// Acknowledges the last report: failed fetches are not repeated.
pub(super) fn acknowledge(attempt: &mut SimAttempt) {
    if attempt.state == AttemptState::Running {
        attempt.plan.failed_fetches.clear();
    }
}

pub(super) fn report(attempt: &SimAttempt, now_mono_ms: u64, wall_ms: i64) -> TaskStatus {
    let plan = &attempt.plan;
    let is_at_work = matches!(attempt.state, AttemptState::Unassigned | AttemptState::Running);
    let run_ms = now_mono_ms.saturating_sub(plan.start_mono_ms);
    let whole_ms = (plan.end_mono_ms - plan.start_mono_ms).max(1);
    let progress = if is_at_work { run_ms.min(whole_ms) as f32 / whole_ms as f32 } else { 1.0 };
    let failed_fetches = if attempt.state == AttemptState::Running { plan.failed_fetches.clone() } else { Vec::new() };
    TaskStatus {
        attempt: attempt.id,
        progress,
        num_slots: attempt.slots.cast_signed(),
        state: attempt.state,
        diagnostics: if attempt.state == AttemptState::Failed { "it broke".into() } else { "".into() },
        state_text: "".into(),
        phase: match (attempt.role == Role::TaskCleanup, attempt.kind()) {
            (true, _) => Phase::Cleanup,
            (false, Kind::Map) => Phase::Map,
            (false, Kind::Reduce) => Phase::Shuffle,
        },
        start_ms: if attempt.state == AttemptState::Unassigned { 0 } else { wall_ms - run_ms.cast_signed() },
        finish_ms: if is_at_work { 0 } else { wall_ms },
        output_bytes: if attempt.state == AttemptState::Succeeded && attempt.role != Role::Housekeeping {
            plan.output_bytes
        } else {
            -1
        },
        counters: (!is_at_work).then(|| COUNTERS.clone()),
        next_record_range: RecordRange::default(),
        reduce: (attempt.kind() == Kind::Reduce)
            .then(|| ReduceProgress { failed_fetches, ..ReduceProgress::default() }),
    }
}
