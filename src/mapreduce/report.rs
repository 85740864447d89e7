//! Applies a tracker's report on an attempt to its task and job (1.2.1 `JobInProgress.updateTaskStatus`).

use crate::model::{AttemptId, AttemptState, Kind, Now, TrackerId};
use crate::scheduler::{EndedReservation, Scheduler};
use crate::wire::TaskStatus;
use crate::wire::limits::{JOB_DIAGNOSTICS_BYTES, SHORT_DIAGNOSTICS_BYTES, shorten};

use super::attempt::report_effect;
use super::job::{Job, TaskKey};
use super::{Attempt, AttemptRole, EndedAttempt, JobContext, JobFact, KillRequest, ReportEffect, TaskState};

/// An order to the tracker about an attempt it reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptOrder {
    /// Kill it, or forget it.
    Kill,
    Commit,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReportResult {
    /// Whether the response must wait until the report is durable: the tracker drops something once it has the response.
    pub(crate) must_be_durable: bool,
    pub(crate) order: Option<AttemptOrder>,
    /// Whether the attempt has left its tracker: neither running nor holding map output.
    pub(crate) has_left_node: bool,
    /// Whether this is the first report that the tracker works on it.
    pub(crate) started: bool,
    /// Maps of the job whose output too many reduces could not fetch: they FAIL.
    pub(crate) unfetchable: Vec<AttemptId>,
}

impl ReportResult {
    /// Of an attempt that the tracker should not have.
    fn of_stray(state: AttemptState) -> Self {
        Self { order: is_live(state).then_some(AttemptOrder::Kill), ..Self::default() }
    }
}

impl Job {
    pub(crate) fn apply_report(
        &mut self,
        key: TaskKey,
        mut report: TaskStatus,
        tracker: TrackerId,
        context: &mut JobContext<'_>,
    ) -> ReportResult {
        let Some(position) = self.task(key).position(report.attempt.number) else {
            return ReportResult::of_stray(report.state);
        };
        self.limit_diagnostics(&mut report);
        if self.is_over() {
            return self.apply_report_after_end(key, position, &report, tracker, context);
        }
        let (over, skipping) = (self.is_over_or_ending(), self.is_skipping(key));
        let task = self.task_mut(key);
        let done_by_other = task.is_done_without(position);
        let attempt = &mut task.attempts[position];
        if attempt.tracker != tracker && attempt.cleanup_tracker != Some(tracker) {
            return ReportResult::of_stray(report.state);
        }
        let cleaning = attempt.cleanup_tracker == Some(tracker);
        attempt.reported = true;
        let started = report.state != AttemptState::Unassigned && !std::mem::replace(&mut attempt.started, true);
        let failed_fetches = take_failed_fetches(&mut report);
        let said = !report.diagnostics.is_empty() || !failed_fetches.is_empty();
        let must_be_durable = said || !is_live(report.state);
        // Setups and cleanups leave nothing for a task-cleanup to remove.
        let no_cleanup = (over && !cleaning) || attempt.role != AttemptRole::Work;
        let mut state = effective_state(report.state, attempt.kill_request, done_by_other, no_cleanup);
        add_diagnostics(attempt, &report, said.then_some(&failed_fetches), context.facts);
        add_lateness(attempt, report.state, done_by_other);
        if let Some(ranges) = task.failed_ranges.as_mut().filter(|_| skipping && attempt.is_active())
            && state == AttemptState::Succeeded
            && ranges.record_success(report.attempt.number)
        {
            state = AttemptState::Failed;
        }
        let is_lost_output = attempt.state == AttemptState::Succeeded;
        let mut reported = ReportResult { must_be_durable, started, ..ReportResult::default() };
        match report_effect(attempt.state, state, cleaning) {
            // The output is not needed any more.
            ReportEffect::Transition if is_lost_output && !self.needs_output(key) => return reported,
            ReportEffect::Kill => return ReportResult { order: Some(AttemptOrder::Kill), ..reported },
            ReportEffect::Ignore => {}
            ReportEffect::Update => {
                self.update_from_report(key, position, report, cleaning, context);
                self.refresh_straggler_demand(key.kind(), context);
            }
            ReportEffect::Transition => {
                self.update_from_report(key, position, report, cleaning, context);
                reported.has_left_node = self.transition(key, position, state, context);
            }
        }
        reported.order = self.pending_order(key, position, context);
        reported.unfetchable = self.record_failed_fetches(&failed_fetches);
        reported
    }

