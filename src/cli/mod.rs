//! Command-line interface: argument parsing, one file for each subcommand.

pub(crate) mod app;
pub(crate) mod backup;
pub(crate) mod check_config;
pub(crate) mod complete_names;
pub(crate) mod completion;
mod confirm;
mod conventions;
pub(crate) mod demo;
mod examples;
mod exit_code;
pub(crate) mod explain;
mod explain_text;
mod hadoop_spelling;
mod history_text;
mod interrupt;
pub(crate) mod job;
pub(crate) mod market_command;
mod market_text;
mod next_steps;
mod open;
pub(crate) mod pages;
mod pasted;
pub(crate) mod period;
pub(crate) mod place;
mod queue;
pub(crate) mod reload;
pub(crate) mod report;
mod report_text;
pub(crate) mod restore;
pub(crate) mod run;
mod scheduler;
mod scheduler_text;
pub(crate) mod serve;
pub(crate) mod sign;
pub(crate) mod sign_command;
pub(crate) mod signer;
pub(crate) mod simulate;
mod since;
mod staging_line;
mod statement_text;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod store;
pub(crate) mod tasktracker;
mod terminal;
mod time_text;
pub(crate) mod upgrade;
mod usage;
pub(crate) mod user;
pub(crate) mod user_filter;
mod values;
pub(crate) mod what_if;
mod what_if_text;
mod whole_characters;
mod without_numbers;
pub(crate) mod workers;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::client::show_slow_answers;
use crate::log::{error_mark, start_log_to_stderr};
use crate::supervisor::keeper_process::{KEEP_COMMANDS, keep_commands};
use crate::supervisor::process::{SUPERVISE_COMMAND, supervise};
use crate::worker::containers::{CONTAINER_COMMAND, run_container_process};
use crate::worker::job_user::{ATTEMPT_COMMAND, run_attempt_process};

use exit_code::WRONG_USAGE;
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
    Status(status::StatusArguments),
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
    Sign(sign_command::SignArguments),
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
    // The tasktracker starts the first for each command and waits for it, the second for many containers.
    if std::env::args_os().nth(1).is_some_and(|word| word == SUPERVISE_COMMAND) {
        return supervise();
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == KEEP_COMMANDS) {
        return keep_commands();
    }
    // And these for each attempt or container that runs as its user.
    if std::env::args_os().nth(1).is_some_and(|word| word == ATTEMPT_COMMAND) {
        start_log_to_stderr();
        return run_attempt_process();
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == CONTAINER_COMMAND) {
        start_log_to_stderr();
        return run_container_process();
    }
    // Wrong usage ends here, with clap's own code 2.
    let words = match hadoop_spelling::in_our_spelling(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(text) => {
            print_error(&format!("{}jobtracker: {text}", error_mark()));
            return ExitCode::from(WRONG_USAGE);
        }
    };
    let matches =
        command().try_get_matches_from(&words).unwrap_or_else(|error| usage::exit_with(error, &words, command()));
    pasted::keep_options(&matches);
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if std::io::stdout().is_terminal() {
        time_text::show_local_times();
    }
    show_slow_answers(|reason| print_error(&format!("jobtracker: waiting: {reason}")));
    let outcome = match arguments.command {
        Command::Serve(command) => {
            start_log_to_stderr();
            serve::run(command).map_err(|error| (error.exit_code(), error.to_string()))
        }
        Command::Tasktracker(arguments) => {
            start_log_to_stderr();
            tasktracker::run(&arguments).map_err(|error| (error.exit_code(), error.to_string()))
        }
        Command::Demo(arguments) => match demo::run(&arguments) {
            Ok(code) => return code,
            Err(failure) => Err((1, failure.to_string())),
        },
        Command::DemoTask(task) => demo::run_task(&task).map_err(|error| (1, error.to_string())),
        Command::CheckConfig(arguments) => {
            let report = check_config::run(&arguments);
            // If printing fails, the exit code still has the result.
            let _ = print(&report.text);
            return if report.is_good { ExitCode::SUCCESS } else { ExitCode::from(WRONG_USAGE) };
        }
        Command::Backup(arguments) => match backup::run(&arguments) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Restore(arguments) => match restore::run(&arguments) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Pages(arguments) => {
            start_log_to_stderr();
            pages::run(&arguments).map_err(|error| (pages::exit_code(&error), error.to_string()))
        }
        Command::Upgrade(arguments) => match upgrade::run(&arguments) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Status(arguments) => match status::run(&arguments) {
            Ok((text, code)) => match print(&text) {
                Ok(()) => return ExitCode::from(code),
                error => error,
            },
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Reload(arguments) => match reload::run(&arguments) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Stop(arguments) => match stop::run(&arguments) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Scheduler(command) => match scheduler::run(&command) {
            Ok((text, code)) => match print(&text) {
                Ok(()) => return ExitCode::from(code),
                error => error,
            },
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::User(command) => match user::run(&command, crate::clock::wall_ms()) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Store(command) => match store::run(&command) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Sign(arguments) => {
            let signed = sign_command::run(&arguments);
            signed.map_err(|error| (WRONG_USAGE, error.to_string())).and_then(|text| print(&text))
        }
        Command::Open(arguments) => print_answer(open::open(&arguments)),
        Command::Queue(command) => print_answer(queue::run(&command)),
        Command::Report(arguments) => {
            report::report(&arguments).map_err(|error| (error.exit_code(), error.to_string()))
        }
        Command::Job(command) => match job::run(command) {
            Ok((text, code)) => match print(&text) {
                Ok(()) => return code,
                error => error,
            },
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Run(arguments) => match run::run(&arguments) {
            Ok((text, code)) => match print(&text) {
                Ok(()) => return code,
                error => error,
            },
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::App(command) => match app::run(command) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::CompleteNames(arguments) => print(&complete_names::run(&arguments, &command())),
        Command::Completion(arguments) => print(&completion::completion(&arguments, command())),
        Command::Workers(command) => match workers::run(&command) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Explain(arguments) => print_answer(explain::explain(&arguments)),
        Command::Price(arguments) => print_answer(market_command::price(&arguments)),
        Command::Time(arguments) => print_answer(market_command::time(&arguments)),
        Command::Simulate(arguments) => {
            simulate::run(&arguments).map_err(|text| (1, text)).and_then(|text| print(&text))
        }
        Command::WhatIf(arguments) => match what_if::run(&arguments) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, text)) => {
            terminal::print_error(&format!("{}jobtracker: {text}", error_mark()));
            ExitCode::from(code)
        }
    }
}

/// Prints the answer of the market.
fn print_answer(text: Result<String, market_command::MarketCommandError>) -> Result<(), (u8, String)> {
    print(&text.map_err(|error| (error.exit_code(), error.to_string()))?)
}

fn print(text: &str) -> Result<(), (u8, String)> {
    terminal::print(text).map_err(|error| (1, error.to_string()))
}
