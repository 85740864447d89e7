//! One run of the administrator's program: hosts as arguments, one rack for each as output.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::config::excerpt;
use crate::model::DEFAULT_RACK;
use crate::program::{ProgramError, RunningPrograms};

use super::address::AddressLookups;

/// Timeout of a run.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum output of a run, bytes.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// Why a run gave no racks.
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
    /// Whether a single host may be the cause.
    fn can_be_one_host(&self) -> bool {
        !matches!(self, ScriptError::Program(_))
    }
}

/// The racks of hosts, in order. Blocking.
pub(super) fn run_script(
    script: &Path,
    hosts: &[String],
    lookups: &AddressLookups,
    programs: &RunningPrograms,
) -> Result<Vec<String>, ScriptError> {
    let ran = programs.run(Command::new(script).args(lookups.of(hosts)), TIMEOUT, MAX_OUTPUT_BYTES)?;
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

/// The same, but a host for which the program fails does not cost the others their racks: it is
/// left out. An error if the program fails for all.
pub(super) fn resolve_or_halve(
    script: &Path,
    hosts: &[String],
    lookups: &AddressLookups,
    programs: &RunningPrograms,
) -> Result<Vec<(String, String)>, ScriptError> {
    let error = match run_script(script, hosts, lookups, programs) {
        Ok(racks) => return Ok(hosts.iter().cloned().zip(racks).collect()),
        Err(error) => error,
    };
    if hosts.len() < 2 || !error.can_be_one_host() {
        return Err(error);
    }
    let (first, second) = hosts.split_at(hosts.len() / 2);
    let of = |hosts| resolve_or_halve(script, hosts, lookups, programs);
    match (of(first), of(second)) {
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