    /// Limits the diagnostics of all attempts of a job; after that each report keeps a short text.
    fn limit_diagnostics(&mut self, report: &mut TaskStatus) {
        if self.diagnostics_bytes > JOB_DIAGNOSTICS_BYTES {
            shorten(&mut report.diagnostics.0, SHORT_DIAGNOSTICS_BYTES);
        }
        self.diagnostics_bytes = self.diagnostics_bytes.saturating_add(report.diagnostics.len());
    }

    /// Counts failed fetches of a reduce; returns the maps that fail for it.
    fn record_failed_fetches(&mut self, failed: &[AttemptId]) -> Vec<AttemptId> {
        let mut condemned = Vec::new();
        for id in failed {
            let Some(key @ TaskKey::Work(Kind::Map, map)) = self.key_of(id.task) else { continue };
            let is_known = id.task.job == self.id && self.attempt(key, id.number).is_some();
            if is_known && self.needs_output(key) && self.fetch_failures.record(map, id.number, self.running().reduce) {
                condemned.push(*id);
            }
        }
        condemned
    }

    /// Whether a finished task must run again when its output is lost: a map, while reduces still read.
    pub(crate) fn needs_output(&self, key: TaskKey) -> bool {
        let is_read = self.finished.reduce + self.failed.reduce < self.total().reduce;
        matches!(key, TaskKey::Work(Kind::Map, _)) && is_read && !self.is_over_or_ending()
    }

    /// Copies the fields of a report except the state. Of a task-cleanup only its own progress counts.
    fn update_from_report(
        &mut self,
        key: TaskKey,
        position: usize,
        report: TaskStatus,
        cleaning: bool,
        context: &mut JobContext<'_>,
    ) {
        if !cleaning {
            self.record_skip_range(key, &report);
        }
        let attempt = &mut self.task_mut(key).attempts[position];
        attempt.phase = report.phase;
        // An attempt that waits for its commit keeps the last status of its run (1.2.1 `TaskInProgress.recomputeProgress`).
        let waits_for_commit = report.state == AttemptState::CommitPending;
        if !waits_for_commit {
            attempt.progress = clamp(report.progress);
            attempt.set_state_text(report.state_text.0);
        }
        if report.finish_ms > 0 {
            attempt.finish_ms = report.finish_ms;
        }
        if !cleaning {
            if report.start_ms > 0 {
                attempt.start_ms = report.start_ms;
            }
            if let Some(reduce) = &report.reduce {
                attempt.shuffle_finish_ms = attempt.shuffle_finish_ms.max(reduce.shuffle_finish_ms);
                attempt.sort_finish_ms = attempt.sort_finish_ms.max(reduce.sort_finish_ms);
            }
            if report.output_bytes >= 0 {
                attempt.output_bytes = report.output_bytes;
            }
            // A report without counters keeps the old ones.
            if let Some(new) = report.counters.filter(|_| !waits_for_commit) {
                attempt.counters = Some(context.interner.intern(&new));
            }
        }
        self.refresh_task(key, context.violations);
    }

    pub(super) fn fill_progress(&mut self, kind: Kind) {
        self.progress_sum[kind] = f64::from(self.total()[kind]);
    }

