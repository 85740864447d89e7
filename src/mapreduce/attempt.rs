//! One run of a task, and the transitions that its reports may make.

use std::sync::Arc;

use crate::model::AttemptState;
use crate::scheduler::NodeId;
use crate::wire::Phase;

use super::{AttemptRole, CounterValues, Diagnostics};

/// What becomes of a report (1.2.1 `TaskInProgress.updateStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportEffect {
    /// A new state: it has consequences.
    Transition,
    /// The same state: progress and counters only.
    Update,
    /// Out of order or repeated: nothing changes.
    Ignore,
    /// It should not run any more: nothing changes, and it is to be killed.
    Kill,
}

/// What a request makes of an attempt's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillRequest {
    /// KILLED, as a user wishes.
    Kill,
    /// FAILED, as a user wishes.
    Fail,
    /// KILLED, for its slot was bought by another queue.
    Preempt,
}

/// One run of a task.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Never used twice for one task.
    pub number: i32,
    /// What it is for.
    pub role: AttemptRole,
    /// Its state.
    pub state: AttemptState,
    /// What it is busy with.
    pub phase: Phase,
    /// The node it was given to.
    pub node: NodeId,
    /// Where its task-cleanup runs, while it does.
    pub cleanup_node: Option<NodeId>,
    /// Whether it holds a slot of `node`.
    pub holds_slot: bool,
    /// Whether the tracker has said that it is at work on it, or on its task-cleanup.
    pub started: bool,
    /// Whether a tracker has mentioned it, or its task-cleanup once that was given away.
    pub reported: bool,
    /// Whether the one order to close it was given.
    pub close_sent: bool,
    /// A user asked for its end, or its tracker has been told to end it for another queue.
    pub kill_request: Option<KillRequest>,
    /// Why its slot is to go to another queue: its tracker is told at its next heartbeat, unless the attempt is done
    /// by then.
    pub preemption: Option<Arc<str>>,
    /// Whether the scheduler counts its slot as one that comes free.
    pub(super) is_releasing: bool,
    /// 0 to 1.
    pub progress: f32,
    /// When it was given away, epoch ms.
    pub launch_ms: i64,
    /// When it was given away, by the clock that never goes back.
    pub launch_mono_ms: u64,
    /// Epoch ms by the tracker's clock; 0 = not yet.
    pub start_ms: i64,
    /// Epoch ms; 0 = not yet.
    pub finish_ms: i64,
    /// Reduces: when copying ended, epoch ms; 0 = not yet.
    pub shuffle_finish_ms: i64,
    /// Reduces: when merging ended, epoch ms; 0 = not yet.
    pub sort_finish_ms: i64,
    /// Bytes of a map's output; -1 = unknown.
    pub output_bytes: i64,
    /// Its last counters.
    pub counters: Option<CounterValues>,
    /// All it said that went wrong.
    pub diagnostics: Diagnostics,
    /// Its last word on itself.
    pub state_text: String,
}

// === impl Attempt ===

impl Attempt {
    /// Longest word of a task on itself, bytes: the rest is cut.
    pub const MAX_STATE_TEXT_BYTES: usize = crate::wire::limits::STATE_TEXT_BYTES;

    /// An attempt just given to a node.
    pub fn launched(number: i32, role: AttemptRole, phase: Phase, node: NodeId, now: crate::model::Now) -> Self {
        Self {
            number,
            role,
            state: AttemptState::Unassigned,
            phase,
            node,
            cleanup_node: None,
            holds_slot: true,
            started: false,
            reported: false,
            close_sent: false,
            kill_request: None,
            preemption: None,
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

    /// Whether it may still do something of its own.
    pub fn is_active(&self) -> bool {
        matches!(self.state, AttemptState::Unassigned | AttemptState::Running | AttemptState::CommitPending)
    }

    /// Whether it waits for, or is in, its task-cleanup.
    pub fn is_unclean(&self) -> bool {
        matches!(self.state, AttemptState::FailedUnclean | AttemptState::KilledUnclean)
    }

    /// The final state of an attempt that needs its task-cleanup no more; none for one that waits for none.
    pub fn state_without_cleanup(&self) -> Option<AttemptState> {
        match self.state {
            AttemptState::FailedUnclean => Some(AttemptState::Failed),
            AttemptState::KilledUnclean => Some(AttemptState::Killed),
            _ => None,
        }
    }

    /// What is said of an attempt that was lost with its tracker (the words of 1.2.1).
    pub fn lost_tracker_text(tracker: &str) -> String {
        format!("Lost task tracker: {tracker}")
    }

    /// Notes its word on itself, up to [`Self::MAX_STATE_TEXT_BYTES`].
    pub fn set_state_text(&mut self, mut text: String) {
        text.truncate(text.floor_char_boundary(Self::MAX_STATE_TEXT_BYTES));
        self.state_text = text;
    }
}

/// What a report of state `new` does to an attempt in state `old`; `cleaning` while its task-cleanup runs.
pub fn report_effect(old: AttemptState, new: AttemptState, cleaning: bool) -> ReportEffect {
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
    fn what_came_back_late_is_killed_only_while_it_runs() {
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
    fn unclean_ends_only_by_its_cleanup() {
        use AttemptState as S;
        assert_eq!(report_effect(S::KilledUnclean, S::Killed, true), ReportEffect::Transition);
        assert_eq!(report_effect(S::KilledUnclean, S::Killed, false), ReportEffect::Ignore);
        assert_eq!(report_effect(S::KilledUnclean, S::KilledUnclean, true), ReportEffect::Update);
        assert_eq!(report_effect(S::KilledUnclean, S::Running, false), ReportEffect::Ignore);
    }
}
