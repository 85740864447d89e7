//! `jobtracker job`: one file for each subcommand.

mod connection;
mod counters;
mod deadline;
mod dry_run;
mod events;
mod failures;
mod filter;
mod follow;
mod hold;
mod kill;
mod list;
mod logs;
mod output;
mod priority;
mod progress;
mod remarks;
mod resubmit;
mod signed_change;
mod status;
mod submission_record;
mod submit;
mod submit_arguments;
mod tasks;
mod times;

use std::process::ExitCode;

use super::market_command::block_on;
use connection::Outcome;
pub(super) use failures::without_numbers;

/// Subcommands of `job`. Exit codes: 0 success, 1 the job failed, 2 wrong usage or refused, 3 denied, 4 unreachable.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXIT_CODES)]
pub(crate) enum JobCommand {
    /// Submit a streaming job and follow it to its end
    Submit(Box<submit_arguments::SubmitArguments>),
    /// Follow jobs to their ends, one after the other
    Follow(follow::FollowArguments),
    /// Wait in silence until jobs have ended
    Wait(follow::FollowArguments),
    /// List unfinished jobs
    List(list::ListArguments),
    /// Show a job's progress and cost
    Status(status::StatusArguments),
    /// Kill jobs
    Kill(kill::KillArguments),
    /// Kill attempts of tasks, which run again
    KillTask(kill::KillAttemptsArguments),
    /// Let attempts of tasks fail, which counts against their tasks
    FailTask(kill::KillAttemptsArguments),
    /// Hold jobs: what runs ends, and nothing new starts until you release them (owner and administrators only)
    Hold(hold::HoldArguments),
    /// Release held jobs
    Release(hold::HoldArguments),
    /// Set the priority of jobs within their queues
    Priority(priority::PriorityArguments),
    /// Change the deadline of a job, or take it away
    Deadline(Box<deadline::DeadlineOfJobArguments>),
    /// List the ended attempts of a job
    Events(events::EventsArguments),
    /// Print a job's counters
    Counters(counters::CountersArguments),
    /// Print the logs of an attempt, or of a job's failed attempts
    Logs(logs::LogsArguments),
    /// List the attempts of a job: state, worker, input, time of launch, status text
    Tasks(tasks::TasksArguments),
    /// Print the output of a job: its part files, in order
    Output(output::OutputArguments),
    /// Submit a job again, as it was submitted from this machine
    Resubmit(Box<resubmit::ResubmitArguments>),
}

/// End of each command's help.
const EXIT_CODES: &str =
    "Exit codes: 0 success, 1 the job failed or was killed, 2 wrong usage or refused, 3 denied, 4 unreachable";

pub(crate) fn run(command: JobCommand) -> Outcome {
    let done = |text: String| (text, ExitCode::SUCCESS);
    block_on(async {
        match command {
            JobCommand::Submit(arguments) => submit::submit(&arguments).await,
            JobCommand::Follow(arguments) => follow::follow(&arguments).await,
            JobCommand::Wait(arguments) => follow::wait(&arguments).await,
            JobCommand::List(arguments) => list::list(&arguments).await.map(done),
            JobCommand::Status(arguments) => status::status(&arguments).await.map(done),
            JobCommand::Kill(arguments) => kill::kill(&arguments).await.map(done),
            JobCommand::KillTask(arguments) => kill::kill_attempts(&arguments, false).await.map(done),
            JobCommand::FailTask(arguments) => kill::kill_attempts(&arguments, true).await.map(done),
            JobCommand::Hold(arguments) => hold::hold(&arguments, true).await.map(done),
            JobCommand::Release(arguments) => hold::hold(&arguments, false).await.map(done),
            JobCommand::Priority(arguments) => priority::priority(&arguments).await.map(done),
            JobCommand::Deadline(arguments) => deadline::deadline(&arguments).await.map(done),
            JobCommand::Events(arguments) => events::events(&arguments).await.map(done),
            JobCommand::Counters(arguments) => counters::counters(&arguments).await.map(done),
            JobCommand::Logs(arguments) => logs::logs(&arguments).await.map(done),
            JobCommand::Tasks(arguments) => tasks::tasks(&arguments).await.map(done),
            JobCommand::Output(arguments) => output::output(&arguments).await.map(done),
            JobCommand::Resubmit(arguments) => resubmit::resubmit(&arguments).await,
        }
    })
}

#[cfg(test)]
#[path = "tests/faults.rs"]
mod faults;
