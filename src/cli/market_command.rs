//! What all commands that ask the market share, and the two that need no signature: `jobtracker price` and
//! `jobtracker time`.

use super::history_text::price_history_text;
use super::market_text::{Form, price_text, time_text};
use super::server_address::server_address;
use super::signer::{SignerArguments, SignerError};
use super::since::moment_ms;
use crate::client::market::{MarketAnswer, MarketClient, MarketClientError, Signer};

/// Exit code of wrong usage, and of what the server refuses for what was asked.
const WRONG_USAGE: u8 = 2;
/// Exit code of a denial.
const DENIED: u8 = 3;
/// Exit code when no good answer comes.
const UNREACHABLE: u8 = 4;

/// Where the market is, who asks it, and how it is shown.
#[derive(Clone, Debug, clap::Args)]
pub struct MarketArguments {
    /// HTTP address of the server, host:port; default: the content of /etc/hadoop_server, else 127.0.0.1:50030
    #[arg(long, value_name = "ADDRESS")]
    pub server: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub json: bool,
    /// Who signs; `price` and `time` need no signature.
    #[command(flatten)]
    pub signer: SignerArguments,
}

/// Why a command of the market brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum MarketCommandError {
    /// Nobody can sign.
    #[error("{0}")]
    Signer(#[from] SignerError),
    /// The market says no, or nothing.
    #[error("{0}")]
    Client(#[from] MarketClientError),
    /// An argument has no meaning.
    #[error("{what} {value:?} is not {expected}")]
    Argument {
        /// Which.
        what: &'static str,
        /// What was given.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The system gives no event queue.
    #[error("cannot ask: {0}")]
    System(#[from] std::io::Error),
}

// === impl MarketCommandError ===

impl MarketCommandError {
    /// The exit code of this process: 2 wrong usage or refused, 3 denied, 4 unreachable.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Signer(_) | Self::Argument { .. } => WRONG_USAGE,
            Self::Client(MarketClientError::Refused(_) | MarketClientError::Query(_)) => WRONG_USAGE,
            Self::Client(MarketClientError::Denied { .. }) => DENIED,
            Self::Client(MarketClientError::Unreachable { .. }) | Self::System(_) => UNREACHABLE,
        }
    }
}

// === impl MarketArguments ===

impl MarketArguments {
    /// A client of the server that is asked.
    pub(super) fn client(&self) -> MarketClient {
        MarketClient::new(server_address(self.server.as_deref()))
    }

    /// Who signs.
    pub(super) fn signer(&self) -> Result<Signer, SignerError> {
        Ok(Signer { user: self.signer.user()?, key: self.signer.key()? })
    }

    /// How the answer is shown.
    pub(super) fn form(&self) -> Form {
        if self.json { Form::Json } else { Form::Table }
    }

    fn ask(&self, query: &str) -> Result<MarketAnswer, MarketCommandError> {
        wait_for(async { Ok(self.client().ask(query).await?) })
    }
}

/// Completes what is asked of the market, on this thread.
pub(super) fn wait_for<T>(asked: impl Future<Output = Result<T, MarketCommandError>>) -> Result<T, MarketCommandError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(asked)
}

/// Which prices, and where.
#[derive(Clone, Debug, clap::Args)]
pub struct PriceArguments {
    /// Prints the price over time, the last day's if no date is given
    #[arg(long)]
    history: bool,
    /// From when on, in UTC unless it says otherwise: 2026-11-21, 2026-11-21T09:30, 2026-11-21T09:30+01:00
    #[arg(long, value_name = "DATE", requires = "history")]
    since: Option<String>,
    /// Lines of the history at most: each stands for an equal span of time; 1 to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 24, requires = "history")]
    points: u32,
    /// Where, who and how.
    #[command(flatten)]
    market: MarketArguments,
}

/// `jobtracker price`.
///
/// # Errors
/// [`MarketCommandError`]
pub fn price(arguments: &PriceArguments) -> Result<String, MarketCommandError> {
    let PriceArguments { history, since, points, market } = arguments;
    if !history {
        return Ok(price_text(&market.ask("price")?, market.form()));
    }
    let since_ms = since.as_deref().map(moment_ms).transpose()?;
    let history = wait_for(async { Ok(market.client().price_history(since_ms, *points).await?) })?;
    Ok(price_history_text(&history, market.form()))
}

/// `jobtracker time`.
///
/// # Errors
/// [`MarketCommandError`]
pub fn time(arguments: &MarketArguments) -> Result<String, MarketCommandError> {
    Ok(time_text(&arguments.ask("time")?, arguments.form()))
}
