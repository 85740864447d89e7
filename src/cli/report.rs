//! `jobtracker report`: what users, queues, jobs or applications used in a stretch of time, and what it cost.

use crate::api::Report;
use crate::client::market::{MarketClient, MarketClientError, Signer};
use crate::market::{ReportFilter, ReportKind, ReportRequest};

use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::report_text::{ReportColumn, ReportForm, notes, render_answer, render_part};
use super::signer::SignerError;
use super::terminal::{print, print_error};
use super::time_text::parse_time_of;
use super::values::UserFilter;

/// What the rows stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportOf {
    /// A row for each user
    Users,
    /// A row for each queue
    Queues,
    /// A row for each job and application
    Jobs,
}

/// What a report by a period has a row for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportPeriod {
    /// Each month of UTC
    Month,
}

/// Options of `report`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReportArguments {
    /// What each row stands for
    #[arg(value_name = "users|queues|jobs", value_enum, hide_possible_values = true)]
    of: ReportOf,
    /// Start, local unless it has an offset: 2026-11-21, 2026-11-21T09:30, 2026-11-21T09:30+01:00; default: the beginning
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// End, not included, as --since; default: now
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    #[command(flatten)]
    user: UserFilter,
    /// Only jobs and applications in this queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Only jobs and applications in this state, such as FAILED
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// A row for each month
    #[arg(long, value_name = "PERIOD", value_enum)]
    by: Option<ReportPeriod>,
    /// Columns: job, user, name, queue, state, submit, start, end, elapsed_s, waited_s, jobs, failed, map_slots_s,
    /// reduce_slots_s, container_slots_s, slots_s, cost, month
    #[arg(long, value_name = "COLUMNS")]
    format: Option<String>,
    /// Print comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Server, signer, output form; JSON without --format is the answer of the server.
    #[command(flatten)]
    market: MarketArguments,
}

/// `jobtracker report`: prints it part by part, and what the reader has to know about it to standard error.
pub(crate) fn report(arguments: &ReportArguments) -> Result<(), MarketCommandError> {
    let mut request = arguments.request()?;
    let chosen = arguments
        .format
        .as_deref()
        .map(ReportColumn::parse_list)
        .transpose()
        .map_err(|error| MarketCommandError::Configuration(format!("--format: {error}")))?;
    let form = match (arguments.market.json, arguments.csv) {
        (true, _) => ReportForm::Json,
        (false, true) => ReportForm::Csv,
        (false, false) => ReportForm::Table,
    };
    let is_answer = chosen.is_none() && form == ReportForm::Json;
    let shown = chosen.unwrap_or_else(|| ReportColumn::usual(request.kind, request.by_month));
    let market = arguments.market();
    let client = market.client()?;
    // Without a market, users have no key and need none.
    let signer = market.signer_or_why_not()?;
    let mut is_first = true;
    loop {
        let mut part = ask(&market, &client, &request, &signer)?;
        if is_answer {
            part = with_all_rows(part, |after| {
                ask(&market, &client, &ReportRequest { after: Some(after), ..request.clone() }, &signer)
            })?;
            return Ok(print(&render_answer(&part))?);
        }
        if let Some(note) = nothing_shown(&part, &request.filter, signer.as_ref().ok(), is_first) {
            print_error(&note);
        }
        print(&render_part(&part, &shown, form, is_first))?;
        is_first = false;
        match part.next {
            Some(after) if request.after.is_none_or(|before| before < after) => request.after = Some(after),
            _ => {
                notes(&part).iter().for_each(|note| print_error(&format!("jobtracker: {note}")));
                return Ok(());
            }
        }
    }
}

/// That nothing of another user is shown, as to all but administrators.
fn nothing_shown(part: &Report, filter: &ReportFilter, signer: Option<&Signer>, is_first: bool) -> Option<String> {
    let (user, signer) = (filter.user.as_deref()?, signer?);
    (is_first && part.rows.is_empty() && user != signer.user).then(|| {
        format!(
            "jobtracker: nothing of {user} is shown to {}: only an administrator sees what others used",
            signer.user
        )
    })
}

fn with_all_rows(
    mut report: Report,
    ask: impl Fn(u64) -> Result<Report, MarketCommandError>,
) -> Result<Report, MarketCommandError> {
    while let Some(after) = report.next.take() {
        let part = ask(after)?;
        report.rows.extend(part.rows);
        report.next = part.next.filter(|next| *next > after);
    }
    Ok(report)
}

fn ask(
    market: &MarketArguments,
    client: &MarketClient,
    request: &ReportRequest,
    signer: &Result<Signer, SignerError>,
) -> Result<Report, MarketCommandError> {
    let answer = wait_for(async { Ok(client.report(request, signer.as_ref().ok()).await) })?;
    match (answer, signer) {
        (Err(MarketClientError::Denied { .. }), Err(no_signer)) => {
            Err(MarketCommandError::Configuration(no_signer.to_string()))
        }
        (answer, _) => answer.map_err(|error| market.signed_error(error)),
    }
}

impl ReportArguments {
    fn request(&self) -> Result<ReportRequest, MarketCommandError> {
        let Self { of, since, until, user, queue, state, by, .. } = self;
        let kind = match of {
            ReportOf::Users => ReportKind::Users,
            ReportOf::Queues => ReportKind::Queues,
            ReportOf::Jobs => ReportKind::Jobs,
        };
        let since_ms = since.as_deref().map(|text| parse_time_of("--since", text)).transpose()?;
        let until_ms = until.as_deref().map(|text| parse_time_of("--until", text)).transpose()?;
        if let (Some(from), Some(to), Some(since), Some(until)) = (since_ms, until_ms, since, until)
            && from >= to
        {
            let text = format!("--since {since} is not before --until {until}");
            return Err(MarketCommandError::Configuration(text));
        }
        Ok(ReportRequest {
            kind,
            since_ms,
            until_ms,
            filter: ReportFilter { user: user.name().map(str::to_owned), queue: queue.clone(), state: state.clone() },
            by_month: by.is_some(),
            ..ReportRequest::default()
        })
    }

    fn market(&self) -> MarketArguments {
        self.market.of_filter(&self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_report_of_another_user_is_no_report_of_nothing() {
        let part = |rows: &str| -> Report {
            serde_json::from_str(&format!(r#"{{"report": "users", "rows": [{rows}]}}"#)).unwrap()
        };
        let filter = ReportFilter { user: Some("bob".to_owned()), ..ReportFilter::default() };
        let alice = Signer { user: "alice".to_owned(), key: crate::market::Key::new("k") };
        assert_eq!(
            nothing_shown(&part(""), &filter, Some(&alice), true).as_deref(),
            Some("jobtracker: nothing of bob is shown to alice: only an administrator sees what others used")
        );
        let bob = Signer { user: "bob".to_owned(), ..alice.clone() };
        assert_eq!(nothing_shown(&part(""), &filter, Some(&bob), true), None);
        assert_eq!(nothing_shown(&part(""), &filter, Some(&alice), false), None, "the rows came before");
        assert_eq!(nothing_shown(&part(""), &ReportFilter::default(), Some(&alice), true), None);
    }
}
