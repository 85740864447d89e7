//! Settings of a store.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::JobId;

/// Which finished jobs stay in the database: both limits hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Most finished jobs. 0: no limit.
    pub jobs: u64,
    /// Whole days for which a finished job stays. 0: no limit.
    pub days: u32,
    /// Most recently finished jobs that stay in any case.
    pub always: u64,
}

impl Retention {
    /// Most finished jobs that may stay.
    pub(super) fn most(&self) -> u64 {
        if self.jobs == 0 { u64::MAX } else { self.jobs.max(self.always) }
    }
}

pub(super) const DAY_MS: i64 = 86_400_000;

/// The beginning of the day so many days before that of a time, both epoch ms.
pub(super) fn days_before(at_ms: i64, days: u32) -> i64 {
    (at_ms.div_euclid(DAY_MS) - i64::from(days)).saturating_mul(DAY_MS)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// The folder of `state.db`, made if it is missing.
    pub dir: PathBuf,
    /// Facts sent but not durable above which [`Pressure::High`](super::Pressure::High) is reported.
    pub backlog_limit_facts: u64,
    /// Most facts of one transaction, so that the first need not wait for the last.
    pub transaction_limit_facts: usize,
    /// Size of the write-ahead log above which it is checkpointed between two transactions, bytes.
    pub checkpoint_bytes: u64,
    /// Idle time after which the write-ahead log is checkpointed however small it is.
    pub checkpoint_idle: Duration,
    /// Pause before a failed commit is retried; doubles at each failure.
    pub retry_pause_min: Duration,
    pub retry_pause_max: Duration,
    /// Whole days for which the ledger keeps every movement; older ones become daily sums.
    pub ledger_detail_days: u32,
    /// Newest finished jobs that a start loads.
    pub finished_jobs: usize,
    /// Limits on finished jobs in the database.
    pub retention: Retention,
    /// Jobs that a start looks up, however long ago they ended: see [`LoadedState::looked_for`](super::LoadedState).
    pub look_for: BTreeSet<JobId>,
    /// A predecessor may still resume with the database: a migration of it is committed by
    /// [`Store::commit_migration`](super::Store::commit_migration), and no fact before.
    pub holds_migration: bool,
}

impl StoreOptions {
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
            holds_migration: false,
        }
    }
}
