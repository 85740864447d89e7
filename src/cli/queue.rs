//! `jobtracker queue`: shows and changes queues, their budgets and bids.

use crate::api::{MovementReason, Statement};
use crate::client::market::{MarketAnswer, MarketClient, MarketClientError, PauseOf, QueueLine, Signer};
use crate::client::signed_query::escaped;

use super::market_command::{MarketArguments, MarketCommandError, wait_for};
use super::market_text::{
    OutputForm, ShownQueue, cannot_pay, json, render_changed, render_queue, render_queues, render_quote, render_removed,
};
use super::statement_text::{render_csv, render_statement};
use super::terminal::print_error;
use super::time_text::{parse_period_s, parse_time_ms};

/// Subcommands of `queue`.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum QueueCommand {
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
        /// What it is for, up to 256 characters; shown by `queue statement`
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        note: Option<String>,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Move money from one queue to another (administrators only)
    Transfer {
        /// Queue that the money is taken from
        #[arg(value_name = "FROM")]
        from: String,
        /// Queue that gets it
        #[arg(value_name = "TO")]
        to: String,
        /// Credits, such as 25.5
        #[arg(value_name = "CREDITS", allow_hyphen_values = true)]
        amount: String,
        /// What it is for, up to 256 characters; shown by `queue statement`
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        note: Option<String>,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
    /// Give a queue credits again and again, or end that (administrators only)
    #[command(override_usage = "jobtracker queue allowance [OPTIONS] <QUEUE> <CREDITS> every <PERIOD> [cap <CREDITS>]
       jobtracker queue allowance [OPTIONS] <QUEUE> none")]
    Allowance {
        /// Queue name
        #[arg(value_name = "QUEUE")]
        queue: String,
        /// Credits of each period, such as 100, or none to end the allowance
        #[arg(value_name = "CREDITS", allow_hyphen_values = true)]
        credits: String,
        /// every PERIOD, such as 90s, 5m, 12h, 1d or 1w; then perhaps cap CREDITS: the balance at which payment stops
        #[arg(value_name = "every PERIOD [cap CREDITS]", allow_negative_numbers = true, num_args = 0..=4)]
        terms: Vec<String>,
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
    Remove(OneQueueArguments),
    /// Pause a queue: it accepts jobs and starts nothing of them until you resume it (administrators only)
    Pause(OneQueueArguments),
    /// Let a paused queue start jobs again (administrators only)
    Resume(OneQueueArguments),
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
        /// Start of the statement, local unless it has an offset: 2026-11-21, 2026-11-21T09:30, 2026-11-21T09:30+01:00
        #[arg(long, value_name = "DATE")]
        since: Option<String>,
        /// Print comma-separated values
        #[arg(long, conflicts_with = "json")]
        csv: bool,
        /// Server, signer, output form.
        #[command(flatten)]
        market: MarketArguments,
    },
}

/// A queue, and nothing else.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OneQueueArguments {
    /// Queue name
    #[arg(value_name = "QUEUE")]
    queue: String,
    /// Server, signer, output form.
    #[command(flatten)]
    market: MarketArguments,
}

pub(crate) fn run(command: &QueueCommand) -> Result<String, MarketCommandError> {
    match command {
        QueueCommand::List { market } => list(market),
        QueueCommand::Info { queue, market } => info(queue.as_deref(), market),
        QueueCommand::SetSpending { queue, rate, market } => {
            let query = format!("setSpending={}&queue={}", escaped(rate), escaped(queue));
            let line = only(request(market, query)?, queue);
            if let Some(why) = cannot_pay(queue, rate, &line.budget) {
                print_error(&format!("jobtracker: warning: {why}"));
            }
            Ok(render_queue(&line, market.form()))
        }
        QueueCommand::AddBudget { queue, amount, note, market } => {
            let query = format!("addBudget={}&queue={}{}", escaped(amount), escaped(queue), noted(note.as_deref()));
            change(market, query, queue)
        }
        QueueCommand::Transfer { from, to, amount, note, market } => {
            let (note, from, to) = (noted(note.as_deref()), escaped(from), escaped(to));
            let answer = request(market, format!("transfer={}&from={from}&to={to}{note}", escaped(amount)))?;
            Ok(render_changed(&answer.queues, market.form()))
        }
        QueueCommand::Allowance { queue, credits, terms, market } => {
            let query = allowance_query(queue, credits, terms)?;
            request(market, query)?;
            let rows = rows_now(market, Some(queue))?;
            Ok(match (market.form(), rows.first()) {
                (OutputForm::Json, Some(row)) => json(row),
                _ => render_queues(&rows, market.form()),
            })
        }
        QueueCommand::Add { queue, market } => change(market, format!("addQueue={}", escaped(queue)), queue),
        QueueCommand::Remove(OneQueueArguments { queue, market }) => {
            request(market, format!("removeQueue={}", escaped(queue)))?;
            Ok(render_removed(queue, taken_out(market, queue), market.form()))
        }
        QueueCommand::Pause(OneQueueArguments { queue, market }) => pause(market, queue, true),
        QueueCommand::Resume(OneQueueArguments { queue, market }) => pause(market, queue, false),
        QueueCommand::Quote { queue, rate, market } => {
            let answer = request(market, format!("quote={}&queue={}", escaped(rate), escaped(queue)))?;
            Ok(render_quote(&answer.quote.unwrap_or_default(), market.form()))
        }
        QueueCommand::Statement { queue, since, csv, market } => {
            let statement = statement(queue.as_deref(), since.as_deref(), market)?;
            Ok(if *csv { render_csv(&statement) } else { render_statement(&statement, market.form()) })
        }
    }
}

