//! `jobtracker job submit --dry-run`: what the deadline of a job needs, without the job.

use std::process::ExitCode;

use crate::api::{OrderQuote, OrderState, WhatIfAnswer};
use crate::cli::market_command::MarketCommandError;
use crate::cli::market_text::{OutputForm, json};
use crate::cli::time_text::{format_due, format_time, with_shown_times};
use crate::client::job::submit::PreparedJob;
use crate::client::market::{MarketClient, MarketClientError, Signer};
use crate::clock::wall_ms;
use crate::model::{Credits, PerKind};

use super::connection::{JobCommandError, Outcome};
use super::submit_arguments::DeadlineArguments;

/// Exit code where the job would be rejected, or no scheduler keeps deadlines.
const REJECTED: u8 = 2;

/// Asks the market where an order is wanted, else the constraint scheduler.
pub(super) async fn dry_run(
    job: &PreparedJob,
    market: &MarketClient,
    signer: Option<&Signer>,
    deadline: &DeadlineArguments,
    form: OutputForm,
) -> Outcome {
    let fields = job.question(wall_ms());
    if let Some((max_rate, signer)) = deadline.max_rate.zip(signer) {
        match market.order_quote(max_rate, &fields, signer).await {
            Ok(quote) => {
                let quote = quote.within(deadline.max_cost);
                return Ok((render_quote(&quote, max_rate, deadline.max_cost, form), ExitCode::SUCCESS));
            }
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

fn render_quote(quote: &OrderQuote, max_rate: Credits, max_cost: Option<Credits>, form: OutputForm) -> String {
    if form == OutputForm::Json {
        return json(quote);
    }
    let OrderQuote { deadline_ms, state, needed, bought, rate, sufficient_rate, cost, budget, end_ms } = quote;
    let due = format_due(*deadline_ms, deadline_ms.saturating_sub(crate::clock::wall_ms()));
    let verdict = match state {
        OrderState::OnTime => "would keep",
        OrderState::Spent => "would stop, when the cost is reached, before it keeps",
        OrderState::New | OrderState::AtRisk => "would not keep",
    };
    let at_most = match max_cost {
        Some(most) if *cost > most => format!(", more than the {most} at which the order stops"),
        Some(most) => format!(", of at most {most}"),
        None => String::new(),
    };
    let unpaid = budget.filter(|budget| cost > budget);
    let end = match end_ms {
        Some(end_ms) => format!("{} at the latest", format_time(*end_ms)),
        None if quote.is_beyond(max_cost) => "not with this order".to_owned(),
        None => "never".to_owned(),
    };
    let mut text = format!("the order {verdict} the deadline of {due}\n\n");
    text += &format!("needs   {}\n", render_slots(needed));
    text += &format!("buys    {}\n", render_slots(bought));
    text += &format!("rate    {rate}, of at most {max_rate}\n");
    text += &format!("cost    {cost}{at_most}\n");
    text += &format!("end     {end}\n");
    match sufficient_rate {
        Some(sufficient) => text += &format!("\nA rate of {sufficient} would do.\n"),
        None if unpaid.is_none() && *state == OrderState::AtRisk => {
            text += "\nNo rate would do: it is too late, or the cluster too small.\n"
        }
        None => {}
    }
    if let Some(budget) = unpaid {
        text += &format!("\nThe budget of {budget} cannot pay that cost.\n");
    }
    text
}

/// A time by its distance from the submission.
fn from_submission(ms: i64) -> String {
    let side = if ms < 0 { "before" } else { "after" };
    format!("{} {side} its submission", unsigned_seconds(ms))
}

fn unsigned_seconds(ms: i64) -> String {
    let ms = ms.unsigned_abs();
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}

fn render_slots(slots: &PerKind<u32>) -> String {
    format!("maps {} at a time, then reduces {}", slots.map, slots.reduce)
}

fn render_answer(answer: &WhatIfAnswer, form: OutputForm) -> (String, ExitCode) {
    let code = if answer.schedulable { ExitCode::SUCCESS } else { ExitCode::from(REJECTED) };
    if form == OutputForm::Json {
        return (json(answer), code);
    }
    let WhatIfAnswer { reason, min_maps, free_maps, reduces, free_reduces, earliest_deadline_ms, .. } = answer;
    let start = answer.planned_start_ms.filter(|start_ms| *start_ms > 0);
    let mut text = match reason {
        None => match answer.late_by_ms.map(unsigned_seconds) {
            None => "the constraint scheduler would accept the job\n\n".to_owned(),
            Some(late) => format!(
                "the constraint scheduler would accept the job, by the fluid model, but not keep its deadline: one task of each kind alone \
                 takes longer, so that it would end {late} late or more\n\n"
            ),
        },
        Some(reason) => format!("the constraint scheduler would reject the job: {}\n\n", with_shown_times(reason)),
    };
    let maps = min_maps.map_or("any number would be too late".to_owned(), |maps| format!("{maps} at a time"));
    let until = answer.promised_until_ms.map(|until_ms| format!(" until {}", format_time(until_ms)));
    text += &format!("maps      {maps}, free {free_maps}{}\n", until.unwrap_or_default());
    if let Some(start_ms) = start {
        text += &format!("start     {}, when earlier promises end\n", from_submission(start_ms));
    }
    let started = match answer.reduce_start_limit_ms {
        late if late < 0 => format!("too late: all would have to start {}", from_submission(late)),
        limit => format!("all started {}", from_submission(limit)),
    };
    text += &format!("reduces   {reduces}, free {free_reduces}, {started}\n");
    text += &format!("earliest  deadline {}\n", earliest_deadline_ms.map_or("none".to_owned(), from_submission));
    (text, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quote(state: OrderState) -> OrderQuote {
        OrderQuote {
            deadline_ms: 1_700_000_000_000,
            state,
            needed: PerKind::new(2, 1),
            bought: PerKind::new(2, 1),
            rate: "2.0".parse().unwrap(),
            sufficient_rate: None,
            cost: "201.6".parse().unwrap(),
            budget: Some("250".parse().unwrap()),
            end_ms: Some(1_699_999_999_000),
        }
    }

    #[test]
    fn an_order_that_its_cost_stops_says_so_everywhere() {
        let text = |state, most: Option<&str>, form| {
            let most = most.map(|most| most.parse().unwrap());
            render_quote(&quote(state).within(most), "3.0".parse().unwrap(), most, form)
        };
        let stopped = text(OrderState::OnTime, Some("20"), OutputForm::Table);
        for part in [
            "the order would stop, when the cost is reached, before it keeps the deadline",
            "cost    201.6, more than the 20.0 at which the order stops\n",
            "end     not with this order\n",
        ] {
            assert!(stopped.contains(part), "{stopped}");
        }
        assert!(!stopped.contains("at most 20") && !stopped.contains("No rate"), "{stopped}");
        let stopped = text(OrderState::OnTime, Some("20"), OutputForm::Json);
        assert!(stopped.contains("\"SPENT\"") && !stopped.contains("end_ms"), "{stopped}");
        let late = text(OrderState::AtRisk, Some("20"), OutputForm::Table);
        assert!(late.contains("would not keep") && late.contains("more than the 20.0"), "{late}");
        let kept = text(OrderState::OnTime, Some("300"), OutputForm::Table);
        assert!(kept.contains("would keep") && kept.contains("201.6, of at most 300.0\n"), "{kept}");
        let poor = OrderQuote { budget: Some("78.6".parse().unwrap()), ..quote(OrderState::OnTime) }.within(None);
        let poor = render_quote(&poor, "3.0".parse().unwrap(), None, OutputForm::Table);
        for part in ["would not keep", "end     not with this order\n", "\nThe budget of 78.6 cannot pay that cost.\n"]
        {
            assert!(poor.contains(part) && !poor.contains("No rate"), "{part}: {poor}");
        }
    }

    #[test]
    fn a_time_before_the_submission_is_called_that() {
        let texts = [-61_797, 0, 1_500].map(from_submission);
        let expected =
            ["61.797 s before its submission", "0.000 s after its submission", "1.500 s after its submission"];
        assert_eq!(texts, expected);
    }
}
