//! `jobtracker store`: the database of budgets.

use crate::config::keys;
use crate::config::settings::{BudgetStoreKind, PostgresSettings};
use crate::lifecycle::ServeError;
use crate::store::{INITIALISE_SQL, Initialised, initialise};

use super::exit_code::{Failure, UNREACHABLE};
use super::serve::ConfigurationArguments;

/// Subcommands of `store`.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum StoreCommand {
    /// Make the tables of budgets in the PostgreSQL database of the configuration, unless they are there
    Init(InitArguments),
}

/// Options of `store init`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct InitArguments {
    /// The configuration.
    #[command(flatten)]
    configuration: ConfigurationArguments,
    /// Print the SQL that makes the tables, and connect to nothing
    #[arg(long)]
    sql: bool,
    /// Take the tables from the state database that they belong to: the next JobTracker that starts fills them
    #[arg(long, conflicts_with = "sql")]
    take_over: bool,
}

/// Fails with 2 for what only a person can mend, 4 if the database is not reached.
pub(crate) fn run(command: &StoreCommand) -> Result<String, Failure> {
    let StoreCommand::Init(arguments) = command;
    if arguments.sql {
        return Ok(INITIALISE_SQL.to_owned());
    }
    let done = initialise(&database(arguments)?, arguments.take_over);
    let failure = |error: ServeError| match error.is_permanent() {
        true => Failure::usage(error),
        false => Failure::new(UNREACHABLE, error),
    };
    Ok(text(&done.map_err(|error| failure(error.into()))?))
}

fn database(arguments: &InitArguments) -> Result<PostgresSettings, Failure> {
    let configuration = arguments.configuration.load_options().configuration()?;
    match BudgetStoreKind::from_configuration(&configuration)? {
        BudgetStoreKind::Postgres(postgres) => Ok(postgres),
        BudgetStoreKind::File(_) | BudgetStoreKind::Command(_) => Err(Failure::usage(format_args!(
            "{} is not `postgres`: there are no tables to make",
            keys::BUDGET_STORE.name
        ))),
    }
}

fn text(done: &Initialised) -> String {
    let Initialised { place, was_there, taken_from } = done;
    let made = match was_there {
        true => format!("{place}: the tables of schema jobtracker are there, and its role may write them\n"),
        false => format!(
            "{place}: made the tables account, movement, top_up and publication and the view spent_by_month in schema jobtracker\n"
        ),
    };
    match taken_from {
        Some(state) => {
            format!("{made}they belonged to the state database {state}; the next JobTracker that starts fills them\n")
        }
        None => made,
    }
}
