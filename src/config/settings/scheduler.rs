//! The scheduler and its settings.

use std::path::Path;
use std::sync::Arc;

use crate::config::capacity_file::{read_capacity_file, warnings_of_capacity_file};
use crate::config::configuration::Configuration;
use crate::config::error::{ConfigError, Origin, Warning, excerpt};
use crate::config::keys;
use crate::config::keys::Key;
use crate::config::settings::fair::read_allocation_file;
use crate::model::PartsPerMillion;
use crate::scheduler::capacity::CapacityConfig;
use crate::scheduler::constraint::{
    AdmissionRule, AdmissionSlots, ConstraintConfig, Costs, HistoryConfig, Model, OnMissed, Strategy,
};
use crate::scheduler::fair::options::FairConfig;

use super::fair::FairSettings;
use super::{MemorySettings, Queues};

pub const FIFO_CLASS: &str = "org.apache.hadoop.mapred.JobQueueTaskScheduler";
pub const CAPACITY_CLASS: &str = "org.apache.hadoop.mapred.CapacityTaskScheduler";
pub const FAIR_CLASS: &str = "org.apache.hadoop.mapred.FairScheduler";
pub(crate) const CONSTRAINT_CLASS: &str = "org.apache.hadoop.mapred.ConstraintScheduler";
pub(crate) const DYNAMIC_CLASS: &str = "org.apache.hadoop.mapred.DynamicPriorityScheduler";

/// Class name of the scheduler that enforces shares under the Dynamic Priority Scheduler.
const ENFORCING_CLASS: &str = "org.apache.hadoop.mapred.PriorityScheduler";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerName {
    pub name: &'static str,
    pub class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a scheduler: expected fifo, capacity, fair, constraint, dynamic, or one of their class names: {FIFO_CLASS}, \
         {CAPACITY_CLASS}, {FAIR_CLASS}, {CONSTRAINT_CLASS}, {DYNAMIC_CLASS}"
)]
pub struct UnknownScheduler {
    pub(crate) text: String,
}

impl SchedulerName {
    pub const ALL: [Self; 5] = [
        Self { name: "fifo", class: FIFO_CLASS },
        Self { name: "capacity", class: CAPACITY_CLASS },
        Self { name: "fair", class: FAIR_CLASS },
        Self { name: "constraint", class: CONSTRAINT_CLASS },
        Self { name: "dynamic", class: DYNAMIC_CLASS },
    ];
}

impl std::str::FromStr for SchedulerName {
    type Err = UnknownScheduler;

