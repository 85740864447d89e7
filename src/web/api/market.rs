//! The market: its price, now and over time, and what a rate would buy of a buyer that bids nothing now. These are public.

use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use crate::market::HistoryPage;
use crate::model::{Credits, JobId, QueueName};

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::{MarketPresence, Owner};
use super::super::quotes::{QuoteRow, container_slots};
use super::super::state::ANSWER_TIMEOUT;
use super::answer::{Content, lasting};
use super::ask::{Ask, found, no_such_queue};
use super::listing::{Listing, RowPlace, SortKey};

/// Points of a history unless they are given.
const POINTS: u32 = 300;
/// Quotes of a curve unless they are given.
const QUOTES: u32 = 50;
const MOST_QUOTES: u64 = 200;
const ONE_CREDIT_UNITS: i128 = 1_000_000_000_000;
const RATE: &str = "credits for one slot over one interval, such as 0.5";

/// An order for a deadline; its rates only where they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct OrderJson {
    queue: QueueName,
    job: JobId,
    deadline_ms: i64,
    max_rate: Option<Credits>,
    max_cost: Option<Credits>,
}

pub(super) fn market<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    check_market(ask)?;
    let mut market = json!({
        "is_ruling": ask.web.owner.market_presence() == MarketPresence::Ruling,
        "visibility": if ask.web.shows_money { "public" } else { "private" },
    });
    if let Some(tick) = ask.shown.views.market().tick() {
        market["tick"] = tick.number.into();
        market["tick_ms"] = tick.at_ms.into();
        market["next_tick_ms"] = tick.at_ms.saturating_add_unsigned(tick.interval_ms).into();
        market["price"] = json!(tick.price);
    }
    if let Some(money) = ask.shown.overview.money.as_ref().filter(|_| ask.viewer.sees_all_money()) {
        market["issued"] = json!(money.issued);
        market["charged"] = json!(money.charged);
    }
    Ok(Content::One(lasting(&market)))
}

/// Answers `/orders`: those that stand, the earliest deadline first.
pub(super) fn orders<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["deadline_ms", "queue"]);
    parameters.end()?;
    check_market(ask)?;
    let rows = ask.shown.views.market().orders().map(|(queue, order)| {
        let key = match listing.sort() {
            "queue" => SortKey::Text(queue.to_string()),
            _ => SortKey::Number(order.deadline_ms),
        };
        let is_shown = ask.viewer.sees_money_of(queue.as_str());
        let row = OrderJson {
            queue: queue.clone(),
            job: order.job,
            deadline_ms: order.deadline_ms,
            max_rate: Some(order.max_rate).filter(|_| is_shown),
            max_cost: order.max_cost.filter(|_| is_shown),
        };
        (RowPlace(key, order.job.to_string()), row)
    });
    Ok(listing.page(rows, lasting))
}

pub(super) async fn prices<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let since_ms = parameters.whole("since", 0..=i64::MAX.unsigned_abs());
    let points = points(&mut parameters);
    parameters.end()?;
    check_market(ask)?;
    let read = ask.web.owner.price_history(HistoryPage { since_ms, points });
    Ok(Content::one(&found(timeout(ANSWER_TIMEOUT, read).await)?))
}

/// Answers `/market/quotes`: what rates would buy at the next tick.
pub(super) async fn quotes<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let rate = |text: &str| text.parse::<Credits>().ok().filter(|rate| *rate >= Credits::ZERO);
    let queue = parameters.take("queue");
    let from = parameters.parsed("from", RATE, rate);
    let to = parameters.parsed("to", RATE, rate);
    let count = parameters.whole("points", 1..=MOST_QUOTES).unwrap_or(QUOTES);
    parameters.end()?;
    check_market(ask)?;
    let tick = ask.shown.views.market().tick().filter(|_| ask.web.owner.market_presence() == MarketPresence::Ruling);
    let Some(tick) = tick else {
        let detail = "no rate buys slots now: the market keeps accounts and another scheduler assigns the slots, or no tick has been yet";
        return Err(Problem::new(ProblemName::NoMarket, detail));
    };
    let overview = &ask.shown.overview;
    let Some(name) = queue else {
        let rates = curve(from, to, tick.price, count);
        let rows = rates.into_iter().map(|rate| QuoteRow::of_new_buyer(rate, tick.price, overview.slots));
        return Ok(Content::one(&json!({ "quotes": rows.collect::<Vec<_>>() })));
    };
    ask.check_money_of(&name, "jobtracker queue quote QUEUE RATE")?;
    let container_slots = container_slots(overview, ask.web.container_slot);
    let queue: QueueName = name.parse().map_err(|_| no_such_queue(&name))?;
    let bidding = ask.shown.views.market().bidding(&queue, overview, container_slots);
    let bidding = bidding.ok_or_else(|| no_such_queue(&name))?;
    let bid = ask.shown.views.market().bid(&name).unwrap_or(Credits::ZERO);
    let rates = curve(from, to, tick.price.max(bid), count);
    // With many queues a curve takes longer than the web server may.
    let make = move || rates.into_iter().map(|rate| QuoteRow::of(&bidding.quote(rate), tick)).collect::<Vec<_>>();
    let rows = tokio::task::spawn_blocking(make).await;
    let rows = rows.map_err(|error| Problem::new(ProblemName::InternalError, error.to_string()))?;
    Ok(Content::one(&json!({ "quotes": rows })))
}

/// So many rates between two; else from 0 to twice the `usual` one.
fn curve(from: Option<Credits>, to: Option<Credits>, usual: Credits, count: u32) -> Vec<Credits> {
    let from = from.unwrap_or(Credits::ZERO).units();
    let doubled = usual.units().saturating_mul(2).min(Credits::MAX.units());
    let to = to.map_or(if doubled > 0 { doubled } else { ONE_CREDIT_UNITS }, Credits::units);
    let steps = i128::from(count.saturating_sub(1)).max(1);
    (0..i128::from(count)).map(|step| Credits::from_units(from + (to - from) * step / steps)).collect()
}

/// Reads how many points of a history are wanted at most.
pub(super) fn points(parameters: &mut QueryParameters) -> u32 {
    parameters.whole("points", 1..=HistoryPage::MOST_POINTS.into()).unwrap_or(POINTS)
}

/// Refuses what needs a market where there is none.
pub(super) fn check_market<O: Owner>(ask: &Ask<'_, O>) -> Result<(), Problem> {
    match ask.web.owner.market_presence() {
        MarketPresence::Absent => {
            let detail = "no market keeps accounts here: mapred.jobtracker.taskScheduler names a scheduler without one";
            Err(Problem::new(ProblemName::NoMarket, detail))
        }
        MarketPresence::Idle | MarketPresence::Signing | MarketPresence::Ruling => Ok(()),
    }
}
