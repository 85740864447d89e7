//! One run of a task, and the state transitions that reports may cause.

use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, TrackerId, Violations};
use crate::wire::Phase;

use super::CounterValues;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptRole {
    JobSetup,
    /// The job's cleanup: its commit or abort.
    JobCleanup,
    Work,
    /// The task-cleanup of an attempt, under that attempt's own id.
    TaskCleanup,
}

/// The effect of a report (1.2.1 `TaskInProgress.updateStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportEffect {
    Transition,
    /// The same state: progress and counters only.
    Update,
    /// Out of order or repeated; nothing changes.
    Ignore,
    /// The attempt should no longer run: nothing changes, and it is killed.
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillRequest {
    /// KILLED, by a user.
    Kill,
    /// FAILED, by a user.
    Fail,
    /// KILLED, because another queue has bought the slot.
    Preempt,
}

#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Never used twice for one task.
    pub(crate) number: i32,
    pub(crate) role: AttemptRole,
    pub(crate) state: AttemptState,
    pub(crate) phase: Phase,
    pub(crate) tracker: TrackerId,
    /// The tracker that runs its task-cleanup, while one does.
    pub(crate) cleanup_tracker: Option<TrackerId>,
    /// Slots of `tracker` that it takes; its task-cleanup takes one.
    pub(crate) slots: u32,
    /// Whether it holds its slots, or its task-cleanup holds one.
    pub(crate) holds_slot: bool,
    /// Whether the tracker has reported that it works on it, or on its task-cleanup.
    pub(crate) started: bool,
    /// Whether a tracker has reported it, or its task-cleanup once that was launched.
    pub(crate) reported: bool,
    /// Whether the one order to close it was sent.
    pub(crate) close_sent: bool,
    /// The end requested by a user, or by preemption once its tracker was ordered to kill it.
    pub(crate) kill_request: Option<KillRequest>,
    /// Why it is preempted, until its tracker is ordered to kill it at the next heartbeat; dropped when the attempt is done by then.
    pub(crate) preemption: Option<Arc<str>>,
    /// Whether its tracker was ordered to kill it for another queue.
    pub(crate) was_preempted: bool,
    /// Whether the scheduler counts its slots as being released.
    pub(super) is_releasing: bool,
    /// 0 to 1.
    pub(crate) progress: f32,
    /// Launch time, epoch ms.
    pub(crate) launch_ms: i64,
    /// Launch time, ms of the monotonic clock.
    pub(crate) launch_mono_ms: u64,
    /// Epoch ms by the tracker's clock; 0 = not yet.
    pub(crate) start_ms: i64,
    /// Epoch ms; 0 = not yet.
    pub(crate) finish_ms: i64,
    /// Reduces: when copying ended, epoch ms; 0 = not yet.
    pub(crate) shuffle_finish_ms: i64,
    /// Reduces: when merging ended, epoch ms; 0 = not yet.
    pub(crate) sort_finish_ms: i64,
    /// Bytes of a map's output; -1 = unknown.
    pub(crate) output_bytes: i64,
    pub(crate) counters: Option<CounterValues>,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) state_text: String,
}

impl Attempt {
    /// Longest status text, bytes: the rest is cut.
    pub(crate) const MAX_STATE_TEXT_BYTES: usize = crate::wire::limits::STATE_TEXT_BYTES;

    pub(crate) fn percent(&self) -> u32 {
        // NaN becomes 0.
        (self.progress.clamp(0.0, 1.0) * 100.0) as u32
    }

    /// A new attempt on a tracker, where it takes one slot.
    pub(crate) fn launched(
        number: i32,
        role: AttemptRole,
        phase: Phase,
        tracker: TrackerId,
        now: crate::model::Now,
    ) -> Self {
        Self {
            number,
            role,
            state: AttemptState::Unassigned,
            phase,
            tracker,
            cleanup_tracker: None,
            slots: 1,
            holds_slot: true,
            started: false,
            reported: false,
            close_sent: false,
            kill_request: None,
            preemption: None,
            was_preempted: false,
            is_releasing: false,
            progress: 0.0,
            launch_ms: now.wall_ms,
            launch_mono_ms: now.mono_ms,
            start_ms: 0,
            finish_ms: 0,
            shuffle_finish_ms: 0,
            sort_finish_ms: 0,
            output_bytes: -1,
            counters: None,
            diagnostics: Diagnostics::default(),
            state_text: String::new(),
        }
    }

