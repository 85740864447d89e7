//! `jobtracker job submit --dry-run`: what the deadline of a job needs, without the job.

use std::process::ExitCode;

use crate::api::{OrderQuote, OrderState, WhatIfAnswer};
use crate::cli::market_command::MarketCommandError;
use crate::cli::market_text::{Form, json};
use crate::cli::time_text::{format_due, format_time};
use crate::client::job::submit::PreparedJob;
use crate::client::market::{MarketClient, MarketClientError, Signer};
use crate::clock::wall_ms;
use crate::model::{Credits, PerKind};

use super::deadline_arguments::DeadlineArguments;
use super::error::{JobCommandError, Outcome};

/// Exit code where the job would be rejected, or no scheduler keeps deadlines.
const REJECTED: u8 = 2;

/// Asks the market where an order is wanted, else the constraint scheduler.
pub(super) async fn dry_run(
    job: &PreparedJob,
    market: &MarketClient,
    signer: Option<&Signer>,
    deadline: &DeadlineArguments,
    form: Form,
) -> Outcome {
    let fields = job.question(wall_ms());
    if let Some((max_rate, signer)) = deadline.max_rate.zip(signer) {
        match market.order_quote(max_rate, &fields, signer).await {
            Ok(quote) => return Ok((render_quote(&quote, max_rate, deadline.max_cost, form), ExitCode::SUCCESS)),
            // Another scheduler may rule.
            Err(refusal @ MarketClientError::Refused(_)) => match market.what_if(&fields).await {
                Ok(answer) => return Ok(render_answer(&answer, form)),
                Err(_) => return Err(JobCommandError::Market(refusal.into())),
            },
            Err(error) => return Err(JobCommandError::Market(error.into())),
        }
    }
    match market.what_if(&fields).await {
        Ok(answer) => Ok(render_answer(&answer, form)),
        Err(MarketClientError::Refused(reason)) => {
            let hint = match deadline.max_rate {
                Some(_) => "; a quote from the market needs a signer",
                None => "; under the market an order does, with --max-rate",
            };
            Err(JobCommandError::Argument(format!("{reason}{hint}")))
        }
        Err(error) => Err(MarketCommandError::from(error).into()),
    }
}

fn render_quote(quote: &OrderQuote, max_rate: Credits, max_cost: Option<Credits>, form: Form) -> String {
    if form == Form::Json {
        return json(quote);
    }
    let OrderQuote { deadline_ms, state, needed, bought, rate, sufficient_rate, cost, end_ms } = quote;
    let due = format_due(*deadline_ms, deadline_ms.saturating_sub(crate::clock::wall_ms()));
    let is_too_dear = max_cost.is_some_and(|most| *cost > most);
    let verdict = match (state, is_too_dear) {
        (OrderState::OnTime, false) => "would keep",
        (OrderState::OnTime, true) => "would stop, when the cost is reached, before it keeps",
        _ => "would not keep",
    };
    let at_most = max_cost.map(|most| format!(", of at most {most}")).unwrap_or_default();
    let end = end_ms.map_or("never".to_owned(), |end_ms| format!("{} at the latest", format_time(end_ms)));
    let mut text = format!("the order {verdict} the deadline of {due}\n\n");
    text += &format!("needs   {}\n", render_slots(needed));
    text += &format!("buys    {}\n", render_slots(bought));
    text += &format!("rate    {rate}, of at most {max_rate}\n");
    text += &format!("cost    {cost}{at_most}\n");
    text += &format!("end     {end}\n");
    match sufficient_rate {
        Some(sufficient) => text += &format!("\nA rate of {sufficient} would do.\n"),
        None if *state != OrderState::OnTime => {
            text += "\nNo rate would do: it is too late, or the cluster too small.\n"
        }
        None => {}
    }
    text
}

fn render_slots(slots: &PerKind<u32>) -> String {
    format!("maps {} at a time, then reduces {}", slots.map, slots.reduce)
}

fn render_answer(answer: &WhatIfAnswer, form: Form) -> (String, ExitCode) {
    let code = if answer.schedulable { ExitCode::SUCCESS } else { ExitCode::from(REJECTED) };
    if form == Form::Json {
        return (json(answer), code);
    }
    let WhatIfAnswer { reason, min_maps, free_maps, reduces, free_reduces, earliest_deadline_ms, .. } = answer;
    let start = answer.planned_start_ms.filter(|start_ms| *start_ms > 0);
    let after = |ms: i64| format!("{}.{:03} s after its submission", ms.div_euclid(1_000), ms.rem_euclid(1_000));
    let mut text = match reason {
        None => "the constraint scheduler would accept the job\n\n".to_owned(),
        Some(reason) => format!("the constraint scheduler would reject the job: {reason}\n\n"),
    };
    let maps = min_maps.map_or("any number would be too late".to_owned(), |maps| format!("{maps} at a time"));
    let until = answer.promised_until_ms.map(|until_ms| format!(" until {}", format_time(until_ms)));
    text += &format!("maps      {maps}, free {free_maps}{}\n", until.unwrap_or_default());
    if let Some(start_ms) = start {
        text += &format!("start     {}, when earlier promises end\n", after(start_ms));
    }
    text += &format!("reduces   {reduces}, free {free_reduces}, all started {}\n", after(answer.reduce_start_limit_ms));
    text += &format!("earliest  deadline {}\n", earliest_deadline_ms.map_or("none".to_owned(), after));
    (text, code)
}