    fn from_str(text: &str) -> Result<Self, UnknownScheduler> {
        let found = Self::ALL.into_iter().find(|scheduler| scheduler.name == text || scheduler.class == text);
        found.ok_or_else(|| UnknownScheduler { text: excerpt(text) })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SchedulerKind {
    Fifo(FifoSettings),
    Capacity(CapacitySettings),
    Fair(Box<FairConfig>),
    Constraint(ConstraintConfig),
    Dynamic(DynamicSettings),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FifoSettings {
    /// Whether tasks are assigned exactly as in Hadoop 1.2.1, even if slower.
    pub(crate) is_compatible: bool,
    /// Share of the slots kept free in compatible mode.
    pub(crate) capacity_pad: PartsPerMillion,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CapacitySettings {
    /// Queues and limits, from `capacity-scheduler.xml`.
    pub(crate) config: Arc<CapacityConfig>,
    /// Whether tasks are assigned exactly as in Hadoop 1.2.1, even if slower.
    pub(crate) is_compatible: bool,
}

/// Settings of the Dynamic Priority Scheduler, beside those of its market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DynamicSettings {
    /// Time between two ticks, ms; a whole number of seconds.
    pub(crate) alloc_interval_ms: u64,
    /// Time between two rounds of preemption, ms; `None`: no preemption.
    pub(crate) kill_interval_ms: Option<u64>,
}

impl SchedulerKind {
    /// The scheduler that a conf folder names, with the files of this scheduler alone.
    pub(super) fn from_configuration(
        configuration: &Configuration,
        conf_dir: Option<&Path>,
        queues: &Queues,
    ) -> Result<(Self, Vec<Warning>), ConfigError> {
        let class = configuration.required(&keys::TASK_SCHEDULER)?;
        let found = Self::of_class(class.value.trim(), configuration, conf_dir, queues)?;
        found.ok_or_else(|| {
            class.bad_value(format!(
                "{FIFO_CLASS}, {CAPACITY_CLASS}, {FAIR_CLASS}, {CONSTRAINT_CLASS} or {DYNAMIC_CLASS}"
            ))
        })
    }

    /// What is to be remarked in the own file of the scheduler that a conf folder names, whatever errors this file or another has.
    #[must_use]
    pub(crate) fn warnings_of_own_file(configuration: &Configuration, conf_dir: Option<&Path>) -> Vec<Warning> {
        let Ok(class) = configuration.required(&keys::TASK_SCHEDULER) else { return Vec::new() };
        match class.value.trim() {
            CAPACITY_CLASS => Queues::from_configuration(configuration)
                .map(|queues| warnings_of_capacity_file(conf_dir, configuration.properties(), &names(&queues)))
                .unwrap_or_default(),
            FAIR_CLASS => FairSettings::from_configuration(configuration)
                .and_then(|settings| read_allocation_file(settings.allocation_file.as_deref(), conf_dir))
                .map(|(_, warnings)| warnings)
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// The scheduler of a class, whatever class a conf folder names, with the files of this scheduler alone; none of an unknown class.
    pub(super) fn of_class(
        class: &str,
        configuration: &Configuration,
        conf_dir: Option<&Path>,
        queues: &Queues,
    ) -> Result<Option<(Self, Vec<Warning>)>, ConfigError> {
        let is_compatible = || configuration.agreed_flag(&keys::COMPATIBLE);
        let found = match class {
            FIFO_CLASS => {
                let capacity_pad = configuration.ratio(&keys::CAPACITY_PAD)?;
                let settings = FifoSettings { is_compatible: is_compatible()?, capacity_pad };
                (SchedulerKind::Fifo(settings), Vec::new())
            }
            CAPACITY_CLASS => {
                let (config, warnings) = read_capacity_file(conf_dir, configuration.properties(), &names(queues))?;
                let slot_memory = MemorySettings::from_configuration(configuration)?.slot_memory();
                let config = Arc::new(config.with_slot_memory(slot_memory));
                let settings = CapacitySettings { config, is_compatible: is_compatible()? };
                (SchedulerKind::Capacity(settings), warnings)
            }
            FAIR_CLASS => {
                let FairSettings { allocation_file, mut config } = FairSettings::from_configuration(configuration)?;
                let read = read_allocation_file(allocation_file.as_deref(), conf_dir);
                let (allocations, warnings) = read.map_err(|error| match error {
                    ConfigError::NoAllocationFile { file } => no_allocation_file(configuration, &file),
                    error => error,
                })?;
                config.options.is_compatible = is_compatible()?;
                config.allocations = Arc::new(allocations);
                (SchedulerKind::Fair(Box::new(config)), warnings)
            }
            CONSTRAINT_CLASS => (SchedulerKind::Constraint(constraint_config(configuration)?), Vec::new()),
            DYNAMIC_CLASS => {
                let settings = DynamicSettings::from_configuration(configuration)?;
                (SchedulerKind::Dynamic(settings), Vec::new())
            }
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    #[must_use]
    pub(crate) fn class_name(&self) -> &'static str {
        match self {
            SchedulerKind::Fifo(_) => FIFO_CLASS,
            SchedulerKind::Capacity(_) => CAPACITY_CLASS,
            SchedulerKind::Fair(_) => FAIR_CLASS,
            SchedulerKind::Constraint(_) => CONSTRAINT_CLASS,
            SchedulerKind::Dynamic(_) => DYNAMIC_CLASS,
        }
    }
}

/// With the place that names the file.
fn no_allocation_file(configuration: &Configuration, file: &str) -> ConfigError {
    let key = &keys::FAIR_ALLOCATION_FILE;
    let origin = configuration.setting(key).ok().flatten().map_or(Origin::Default, |setting| setting.origin);
    let (value, reason) = (file.to_owned(), "no such file".to_owned());
    ConfigError::NamedFile { key: key.name, origin, value, reason, expected: "an allocation file" }
}

fn names(queues: &Queues) -> Vec<String> {
    queues.queues.iter().map(|queue| queue.name.clone()).collect()
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

/// One second by one million: the microseconds per MB of a network that moves a millionth of a MB in a second.
const US_OF_MILLIONTHS: u64 = 1_000_000_000_000;

/// Reads them. A task in whole tasks waits for two heartbeats of the shortest interval.
pub(super) fn constraint_config(configuration: &Configuration) -> Result<ConstraintConfig, ConfigError> {
    let heartbeat_interval_ms: u64 = configuration.number(&keys::HEARTBEAT_INTERVAL_MIN)?;
    let word = |key: &Key| configuration.required(key).map(|setting| setting.value.trim().to_owned());
    Ok(ConstraintConfig {
        model: match &*word(&keys::CONSTRAINT_MODEL)? {
            "whole" => Model::Whole { wait_us: heartbeat_interval_ms.saturating_mul(2_000) },
            _ => Model::Fluid,
        },
        strategy: match &*word(&keys::CONSTRAINT_STRATEGY)? {
            "all" => Strategy::All,
            "fixed" => Strategy::Fixed(configuration.number(&keys::CONSTRAINT_FIXED)?),
            _ => Strategy::Minimum,
        },
        on_missed: match &*word(&keys::CONSTRAINT_ON_MISSED)? {
            "continue" => OnMissed::Continue,
            "kill" => OnMissed::Kill,
            _ => OnMissed::Demote,
        },
        admission: match &*word(&keys::CONSTRAINT_ADMISSION)? {
            "warn" => AdmissionRule::Warn,
            _ => AdmissionRule::Reject,
        },
        slots: match &*word(&keys::CONSTRAINT_ADMISSION_SLOTS)? {
            "now" => AdmissionSlots::Now,
            _ => AdmissionSlots::Planned,
        },
        escalates: configuration.flag(&keys::CONSTRAINT_ESCALATE)?,
        default_costs: Costs {
            map_us_per_mb: above_zero(configuration, &keys::CONSTRAINT_MAP_COST)?.div_ceil(1_000),
            reduce_us_per_mb: above_zero(configuration, &keys::CONSTRAINT_REDUCE_COST)?.div_ceil(1_000),
            copy_us_per_mb: US_OF_MILLIONTHS.div_ceil(above_zero(configuration, &keys::CONSTRAINT_NETWORK)?),
            ..Costs::default()
        },
        history: HistoryConfig {
            enabled: configuration.flag(&keys::CONSTRAINT_HISTORY)?,
            min_samples: configuration.number(&keys::CONSTRAINT_MIN_SAMPLES)?,
            alpha_millionths: above_zero(configuration, &keys::CONSTRAINT_ALPHA)?,
        },
    })
}

/// A decimal in millionths.
fn above_zero(configuration: &Configuration, key: &Key) -> Result<u64, ConfigError> {
    match configuration.ratio(key)?.0 {
        0 => Err(configuration.required(key)?.bad_value("a decimal number above 0")),
        millionths => Ok(millionths),
    }
}