    /// Changes the state of an attempt, with all consequences. Returns whether it has left its tracker.
    fn transition(&mut self, key: TaskKey, position: usize, state: AttemptState, context: &mut JobContext<'_>) -> bool {
        let (kind, id) = (key.kind(), self.task_id(key));
        let before = {
            let attempt = &mut self.task_mut(key).attempts[position];
            // This end fulfils the request; it does not apply to the task-cleanup.
            let request = if is_bad_end(state) { attempt.kill_request.take() } else { None };
            if request.is_some_and(|request| request != KillRequest::Preempt) {
                attempt.diagnostics.add(&format!("Task has been {} by the user", state.name()));
            }
            attempt.enter_state(state, id.attempt(attempt.number), context.violations)
        };
        let left = match state {
            AttemptState::Unassigned | AttemptState::Running | AttemptState::CommitPending => false,
            AttemptState::Succeeded => {
                self.free_slot(key, position, context.scheduler, context.now.wall_ms);
                self.add_slot_time(key, position);
                self.record_end(key, position, context);
                self.complete_task(key, position, context);
                !matches!(key, TaskKey::Work(Kind::Map, _))
            }
            AttemptState::FailedUnclean | AttemptState::KilledUnclean => {
                self.free_slot(key, position, context.scheduler, context.now.wall_ms);
                self.record_end(key, position, context);
                let number = self.task(key).attempts[position].number;
                self.task_cleanups[kind].push_back((key, number));
                true
            }
            AttemptState::Failed | AttemptState::Killed => {
                self.free_slot(key, position, context.scheduler, context.now.wall_ms);
                if before != AttemptState::Succeeded {
                    self.add_slot_time(key, position);
                }
                self.record_end(key, position, context);
                self.on_attempt_failed(key, position, before == AttemptState::Succeeded, context);
                true
            }
        };
        self.refresh_task(key, context.violations);
        self.refresh_releasing(key, context.scheduler);
        self.refresh_straggler_demand(kind, context);
        self.refresh(context);
        left
    }

    /// Ends an attempt without a report: its tracker is lost, or does not know it any more.
    pub(crate) fn end_without_report(
        &mut self,
        key: TaskKey,
        number: i32,
        state: AttemptState,
        why: &str,
        context: &mut JobContext<'_>,
    ) {
        let Some(position) = self.task(key).position(number) else { return };
        if self.is_over() {
            self.free_slot(key, position, context.scheduler, self.finish_ms);
            return;
        }
        let attempt = &mut self.task_mut(key).attempts[position];
        let state = effective_state(state, attempt.kill_request, false, false);
        if report_effect(attempt.state, state, attempt.cleanup_tracker.is_some()) != ReportEffect::Transition {
            return;
        }
        attempt.diagnostics.add(why);
        if attempt.finish_ms == 0 {
            attempt.finish_ms = context.now.wall_ms;
        }
        self.transition(key, position, state, context);
    }

    /// The tracker that ran the task-cleanup of an attempt is lost: another one runs it, or none when the job ends and its own cleanup
    /// removes everything. A user's request for its end is lost with it (1.2.1 `TaskInProgress.incompleteSubTask` removes it).
    pub(crate) fn on_task_cleanup_lost(&mut self, key: TaskKey, number: i32, context: &mut JobContext<'_>) {
        let Some(position) = self.task(key).position(number) else { return };
        if self.is_over() {
            if self.task(key).attempts[position].holds_slot {
                self.free_slot(key, position, context.scheduler, self.finish_ms);
                // The attempt has ended with its job; this says that its slot is free.
                self.record_end(key, position, context);
            }
            return;
        }
        if self.is_over_or_ending() {
            self.end_without_cleanup(key, number, context);
            return;
        }
        self.free_slot(key, position, context.scheduler, context.now.wall_ms);
        self.task_mut(key).attempts[position].kill_request = None;
        context.facts.push(JobFact::TaskCleanupLost { attempt: self.task_id(key).attempt(number) });
        if !self.task_cleanups[key.kind()].contains(&(key, number)) {
            self.task_cleanups[key.kind()].push_back((key, number));
        }
        self.refresh(context);
    }

    pub(super) fn end_without_cleanup(&mut self, key: TaskKey, number: i32, context: &mut JobContext<'_>) {
        let Some(position) = self.task(key).position(number) else { return };
        if let Some(state) = self.task(key).attempts[position].state_without_cleanup() {
            self.transition(key, position, state, context);
        }
    }

