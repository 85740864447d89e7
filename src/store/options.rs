//! What can be set about a store.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::JobId;

/// Which finished jobs stay on the disk: both limits hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Most finished jobs. 0: no limit.
    pub jobs: u64,
    /// Whole days for which a finished job stays. 0: no limit.
    pub days: u32,
    /// So many stay in any case, those that ended last.
    pub always: u64,
}

// === impl Retention ===

impl Retention {
    /// Most finished jobs, all told.
    pub(super) fn most(&self) -> u64 {
        if self.jobs == 0 { u64::MAX } else { self.jobs.max(self.always) }
    }
}

/// Settings of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// The folder of `state.db`, made if it is missing.
    pub dir: PathBuf,
    /// Facts handed in but not durable above which [`Pressure::High`](super::Pressure::High) is reported.
    pub backlog_limit_facts: u64,
    /// Facts after which a transaction is closed although more wait, so that the first need not wait for the last.
    pub transaction_limit_facts: usize,
    /// Size of the write-ahead log above which it is moved into the database between two transactions, bytes.
    pub checkpoint_bytes: u64,
    /// Idle time after which the write-ahead log is moved into the database however small it is.
    pub checkpoint_idle: Duration,
    /// Pause before a failed commit is tried again; doubles at each failure.
    pub retry_pause_min: Duration,
    /// The longest such pause.
    pub retry_pause_max: Duration,
    /// Whole days for which the ledger keeps every movement; older ones become daily sums.
    pub ledger_detail_days: u32,
    /// Finished jobs that a start tells of, the newest.
    pub finished_jobs: usize,
    /// Finished jobs that stay on the disk.
    pub retention: Retention,
    /// Jobs of which a start tells whether they are known, however long they are over.
    pub look_for: BTreeSet<JobId>,
}

// === impl StoreOptions ===

impl StoreOptions {
    /// The usual settings for a store in that folder.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            backlog_limit_facts: 100_000,
            transaction_limit_facts: 10_000,
            checkpoint_bytes: 16 << 20,
            checkpoint_idle: Duration::from_secs(2),
            retry_pause_min: Duration::from_millis(50),
            retry_pause_max: Duration::from_secs(5),
            ledger_detail_days: 30,
            finished_jobs: 1_000,
            retention: Retention { jobs: 100_000, days: 0, always: 1_000 },
            look_for: BTreeSet::new(),
        }
    }
}
