//! `jobtracker reload`: has the daemon read its configuration again, as SIGHUP does.

use crate::config::ConfigError;
use crate::lifecycle::{ControlError, SchedulerAnswer, SchedulerRequest, request_scheduler};

use super::exit_code::WRONG_USAGE;
use super::market_text::json;
use super::serve::ConfigurationArguments;

/// Options of `reload`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReloadArguments {
    /// The daemon's configuration, which sets the state directory with the control socket.
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReloadFailure {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}; run this on the daemon's machine with its --conf, as its user or root")]
    Ask(#[from] ControlError),
    #[error("nothing was reloaded: {0}")]
    Refused(String),
    #[error("the daemon gave an unexpected answer: is it of another version?")]
    Unexpected,
}

impl ReloadFailure {
    /// The exit code: 2 for wrong configuration, 4 if no daemon is reached, 1 for any other failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Refused(_) => WRONG_USAGE,
            Self::Ask(ControlError::Unreached { .. }) => 4,
            Self::Ask(ControlError::Unanswered(_)) | Self::Unexpected => 1,
        }
    }
}

/// What was read, what it changed, and what is suspicious in it.
fn text(summary: &str, changes: &[String], warnings: &[String]) -> String {
    let unchanged = ["no queue, no setting of the scheduler and no host list has changed".to_owned()];
    let changes = if changes.is_empty() { &unchanged } else { changes };
    let warnings = warnings.iter().map(|warning| format!("warning: {warning}\n"));
    let changes = changes.iter().map(|change| format!("{change}\n"));
    format!("{summary}\n{}{}", changes.collect::<String>(), warnings.collect::<String>())
}

/// Reloads; returns the text to print.
pub(crate) fn run(arguments: &ReloadArguments) -> Result<String, ReloadFailure> {
    let state_dir = arguments.configuration.load_options().state_dir()?;
    match request_scheduler(&state_dir, SchedulerRequest::Reload, |_| {})? {
        SchedulerAnswer::Reloaded { summary, changes, warnings } if arguments.json => {
            Ok(json(&serde_json::json!({ "summary": summary, "changes": changes, "warnings": warnings })))
        }
        SchedulerAnswer::Reloaded { summary, changes, warnings } => Ok(text(&summary, &changes, &warnings)),
        SchedulerAnswer::Refused { why } => Err(ReloadFailure::Refused(why)),
        _ => Err(ReloadFailure::Unexpected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reload_warns_of_is_printed_below_what_it_changed() {
        let warnings = ["mapred-site.xml:3: nothing reads mapred.queue.name".to_owned()];
        assert_eq!(
            text("reloaded conf", &[], &warnings),
            "reloaded conf\nno queue, no setting of the scheduler and no host list has changed\n\
             warning: mapred-site.xml:3: nothing reads mapred.queue.name\n"
        );
        assert_eq!(text("reloaded conf", &["queue a is new".to_owned()], &[]), "reloaded conf\nqueue a is new\n");
    }
}
