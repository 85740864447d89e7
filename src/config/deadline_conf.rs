//! What a job.xml says of the job's deadline.

use crate::model::{Credits, OrderTerms, PartsPerMillion};
use crate::scheduler::constraint::{DeadlineSpec, Due, KeySpread, StatedCost};

use super::configuration::Configuration;
use super::error::ConfigError;
use super::job_conf_error::JobConfError;
use super::keys;
use super::keys::Key;

/// The deadline with what the job states of its costs; none of a job without one, whose costs must still be readable.
pub(super) fn deadline(configuration: &Configuration) -> Result<Option<DeadlineSpec>, JobConfError> {
    let map = cost(configuration, &keys::JOB_MAP_COST, &keys::JOB_MAP_TASK_TIME)?;
    let reduce = cost(configuration, &keys::JOB_REDUCE_COST, &keys::JOB_REDUCE_TASK_TIME)?;
    let copy_us_per_mb = us_per_mb(configuration, &keys::JOB_COPY_COST)?;
    let filter_millionths = ratio(configuration, &keys::JOB_FILTER_RATIO)?;
    let keys_go = configuration.required(&keys::JOB_KEY_SPREAD)?;
    let keys = if keys_go.value.trim() == "single" { KeySpread::Single } else { KeySpread::Uniform };
    let due = match (configuration.limit(&keys::JOB_DEADLINE_AT, 1)?, configuration.limit(&keys::JOB_DEADLINE, 1)?) {
        (Some(at_ms), _) => Due::AtMs(at_ms),
        (None, Some(after_ms)) => Due::AfterMs(after_ms),
        (None, None) => return Ok(None),
    };
    Ok(Some(DeadlineSpec { due, map, reduce, copy_us_per_mb, filter_millionths, keys }))
}

/// What the order for the deadline may bid; none of a job without one.
pub(super) fn order_terms(configuration: &Configuration) -> Result<Option<OrderTerms>, JobConfError> {
    let max_rate = amount(configuration, &keys::JOB_MAX_RATE)?;
    let max_cost = amount(configuration, &keys::JOB_MAX_COST)?;
    let needs = |key: &Key, other: &Key| JobConfError::NeedsOther {
        key: key.name.to_owned(),
        other_key: other.name.to_owned(),
    };
    match max_rate {
        None if max_cost.is_some() => Err(needs(&keys::JOB_MAX_COST, &keys::JOB_MAX_RATE)),
        None => Ok(None),
        Some(_) if deadline(configuration)?.is_none() => Err(needs(&keys::JOB_MAX_RATE, &keys::JOB_DEADLINE)),
        Some(max_rate) => Ok(Some(OrderTerms { max_rate, max_cost })),
    }
}

/// Credits of which none is owed.
fn amount(configuration: &Configuration, key: &Key) -> Result<Option<Credits>, ConfigError> {
    let Some(text) = configuration.text(key)? else { return Ok(None) };
    match Credits::parse_exact(text.trim()) {
        Ok(amount) if amount >= Credits::ZERO => Ok(Some(amount)),
        _ => Err(configuration.required(key)?.bad_value("credits from 0 to 1000000000000, with at most 12 decimals")),
    }
}

/// A cost in one of its two forms.
fn cost(configuration: &Configuration, per_mb: &Key, per_task: &Key) -> Result<Option<StatedCost>, JobConfError> {
    match (us_per_mb(configuration, per_mb)?, configuration.limit(per_task, 1)?) {
        (Some(_), Some(_)) => {
            Err(JobConfError::TwoCosts { key: per_mb.name.to_owned(), other_key: per_task.name.to_owned() })
        }
        (Some(us_per_mb), None) => Ok(Some(StatedCost::UsPerMb(us_per_mb))),
        (None, ms) => Ok(ms.map(StatedCost::TaskMs)),
    }
}

/// Milliseconds as microseconds, rounded up.
fn us_per_mb(configuration: &Configuration, key: &Key) -> Result<Option<u64>, ConfigError> {
    match ratio(configuration, key)? {
        Some(0) => Err(configuration.required(key)?.bad_value("a decimal number above 0")),
        millionths => Ok(millionths.map(|millionths| millionths.div_ceil(1_000))),
    }
}

/// A decimal in millionths.
fn ratio(configuration: &Configuration, key: &Key) -> Result<Option<u64>, ConfigError> {
    match configuration.setting(key)? {
        Some(_) => configuration.ratio(key).map(|PartsPerMillion(millionths)| Some(millionths)),
        None => Ok(None),
    }
}

#[cfg(test)]
#[path = "tests/deadline_conf.rs"]
mod tests;