    /// Applies a report on an attempt that ended with its job, whose tracker has not received KILL_JOB yet.
    fn apply_report_after_end(
        &mut self,
        key: TaskKey,
        position: usize,
        report: &TaskStatus,
        tracker: TrackerId,
        context: &mut JobContext<'_>,
    ) -> ReportResult {
        let finish_ms = self.finish_ms;
        let attempt = &mut self.task_mut(key).attempts[position];
        if attempt.tracker != tracker && attempt.cleanup_tracker != Some(tracker) {
            return ReportResult::of_stray(report.state);
        }
        attempt.reported = true;
        let started = report.state != AttemptState::Unassigned && !std::mem::replace(&mut attempt.started, true);
        let has_left_node = attempt.holds_slot && !is_live(report.state);
        if has_left_node {
            if report.start_ms > 0 && attempt.start_ms == 0 {
                attempt.start_ms = report.start_ms.min(finish_ms);
            }
            self.free_slot(key, position, context.scheduler, finish_ms);
            // Says that its slots are free.
            self.record_end(key, position, context);
        }
        ReportResult { started, has_left_node, ..ReportResult::default() }
    }

    /// Releases the slots of an attempt whose tracker is lost or purged it with the finished job, without a report.
    pub(crate) fn release_after_end(&mut self, id: AttemptId, scheduler: &mut Scheduler) {
        let Some(key) = self.key_of(id.task) else { return };
        let Some(position) = self.task(key).position(id.number) else { return };
        self.free_slot(key, position, scheduler, self.finish_ms);
    }

    /// Releases the slots of an attempt, or that of its task-cleanup.
    fn free_slot(&mut self, key: TaskKey, position: usize, scheduler: &mut Scheduler, now_ms: i64) {
        let kind = key.kind();
        let app = self.app;
        let attempt = &mut self.task_mut(key).attempts[position];
        if !std::mem::take(&mut attempt.holds_slot) {
            return;
        }
        attempt.preemption = None;
        let is_releasing = std::mem::take(&mut attempt.is_releasing);
        if attempt.finish_ms == 0 {
            attempt.finish_ms = now_ms;
        }
        match (attempt.cleanup_tracker.take(), attempt.role) {
            (Some(tracker), _) => scheduler.finish_task_cleanup(app, tracker, kind, attempt.launch_mono_ms),
            (None, AttemptRole::Work) => {
                let (tracker, slots) = (attempt.tracker, attempt.slots);
                let place = (attempt.launch_mono_ms, attempt.number);
                if is_releasing {
                    scheduler.unmark_releasing(app, kind, tracker, slots);
                }
                scheduler.remove_running(app, kind, tracker, slots);
                if let TaskKey::Work(_, task) = key {
                    self.slot_holders[kind].remove(&(place.0, task, place.1));
                }
            }
            (None, _) => {
                scheduler.end_housekeeping(app, attempt.tracker, kind, attempt.slots, attempt.launch_mono_ms);
            }
        }
    }

    /// Adds the run time of an ended attempt for each slot, its task-cleanup included; setups and cleanups count too
    /// (1.2.1 `JobInProgress.meterTaskAttempt`). The tracker's times may be anything.
    pub(super) fn add_slot_time(&mut self, key: TaskKey, position: usize) {
        let attempt = &self.task(key).attempts[position];
        if attempt.start_ms > 0 {
            let run_ms = attempt.finish_ms.saturating_sub(attempt.start_ms).max(0);
            let slots = i64::from(attempt.slots);
            let total_ms = &mut self.counts.slot_ms[key.kind()];
            *total_ms = total_ms.saturating_add(run_ms.saturating_mul(slots));
        }
    }

    /// Adds the time for which slots were kept for it, unused (1.2.1 `JobInProgress.unreserveTaskTracker`).
    pub(crate) fn add_fallow_slot_time(&mut self, ended: &EndedReservation, now: Now) {
        let held_ms = now.mono_ms.saturating_sub(ended.since_mono_ms).saturating_mul(u64::from(ended.slots));
        let total_ms = &mut self.counts.fallow_slot_ms[ended.kind];
        *total_ms = total_ms.saturating_add(i64::try_from(held_ms).unwrap_or(i64::MAX));
    }

