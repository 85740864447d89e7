//! `jobtracker stop`: stops the daemon on a state directory, and waits until its process has ended.

use crate::config::ConfigError;
use crate::lifecycle::{ControlError, StopAnswer, request_stop};

use super::exit_code::WRONG_USAGE;
use super::market_text::json;
use super::serve::ConfigurationArguments;

/// Options of `stop`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct StopArguments {
    /// The daemon's configuration, which sets the state directory with the control socket.
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StopFailure {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}; run this on the daemon's machine with its --conf, as its user or root")]
    Ask(#[from] ControlError),
    #[error("not stopped: {0}")]
    Refused(String),
}

impl StopFailure {
    /// The exit code: 2 for wrong configuration, 4 if no daemon is reached, 1 for any other failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) => WRONG_USAGE,
            Self::Ask(ControlError::Unreached { .. }) => 4,
            Self::Ask(ControlError::Unanswered(_)) | Self::Refused(_) => 1,
        }
    }
}

pub(crate) fn run(arguments: &StopArguments) -> Result<String, StopFailure> {
    match request_stop(&arguments.configuration.load_options().state_dir()?)? {
        StopAnswer::Stopping { process, is_supervised } if arguments.json => {
            Ok(json(&serde_json::json!({ "pid": process, "is_supervised": is_supervised })))
        }
        StopAnswer::Stopping { process, is_supervised } => {
            let again = "; its service manager may start it again (to keep it stopped: systemctl stop jobtracker)";
            Ok(format!("process {process} has stopped{}\n", if is_supervised { again } else { "" }))
        }
        StopAnswer::Refused { why } => Err(StopFailure::Refused(why)),
    }
}