    /// Changes the state and returns the one before: the only place that does so. `id` is the attempt's own.
    #[track_caller]
    pub(super) fn enter_state(
        &mut self,
        next: AttemptState,
        id: AttemptId,
        violations: &mut Violations,
    ) -> AttemptState {
        violations.check(self.state.can_become(next), || format!("{id} turns from {:?} to {next:?}", self.state));
        std::mem::replace(&mut self.state, next)
    }

    /// Whether its tracker may still work on it.
    pub(crate) fn is_active(&self) -> bool {
        matches!(self.state, AttemptState::Unassigned | AttemptState::Running | AttemptState::CommitPending)
    }

    pub(crate) fn is_unclean(&self) -> bool {
        matches!(self.state, AttemptState::FailedUnclean | AttemptState::KilledUnclean)
    }

    /// The final state of an unclean attempt that gets no task-cleanup; none for others.
    pub(crate) fn state_without_cleanup(&self) -> Option<AttemptState> {
        match self.state {
            AttemptState::FailedUnclean => Some(AttemptState::Failed),
            AttemptState::KilledUnclean => Some(AttemptState::Killed),
            _ => None,
        }
    }

    /// The diagnostics of an attempt lost with its tracker (text of 1.2.1).
    pub(crate) fn lost_tracker_text(tracker: &str) -> String {
        format!("Lost task tracker: {tracker}")
    }

    pub(crate) fn set_state_text(&mut self, mut text: String) {
        text.truncate(text.floor_char_boundary(Self::MAX_STATE_TEXT_BYTES));
        self.state_text = text;
    }
}

/// The effect of a report of state `new` on an attempt in state `old`; `cleaning` while its task-cleanup runs.
pub(crate) fn report_effect(old: AttemptState, new: AttemptState, cleaning: bool) -> ReportEffect {
    use AttemptState as S;
    match (old, new) {
        (S::Failed | S::Killed, _) if old == new => ReportEffect::Ignore,
        (S::Failed | S::Killed, S::Running | S::Unassigned | S::CommitPending) => ReportEffect::Kill,
        (S::Failed | S::Killed, _) => ReportEffect::Ignore,
        (S::FailedUnclean | S::KilledUnclean, S::Failed | S::Killed) if cleaning => ReportEffect::Transition,
        (S::FailedUnclean | S::KilledUnclean, S::FailedUnclean | S::KilledUnclean) if cleaning => ReportEffect::Update,
        (S::FailedUnclean | S::KilledUnclean, _) => ReportEffect::Ignore,
        (S::Succeeded, S::Failed | S::Killed) => ReportEffect::Transition,
        (S::Succeeded, _) => ReportEffect::Ignore,
        (S::CommitPending, S::Running | S::Unassigned) => ReportEffect::Ignore,
        (S::Running, S::Unassigned) => ReportEffect::Update,
        _ if old == new => ReportEffect::Update,
        _ => ReportEffect::Transition,
    }
}

/// Texts in order of arrival (1.2.1 `TaskInProgress.addDiagnosticInfo`).
///
/// Invariant: no text is empty, and all of them joined are at most [`Self::MAX_BYTES`] long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diagnostics(Vec<Box<str>>);

impl From<String> for Diagnostics {
    fn from(text: String) -> Self {
        let mut diagnostics = Self::default();
        diagnostics.add(&text);
        diagnostics
    }
}

impl Diagnostics {
    /// Most that is kept for one attempt, bytes: later texts are dropped.
    pub(crate) const MAX_BYTES: usize = crate::wire::limits::DIAGNOSTICS_BYTES;

