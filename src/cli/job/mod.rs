//! `jobtracker job`: one file a subcommand.

mod counters;
mod error;
mod events;
mod interrupt;
mod kill;
mod list;
mod logs;
mod place;
mod priority;
mod progress;
mod status;
mod submit;
mod submit_arguments;

use std::process::ExitCode;

pub use error::JobCommandError;

/// What `jobtracker job` does. Exit codes: 0 done, 1 the job failed, 2 wrong usage or refused for what was asked, 3 denied,
/// 4 unreachable.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXIT_CODES)]
pub enum JobCommand {
    /// Submits a streaming job and follows it to its end
    #[command(after_help = EXIT_CODES)]
    Submit(Box<submit_arguments::SubmitArguments>),
    /// Lists the jobs that are not over
    #[command(after_help = EXIT_CODES)]
    List(list::ListArguments),
    /// How far a job is and what it has cost
    #[command(after_help = EXIT_CODES)]
    Status(status::StatusArguments),
    /// Ends a job
    #[command(after_help = EXIT_CODES)]
    Kill(kill::KillArguments),
    /// Sets a job's priority within its queue
    #[command(after_help = EXIT_CODES)]
    Priority(priority::PriorityArguments),
    /// Lists the attempts of a job that have ended
    #[command(after_help = EXIT_CODES)]
    Events(events::EventsArguments),
    /// Prints a job's counters
    #[command(after_help = EXIT_CODES)]
    Counters(counters::CountersArguments),
    /// Prints what attempts wrote: one attempt's logs, or those of a job's failed attempts
    #[command(after_help = EXIT_CODES)]
    Logs(logs::LogsArguments),
}

/// Told by the help of all of them.
const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 the job failed or was killed, 2 wrong usage or refused, 3 denied, 4 unreachable";

/// What a command leaves to do: the text to be printed and the exit code.
type Outcome = Result<(String, ExitCode), JobCommandError>;

/// Does what the command says; the text is to be printed.
///
/// # Errors
/// [`JobCommandError`]
pub fn run(command: JobCommand) -> Outcome {
    let done = |text: String| (text, ExitCode::SUCCESS);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        match command {
            JobCommand::Submit(arguments) => submit::submit(&arguments).await,
            JobCommand::List(arguments) => list::list(&arguments).await.map(done),
            JobCommand::Status(arguments) => status::status(&arguments).await.map(done),
            JobCommand::Kill(arguments) => kill::kill(&arguments).await.map(done),
            JobCommand::Priority(arguments) => priority::priority(&arguments).await.map(done),
            JobCommand::Events(arguments) => events::events(&arguments).await.map(done),
            JobCommand::Counters(arguments) => counters::counters(&arguments).await.map(done),
            JobCommand::Logs(arguments) => logs::logs(&arguments).await.map(done),
        }
    })
}