fn list(market: &MarketArguments) -> Result<String, MarketCommandError> {
    let mut rows = rows_now(market, None)?;
    if rows.is_empty() {
        rows = request(market, "infos".to_owned())?.queues.into_iter().map(ShownQueue::from).collect();
    }
    Ok(render_queues(&rows, market.form()))
}

fn info(queue: Option<&str>, market: &MarketArguments) -> Result<String, MarketCommandError> {
    let own = market.signer.user()?;
    let query = queue.map_or_else(|| "info".to_owned(), |queue| format!("info={}", escaped(queue)));
    let queue = queue.unwrap_or(&own);
    let row = match rows_now(market, Some(queue))?.pop() {
        Some(row) => row,
        None => only(request(market, query)?, queue).into(),
    };
    Ok(match market.form() {
        OutputForm::Json => json(&row),
        OutputForm::Table => render_queues(&[row], OutputForm::Table),
    })
}

fn statement(
    queue: Option<&str>,
    since: Option<&str>,
    market: &MarketArguments,
) -> Result<Statement, MarketCommandError> {
    let since_ms = since.map(parse_time_ms).transpose()?;
    ask_signed(market, async |client, signer| client.statement(queue, since_ms, signer).await)
}

/// What left the market with a queue that has just been removed; none where the server has no statement of it.
fn taken_out(market: &MarketArguments, queue: &str) -> Option<String> {
    let (signer, client) = (market.signer().ok()?, market.client().ok()?);
    let statement = client.statement(Some(queue), None, &signer);
    let rows = wait_for(async { Ok(statement.await?) }).ok()?.rows;
    let closing = rows.last().filter(|row| row.reason == MovementReason::Closing)?;
    Some(closing.amount.to_string().trim_start_matches('-').to_owned())
}

fn pause(market: &MarketArguments, queue: &str, is_on: bool) -> Result<String, MarketCommandError> {
    let user = market.signer.user()?;
    // Without a market, administrators have no key and need none.
    let signer = market.signer_or_why_not()?;
    let client = market.client()?;
    let target = PauseOf::Queue(queue);
    let changed = client.pause(&target, is_on, &user, signer.as_ref().ok());
    wait_for(async { changed.await.map_err(|error| market.signed_error(error)) })?;
    Ok(match market.form() {
        OutputForm::Json => json(&serde_json::json!({ "queue": queue, "is_paused": is_on })),
        OutputForm::Table if is_on => format!("{queue} is paused: it accepts jobs and starts nothing of them\n"),
        OutputForm::Table => format!("{queue} starts jobs again\n"),
    })
}

fn noted(note: Option<&str>) -> String {
    note.map(|note| format!("&note={}", escaped(note))).unwrap_or_default()
}

/// The query that gives a queue an allowance, or ends it: `none`, or CREDITS `every` PERIOD, perhaps with `cap` CREDITS.
pub(super) fn allowance_query(queue: &str, credits: &str, terms: &[String]) -> Result<String, MarketCommandError> {
    let wrong = |expected| {
        let value = [&[credits.to_owned()], terms].concat().join(" ");
        MarketCommandError::Argument { what: "allowance", value, expected }
    };
    let words: Vec<&str> = terms.iter().map(String::as_str).collect();
    let (period, cap) = match (credits, words.as_slice()) {
        ("none", []) => return Ok(format!("allowance=none&queue={}", escaped(queue))),
        ("none", _) => return Err(wrong("none alone")),
        (_, ["every", period]) => (period, String::new()),
        (_, ["every", period, "cap", cap]) => (period, format!("&cap={}", escaped(cap))),
        _ => return Err(wrong("none, or CREDITS every PERIOD, perhaps with cap CREDITS")),
    };
    let wrong_period = || MarketCommandError::Argument {
        what: "every",
        value: (*period).to_owned(),
        expected: "a period above 0 such as 90s, 5m, 12h, 1d or 1w",
    };
    let every_s = parse_period_s(period).ok_or_else(wrong_period)?;
    Ok(format!("allowance={}&queue={}&every={every_s}{cap}", escaped(credits), escaped(queue)))
}

fn change(market: &MarketArguments, query: String, queue: &str) -> Result<String, MarketCommandError> {
    Ok(render_queue(&only(request(market, query)?, queue), market.form()))
}

fn request(market: &MarketArguments, query: String) -> Result<MarketAnswer, MarketCommandError> {
    ask_signed(market, async |client, signer| client.request_signed(&query, signer).await)
}

/// The answer to what is signed; a denial names the signer and the key.
fn ask_signed<T>(
    market: &MarketArguments,
    ask: impl AsyncFnOnce(&MarketClient, &Signer) -> Result<T, MarketClientError>,
) -> Result<T, MarketCommandError> {
    let (signer, client) = (market.signer()?, market.client()?);
    wait_for(async { ask(&client, &signer).await.map_err(|error| market.signed_error(error)) })
}

/// One queue as it is now, or all that the signer may see; empty if the server does not provide it.
fn rows_now(market: &MarketArguments, queue: Option<&str>) -> Result<Vec<ShownQueue>, MarketCommandError> {
    match ask_signed(market, async |client, signer| client.queue_statuses(queue, signer).await) {
        Ok(queues) => Ok(queues.into_iter().map(ShownQueue::from).collect()),
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
