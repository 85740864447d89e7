//! What a daemon says after a restart, held against what the one before it left.

use std::collections::BTreeMap;

use jobtracker::client::market::MarketAnswer;
use jobtracker::clock::wall_ms;

use super::amount::{decimal, units_of};
use super::evidence::{Allocation, Evidence};
use super::http::get;
use super::load::Callers;
use super::world::{ALLOC_INTERVAL_MS, BIDDERS};

/// Jobs that are submitted with a used signature after each restart.
const USED_JOB_SIGNATURES: usize = 3;
const BILLIONTHS: i128 = 1_000_000_000;

/// Asks for all queues and for some, and tries used signatures: what is wrong with the answers, and how many signatures
/// were tried. To be asked before the first tick; answers that may have come after it, on a slow machine, are held against nothing.
pub async fn violations(callers: &Callers, left: &Evidence, started_ms: i64) -> anyhow::Result<(Vec<String>, usize)> {
    let may_have_ticked = || wall_ms() >= started_ms + ALLOC_INTERVAL_MS;
    let (mut wrong, signatures) = replays(callers).await?;
    let (status, body) = callers.ask(BIDDERS, "infos").await?;
    if status != 200 {
        wrong.push(format!("infos was answered by {status}: {body}"));
        return Ok((wrong, signatures));
    }
    let accounts = if left.ledger.is_empty() { callers.world.first_accounts() } else { left.accounts.clone() };
    if may_have_ticked() {
        return Ok((wrong, signatures));
    }
    compare(&MarketAnswer::parse(&body)?, &accounts, left, &mut wrong);
    for user in [0, BIDDERS / 2] {
        let (_, body) = callers.ask(user, "info").await?;
        if may_have_ticked() {
            break;
        }
        let answer = MarketAnswer::parse(&body)?;
        let balance = accounts.get(&callers.world.users[user].user).map(|(balance, _)| *balance);
        if answer.queues.first().and_then(|queue| units_of(&queue.budget)) != balance {
            wrong.push(format!("info says {:?}, the account has {balance:?}", answer.queues));
        }
    }
    Ok((wrong, signatures))
}

/// Tries used signatures: what is wrong with the answers, and how many were tried.
pub async fn replays(callers: &Callers) -> anyhow::Result<(Vec<String>, usize)> {
    let mut wrong = Vec::new();
    let requests: Vec<_> = callers.book.borrow().last_stamped().into_values().cloned().collect();
    for request in &requests {
        let path = format!("/scheduler?{}", request.query);
        let answer = get(callers.world.http, &path, Some(&request.authorization)).await?;
        // Refused for itself, not for a timestamp that lies before the start: that would guard old requests only.
        let is_guarded = answer.body.contains("was used before");
        if answer.status != 500 || !is_guarded {
            wrong.push(format!("used before, {path} was answered by {} {}", answer.status, answer.body));
        }
    }
    let submissions: Vec<_> = callers.book.borrow().last_accepted().into_values().cloned().collect();
    let submissions = &submissions[..submissions.len().min(USED_JOB_SIGNATURES)];
    for used in submissions {
        let said = callers.submit_again(used).await?;
        let is_guarded =
            said.as_deref().is_some_and(|said| said.contains("has been used") || said.contains("was used before"));
        if !is_guarded {
            wrong
                .push(format!("the signature of {} was good again, or refused for another reason: {said:?}", used.job));
        }
    }
    Ok((wrong, requests.len() + submissions.len()))
}

/// All queues as the accounts and the open intervals say.
fn compare(answer: &MarketAnswer, accounts: &BTreeMap<String, (i128, i128)>, left: &Evidence, wrong: &mut Vec<String>) {
    let price = left.last_tick().map_or(0, |tick| tick.price);
    if answer.price.as_deref().and_then(units_of) != Some(price) {
        wrong.push(format!("the price is {:?}, not {}", answer.price, decimal(price)));
    }
    if answer.queues.len() != accounts.len() {
        wrong.push(format!("there are {} queues, not {}", answer.queues.len(), accounts.len()));
    }
    for queue in &answer.queues {
        let balance = accounts.get(&queue.queue).map(|(balance, _)| *balance);
        let none = Allocation { tick: 0, rate: 0, map_slots: 0, reduce_slots: 0, used: 0, pending: 0 };
        let open = left.allocations.get(&queue.queue).unwrap_or(&none);
        let share = (open.rate * BILLIONTHS).checked_div(price).unwrap_or(0);
        let is_right = units_of(&queue.budget) == balance
            && units_of(&queue.spending) == Some(open.rate)
            && units_of(&queue.share) == Some(share * 1000)
            && (queue.used.cast_signed(), queue.pending.cast_signed()) == (open.used, open.pending);
        if !is_right {
            wrong.push(format!("infos says {queue:?}; left were {:?} and {open:?}", balance.map(decimal)));
        }
    }
}
