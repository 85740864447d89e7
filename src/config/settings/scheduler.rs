//! Who hands out slots.

use std::path::PathBuf;

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys::{self, Key};
use crate::config::parts_per_million::PartsPerMillion;

/// The class name that stands for FIFO.
pub const FIFO_CLASS: &str = "org.apache.hadoop.mapred.JobQueueTaskScheduler";
/// The class name that stands for the Dynamic Priority Scheduler.
pub const DYNAMIC_CLASS: &str = "org.apache.hadoop.mapred.DynamicPriorityScheduler";

/// The class name that stands for the budget file.
const FILE_STORE_CLASS: &str = "org.apache.hadoop.mapred.FileAllocationStore";
/// The class name of what enforces shares under the Dynamic Priority Scheduler.
const ENFORCING_CLASS: &str = "org.apache.hadoop.mapred.PriorityScheduler";

/// Who hands out slots, and on what terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerKind {
    /// One line of jobs by priority and submission time.
    Fifo(FifoSettings),
    /// A market for slots.
    Dynamic(DynamicSettings),
}

/// Terms of FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoSettings {
    /// Assign exactly as Hadoop 1.2.1, however slow.
    pub is_compatible: bool,
    /// In compatible mode the share of slots kept free.
    pub capacity_pad: PartsPerMillion,
}

/// Terms of the Dynamic Priority Scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicSettings {
    /// Between two allocations, ms; a whole number of seconds.
    pub alloc_interval_ms: u64,
    /// Between two rounds of preemption, ms; `None`: never.
    pub kill_interval_ms: Option<u64>,
    /// What stands behind the budgets outside of the state database.
    pub budget_store: BudgetStoreKind,
    /// Where budgets come in and go out.
    pub budget_file: PathBuf,
    /// Users, roles, keys.
    pub acl_file: PathBuf,
    /// How far a request's timestamp may be from our clock, ms.
    pub signature_window_ms: u64,
    /// How far a job signature's timestamp may be from our clock, ms.
    pub job_signature_window_ms: u64,
    /// How many jobs one signature may submit.
    pub job_signature_uses: u32,
    /// Whether shares of queues and costs of jobs are shown to who does not sign.
    pub is_public: bool,
}

/// What budgets come in from at the very first start and are shown by from then on.
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
                is_compatible: configuration.flag(&keys::FIFO_COMPATIBLE)?,
                capacity_pad: configuration.ratio(&keys::CAPACITY_PAD)?,
            })),
            DYNAMIC_CLASS => DynamicSettings::from_configuration(configuration).map(SchedulerKind::Dynamic),
            _ => Err(class.refused(format!("{FIFO_CLASS} or {DYNAMIC_CLASS}"))),
        }
    }

    /// The class name it goes by.
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
        // The key table bounds the seconds so that this cannot overflow.
        let milliseconds = |key: &Key| configuration.number::<u64>(key).map(|seconds| seconds.saturating_mul(1000));
        let enforcing = configuration.required(&keys::ENFORCING_SCHEDULER)?;
        if enforcing.value.trim() != ENFORCING_CLASS {
            return Err(enforcing.refused(format!("{ENFORCING_CLASS}, the only one there is")));
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
            _ => Err(class.refused(format!("{FILE_STORE_CLASS}, the budget file; there is no other yet"))),
        }
    }
}
