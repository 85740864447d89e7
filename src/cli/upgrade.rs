//! `jobtracker upgrade`: replaces the running daemon with a new binary or configuration.

use std::path::PathBuf;

use crate::lifecycle::{UpgradeOutcome, request_upgrade};

use super::exit_code::Failure;
use super::market_text::json;
use super::serve::ConfigurationArguments;

/// Options of `upgrade`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct UpgradeArguments {
    /// The daemon's configuration, which sets the state directory with the control socket.
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
    /// Program to replace the daemon with, started with the daemon's arguments; default: this one
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Requests the upgrade and waits; returns a line about the process that serves now. Fails with 2 for wrong
/// usage or configuration, 4 if no daemon is reached, 1 for any other failure.
pub(crate) fn run(arguments: &UpgradeArguments) -> Result<String, Failure> {
    let named = arguments.program.as_ref().map_or_else(|| "this program".to_owned(), |path| path.display().to_string());
    let program = match &arguments.program {
        Some(path) => std::fs::canonicalize(path),
        None => std::env::current_exe(),
    };
    // The daemon may run in another directory.
    let program = program.map_err(|error| {
        Failure::usage(format_args!("{named}: {error}; expected the path of a program (--program)"))
    })?;
    match request_upgrade(&arguments.configuration.load_options().state_dir()?, &program)? {
        UpgradeOutcome::Done { process, summary } if arguments.json => {
            Ok(json(&serde_json::json!({ "pid": process, "summary": summary })))
        }
        UpgradeOutcome::Done { summary, .. } => Ok(format!("{summary}\n")),
        UpgradeOutcome::Refused { why } => {
            Err(Failure::other(format_args!("the upgrade failed and the old process continues to serve: {why}")))
        }
    }
}
