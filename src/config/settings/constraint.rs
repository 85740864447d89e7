//! Settings of the constraint scheduler.

use crate::config::configuration::Configuration;
use crate::config::error::ConfigError;
use crate::config::keys;
use crate::config::keys::Key;
use crate::scheduler::constraint::{
    Admission, AdmissionSlots, ConstraintConfig, DefaultCosts, HistoryConfig, Model, OnMissed, Strategy,
};

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
            "warn" => Admission::Warn,
            _ => Admission::Reject,
        },
        slots: match &*word(&keys::CONSTRAINT_ADMISSION_SLOTS)? {
            "now" => AdmissionSlots::Now,
            _ => AdmissionSlots::Planned,
        },
        escalates: configuration.flag(&keys::CONSTRAINT_ESCALATE)?,
        default_costs: DefaultCosts {
            map_us_per_mb: above_zero(configuration, &keys::CONSTRAINT_MAP_COST)?.div_ceil(1_000),
            reduce_us_per_mb: above_zero(configuration, &keys::CONSTRAINT_REDUCE_COST)?.div_ceil(1_000),
            copy_us_per_mb: US_OF_MILLIONTHS.div_ceil(above_zero(configuration, &keys::CONSTRAINT_NETWORK)?),
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
