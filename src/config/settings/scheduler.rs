//! The scheduler and its settings.

use std::path::PathBuf;

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::config::keys::Key;
use crate::config::parts_per_million::PartsPerMillion;

/// Class name of FIFO.
pub const FIFO_CLASS: &str = "org.apache.hadoop.mapred.JobQueueTaskScheduler";
/// Class name of the Dynamic Priority Scheduler.
pub const DYNAMIC_CLASS: &str = "org.apache.hadoop.mapred.DynamicPriorityScheduler";

/// Class name of the budget file.
const FILE_STORE_CLASS: &str = "org.apache.hadoop.mapred.FileAllocationStore";
/// Class name of the scheduler that enforces shares under the Dynamic Priority Scheduler.
const ENFORCING_CLASS: &str = "org.apache.hadoop.mapred.PriorityScheduler";

/// The scheduler and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerKind {
    /// Jobs by priority, then by submission time.
    Fifo(FifoSettings),
    /// A market for slots.
    Dynamic(DynamicSettings),
}

/// Settings of FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoSettings {
    /// Whether tasks are assigned exactly as in Hadoop 1.2.1, even if slower.
    pub is_compatible: bool,
    /// Share of the slots kept free in compatible mode.
    pub capacity_pad: PartsPerMillion,
}

/// Settings of the Dynamic Priority Scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicSettings {
    /// Time between two ticks, ms; a whole number of seconds.
    pub alloc_interval_ms: u64,
    /// Time between two rounds of preemption, ms; `None`: no preemption.
    pub kill_interval_ms: Option<u64>,
    /// Back-end for budgets outside of the state database.
    pub budget_store: BudgetStoreKind,
    /// The budget file.
    pub budget_file: PathBuf,
    /// The file of users, roles and keys.
    pub acl_file: PathBuf,
    /// Maximum difference between a request's timestamp and the server's clock, ms.
    pub signature_window_ms: u64,
    /// Maximum difference between a job signature's timestamp and the server's clock, ms.
    pub job_signature_window_ms: u64,
    /// Number of jobs that one signature may submit.
    pub job_signature_uses: u32,
    /// Whether unsigned requests see shares of queues and costs of jobs.
    pub is_public: bool,
}

/// Back-end that budgets are imported from at the first start and published to afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetStoreKind {
    /// The budget file.
    File,
}

impl SchedulerKind {
    pub(super) fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let class = configuration.required(&keys::TASK_SCHEDULER)?;
        match class.value.trim() {
            FIFO_CLASS => Ok(SchedulerKind::Fifo(FifoSettings {
                is_compatible: configuration.agreed_flag(&keys::COMPATIBLE)?,
                capacity_pad: configuration.ratio(&keys::CAPACITY_PAD)?,
            })),
            DYNAMIC_CLASS => DynamicSettings::from_configuration(configuration).map(SchedulerKind::Dynamic),
            _ => Err(class.bad_value(format!("{FIFO_CLASS} or {DYNAMIC_CLASS}"))),
        }
    }

    /// Its class name.
    #[must_use]
    pub fn class_name(&self) -> &'static str {
        match self {
            SchedulerKind::Fifo(_) => FIFO_CLASS,
            SchedulerKind::Dynamic(_) => DYNAMIC_CLASS,
        }
    }
}

impl DynamicSettings {
    fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        // The key table limits the seconds, so this cannot overflow.
        let milliseconds = |key: &Key| configuration.number::<u64>(key).map(|seconds| seconds.saturating_mul(1000));
        let enforcing = configuration.required(&keys::ENFORCING_SCHEDULER)?;
        if enforcing.value.trim() != ENFORCING_CLASS {
            return Err(enforcing.bad_value(format!("{ENFORCING_CLASS}, the only available one")));
        }
        Ok(DynamicSettings {
            budget_store: BudgetStoreKind::from_configuration(configuration)?,
            alloc_interval_ms: milliseconds(&keys::ALLOC_INTERVAL)?,
            kill_interval_ms: Some(milliseconds(&keys::KILL_INTERVAL)?).filter(|interval_ms| *interval_ms > 0),
            budget_file: configuration.required_local_path(&keys::BUDGET_FILE)?,
            acl_file: configuration.required_local_path(&keys::ACL_FILE)?,
            signature_window_ms: milliseconds(&keys::SIGNATURE_WINDOW)?,
            job_signature_window_ms: milliseconds(&keys::JOB_SIGNATURE_WINDOW)?,
            job_signature_uses: configuration.number(&keys::JOB_SIGNATURE_USES)?,
            is_public: configuration.required(&keys::MARKET_VISIBILITY)?.value.trim() == "public",
        })
    }
}

impl BudgetStoreKind {
    fn from_configuration(configuration: &Configuration) -> Result<Self, ConfigError> {
        let class = configuration.required(&keys::BUDGET_STORE)?;
        match class.value.trim() {
            FILE_STORE_CLASS => Ok(BudgetStoreKind::File),
            _ => Err(class.bad_value(format!("{FILE_STORE_CLASS}, the budget file, the only available one"))),
        }
    }
}
