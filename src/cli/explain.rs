//! `jobtracker explain`: why a job has the slots that it has.

use crate::api::Explanation;
use crate::client::market::MarketClientError;

use super::explain_text::render_explanation;
use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::pasted::pasted;

/// Options of `explain`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JobArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: String,
    #[command(flatten)]
    market: MarketArguments,
}

/// `jobtracker explain`.
///
/// # Errors
/// [`MarketCommandError`]
pub(crate) fn explain(arguments: &JobArguments) -> Result<String, MarketCommandError> {
    let JobArguments { job, market } = arguments;
    if job.starts_with("application_") {
        let command = pasted(&format!("jobtracker app status {job}"));
        return Err(MarketCommandError::Configuration(format!("{job} is an application, no job; see `{command}`")));
    }
    Ok(render_explanation(&wait_for(explanation(job, market))?, market.form()))
}

/// Requests the explanation of a job.
pub(super) async fn explanation(job: &str, market: &MarketArguments) -> Result<Explanation, MarketCommandError> {
    // Without a market, users have no key and need none.
    let signer = market.signer_or_why_not()?;
    let answer = market.client()?.explain(job, signer.as_ref().ok()).await;
    match (answer, signer) {
        (Err(MarketClientError::Denied { .. }), Err(no_signer)) => Err(no_signer.into()),
        (answer, _) => Ok(answer?),
    }
}
