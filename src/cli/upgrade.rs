//! `jobtracker upgrade`: another program, or the same with another configuration, goes on for the running daemon.

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::lifecycle::{AskError, Outcome, ask};

use super::serve::ServeArguments;

/// Who is to go on for whom.
#[derive(Clone, Debug, clap::Args)]
pub struct UpgradeArguments {
    /// The daemon's configuration: it names the state folder, by which the daemon is found.
    #[command(flatten)]
    pub configuration: ServeArguments,
    /// The program that goes on, with the arguments the daemon was started with; default: this one
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
}

/// Why there is no upgrade.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeFailure {
    /// The configuration.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The program.
    #[error("{program}: {source}; expected the path of a program (--program)")]
    Program {
        /// As it was named.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The daemon.
    #[error("{0}")]
    Ask(#[from] AskError),
    /// The daemon serves on.
    #[error("the daemon serves on as it did: {0}")]
    Refused(String),
}

// === impl UpgradeFailure ===

impl UpgradeFailure {
    /// The exit code: 2 for what the caller must write otherwise, 4 where no daemon is reached, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Program { .. } => 2,
            Self::Ask(AskError::Unreached { .. }) => 4,
            Self::Ask(AskError::Unanswered(_)) | Self::Refused(_) => 1,
        }
    }
}

/// Asks for the upgrade, waits, and tells who serves now.
///
/// # Errors
/// [`UpgradeFailure`]
pub fn run(arguments: &UpgradeArguments) -> Result<String, UpgradeFailure> {
    let named = arguments.program.as_ref().map_or_else(|| "this program".to_owned(), |path| path.display().to_string());
    let program = match &arguments.program {
        Some(path) => std::fs::canonicalize(path),
        None => std::env::current_exe(),
    };
    // The daemon may run in another folder.
    let program = program.map_err(|source| UpgradeFailure::Program { program: named, source })?;
    match ask(&arguments.configuration.load_options().state_dir()?, &program)? {
        Outcome::Done { told, .. } => Ok(format!("{told}\n")),
        Outcome::Refused { why } => Err(UpgradeFailure::Refused(why)),
    }
}
