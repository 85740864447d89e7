//! Common parts of all market commands, and the two that need no signature: `jobtracker price` and
//! `jobtracker time`.

use crate::cli::values::whole_number;
use crate::client::market::{MarketAnswer, MarketClient, MarketClientError, Signer};

use super::exit_code::{DENIED, WRONG_USAGE};
use super::history_text::render_price_history;
use super::market_text::{Form, render_price, render_time};
use super::place::{PlaceArguments, PlaceError};
use super::signer::{SignerArguments, SignerError};
use super::since::{InvalidTime, parse_time_ms};
use super::user_filter::UserFilter;

/// Exit code without a valid answer.
const UNREACHABLE: u8 = 4;

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

/// Why a market command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MarketCommandError {
    /// The JobTracker's address.
    #[error("{0}")]
    Place(#[from] PlaceError),
    /// Signing is not possible.
    #[error("{0}")]
    Signer(#[from] SignerError),
    /// The market refuses or does not answer.
    #[error("{0}")]
    Client(#[from] MarketClientError),
    /// A signed request was denied.
    #[error("{denial}; signed as {user} with the key in {key}")]
    Denied {
        /// The denial.
        denial: MarketClientError,
        /// Who signed.
        user: String,
        /// Where the key is from.
        key: String,
    },
    /// An invalid argument.
    #[error("{what} {value:?} is not {expected}")]
    Argument {
        /// Name of the argument.
        what: &'static str,
        /// The value.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The conf folder.
    #[error("{0}")]
    Configuration(String),
    /// A date that cannot be read.
    #[error("{0}")]
    Time(#[from] InvalidTime),
    /// The async runtime cannot start.
    #[error("cannot send the request: {0}")]
    System(#[from] std::io::Error),
}

impl MarketCommandError {
    /// The exit code of this process: 2 wrong usage or refused, 3 denied, 4 unreachable.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Place(error) if error.is_unreachable() => UNREACHABLE,
            Self::Signer(error) => error.exit_code(),
            Self::Place(_) | Self::Argument { .. } | Self::Configuration(_) | Self::Time(_) => WRONG_USAGE,
            Self::Client(MarketClientError::Refused(_) | MarketClientError::Query(_)) => WRONG_USAGE,
            Self::Client(MarketClientError::Denied { .. }) | Self::Denied { .. } => DENIED,
            Self::Client(MarketClientError::Unreachable { .. } | MarketClientError::NoResult { .. })
            | Self::System(_) => UNREACHABLE,
        }
    }
}

impl MarketArguments {
    /// A client of the server.
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

    /// The signer.
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

    /// The output form.
    pub(super) fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Table }
    }

    fn request(&self, query: &str) -> Result<MarketAnswer, MarketCommandError> {
        let client = self.client()?;
        wait_for(async { Ok(client.request(query).await?) })
    }
}

/// Runs a request to completion on this thread.
pub(super) fn wait_for<T>(
    request: impl Future<Output = Result<T, MarketCommandError>>,
) -> Result<T, MarketCommandError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(request)
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
///
/// # Errors
/// [`MarketCommandError`]
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
///
/// # Errors
/// [`MarketCommandError`]
pub(crate) fn time(arguments: &MarketArguments) -> Result<String, MarketCommandError> {
    Ok(render_time(&arguments.request("time")?, arguments.form()))
}
