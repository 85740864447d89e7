//! `jobtracker run`: a command in a container, or one for each of many items.

mod arguments;
mod interrupts;
mod items;
mod one_command;
mod output;
mod progress;
#[cfg(test)]
mod tests;

use std::io;
use std::process::ExitCode;

use crate::client::applications::{ApplicationClient, ApplicationClientError, RunSubmission};
use crate::model::counted;

use super::app::{AppCommandError, client_of};
use super::market_command::block_on;
use super::market_text::{OutputForm, json};
use super::prompts::prompt;
use super::terminal::print_error;

pub(crate) use arguments::RunArguments;

use arguments::option_at;
use interrupts::{INTERRUPTED_BASE, Interrupts, interrupts};
use items::follow_items;
use one_command::follow_command;
use output::Outputs;

/// How often another id is asked for when the server has forgotten the one that it gave.
const MOST_FORGOTTEN: u32 = 5;

/// Runs the command. Exit codes: of one command its own, 128 + the signal's number if it died of one; of items 0 if every one has ended
/// with 0, else 1; otherwise 1 the command could not run or was ended from outside, 2 wrong usage or refused, 3 denied, 4 unreachable.
pub(crate) fn run(arguments: &RunArguments) -> Result<(String, ExitCode), AppCommandError> {
    let form = arguments.market.form();
    let submission = arguments.submission(&std::env::current_dir()?)?;
    let client = client_of(&arguments.market)?.awaiting_start();
    let (mut stdout, mut stderr) = (io::stdout(), io::stderr());
    let outputs = Outputs { stdout: &mut stdout, stderr: &mut stderr };
    let outcome = block_on(async {
        let mut interrupts = interrupts()?;
        run_submission(&client, &submission, arguments.detach, form, outputs, &mut interrupts).await
    });
    outcome.map(|(text, code)| (text, ExitCode::from(code))).map_err(|error| error.signed_by(&arguments.market))
}

/// Submits, and follows to the end unless detached; returns the text to print and the exit code.
async fn run_submission(
    client: &ApplicationClient,
    submission: &RunSubmission,
    detach: bool,
    form: OutputForm,
    outputs: Outputs<'_>,
    interrupts: &mut Interrupts,
) -> Result<(String, u8), AppCommandError> {
    let interrupted = |signal: u8| Ok((String::new(), INTERRUPTED_BASE.saturating_add(signal)));
    let mut forgotten = 0;
    let id = loop {
        let id = tokio::select! {
            id = client.new_id() => id?,
            Some(signal) = interrupts.recv() => return interrupted(signal),
        };
        tokio::select! {
            submitted = client.submit(id, submission) => match submitted {
                Ok(()) => break id,
                // A server that was started again since then has forgotten the id, so that nothing was submitted under it.
                Err(error) if error.problem_name() == "no-such-application" && forgotten < MOST_FORGOTTEN => forgotten += 1,
                Err(error) => return Err(refused(error, submission)),
            },
            Some(signal) = interrupts.recv() => {
                // It may have arrived; if not, there is nothing to kill.
                let _ = client.kill(id).await;
                return interrupted(signal);
            }
        }
    };
    if detach {
        let text = match form {
            OutputForm::Json => {
                let items = submission.work.as_ref().map(|work| work.count);
                json(&serde_json::json!({ "application": id, "items": items }))
            }
            OutputForm::Table => format!("{id}\n"),
        };
        return Ok((text, 0));
    }
    match &submission.work {
        None => {
            let code = follow_command(client, id, &submission.context, outputs, interrupts).await?;
            Ok((String::new(), code))
        }
        Some(work) => {
            print_error(&format!("{id} submitted: {}", counted(work.count, "item")));
            follow_items(client, id, work, form, interrupts, async || prompt("application").await).await
        }
    }
}

/// A refusal names the options at fault.
fn refused(error: ApplicationClientError, submission: &RunSubmission) -> AppCommandError {
    AppCommandError::from(error).with_options(|fault| option_at(fault, submission))
}
