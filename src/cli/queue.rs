//! `jobtracker queue`: queues, their money and their bids.

use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::market_text::{Form, Lasts, Published, json, published_text, queue_text, quote_text, removed_text};
use super::since::moment_ms;
use super::statement_text::statement_text;
use crate::client::market::{MarketAnswer, MarketClientError, QueueLine};
use crate::client::signed_query::escaped;

/// What `jobtracker queue` does.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum QueueCommand {
    /// All queues, as published at the last tick; for administrators
    List {
        /// Where, who and how.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// One queue, as published at the last tick
    Info {
        /// Which; default: the signer's own
        #[arg(value_name = "QUEUE")]
        queue: Option<String>,
        /// Where, who and how.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Sets a queue's bid: credits for one slot over one interval, from the next tick on
    SetSpending {
        /// Whose
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// The bid, such as 0.5
        #[arg(value_name = "RATE", allow_hyphen_values = true)]
        rate: String,
        /// Where, who and how.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Adds money to a queue, or takes it out when negative; for administrators
    AddBudget {
        /// Whose
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Credits, such as 100 or -25.5
        #[arg(value_name = "CREDITS", allow_hyphen_values = true)]
        amount: String,
        /// Where, who and how.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Makes a queue without money; for administrators
    Add {
        /// Its name: that of its user
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Where, who and how.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Removes a queue that has no unfinished jobs, and takes its money out; for administrators
    Remove {
        /// Which
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Where, who and how.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// What a rate would give a queue at the next tick: share, slots, and how long its money would last
    Quote {
        /// Whom
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// The rate, credits for one slot over one interval, such as 0.5
        #[arg(value_name = "RATE", allow_hyphen_values = true)]
        rate: String,
        /// Where, who and how.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// What came into a queue and what went out, newest last, with the balance after each; old detail as sums of days
    Statement {
        /// Which; default: the signer's own
        #[arg(value_name = "QUEUE")]
        queue: Option<String>,
        /// From when on, in UTC unless it says otherwise: 2026-11-21, 2026-11-21T09:30, 2026-11-21T09:30+01:00
        #[arg(long, value_name = "DATE")]
        since: Option<String>,
        /// Where, who and how.
        #[command(flatten)]
        market: MarketArguments,
    },
}

/// Does it; what is to be printed.
///
/// # Errors
/// [`MarketCommandError`]
pub fn run(command: &QueueCommand) -> Result<String, MarketCommandError> {
    match command {
        QueueCommand::List { market } => {
            let answer = ask(market, "infos".to_owned())?;
            let lasts = lasts(market, None)?;
            Ok(published_text(&answer.queues, &lasts, market.form()))
        }
        QueueCommand::Info { queue, market } => {
            let own = market.signer.user()?;
            let query = queue.as_ref().map_or_else(|| "info".to_owned(), |queue| format!("info={}", escaped(queue)));
            let queue = queue.as_ref().unwrap_or(&own);
            let line = only(ask(market, query)?, queue);
            let lasts = lasts(market, Some(queue))?;
            Ok(match market.form() {
                Form::Json => json(&Published::of(&line, &lasts)),
                Form::Table => published_text(&[line], &lasts, Form::Table),
            })
        }
        QueueCommand::SetSpending { queue, rate, market } => {
            change(market, format!("setSpending={}&queue={}", escaped(rate), escaped(queue)), queue)
        }
        QueueCommand::AddBudget { queue, amount, market } => {
            change(market, format!("addBudget={}&queue={}", escaped(amount), escaped(queue)), queue)
        }
        QueueCommand::Add { queue, market } => change(market, format!("addQueue={}", escaped(queue)), queue),
        QueueCommand::Remove { queue, market } => {
            ask(market, format!("removeQueue={}", escaped(queue)))?;
            Ok(removed_text(queue, market.form()))
        }
        QueueCommand::Quote { queue, rate, market } => {
            let answer = ask(market, format!("quote={}&queue={}", escaped(rate), escaped(queue)))?;
            Ok(quote_text(&answer.quote.unwrap_or_default(), market.form()))
        }
        QueueCommand::Statement { queue, since, market } => {
            let since_ms = since.as_deref().map(moment_ms).transpose()?;
            let signer = market.signer()?;
            let client = market.client();
            let asked = client.statement(queue.as_deref(), since_ms, &signer);
            Ok(statement_text(&wait_for(async { Ok(asked.await?) })?, market.form()))
        }
    }
}

/// Changes a queue and shows it as it is now.
fn change(market: &MarketArguments, query: String, queue: &str) -> Result<String, MarketCommandError> {
    Ok(queue_text(&only(ask(market, query)?, queue), market.form()))
}

fn ask(market: &MarketArguments, query: String) -> Result<MarketAnswer, MarketCommandError> {
    let signer = market.signer()?;
    wait_for(async { Ok(market.client().ask_signed(&query, &signer).await?) })
}

/// How long the money of one queue lasts, or of all; nothing from a server that does not tell.
fn lasts(market: &MarketArguments, queue: Option<&str>) -> Result<Lasts, MarketCommandError> {
    let signer = market.signer()?;
    let standings = wait_for(async { Ok(market.client().standings(queue, &signer).await?) });
    match standings {
        Ok(queues) => Ok(queues.into_iter().filter_map(|of| Some((of.queue.to_string(), of.lasts_s?))).collect()),
        Err(MarketCommandError::Client(MarketClientError::Refused(_))) => Ok(Lasts::new()),
        Err(error) => Err(error),
    }
}

/// The one queue of an answer; the original does not tell its name.
fn only(answer: MarketAnswer, asked: &str) -> QueueLine {
    let mut line = answer.queues.into_iter().next().unwrap_or_default();
    if line.queue.is_empty() {
        asked.clone_into(&mut line.queue);
    }
    line
}
