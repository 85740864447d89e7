//! `jobtracker report`: what users, queues or jobs used in a stretch of time, and what it cost.

use std::path::PathBuf;

use crate::api::Report;
use crate::client::job::configuration::{JobConfiguration, JobConfigurationError};
use crate::client::market::{MarketClient, MarketClientError};
use crate::market::ReportKind;

use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::market_text::json;
use super::report_text::{render_csv, render_table};
use super::since::parse_time_of;

/// What the rows stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportOf {
    /// A row for each user
    Users,
    /// A row for each queue
    Queues,
    /// A row for each job
    Jobs,
}

/// Options of `report`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArguments {
    /// What each row stands for
    #[arg(value_name = "users|queues|jobs", value_enum, hide_possible_values = true)]
    of: ReportOf,
    /// Start, in UTC unless it has an offset: 2026-11-21, 2026-11-21T09:30, 2026-11-21T09:30+01:00; default: the beginning
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// End, not included, as --since; default: now
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Conf folder of the cluster, for the HTTP address where --server is not given
    #[arg(long, value_name = "DIR")]
    conf: Option<PathBuf>,
    #[command(flatten)]
    market: MarketArguments,
}

/// `jobtracker report`: the text for standard output, and what the reader has to know about it for standard error.
///
/// # Errors
/// [`MarketCommandError`]
pub fn report(arguments: &ReportArguments) -> Result<(String, Vec<String>), MarketCommandError> {
    let ReportArguments { of, since, until, csv, conf, market } = arguments;
    let since_ms = since.as_deref().map(|text| parse_time_of("--since", text)).transpose()?;
    let until_ms = until.as_deref().map(|text| parse_time_of("--until", text)).transpose()?;
    let client = client(conf.as_ref(), market)?;
    let kind = match of {
        ReportOf::Users => ReportKind::Users,
        ReportOf::Queues => ReportKind::Queues,
        ReportOf::Jobs => ReportKind::Jobs,
    };
    // Without a market, users have no key and need none.
    let signer = market.signer();
    let answer = wait_for(async { Ok(client.report(kind, (since_ms, until_ms), signer.as_ref().ok()).await) })?;
    let report: Report = match (answer, signer) {
        (Err(MarketClientError::Denied { .. }), Err(no_signer)) => return Err(no_signer.into()),
        (answer, _) => answer?,
    };
    Ok(match (market.json, csv) {
        (true, _) => (json(&report), Vec::new()),
        (false, true) => render_csv(&report, kind),
        (false, false) => render_table(&report, kind),
    })
}

fn client(conf: Option<&PathBuf>, market: &MarketArguments) -> Result<MarketClient, MarketCommandError> {
    let Some(folder) = conf.filter(|_| market.server.is_none()) else { return Ok(market.client()) };
    let unreadable = |error: JobConfigurationError| MarketCommandError::Configuration(error.to_string());
    let configuration = JobConfiguration::load(Some(folder), &[], &market.signer.user()?).map_err(unreadable)?;
    let web = configuration.web(&configuration.jobtracker(None).map_err(unreadable)?);
    Ok(web.map_or_else(|| market.client(), MarketClient::new))
}
