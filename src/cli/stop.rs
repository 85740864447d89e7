//! `jobtracker stop`: stops the daemon on a state directory, and waits until its process has ended.

use crate::lifecycle::{StopAnswer, request_stop};

use super::exit_code::Failure;
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

/// Fails with 2 for wrong configuration, 4 if no daemon is reached, 1 for any other failure.
pub(crate) fn run(arguments: &StopArguments) -> Result<String, Failure> {
    let state_dir = arguments.configuration.load_options().state_dir()?;
    match request_stop(&state_dir).map_err(|error| Failure::of_control(&error))? {
        StopAnswer::Stopping { process, is_supervised } if arguments.json => {
            Ok(json(&serde_json::json!({ "pid": process, "is_supervised": is_supervised })))
        }
        StopAnswer::Stopping { process, is_supervised } => {
            let again = "; its service manager may start it again (to keep it stopped: systemctl stop jobtracker)";
            Ok(format!("process {process} has stopped{}\n", if is_supervised { again } else { "" }))
        }
        StopAnswer::Refused { why } => Err(Failure::other(format_args!("not stopped: {why}"))),
    }
}
