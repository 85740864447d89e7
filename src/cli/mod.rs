//! Command-line interface: argument parsing, one file for each subcommand.

pub(crate) mod app;
pub(crate) mod backup;
pub(crate) mod check_config;
pub(crate) mod complete_names;
pub(crate) mod completion;
mod conventions;
pub(crate) mod demo;
mod examples;
mod exit_code;
pub(crate) mod explain;
mod hadoop_spelling;
pub(crate) mod job;
pub(crate) mod market_command;
mod market_text;
mod next_steps;
mod open;
pub(crate) mod pages;
mod pasted;
pub(crate) mod place;
mod prompts;
mod queue;
pub(crate) mod reload;
pub(crate) mod report;
mod report_text;
pub(crate) mod restore;
pub(crate) mod run;
mod scheduler;
pub(crate) mod serve;
pub(crate) mod sign;
pub(crate) mod signer;
pub(crate) mod simulate;
mod staging_line;
mod statement_text;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod store;
pub(crate) mod tasktracker;
mod terminal;
pub(crate) mod time_text;
pub(crate) mod upgrade;
pub(crate) mod user;
pub(crate) mod values;
pub(crate) mod what_if;
pub(crate) mod workers;

use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::client::show_slow_answers;
use crate::log::{error_mark, start_log_to_stderr};
use crate::supervisor::keeper_process::{KEEP_COMMANDS, keep_commands};
use crate::supervisor::process::{SUPERVISE_COMMAND, supervise};
use crate::worker::containers::{CONTAINER_COMMAND, run_container_process};
use crate::worker::job_user::{ATTEMPT_COMMAND, run_attempt_process};

use exit_code::{Failure, WRONG_USAGE};
use terminal::print_error;

/// A JobTracker for Hadoop 1.x clients and TaskTrackers, with a market for slots
#[derive(Debug, Parser)]
#[command(name = "jobtracker", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the JobTracker in the foreground until SIGTERM or SIGINT
    Serve(serve::ServeCommand),
    /// Run a worker for Hadoop Streaming jobs in the foreground until SIGTERM or SIGINT
    Tasktracker(tasktracker::TaskTrackerArguments),
    /// Run a whole cluster in one process, in which two users bid for slots, and check the bill
    Demo(demo::DemoArguments),
    /// Run a task of the demo
    #[command(subcommand, hide = true)]
    DemoTask(demo::DemoTask),
    /// Check a configuration and print the effective values with their sources
    CheckConfig(check_config::CheckConfigArguments),
    /// Back up state.db to a new file, whether the daemon runs or not
    Backup(backup::BackupArguments),
    /// Put a backup in the place of state.db while the daemon is stopped, and list what is lost
    Restore(restore::RestoreArguments),
    /// Show the pages and the API of a state.db or a backup of it, without a JobTracker
    Pages(pages::PagesArguments),
    /// Show the daemon at a glance: version, ports, workers, jobs, health; exit code 1 if it cannot run jobs, 4 if there is none
    Status(status::DaemonStatusArguments),
    /// Stop the daemon of this machine, and wait until it has ended
    Stop(stop::StopArguments),
    /// Have the daemon read its configuration again, as SIGHUP does, and print what has changed
    Reload(reload::ReloadArguments),
    /// Replace the running daemon with a new binary without closing connections
    Upgrade(upgrade::UpgradeArguments),
    /// Show which scheduler rules, plan a switch to another, and switch while jobs run
    #[command(subcommand)]
    Scheduler(scheduler::SchedulerCommand),
    /// Add, remove and re-key the users that may sign, in the ACL file
    #[command(subcommand)]
    User(user::UserCommand),
    /// Make the tables of a database of budgets
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Open the pages in a browser, signed in to read what is private to you
    Open(open::OpenArguments),
    /// Sign a query for /scheduler, or a job
    Sign(sign::SignArguments),
    /// Show and change queues, their budgets and bids
    #[command(subcommand)]
    Queue(queue::QueueCommand),
    /// Report jobs, slot-seconds and charges of users, queues or jobs over a time
    Report(report::ReportArguments),
    /// Submit, follow, list and kill jobs
    #[command(subcommand)]
    Job(job::JobCommand),
    /// Run a command in a container, or once for each of many items
    Run(Box<run::RunArguments>),
    /// List applications, show them, print their logs and kill them
    #[command(subcommand)]
    App(app::AppCommand),
    /// List workers, drain them and resume them
    #[command(subcommand)]
    Workers(workers::WorkersCommand),
    /// Explain why a job has no more slots, and which rate would buy more
    Explain(explain::JobArguments),
    /// Print the price: the sum of the effective rates, in credits for one slot over one interval
    Price(market_command::PriceArguments),
    /// Print the server's start time and clock
    Time(market_command::MarketArguments),
    /// Print the names that may come next, for completion scripts
    #[command(hide = true)]
    CompleteNames(complete_names::CompleteNamesArguments),
    /// Print a completion script for a shell
    Completion(completion::CompletionArguments),
    /// Simulate a cluster with faults in virtual time, and check the invariants after every step
    Simulate(simulate::SimulateArguments),
    /// Play the jobs of the past again in virtual time, as configured and as asked, and compare
    WhatIf(what_if::WhatIfArguments),
}

/// The command with all its subcommands, for man pages and completion scripts.
pub fn command() -> clap::Command {
    completion::with_hints(conventions::with_conventions(Arguments::command()))
}

