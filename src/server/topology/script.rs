//! One run of the administrator's program: hosts as arguments, one rack for each as answer.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::config::excerpt;
use crate::model::DEFAULT_RACK;
use crate::server::program;
use crate::server::program::ProgramError;

use super::address::AddressLookups;

/// One run gets this long.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most that one run may print, bytes.
const MOST_OUTPUT_BYTES: usize = 1 << 20;

/// Why a run has told nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScriptError {
    #[error("{0}")]
    Program(#[from] ProgramError),
    #[error("ended with {0}")]
    Status(std::process::ExitStatus),
    #[error("printed no text")]
    NoText,
    #[error("printed {found} racks for {expected} hosts")]
    Count { found: usize, expected: usize },
    #[error("printed {0:?}; expected a rack such as {DEFAULT_RACK}")]
    NoRack(String),
}

// === impl ScriptError ===

impl ScriptError {
    /// Whether one of several hosts may be to blame.
    fn may_be_one_host(&self) -> bool {
        !matches!(self, ScriptError::Program(_))
    }
}

/// The racks of hosts, in their order. Blocking.
pub(super) fn ask(script: &Path, hosts: &[String], lookups: &AddressLookups) -> Result<Vec<String>, ScriptError> {
    let ran = program::run(Command::new(script).args(lookups.of(hosts)), PATIENCE, MOST_OUTPUT_BYTES)?;
    if !ran.status.success() {
        return Err(ScriptError::Status(ran.status));
    }
    let text = String::from_utf8(ran.stdout).map_err(|_| ScriptError::NoText)?;
    let racks: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
    if racks.len() != hosts.len() {
        return Err(ScriptError::Count { found: racks.len(), expected: hosts.len() });
    }
    match racks.iter().find(|rack| !is_rack(rack)) {
        Some(rack) => Err(ScriptError::NoRack(excerpt(rack))),
        None => Ok(racks),
    }
}

/// The same, where one host of which the program knows nothing must not cost the others their racks: those for which it fails are
/// left out. An error when it fails for all.
pub(super) fn ask_or_halve(
    script: &Path,
    hosts: &[String],
    lookups: &AddressLookups,
) -> Result<Vec<(String, String)>, ScriptError> {
    let error = match ask(script, hosts, lookups) {
        Ok(racks) => return Ok(hosts.iter().cloned().zip(racks).collect()),
        Err(error) => error,
    };
    if hosts.len() < 2 || !error.may_be_one_host() {
        return Err(error);
    }
    let (first, second) = hosts.split_at(hosts.len() / 2);
    match (ask_or_halve(script, first, lookups), ask_or_halve(script, second, lookups)) {
        (Ok(mut racks), Ok(more)) => {
            racks.extend(more);
            Ok(racks)
        }
        (Ok(racks), Err(_)) | (Err(_), Ok(racks)) => Ok(racks),
        (Err(_), Err(_)) => Err(error),
    }
}

fn is_rack(rack: &str) -> bool {
    rack.len() > 1 && rack.starts_with('/') && !rack.ends_with('/')
}
