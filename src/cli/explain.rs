//! `jobtracker explain` and `jobtracker job status`: why a job has what it has, and what it has cost.

use super::explain_text::{explain_text, status_text};
use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use crate::client::market::MarketClientError;
use crate::engine::explanation::Explanation;

/// Which job, and where.
#[derive(Clone, Debug, clap::Args)]
pub struct JobArguments {
    /// Its id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: String,
    /// Where, who and how.
    #[command(flatten)]
    market: MarketArguments,
}

/// What `jobtracker job` does.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum JobCommand {
    /// How far a job is and what it has cost
    Status(JobArguments),
}

/// `jobtracker explain`.
///
/// # Errors
/// [`MarketCommandError`]
pub fn explain(arguments: &JobArguments) -> Result<String, MarketCommandError> {
    Ok(explain_text(&ask(arguments)?, arguments.market.form()))
}

/// `jobtracker job`.
///
/// # Errors
/// [`MarketCommandError`]
pub fn job(command: &JobCommand) -> Result<String, MarketCommandError> {
    let JobCommand::Status(arguments) = command;
    Ok(status_text(&ask(arguments)?, arguments.market.form()))
}

fn ask(arguments: &JobArguments) -> Result<Explanation, MarketCommandError> {
    let JobArguments { job, market } = arguments;
    // Where there is no market nobody has a key, and nobody needs one.
    let signer = market.signer();
    let answer = wait_for(async { Ok(market.client().explain(job, signer.as_ref().ok()).await?) });
    match (answer, signer) {
        (Err(MarketCommandError::Client(MarketClientError::Denied { .. })), Err(no_signer)) => Err(no_signer.into()),
        (answer, _) => answer,
    }
}