/// Runs the command in this process's arguments. Exit codes: 0 success, 1 the command or the job failed, 2 wrong usage or
/// configuration, or refused, 3 denied, 4 unreachable.
pub fn main() -> ExitCode {
    if let Some(code) = std::env::args_os().nth(1).and_then(|word| run_own_process(&word)) {
        return code;
    }
    let arguments = match parse_arguments() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    if std::io::stdout().is_terminal() {
        time_text::show_local_times();
    }
    show_slow_answers(|reason| print_error(&format!("jobtracker: waiting: {reason}")));
    run_command(arguments.command).unwrap_or_else(|Failure { code, text }| {
        print_error(&format!("{}jobtracker: {text}", error_mark()));
        ExitCode::from(code)
    })
}

/// A process that this program starts for its own use, by the first word of its arguments.
fn run_own_process(word: &OsStr) -> Option<ExitCode> {
    // The tasktracker starts the first for each command and waits for it, the second for many containers.
    if word == SUPERVISE_COMMAND {
        return Some(supervise());
    }
    if word == KEEP_COMMANDS {
        return Some(keep_commands());
    }
    // And these for each attempt or container that runs as its user.
    if word == ATTEMPT_COMMAND {
        start_log_to_stderr();
        return Some(run_attempt_process());
    }
    if word == CONTAINER_COMMAND {
        start_log_to_stderr();
        return Some(run_container_process());
    }
    None
}

/// Wrong usage ends here, with clap's own code 2.
fn parse_arguments() -> Result<Arguments, ExitCode> {
    let words = hadoop_spelling::in_our_spelling(std::env::args_os().collect()).map_err(|text| {
        print_error(&format!("{}jobtracker: {text}", error_mark()));
        ExitCode::from(WRONG_USAGE)
    })?;
    let matches =
        command().try_get_matches_from(&words).unwrap_or_else(|error| exit_code::exit_with(error, &words, command()));
    pasted::keep_options(&matches);
    Ok(Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
}

fn run_command(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve(command) => {
            start_log_to_stderr();
            done(serve::run(command))
        }
        Command::Tasktracker(arguments) => {
            start_log_to_stderr();
            done(tasktracker::run(&arguments))
        }
        Command::Demo(arguments) => demo::run(&arguments).map_err(Failure::other),
        Command::DemoTask(task) => done(demo::run_task(&task).map_err(Failure::other)),
        Command::CheckConfig(arguments) => {
            let report = check_config::run(&arguments);
            // If printing fails, the exit code still has the result.
            let _ = print(&report.text);
            Ok(if report.is_good { ExitCode::SUCCESS } else { ExitCode::from(WRONG_USAGE) })
        }
        Command::Backup(arguments) => answer(backup::run(&arguments)),
        Command::Restore(arguments) => answer(restore::run(&arguments)),
        Command::Pages(arguments) => {
            start_log_to_stderr();
            done(pages::run(&arguments))
        }
        Command::Upgrade(arguments) => answer(upgrade::run(&arguments)),
        Command::Status(arguments) => answer_with_code(status::run(&arguments)),
        Command::Reload(arguments) => answer(reload::run(&arguments)),
        Command::Stop(arguments) => answer(stop::run(&arguments)),
        Command::Scheduler(command) => answer_with_code(scheduler::run(&command)),
        Command::User(command) => answer(user::run(&command, crate::clock::wall_ms())),
        Command::Store(command) => answer(store::run(&command)),
        Command::Sign(arguments) => answer(sign::run(&arguments)),
        Command::Open(arguments) => answer(open::open(&arguments)),
        Command::Queue(command) => answer(queue::run(&command)),
        Command::Report(arguments) => done(report::report(&arguments)),
        Command::Job(command) => answer_with_code(job::run(command)),
        Command::Run(arguments) => answer_with_code(run::run(&arguments)),
        Command::App(command) => answer(app::run(command)),
        Command::CompleteNames(arguments) => print(&complete_names::run(&arguments, &self::command())),
        Command::Completion(arguments) => print(&completion::completion(&arguments, self::command())),
        Command::Workers(command) => answer(workers::run(&command)),
        Command::Explain(arguments) => answer(explain::explain(&arguments)),
        Command::Price(arguments) => answer(market_command::price(&arguments)),
        Command::Time(arguments) => answer(market_command::time(&arguments)),
        Command::Simulate(arguments) => answer(simulate::run(&arguments).map_err(Failure::other)),
        Command::WhatIf(arguments) => answer(what_if::run(&arguments)),
    }
}

/// The end of a command that has printed what it had to print.
fn done(outcome: Result<(), impl Into<Failure>>) -> Result<ExitCode, Failure> {
    outcome.map_err(Into::into)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the text that a command has returned.
fn answer(text: Result<String, impl Into<Failure>>) -> Result<ExitCode, Failure> {
    print(&text.map_err(Into::into)?)
}

/// The same of a command that has an exit code of its own.
fn answer_with_code(outcome: Result<(String, impl Into<ExitCode>), impl Into<Failure>>) -> Result<ExitCode, Failure> {
    let (text, code) = outcome.map_err(Into::into)?;
    print(&text)?;
    Ok(code.into())
}

fn print(text: &str) -> Result<ExitCode, Failure> {
    terminal::print(text).map_err(Failure::other)?;
    Ok(ExitCode::SUCCESS)
}
