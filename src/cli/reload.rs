//! `jobtracker reload`: has the daemon read its configuration again, as SIGHUP does.

use crate::lifecycle::{SchedulerAnswer, SchedulerRequest, request_scheduler};

use super::exit_code::Failure;
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

/// What was read, what it changed, and what is suspicious in it.
fn text(summary: &str, changes: &[String], warnings: &[String]) -> String {
    let unchanged = ["no queue, no setting of the scheduler and no host list has changed".to_owned()];
    let changes = if changes.is_empty() { &unchanged } else { changes };
    let warnings = warnings.iter().map(|warning| format!("warning: {warning}\n"));
    let changes = changes.iter().map(|change| format!("{change}\n"));
    format!("{summary}\n{}{}", changes.collect::<String>(), warnings.collect::<String>())
}

/// Reloads; returns the text to print. Fails with 2 for wrong configuration, 4 if no daemon is reached, 1 for any other
/// failure.
pub(crate) fn run(arguments: &ReloadArguments) -> Result<String, Failure> {
    let state_dir = arguments.configuration.load_options().state_dir()?;
    let answer = request_scheduler(&state_dir, SchedulerRequest::Reload, |_| {});
    match answer.map_err(|error| Failure::of_control(&error))? {
        SchedulerAnswer::Reloaded { summary, changes, warnings } if arguments.json => {
            Ok(json(&serde_json::json!({ "summary": summary, "changes": changes, "warnings": warnings })))
        }
        SchedulerAnswer::Reloaded { summary, changes, warnings } => Ok(text(&summary, &changes, &warnings)),
        SchedulerAnswer::Refused { why } => Err(Failure::usage(format_args!("nothing was reloaded: {why}"))),
        _ => Err(Failure::other("the daemon gave an unexpected answer: is it of another version?")),
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
