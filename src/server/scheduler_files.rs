//! Reads the files of a scheduler that is not the configured one, and makes a wish of them.

use crate::api::SetKey;
use crate::config::settings::{LoadOptions, scheduler_keys};
use crate::config::{Settings, keys};
use crate::engine::SchedulerWish;

use super::engine_config::{policy, queue_configs};

/// A wish with what its files say.
#[derive(Debug)]
pub(crate) struct ReadWish {
    /// The wish.
    pub(crate) wish: SchedulerWish,
    /// Keys that count and are set.
    pub(crate) keys: Vec<SetKey>,
    /// Warnings about values.
    pub(crate) warnings: Vec<String>,
}

/// Reads the configuration as it is now, with the files of the scheduler of this class and no other's. Blocking.
///
/// # Errors
/// A text that names the file, line, key and value.
pub(crate) fn read_wish(
    sources: &LoadOptions,
    class: &str,
    by: String,
    move_to: Option<String>,
) -> Result<ReadWish, String> {
    let configuration = sources.configuration().map_err(|error| error.to_string())?;
    let configured = configuration.required(&keys::TASK_SCHEDULER).map_err(|error| error.to_string())?;
    let (settings, warnings) = Settings::load(&sources.under(class)).map_err(|error| error.to_string())?;
    let keys = scheduler_keys(&settings).map_err(|error| error.to_string())?;
    let keys = keys.into_iter().map(|(key, value, place)| SetKey { key, value, place }).collect();
    let wish = SchedulerWish {
        class: class.to_owned(),
        configured: configured.value.trim().to_owned(),
        by,
        policy: policy(&settings.scheduler, settings.heartbeat.min_interval_ms),
        queues: queue_configs(&settings.queues),
        move_to,
    };
    Ok(ReadWish { wish, keys, warnings: warnings.iter().map(ToString::to_string).collect() })
}