    pub(super) fn record_end(&mut self, key: TaskKey, position: usize, context: &mut JobContext<'_>) {
        let id = self.task_id(key);
        let attempt = &self.task(key).attempts[position];
        context.facts.push(JobFact::AttemptEnded(Box::new(EndedAttempt {
            attempt: id.attempt(attempt.number),
            state: attempt.state,
            start_ms: attempt.start_ms,
            finish_ms: attempt.finish_ms,
            shuffle_finish_ms: attempt.shuffle_finish_ms,
            sort_finish_ms: attempt.sort_finish_ms,
            output_bytes: attempt.output_bytes,
            diagnostics: attempt.diagnostics.joined(),
            state_text: attempt.state_text.clone(),
            counters: attempt.counters.clone(),
        })));
    }

    /// The order now due to the tracker of an attempt; none for one it has not reported.
    pub(crate) fn order_for_tracker(
        &mut self,
        key: TaskKey,
        number: i32,
        context: &mut JobContext<'_>,
    ) -> Option<AttemptOrder> {
        let position = self.task(key).position(number)?;
        if !self.task(key).attempts[position].reported {
            return None;
        }
        self.pending_order(key, position, context)
    }

    /// The order due to a tracker that reports this attempt (1.2.1 `TaskInProgress.shouldClose`, `shouldCommit`). The
    /// first attempt of a task to ask may commit, and no other while it lives.
    fn pending_order(&mut self, key: TaskKey, position: usize, context: &mut JobContext<'_>) -> Option<AttemptOrder> {
        // KILL_JOB covers everything.
        if self.is_over() {
            return None;
        }
        let ending = self.is_over_or_ending() && !matches!(key, TaskKey::Cleanup(_));
        let id = self.task_id(key);
        let task = self.task_mut(key);
        let winner = task.state == TaskState::Complete(position);
        let given_up = matches!(task.state, TaskState::Failed | TaskState::Killed);
        let complete = task.is_complete();
        let attempt = &mut task.attempts[position];
        // The output of a successful map must stay for the shuffle: KILL_JOB frees it.
        if winner && matches!(key, TaskKey::Work(Kind::Map, _)) {
            return None;
        }
        if attempt.kill_request.is_some() && (attempt.is_active() || attempt.cleanup_tracker.is_some()) {
            return Some(AttemptOrder::Kill);
        }
        if let Some(why) = attempt.preemption.take() {
            if attempt.order_preemption(id.attempt(attempt.number), &why, context.facts) {
                return Some(AttemptOrder::Kill);
            }
            // It is done, or about to be: its slot is released anyway.
            self.refresh_releasing(key, context.scheduler);
        }
        let task = self.task_mut(key);
        let attempt = &mut task.attempts[position];
        // A running task-cleanup is ended only at a user's request.
        let mut close = !attempt.is_unclean() && (ending || given_up || complete);
        if attempt.state == AttemptState::CommitPending && !close && !attempt.close_sent {
            match task.committer {
                Some(holder) if holder == position => return Some(AttemptOrder::Commit),
                Some(_) => close = true,
                None => {
                    task.committer = Some(position);
                    context.facts.push(JobFact::CommitGranted { attempt: id.attempt(attempt.number) });
                    return Some(AttemptOrder::Commit);
                }
            }
        }
        if !close || std::mem::replace(&mut attempt.close_sent, true) {
            return None;
        }
        self.refresh_releasing(key, context.scheduler);
        Some(AttemptOrder::Kill)
    }

