//! The scheduler and its settings.

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::config::keys::Key;
use crate::model::PartsPerMillion;

/// Class name of FIFO.
pub const FIFO_CLASS: &str = "org.apache.hadoop.mapred.JobQueueTaskScheduler";
/// Class name of the Dynamic Priority Scheduler.
pub const DYNAMIC_CLASS: &str = "org.apache.hadoop.mapred.DynamicPriorityScheduler";

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

/// Settings of the Dynamic Priority Scheduler, beside those of its market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicSettings {
    /// Time between two ticks, ms; a whole number of seconds.
    pub alloc_interval_ms: u64,
    /// Time between two rounds of preemption, ms; `None`: no preemption.
    pub kill_interval_ms: Option<u64>,
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
            alloc_interval_ms: milliseconds(&keys::ALLOC_INTERVAL)?,
            kill_interval_ms: Some(milliseconds(&keys::KILL_INTERVAL)?).filter(|interval_ms| *interval_ms > 0),
        })
    }
}
