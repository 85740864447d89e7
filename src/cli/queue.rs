//! `jobtracker queue`: shows and changes queues, their budgets and bids.

use crate::client::market::{MarketAnswer, MarketClientError, QueueLine};
use crate::client::signed_query::escaped;

use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::market_text::{Form, QueueRow, json, render_queue, render_queues, render_quote, render_removed};
use super::since::parse_time_ms;
use super::statement_text::render_statement;

/// Subcommands of `queue`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum QueueCommand {
    /// List the queues as they are now: all for administrators, else your own
    List {
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Show one queue as it is now
    Info {
        /// Queue name; default: the signer's own queue
        #[arg(value_name = "QUEUE")]
        queue: Option<String>,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Set a queue's bid: credits for one slot over one interval, from the next tick on
    SetSpending {
        /// Queue name
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Bid, such as 0.5
        #[arg(value_name = "RATE", allow_hyphen_values = true)]
        rate: String,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Add money to a queue, or take it out if negative (administrators only)
    AddBudget {
        /// Queue name
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Credits, such as 100 or -25.5
        #[arg(value_name = "CREDITS", allow_hyphen_values = true)]
        amount: String,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Add a queue without money (administrators only)
    Add {
        /// Queue name: the name of its user
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Remove a queue without unfinished jobs, and take its money out (administrators only)
    Remove {
        /// Queue name
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Quote a rate: share and slots at the next tick, and how long the money would last
    Quote {
        /// Queue name
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Rate, in credits for one slot over one interval, such as 0.5
        #[arg(value_name = "RATE", allow_hyphen_values = true)]
        rate: String,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Print a queue's movements with balances, newest last; old movements as daily sums
    Statement {
        /// Queue name; default: the signer's own queue
        #[arg(value_name = "QUEUE")]
        queue: Option<String>,
        /// Start of the statement, in UTC unless it has an offset: 2026-11-21, 2026-11-21T09:30, 2026-11-21T09:30+01:00
        #[arg(long, value_name = "DATE")]
        since: Option<String>,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
}

/// Runs the command; returns the text to print.
///
/// # Errors
/// [`MarketCommandError`]
pub fn run(command: &QueueCommand) -> Result<String, MarketCommandError> {
    match command {
        QueueCommand::List { market } => {
            let mut rows = rows_now(market, None)?;
            if rows.is_empty() {
                rows = request(market, "infos".to_owned())?.queues.into_iter().map(QueueRow::from).collect();
            }
            Ok(render_queues(&rows, market.form()))
        }
        QueueCommand::Info { queue, market } => {
            let own = market.signer.user()?;
            let query = queue.as_ref().map_or_else(|| "info".to_owned(), |queue| format!("info={}", escaped(queue)));
            let queue = queue.as_ref().unwrap_or(&own);
            let row = match rows_now(market, Some(queue))?.pop() {
                Some(row) => row,
                None => only(request(market, query)?, queue).into(),
            };
            Ok(match market.form() {
                Form::Json => json(&row),
                Form::Table => render_queues(&[row], Form::Table),
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
            request(market, format!("removeQueue={}", escaped(queue)))?;
            Ok(render_removed(queue, market.form()))
        }
        QueueCommand::Quote { queue, rate, market } => {
            let answer = request(market, format!("quote={}&queue={}", escaped(rate), escaped(queue)))?;
            Ok(render_quote(&answer.quote.unwrap_or_default(), market.form()))
        }
        QueueCommand::Statement { queue, since, market } => {
            let since_ms = since.as_deref().map(parse_time_ms).transpose()?;
            let signer = market.signer()?;
            let client = market.client();
            let request = client.statement(queue.as_deref(), since_ms, &signer);
            let statement = wait_for(async { request.await.map_err(|error| market.signed_error(error)) })?;
            Ok(render_statement(&statement, market.form()))
        }
    }
}

/// Changes a queue and renders its current state.
fn change(market: &MarketArguments, query: String, queue: &str) -> Result<String, MarketCommandError> {
    Ok(render_queue(&only(request(market, query)?, queue), market.form()))
}

fn request(market: &MarketArguments, query: String) -> Result<MarketAnswer, MarketCommandError> {
    let signer = market.signer()?;
    wait_for(async {
        market.client().request_signed(&query, &signer).await.map_err(|error| market.signed_error(error))
    })
}

/// One queue as it is now, or all that the signer may see; empty if the server does not provide it.
fn rows_now(market: &MarketArguments, queue: Option<&str>) -> Result<Vec<QueueRow>, MarketCommandError> {
    let signer = market.signer()?;
    let client = market.client();
    let asked = async { client.queue_statuses(queue, &signer).await.map_err(|error| market.signed_error(error)) };
    match wait_for(asked) {
        Ok(queues) => Ok(queues.into_iter().map(QueueRow::from).collect()),
        Err(MarketCommandError::Client(MarketClientError::Refused(_))) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The only queue of an answer; the original server omits its name.
fn only(answer: MarketAnswer, asked: &str) -> QueueLine {
    let mut line = answer.queues.into_iter().next().unwrap_or_default();
    if line.queue.is_empty() {
        asked.clone_into(&mut line.queue);
    }
    line
}