    /// Records a user's request for an attempt's end; false when no tracker has reported that it runs, or a user
    /// requested its end before. The last request still decides how it ends (1.2.1 `TaskInProgress.killTask`).
    pub(crate) fn request_kill(
        &mut self,
        key: TaskKey,
        number: i32,
        fail: bool,
        scheduler: &mut Scheduler,
        facts: &mut Vec<JobFact>,
    ) -> bool {
        let id = self.task_id(key);
        let task = self.task_mut(key);
        let Some(position) = task.position(number) else { return false };
        let attempt = &mut task.attempts[position];
        if !attempt.reported || (!attempt.is_active() && attempt.cleanup_tracker.is_none()) {
            return false;
        }
        let id = id.attempt(number);
        let wish = if fail { KillRequest::Fail } else { KillRequest::Kill };
        let before = attempt.kill_request.replace(wish);
        attempt.preemption = None;
        if before != Some(wish) {
            facts.push(JobFact::AttemptKillRequested { attempt: id, request: wish });
        }
        let is_first = before.is_none_or(|before| before == KillRequest::Preempt);
        if is_first {
            let verb = if fail { "fail" } else { "kill" };
            attempt.diagnostics.add(&format!("Request received to {verb} task '{id}' by user"));
            let diagnostics = attempt.diagnostics.joined();
            facts.push(JobFact::AttemptReported { attempt: id, diagnostics, failed_fetches: Vec::new() });
        }
        self.refresh_releasing(key, scheduler);
        is_first
    }
}

fn take_failed_fetches(report: &mut TaskStatus) -> Vec<AttemptId> {
    report.reduce.as_mut().map(|reduce| std::mem::take(&mut reduce.failed_fetches)).unwrap_or_default()
}

/// Adds a report's diagnostics to an attempt's: as a fact, with `failed_fetches`, if it says anything and the attempt lives on.
fn add_diagnostics(
    attempt: &mut Attempt,
    report: &TaskStatus,
    failed_fetches: Option<&Vec<AttemptId>>,
    facts: &mut Vec<JobFact>,
) {
    attempt.diagnostics.add(&report.diagnostics);
    // The fact of an attempt's end has its diagnostics.
    if let Some(failed_fetches) = failed_fetches.filter(|_| is_live(report.state)) {
        let (diagnostics, failed_fetches) = (attempt.diagnostics.joined(), failed_fetches.clone());
        facts.push(JobFact::AttemptReported { attempt: report.attempt, diagnostics, failed_fetches });
    }
}

/// Says of a success that it came too late. A report that is sent again adds nothing: no fact would have it.
fn add_lateness(attempt: &mut Attempt, reported: AttemptState, done_by_other: bool) {
    if done_by_other && reported == AttemptState::Succeeded && attempt.is_active() {
        attempt.diagnostics.add("Already completed TIP");
    }
}

/// The state that results from a reported one (1.2.1 `JobInProgress.updateTaskStatus`, first part).
fn effective_state(
    reported: AttemptState,
    request: Option<KillRequest>,
    done_by_other: bool,
    no_cleanup: bool,
) -> AttemptState {
    use AttemptState as S;
    let state = match reported {
        S::Succeeded if done_by_other || request.is_some() => S::Killed,
        S::FailedUnclean if no_cleanup => S::Failed,
        S::KilledUnclean if no_cleanup => S::Killed,
        other => other,
    };
    match (request, state) {
        (Some(KillRequest::Fail), S::Killed) => S::Failed,
        (Some(KillRequest::Fail), S::KilledUnclean) => S::FailedUnclean,
        (Some(KillRequest::Kill | KillRequest::Preempt), S::Failed) => S::Killed,
        (Some(KillRequest::Kill | KillRequest::Preempt), S::FailedUnclean) => S::KilledUnclean,
        (_, state) => state,
    }
}

/// Whether this is a FAILED or KILLED state, clean or not.
fn is_bad_end(state: AttemptState) -> bool {
    use AttemptState as S;
    matches!(state, S::Failed | S::Killed | S::FailedUnclean | S::KilledUnclean)
}

/// Whether a tracker continues to report an attempt in this state.
fn is_live(state: AttemptState) -> bool {
    matches!(state, AttemptState::Unassigned | AttemptState::Running | AttemptState::CommitPending)
}

/// Progress within 0 to 1: some trackers send more than 1, and anything can be sent.
fn clamp(progress: f32) -> f32 {
    if progress.is_nan() { 0.0 } else { progress.clamp(0.0, 1.0) }
}
