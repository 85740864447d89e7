//! One run of the administrator's program: hosts as arguments, one rack for each as output.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::config::excerpt;
use crate::fs::{ScriptFault, script_fault};
use crate::model::DEFAULT_RACK;
use crate::program::{ProgramError, RunningPrograms};

use super::address::AddressLookups;

const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// Why a run gave no racks.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScriptError {
    #[error("{0}")]
    Program(#[from] ProgramError),
    #[error("cannot be run: {0}")]
    Script(ScriptFault),
    #[error("ended with {0}")]
    Status(std::process::ExitStatus),
    #[error("printed no text")]
    NoText,
    #[error("printed {found} racks for {expected} hosts")]
    Count { found: usize, expected: usize },
    #[error("printed {0:?}; expected a rack such as {DEFAULT_RACK}")]
    NoRack(String),
}

impl ScriptError {
    /// Whether a single host may be the cause.
    fn can_be_one_host(&self) -> bool {
        !matches!(self, ScriptError::Program(_) | ScriptError::Script(_))
    }
}

/// The racks of hosts, in order. Blocking.
pub(super) fn run_script(
    script: &Path,
    hosts: &[String],
    lookups: &AddressLookups,
    programs: &RunningPrograms,
) -> Result<Vec<String>, ScriptError> {
    let ran = programs.run(Command::new(script).args(lookups.of(hosts)), TIMEOUT, MAX_OUTPUT_BYTES);
    let ran = ran.map_err(|error| with_script_fault(error, script))?;
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

/// The interpreter, where the system's error is about it.
fn with_script_fault(error: ProgramError, script: &Path) -> ScriptError {
    let is_of_start = matches!(error, ProgramError::Io(_));
    let fault = is_of_start.then(|| script_fault(script, Path::new("/"), None)).flatten();
    fault.map_or(ScriptError::Program(error), ScriptError::Script)
}

fn is_rack(rack: &str) -> bool {
    rack.len() > 1 && rack.starts_with('/') && !rack.ends_with('/')
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_script_whose_interpreter_is_missing_is_named_and_run_once() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("racks.sh");
        let (lookups, programs) = (AddressLookups::default(), RunningPrograms::default());
        let hosts = ["10.0.0.1", "10.0.0.2"].map(str::to_owned);
        for (text, expected) in [
            (
                "#!/no/such/sh\n",
                "cannot be run: the interpreter \"/no/such/sh\" in the first line of racks.sh is not there",
            ),
            (
                "#!/bin/sh\r\n",
                "cannot be run: the interpreter \"/bin/sh\\r\" in the first line of racks.sh is not there: the file has DOS line ends",
            ),
        ] {
            std::fs::write(&script, text).unwrap();
            std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
            let error = resolve_or_halve(&script, &hosts, &lookups, &programs).unwrap_err();
            assert!(!error.can_be_one_host() && error.to_string().starts_with(expected), "{error}");
        }
    }
}
