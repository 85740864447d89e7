//! The state of a registered tracker.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::{AttemptId, FactNumber, JobId, Now, PerKind};
use crate::scheduler::NodeId;
use crate::wire::HeartbeatResponse;

/// One registered tracker.
#[derive(Debug)]
pub(super) struct Tracker {
    pub(super) name: Arc<str>,
    pub(super) host: Arc<str>,
    pub(super) node: NodeId,
    pub(super) http_port: i32,
    pub(super) slots: PerKind<u32>,
    /// Slots in use by its last report.
    pub(super) busy: PerKind<u32>,
    pub(super) healthy: bool,
    /// It accepts no tasks although it has free slots.
    pub(super) refuses_work: bool,
    /// The report of its health script; empty while it is healthy.
    pub(super) complaint: String,
    /// The connection of its last heartbeat.
    pub(super) connection: u64,
    /// Time of its first heartbeat on `connection`.
    pub(super) connected_mono_ms: u64,
    /// It registered on `connection` under a name that was free.
    pub(super) is_introduced: bool,
    pub(super) last_seen_mono_ms: u64,
    /// The response id of the last answer.
    pub(super) response_id: i16,
    pub(super) last_answer: LastAnswer,
    /// The store has an answer with launches for it.
    pub(super) has_launch_answer: bool,
    /// The progress of its recovery after a restart.
    pub(super) recovery: TrackerRecovery,
    /// The fact that the last answer waits for.
    pub(super) answer_waits_for: FactNumber,
    /// Attempts that run there or whose map output is kept there.
    pub(super) attempts: BTreeSet<AttemptId>,
    /// Attempts that it runs and this JobTracker has not launched; it has been ordered to drop them.
    pub(super) unknown_attempts: BTreeSet<AttemptId>,
    /// It claims more slots than the limit, which has been logged.
    pub(super) claims_too_many_slots: bool,
    /// Its next answer orders it to reread the completion events of some jobs from the first.
    pub(super) rereads_events: bool,
    /// Attempts to kill that it will not report by itself.
    pub(super) kill_tasks: Vec<AttemptId>,
    /// Completed jobs whose KILL_JOB it has not acknowledged.
    pub(super) kill_jobs: BTreeSet<JobId>,
    /// Those of `kill_jobs` in the last answer.
    pub(super) kill_jobs_sent: Vec<JobId>,
}

/// The last answer, resent if it was lost.
#[derive(Clone, Debug)]
pub(super) enum LastAnswer {
    /// Nothing to do; the interval, ms.
    Idle(i32),
    /// The encoded answer.
    Encoded(Arc<[u8]>),
}

/// The progress of a tracker's recovery after a restart of the daemon.
///
/// While the daemon is down, a tracker repeats one unchanged report until it is answered. So its first report may be as
/// old as the outage; the second is fresh.
#[derive(Clone, Debug, Default)]
pub(super) enum TrackerRecovery {
    /// Recovered, or registered since the restart.
    #[default]
    Complete,
    /// No heartbeat yet: it has attempts, or a pending KILL_JOB.
    Expected(Option<LaunchAnswer>),
    /// One heartbeat has come.
    ReportedOnce,
}

/// The last answer with launches for a tracker, which may not have received it.
#[derive(Clone, Debug)]
pub(super) struct LaunchAnswer {
    pub(super) response_id: i16,
    pub(super) body: Arc<[u8]>,
}

// === impl Tracker ===

impl Tracker {
    /// Free slots by its last report.
    pub(super) fn free(&self) -> PerKind<u32> {
        PerKind::new(self.slots.map.saturating_sub(self.busy.map), self.slots.reduce.saturating_sub(self.busy.reduce))
    }

    /// See [`TrackerConnection::is_sure`](super::TrackerConnection::is_sure).
    pub(super) fn is_sure(&self, expiry_ms: u64, now: Now) -> bool {
        self.is_introduced || now.mono_ms.saturating_sub(self.connected_mono_ms) >= expiry_ms
    }

    /// An answer with nothing to do.
    pub(super) fn idle_answer(response_id: i16, interval_ms: i32) -> HeartbeatResponse {
        HeartbeatResponse { response_id, interval_ms, actions: Vec::new(), recovered_jobs: Vec::new() }
    }
}
