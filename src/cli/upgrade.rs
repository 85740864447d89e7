//! `jobtracker upgrade`: replaces the running daemon with a new binary or configuration.

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::lifecycle::{ControlError, UpgradeOutcome, request_upgrade};

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

#[derive(Debug, thiserror::Error)]
pub(crate) enum UpgradeFailure {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{program}: {source}; expected the path of a program (--program)")]
    Program {
        /// Its path as given.
        program: String,
        source: std::io::Error,
    },
    #[error("{0}")]
    Ask(#[from] ControlError),
    #[error("the upgrade failed and the old process continues to serve: {0}")]
    Refused(String),
}

impl UpgradeFailure {
    /// The exit code: 2 for wrong usage or configuration, 4 if no daemon is reached, 1 for any other failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Program { .. } => 2,
            Self::Ask(ControlError::Unreached { .. }) => 4,
            Self::Ask(ControlError::Unanswered(_)) | Self::Refused(_) => 1,
        }
    }
}

/// Requests the upgrade and waits; returns a line about the process that serves now.
pub(crate) fn run(arguments: &UpgradeArguments) -> Result<String, UpgradeFailure> {
    let named = arguments.program.as_ref().map_or_else(|| "this program".to_owned(), |path| path.display().to_string());
    let program = match &arguments.program {
        Some(path) => std::fs::canonicalize(path),
        None => std::env::current_exe(),
    };
    // The daemon may run in another directory.
    let program = program.map_err(|source| UpgradeFailure::Program { program: named, source })?;
    match request_upgrade(&arguments.configuration.load_options().state_dir()?, &program)? {
        UpgradeOutcome::Done { process, summary } if arguments.json => {
            Ok(json(&serde_json::json!({ "pid": process, "summary": summary })))
        }
        UpgradeOutcome::Done { summary, .. } => Ok(format!("{summary}\n")),
        UpgradeOutcome::Refused { why } => Err(UpgradeFailure::Refused(why)),
    }
}
