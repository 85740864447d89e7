//! `jobtracker store init`: the tables, made once.

use std::time::Duration;

use crate::config::settings::PostgresSettings;
use crate::store::budget_file::BudgetBackEndError;

use super::connection::{client_config, connect, lock, place_of};
use super::error::PostgresError;
use super::layout::{Former, check_access};

/// Makes the schema `jobtracker` with its tables.
pub const INITIALISE_SQL: &str = include_str!("../../../etc/postgres/jobtracker.sql");

/// What [`initialise`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialised {
    pub place: String,
    /// The tables were there.
    pub was_there: bool,
    /// The state database whose tables they were, where they were taken from it.
    pub taken_from: Option<String>,
}

/// Makes the tables unless they are there. `takes_over`: the next state database that publishes may have them.
///
/// # Errors
/// The database cannot be reached, or refuses, or has tables of another layout, or that its role may not write; they are
/// to be taken over, and another process publishes there.
pub fn initialise(settings: &PostgresSettings, takes_over: bool) -> Result<Initialised, BudgetBackEndError> {
    let failed = |error: PostgresError| error.of("initialise", "the database");
    let place = place_of(&client_config(settings).map_err(failed)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(PostgresError::Runtime(error)))?;
    let done = runtime.block_on(async {
        let session = connect(settings).await?;
        let client = &session.client;
        let there = "SELECT to_regclass('jobtracker.publication') IS NOT NULL";
        let was_there: bool = client.query_one(there, &[]).await?.try_get(0)?;
        match was_there {
            true => check_access(client, Former::Changed).await?,
            false => client.batch_execute(INITIALISE_SQL).await?,
        }
        let mut taken_from = None;
        if takes_over {
            // Who publishes there would take them back at once.
            lock(client, Duration::ZERO).await?;
            let sql = "SELECT state FROM jobtracker.publication";
            taken_from = client.query_one(sql, &[]).await?.try_get(0)?;
            client
                .batch_execute(
                    "BEGIN; DELETE FROM jobtracker.movement;
                     UPDATE jobtracker.publication SET state = NULL, tick = 0, ledger = 0, compacted = 0; COMMIT",
                )
                .await?;
        }
        session.close().await;
        Ok((was_there, taken_from))
    });
    let (was_there, taken_from) = done.map_err(|error: PostgresError| error.of("initialise", &place))?;
    Ok(Initialised { place, was_there, taken_from })
}
