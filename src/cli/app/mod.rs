//! `jobtracker app`: one file for each subcommand.

mod connection;
mod container_table;
mod failures;
mod kill;
mod list;
mod logs;
mod status;

use super::market_command::block_on;

pub(crate) use connection::AppCommandError;
pub(super) use connection::client_of;
pub(super) use container_table::waiting_text;
pub(super) use failures::failure_text;

/// Subcommands of `app`. Exit codes: 0 success, 2 wrong usage or refused, 3 denied, 4 unreachable.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXIT_CODES)]
pub(crate) enum AppCommand {
    /// List applications that are not over
    List(list::AppListArguments),
    /// Show an application: its containers, what it waits for, what it has cost
    Status(status::AppStatusArguments),
    /// Print what containers of an application have written
    Logs(logs::AppLogsArguments),
    /// Kill applications with all their containers
    Kill(kill::AppKillArguments),
}

/// End of each command's help.
const EXIT_CODES: &str = "Exit codes: 0 success, 2 wrong usage or refused, 3 denied, 4 unreachable";

pub(crate) fn run(command: AppCommand) -> Result<String, AppCommandError> {
    block_on(async {
        let (outcome, market) = match &command {
            AppCommand::List(arguments) => (list::list(arguments).await, &arguments.market),
            AppCommand::Status(arguments) => (status::status(arguments).await, &arguments.market),
            AppCommand::Logs(arguments) => (logs::logs(arguments).await, &arguments.market),
            AppCommand::Kill(arguments) => (kill::kill(arguments).await, &arguments.market),
        };
        outcome.map_err(|error| error.signed_by(market))
    })
}
