//! The engine's settings as a start would choose them, for a replay of the past.

use std::collections::BTreeSet;

use crate::config::{LoadOptions, Settings};
use crate::engine::{EngineConfig, HostLists, SchedulerChoice};
use crate::server::engine_config;

use super::ruling_scheduler::RulingScheduler;
use super::serve_error::ServeError;

/// The settings of an engine that a start at `wall_ms` would make, after a last choice of a scheduler; all hosts are
/// admitted.
///
/// # Errors
/// A setting or a file that it names is not valid.
pub fn play_config(
    options: &LoadOptions,
    stored: Option<&SchedulerChoice>,
    wall_ms: i64,
) -> Result<EngineConfig, ServeError> {
    let (settings, _warnings) = Settings::load(options)?;
    let ruling = RulingScheduler::find(&settings, stored)?;
    let config = engine_config(&ruling.settings, &BTreeSet::new(), wall_ms, String::new())?;
    Ok(EngineConfig { hosts: HostLists::default(), ..config })
}
