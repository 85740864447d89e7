//! Argument parsing; one file a subcommand.

pub mod backup;
pub mod check_config;
pub mod completion;
pub mod demo;
pub mod explain;
mod explain_text;
mod history_text;
pub mod job;
pub mod market_command;
mod market_text;
mod memory_return;
mod next_steps;
pub mod queue;
pub mod serve;
mod server_address;
pub mod sign;
pub mod sign_command;
pub mod signer;
pub mod simulate;
mod since;
mod statement_text;
pub mod tasktracker;
mod terminal;
pub mod upgrade;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::supervisor::process::{SUPERVISE_COMMAND, supervise};

/// A JobTracker for Hadoop 1.x clients and TaskTrackers, with a market inside.
#[derive(Debug, Parser)]
#[command(name = "jobtracker", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the daemon in the foreground until SIGTERM or SIGINT
    Serve(serve::ServeCommand),
    /// Runs a worker in the foreground that runs Hadoop Streaming jobs, until SIGTERM or SIGINT
    Tasktracker(tasktracker::TaskTrackerArguments),
    /// Shows a whole cluster at work in one process: two users bid for its slots, and the bill is checked
    Demo(demo::DemoArguments),
    /// What tasks of the demo run
    #[command(subcommand, hide = true)]
    DemoTask(demo::DemoTask),
    /// Checks a configuration and prints what holds and where it was set
    CheckConfig(check_config::CheckConfigArguments),
    /// Copies state.db to a new file, whether the daemon runs or not
    Backup(backup::BackupArguments),
    /// Has another program go on for the running daemon, without a pause and without closing a connection
    Upgrade(upgrade::UpgradeArguments),
    /// Signs a query for /scheduler, or a job
    Sign(sign_command::SignArguments),
    /// Looks at queues, their money and their bids, and changes them
    #[command(subcommand)]
    Queue(queue::QueueCommand),
    /// Submits jobs, follows, lists and ends them
    #[command(subcommand)]
    Job(job::JobCommand),
    /// Tells why a job has the slots it has and no more, and what rate would move it
    Explain(explain::JobArguments),
    /// Prints the price: the sum of the rates now being paid, credits for one slot over one interval
    Price(market_command::PriceArguments),
    /// Prints when the server started, and its clock
    Time(market_command::MarketArguments),
    /// Prints what completes these commands in a shell
    Completion(completion::CompletionArguments),
    /// Runs the engine in virtual time against trackers, users and faults, and judges every step
    Simulate(simulate::SimulateArguments),
}

/// The exit code of what the caller must write otherwise.
const WRONG_USAGE: u8 = 2;

/// Does what the arguments of this process say. Exit codes: 0 done, 1 it failed, or the job did, 2 wrong usage or
/// configuration, or refused for what was asked, 3 denied, 4 unreachable.
pub fn main() -> ExitCode {
    // Nobody types that, and it is waited for.
    if std::env::args_os().nth(1).is_some_and(|word| word == SUPERVISE_COMMAND) {
        return supervise();
    }
    // Wrong usage ends here, with clap's own code 2.
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Serve(command) => {
            log_to_stderr();
            memory_return::return_large_buffers();
            serve::run(command).map_err(|error| (error.exit_code(), error.to_string()))
        }
        Command::Tasktracker(arguments) => {
            log_to_stderr();
            memory_return::return_large_buffers();
            tasktracker::run(&arguments).map_err(|error| (error.exit_code(), error.to_string()))
        }
        Command::Demo(arguments) => match demo::run(&arguments) {
            Ok(code) => return code,
            Err(failure) => Err((1, failure.to_string())),
        },
        Command::DemoTask(task) => demo::run_task(&task).map_err(|error| (1, error.to_string())),
        Command::CheckConfig(arguments) => {
            let report = check_config::run(&arguments);
            // Its exit code says all where nothing can be printed.
            let _ = print(&report.text);
            return if report.is_good { ExitCode::SUCCESS } else { ExitCode::from(WRONG_USAGE) };
        }
        Command::Backup(arguments) => match backup::run(&arguments) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Upgrade(arguments) => match upgrade::run(&arguments) {
            Ok(text) => print(&text),
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Sign(arguments) => {
            let signed = sign_command::run(&arguments, crate::clock::wall_ms());
            signed.map_err(|error| (WRONG_USAGE, error.to_string())).and_then(|text| print(&text))
        }
        Command::Queue(command) => told(queue::run(&command)),
        Command::Job(command) => match job::run(command) {
            Ok((text, code)) => match print(&text) {
                Ok(()) => return code,
                error => error,
            },
            Err(error) => Err((error.exit_code(), error.to_string())),
        },
        Command::Completion(arguments) => print(&completion::completion(&arguments, Arguments::command())),
        Command::Explain(arguments) => told(explain::explain(&arguments)),
        Command::Price(arguments) => told(market_command::price(&arguments)),
        Command::Time(arguments) => told(market_command::time(&arguments)),
        Command::Simulate(arguments) => {
            simulate::run(&arguments).map_err(|text| (1, text)).and_then(|text| print(&text))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, text)) => {
            terminal::print_error(&format!("jobtracker: {text}"));
            ExitCode::from(code)
        }
    }
}

/// Prints what the market has told.
fn told(text: Result<String, market_command::MarketCommandError>) -> Result<(), (u8, String)> {
    print(&text.map_err(|error| (error.exit_code(), error.to_string()))?)
}

fn print(text: &str) -> Result<(), (u8, String)> {
    terminal::print(text).map_err(|error| (1, error.to_string()))
}

/// Lines on stderr; `RUST_LOG` says which, from `info` on by default.
fn log_to_stderr() {
    use tracing_subscriber::EnvFilter;

    use crate::log::escaped_fields;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt().fmt_fields(escaped_fields());
    lines.with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
}
