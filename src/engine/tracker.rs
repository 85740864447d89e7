//! A registered tracker, as the engine remembers it.

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
    /// Slots it last said were in use.
    pub(super) busy: PerKind<u32>,
    pub(super) healthy: bool,
    /// It wants no work although it has free slots.
    pub(super) refuses_work: bool,
    /// What its health script complains about; empty while it is healthy.
    pub(super) complaint: String,
    /// The connection its last heartbeat came on.
    pub(super) connection: u64,
    /// When its first heartbeat came on it.
    pub(super) connected_mono_ms: u64,
    /// It registered on it under a name that was free.
    pub(super) is_introduced: bool,
    pub(super) last_seen_mono_ms: u64,
    /// The id of the last answer.
    pub(super) response_id: i16,
    pub(super) last_answer: LastAnswer,
    /// An answer with launches is stored for it.
    pub(super) has_launch_answer: bool,
    /// How far it has come back after a restart.
    pub(super) adoption: Adoption,
    /// The fact that the last answer was held back for.
    pub(super) answer_waits_for: FactNumber,
    /// Attempts that run there or whose map output lies there.
    pub(super) attempts: BTreeSet<AttemptId>,
    /// Attempts that it is at work on and nobody here has launched; it has been told to drop them.
    pub(super) strays: BTreeSet<AttemptId>,
    /// It says that it has more slots than any tracker is believed to have; that was logged.
    pub(super) claims_too_many_slots: bool,
    /// Its next answer tells it to read the events of some jobs from the first one on.
    pub(super) reads_events_anew: bool,
    /// Attempts that it has not been told to drop, and will not mention itself.
    pub(super) kill_tasks: Vec<AttemptId>,
    /// Jobs whose end it has not been told yet, or not received.
    pub(super) kill_jobs: BTreeSet<JobId>,
    /// Those of them that the last answer told.
    pub(super) kill_jobs_told: Vec<JobId>,
}

/// The last answer, to be repeated should it get lost.
#[derive(Clone, Debug)]
pub(super) enum LastAnswer {
    /// Nothing to do; the interval, ms.
    Idle(i32),
    /// The encoded answer.
    Encoded(Arc<[u8]>),
}

/// How far a tracker that was registered before a restart of the daemon has come back.
///
/// While the daemon is away a tracker sends one report again and again, unchanged, until it is answered. So its first
/// report may be as old as the outage; the second tells what it runs.
#[derive(Clone, Debug, Default)]
pub(super) enum Adoption {
    /// It is back, or was never away.
    #[default]
    Settled,
    /// It has not called yet. Attempts of jobs name it, or it is owed a word.
    Awaited(Option<LaunchAnswer>),
    /// It has called once.
    Heard,
}

/// The last answer with launches that was made for a tracker; whether it was received is not known.
#[derive(Clone, Debug)]
pub(super) struct LaunchAnswer {
    pub(super) response_id: i16,
    pub(super) body: Arc<[u8]>,
}

// === impl Tracker ===

impl Tracker {
    /// Slots free by its own last word.
    pub(super) fn free(&self) -> PerKind<u32> {
        PerKind::new(self.slots.map.saturating_sub(self.busy.map), self.slots.reduce.saturating_sub(self.busy.reduce))
    }

    /// See [`OwnConnection::is_sure`](super::OwnConnection::is_sure).
    pub(super) fn is_sure(&self, expiry_ms: u64, now: Now) -> bool {
        self.is_introduced || now.mono_ms.saturating_sub(self.connected_mono_ms) >= expiry_ms
    }

    /// An answer with nothing to do.
    pub(super) fn idle_answer(response_id: i16, interval_ms: i32) -> HeartbeatResponse {
        HeartbeatResponse { response_id, interval_ms, actions: Vec::new(), recovered_jobs: Vec::new() }
    }
}
