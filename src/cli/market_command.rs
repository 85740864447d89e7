//! Common parts of all market commands, and the two that need no signature: `jobtracker price` and `jobtracker info`.

use crate::api::{PriceHistory, PricePoint};
use crate::cli::values::whole_number;
use crate::client::market::{MarketAnswer, MarketClient, MarketClientError, Signer};
use crate::model::Credits;

use super::exit_code::{DENIED, HasExitCode, UNREACHABLE, WRONG_USAGE};
use super::market_text::{OutputForm, columns, json, lines, render_price, render_time};
use super::place::{PlaceArguments, PlaceError};
use super::signer::{SignerArguments, SignerError};
use super::time_text::{InvalidTime, format_time, parse_time_ms};
use super::values::UserFilter;

/// Options of all market commands: server, signer, output form.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct MarketArguments {
    /// The JobTracker.
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The signer; `price` and `time` need no signature.
    #[command(flatten)]
    pub(crate) signer: SignerArguments,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum MarketCommandError {
    #[error("{0}")]
    Place(#[from] PlaceError),
    #[error("{0}")]
    Signer(#[from] SignerError),
    #[error("{0}")]
    Client(#[from] MarketClientError),
    #[error("{denial}; signed as {user} with the key in {key}")]
    Denied {
        denial: MarketClientError,
        /// Who signed.
        user: String,
        /// Where the key is from.
        key: String,
    },
    #[error("{what} {value:?} is not {expected}")]
    Argument {
        what: &'static str,
        value: String,
        /// What was expected.
        expected: &'static str,
    },
    #[error("{0}")]
    Configuration(String),
    #[error("{0}")]
    Time(#[from] InvalidTime),
    #[error("cannot send the request: {0}")]
    System(#[from] std::io::Error),
}

impl HasExitCode for MarketCommandError {
    /// The exit code of this process: 2 wrong usage or refused, 3 denied, 4 unreachable.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Place(error) => error.exit_code(),
            Self::Signer(error) => error.exit_code(),
            Self::Argument { .. } | Self::Configuration(_) | Self::Time(_) => WRONG_USAGE,
            Self::Client(MarketClientError::Refused(_) | MarketClientError::Query(_)) => WRONG_USAGE,
            Self::Client(MarketClientError::Denied { .. }) | Self::Denied { .. } => DENIED,
            Self::Client(MarketClientError::Unreachable { .. } | MarketClientError::NoResult { .. })
            | Self::System(_) => UNREACHABLE,
        }
    }
}

impl MarketArguments {
    pub(super) fn client(&self) -> Result<MarketClient, PlaceError> {
        self.place.market()
    }

    /// As asked by a command that a user filters.
    pub(super) fn of_filter(&self, filter: &UserFilter) -> Self {
        Self { signer: filter.signer(&self.signer), ..self.clone() }
    }

    /// As asked by this user, if another option does not name one.
    pub(super) fn of_user(&self, user: Option<&str>) -> Self {
        let mut asked = self.clone();
        asked.signer.user = asked.signer.user.or_else(|| user.map(str::to_owned));
        asked
    }

    pub(super) fn signer(&self) -> Result<Signer, SignerError> {
        Ok(Signer { user: self.signer.user()?, key: self.signer.key()? })
    }

    /// The signer, if a key is found. A key file that is named must exist, and what is found must be a key.
    pub(super) fn signer_if_any(&self) -> Result<Option<Signer>, SignerError> {
        match self.signer() {
            Ok(signer) => Ok(Some(signer)),
            Err(error) if self.signer.named_key_file()?.is_some() || error.is_bad_key() => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// The signer of a request that may need none; the error, where no key is found, explains a denial.
    pub(super) fn signer_or_why_not(&self) -> Result<Result<Signer, SignerError>, SignerError> {
        match self.signer() {
            Err(error) if error.is_bad_key() => Err(error),
            signer => Ok(signer),
        }
    }

    /// The error of a signed request; a denial names the signer and the key.
    pub(super) fn signed_error(&self, error: MarketClientError) -> MarketCommandError {
        match (error, self.signer.user(), self.signer.key_source()) {
            (denial @ MarketClientError::Denied { .. }, Ok(user), Ok(key)) => {
                MarketCommandError::Denied { denial, user, key: key.to_string() }
            }
            (error, _, _) => error.into(),
        }
    }

    pub(super) fn form(&self) -> OutputForm {
        if self.json { OutputForm::Json } else { OutputForm::Table }
    }

    fn request(&self, query: &str) -> Result<MarketAnswer, MarketCommandError> {
        let client = self.client()?;
        wait_for(async { Ok(client.request(query).await?) })
    }
}

pub(super) fn wait_for<T>(
    request: impl Future<Output = Result<T, MarketCommandError>>,
) -> Result<T, MarketCommandError> {
    block_on(request)
}

/// Runs `command` to its end on this thread.
pub(super) fn block_on<T, E: From<std::io::Error>>(command: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}

/// Options of `price`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PriceArguments {
    /// Print the price over time; without --since, of the last day
    #[arg(long)]
    history: bool,
    /// Start of the history, local unless it has an offset: 2026-11-21, 2026-11-21T09:30, 2026-11-21T09:30+01:00
    #[arg(long, value_name = "DATE", requires = "history")]
    since: Option<String>,
    /// Maximum number of lines of the history, each for an equal span of time; 1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 24, requires = "history", value_parser = whole_number::<0>)]
    points: u32,
    #[command(flatten)]
    market: MarketArguments,
}

/// `jobtracker price`.
pub(crate) fn price(arguments: &PriceArguments) -> Result<String, MarketCommandError> {
    let PriceArguments { history, since, points, market } = arguments;
    if !history {
        return Ok(render_price(&market.request("price")?, market.form()));
    }
    let since_ms = since.as_deref().map(parse_time_ms).transpose()?;
    let client = market.client()?;
    let history = wait_for(async { Ok(client.price_history(since_ms, *points).await?) })?;
    Ok(render_price_history(&history, market.form()))
}

/// `jobtracker time`.
pub(crate) fn time(arguments: &MarketArguments) -> Result<String, MarketCommandError> {
    Ok(render_time(&arguments.request("time")?, arguments.form()))
}

/// Length of the longest bar, characters.
const BAR: i128 = 30;

/// The spans, newest last, each with a bar of its highest price.
fn render_price_history(history: &PriceHistory, form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(history);
    }
    let highest = history.points.iter().map(|point| point.high).max().unwrap_or_default();
    let mut table = columns(&["time", "price", "low", "high", ""], 1);
    if let Some(bars) = table.column_mut(4) {
        bars.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    for point in &history.points {
        let PricePoint { time_ms, price, low, high, .. } = point;
        table.add_row([
            format_time(*time_ms),
            price.to_string(),
            low.to_string(),
            high.to_string(),
            bar(*high, highest),
        ]);
    }
    lines(&table)
}

fn bar(high: Credits, highest: Credits) -> String {
    let length = high.units() * BAR / highest.units().max(1);
    "#".repeat(usize::try_from(length).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> PriceHistory {
        let point = |time_ms, price: &str, low: &str, high: &str| PricePoint {
            time_ms,
            tick: 7,
            price: price.parse().unwrap(),
            low: low.parse().unwrap(),
            high: high.parse().unwrap(),
        };
        let points = vec![
            point(1_795_000_000_000, "1.5", "0", "3"),
            point(1_795_003_600_000, "12.249998", "1.5", "12.5"),
            point(1_795_007_200_000, "0", "0", "0"),
        ];
        PriceHistory { step_ms: 3_600_000, points }
    }

    #[test]
    fn people_get_bars() {
        insta::assert_snapshot!(render_price_history(&history(), OutputForm::Table), @"
        TIME                      PRICE  LOW  HIGH
        2026-11-18T11:06:40Z        1.5  0.0   3.0  #######
        2026-11-18T12:06:40Z  12.249998  1.5  12.5  ##############################
        2026-11-18T13:06:40Z        0.0  0.0   0.0
        ");
        insta::assert_snapshot!(render_price_history(&PriceHistory::default(), OutputForm::Table), @"TIME  PRICE  LOW  HIGH");
    }

    #[test]
    fn machines_get_json() {
        let text = render_price_history(&history(), OutputForm::Json);
        assert_eq!(serde_json::from_str::<PriceHistory>(&text).unwrap(), history());
    }
}