    /// Appends a text, cut to the room left.
    pub(crate) fn add(&mut self, text: &str) {
        let used: usize = self.0.iter().map(|text| text.len() + 1).sum();
        let room = Self::MAX_BYTES.saturating_sub(used);
        let kept = &text[..text.floor_char_boundary(room)];
        if !kept.is_empty() {
            self.0.push(kept.into());
        }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|text| &**text)
    }

    /// All texts, one a line: a client that prints them one by one shows the same.
    pub(crate) fn joined(&self) -> String {
        self.0.join("\n")
    }

    pub(crate) fn ends_with(&self, text: &str) -> bool {
        self.0.last().is_some_and(|last| last.ends_with(text))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [AttemptState; 8] = [
        AttemptState::Unassigned,
        AttemptState::Running,
        AttemptState::CommitPending,
        AttemptState::Succeeded,
        AttemptState::Failed,
        AttemptState::Killed,
        AttemptState::FailedUnclean,
        AttemptState::KilledUnclean,
    ];

    #[test]
    fn a_final_state_never_goes_back() {
        for old in [AttemptState::Failed, AttemptState::Killed, AttemptState::Succeeded] {
            for new in STATES {
                let report_effect = report_effect(old, new, false);
                let lost_output =
                    old == AttemptState::Succeeded && matches!(new, AttemptState::Failed | AttemptState::Killed);
                assert_eq!(report_effect == ReportEffect::Transition, lost_output, "{old:?} -> {new:?}");
                assert_ne!(report_effect, ReportEffect::Update, "{old:?} -> {new:?}");
            }
        }
    }

    #[test]
    fn every_transition_that_a_report_causes_is_legal_and_an_ended_attempt_stays_ended() {
        for (old, new) in STATES.into_iter().flat_map(|old| STATES.map(|new| (old, new))) {
            for cleaning in [false, true] {
                let changes = report_effect(old, new, cleaning) == ReportEffect::Transition;
                assert!(!changes || old.can_become(new), "{old:?} -> {new:?}");
            }
        }
        let id = "job_1_0001".parse::<crate::model::JobId>().unwrap().task(crate::model::Kind::Map, 3).attempt(1);
        let now = crate::model::Now { mono_ms: 0, wall_ms: 0 };
        let mut attempt = Attempt::launched(1, AttemptRole::Work, Phase::Map, TrackerId::default(), now);
        let mut violations = Violations::counting();
        for next in [AttemptState::Running, AttemptState::Succeeded, AttemptState::Killed] {
            attempt.enter_state(next, id, &mut violations);
        }
        assert!(violations.is_empty());
        attempt.enter_state(AttemptState::Running, id, &mut violations);
        assert_eq!(violations.take()[0].text, "attempt_1_0001_m_000003_1 turns from Killed to Running");
    }

    #[test]
    fn a_late_report_kills_only_a_running_attempt() {
        assert_eq!(report_effect(AttemptState::Killed, AttemptState::Running, false), ReportEffect::Kill);
        assert_eq!(report_effect(AttemptState::Failed, AttemptState::CommitPending, false), ReportEffect::Kill);
        assert_eq!(report_effect(AttemptState::Killed, AttemptState::Succeeded, false), ReportEffect::Ignore);
    }

    #[test]
    fn an_active_attempt_may_end_in_any_way() {
        for new in &STATES[3..] {
            assert_eq!(report_effect(AttemptState::Running, *new, false), ReportEffect::Transition);
            assert_eq!(report_effect(AttemptState::CommitPending, *new, false), ReportEffect::Transition);
        }
        assert_eq!(report_effect(AttemptState::CommitPending, AttemptState::Running, false), ReportEffect::Ignore);
    }

    #[test]
    fn only_its_cleanup_ends_an_unclean_attempt() {
        use AttemptState as S;
        assert_eq!(report_effect(S::KilledUnclean, S::Killed, true), ReportEffect::Transition);
        assert_eq!(report_effect(S::KilledUnclean, S::Killed, false), ReportEffect::Ignore);
        assert_eq!(report_effect(S::KilledUnclean, S::KilledUnclean, true), ReportEffect::Update);
        assert_eq!(report_effect(S::KilledUnclean, S::Running, false), ReportEffect::Ignore);
    }

    #[test]
    fn texts_stay_apart_and_empty_ones_are_none() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.add("");
        assert!(diagnostics.is_empty());
        diagnostics.add("disk on fire\n");
        diagnostics.add("killed");
        assert_eq!(diagnostics.texts().collect::<Vec<_>>(), ["disk on fire\n", "killed"]);
        assert_eq!(diagnostics.joined(), "disk on fire\n\nkilled");
    }

    #[test]
    fn they_are_bounded_and_cut_at_characters() {
        for text in ["ä", "x", "more than one character"] {
            let mut diagnostics = Diagnostics::default();
            diagnostics.add(&"ä".repeat(100));
            for _ in 0..Diagnostics::MAX_BYTES {
                diagnostics.add(text);
            }
            let bytes = diagnostics.joined().len();
            assert!((Diagnostics::MAX_BYTES - 2..=Diagnostics::MAX_BYTES).contains(&bytes), "{bytes} bytes of {text}");
        }
    }
}
