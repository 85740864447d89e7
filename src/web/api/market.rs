//! The market: its price, now and over time. Both are public.

use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use crate::market::HistoryPage;
use crate::model::{Credits, JobId, QueueName};

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::{MarketPresence, Owner};
use super::super::state::ANSWER_TIMEOUT;
use super::answer::{Found, lasting};
use super::ask::Ask;
use super::cursor::{Key, Place};
use super::listing::Listing;
use super::stored::found;

/// Points of a history unless they are given.
const POINTS: u32 = 300;

/// An order for a deadline; its rates only where they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct OrderRow {
    queue: QueueName,
    job: JobId,
    deadline_ms: i64,
    max_rate: Option<Credits>,
    max_cost: Option<Credits>,
}

/// Answers `/market`.
pub(super) fn market<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Found, Problem> {
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
    Ok(Found::One(lasting(&market)))
}

/// Answers `/orders`: those that stand, the earliest deadline first.
pub(super) fn orders<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Found, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["deadline_ms", "queue"]);
    parameters.end()?;
    check_market(ask)?;
    let rows = ask.shown.views.market().orders().map(|(queue, order)| {
        let key = match listing.sort() {
            "queue" => Key::Text(queue.to_string()),
            _ => Key::Number(order.deadline_ms),
        };
        let is_shown = ask.viewer.sees_money_of(queue.as_str());
        let row = OrderRow {
            queue: queue.clone(),
            job: order.job,
            deadline_ms: order.deadline_ms,
            max_rate: Some(order.max_rate).filter(|_| is_shown),
            max_cost: order.max_cost.filter(|_| is_shown),
        };
        (Place(key, order.job.to_string()), row)
    });
    Ok(listing.page(rows, lasting))
}

/// Answers `/market/prices`.
pub(super) async fn prices<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Found, Problem> {
    let since_ms = parameters.whole("since", 0..=i64::MAX.unsigned_abs());
    let points = points(&mut parameters);
    parameters.end()?;
    check_market(ask)?;
    let read = ask.web.owner.price_history(HistoryPage { since_ms, points });
    Ok(Found::one(&found(timeout(ANSWER_TIMEOUT, read).await)?))
}

/// Reads how many points of a history are wanted at most.
pub(super) fn points(parameters: &mut QueryParameters) -> u32 {
    parameters.whole("points", 1..=HistoryPage::MOST_POINTS.into()).unwrap_or(POINTS)
}

/// Refuses what needs a market where there is none.
///
/// # Errors
/// `no-market`.
pub(super) fn check_market<O: Owner>(ask: &Ask<'_, O>) -> Result<(), Problem> {
    match ask.web.owner.market_presence() {
        MarketPresence::Absent => {
            let detail = "no market keeps accounts here: mapred.jobtracker.taskScheduler names a scheduler without one";
            Err(Problem::new(ProblemName::NoMarket, detail))
        }
        MarketPresence::Idle | MarketPresence::Signing | MarketPresence::Ruling => Ok(()),
    }
}
