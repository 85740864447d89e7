//! Queues, and their money where it is shown.

use std::collections::BTreeMap;

use serde::Serialize;
use tokio::time::timeout;

use crate::api::BoughtSlots;
use crate::engine::QueueSnapshot;
use crate::market::{HistoryPage, StatementPage};
use crate::model::{Credits, PerKind, PerPool, QueueName};
use crate::views::{MarketView, Shown};

use super::super::applications::{Problem, QueryParameters};
use super::super::owner::Owner;
use super::super::state::ANSWER_TIMEOUT;
use super::super::viewer::Viewer;
use super::address::part;
use super::answer::{Content, lasting};
use super::ask::{Ask, found, no_such_queue};
use super::listing::{Listing, RowPlace, SortKey};
use super::market::{check_market, points};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct QueueItem<'a> {
    queue: &'a str,
    /// Slots that its attempts hold.
    running: PerKind<u32>,
    /// Live containers of its applications.
    containers: u64,
    /// Tasks that wait, and containers that are wanted.
    pending: u64,
    /// The user who paused it, and the time.
    paused: Option<&'a str>,
    budget: Option<Credits>,
    /// What it bids at the next tick.
    bid: Option<Credits>,
    rate: Option<Credits>,
    share: Option<&'a str>,
    quota: Option<PerPool<u32>>,
}

/// What the rows of queues are made from.
struct Sources<'a> {
    containers: BTreeMap<&'a str, (u64, u64)>,
    balances: BTreeMap<&'a str, Credits>,
    bought: BTreeMap<&'a str, &'a BoughtSlots>,
    market: &'a MarketView,
    viewer: &'a Viewer,
}

impl<'a> Sources<'a> {
    /// Money is that of the queues whose money the viewer sees.
    fn new(shown: &'a Shown, viewer: &'a Viewer) -> Self {
        let mut containers: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for application in shown.views.applications() {
            let (live, wanted) = containers.entry(&application.submitted().queue).or_default();
            *live += application.live_count() as u64;
            *wanted += application.wanted();
        }
        let money = shown.overview.money.as_ref();
        let balances = money.map_or(&[][..], |money| &money.balances).iter();
        let balances = balances.filter(|(queue, _)| viewer.sees_money_of(queue));
        let groups = shown.overview.report.groups.iter().filter(|group| viewer.sees_money_of(&group.name));
        Self {
            containers,
            market: shown.views.market(),
            viewer,
            balances: balances.map(|(queue, balance)| (queue.as_str(), *balance)).collect(),
            bought: groups.filter_map(|group| Some((group.name.as_str(), group.bought.as_ref()?))).collect(),
        }
    }

    fn row(&self, queue: &'a QueueSnapshot) -> QueueItem<'a> {
        let name = queue.name.as_str();
        let (containers, wanted) = self.containers.get(name).copied().unwrap_or_default();
        let bought = self.bought.get(name);
        QueueItem {
            queue: name,
            running: queue.running,
            containers,
            pending: queue.waiting.map + queue.waiting.reduce + wanted,
            paused: queue.paused.as_deref(),
            budget: self.balances.get(name).copied(),
            bid: self.market.bid(name).filter(|_| self.viewer.sees_money_of(name)),
            rate: bought.map(|bought| bought.rate),
            share: bought.map(|bought| bought.share.as_str()),
            quota: bought.map(|bought| bought.quota),
        }
    }
}

/// Answers `/queues`, by name.
pub(super) fn queues<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &["queue"]);
    parameters.end()?;
    let sources = Sources::new(&ask.shown, &ask.viewer);
    let rows = ask
        .shown
        .overview
        .queues
        .iter()
        .map(|queue| (RowPlace(SortKey::Text(queue.name.clone()), String::new()), queue));
    Ok(listing.page(rows, |queue| lasting(&sources.row(queue))))
}

pub(super) fn queue<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let name = ask.parts.get(part::QUEUE);
    let found = ask.shown.overview.queues.iter().find(|queue| queue.name == name);
    let sources = Sources::new(&ask.shown, &ask.viewer);
    found.map(|queue| Content::one(&sources.row(queue))).ok_or_else(|| no_such_queue(name))
}

/// Answers `/queues/{queue}/statement`: its ledger rows, the newest part of them first, each part by number.
pub(super) async fn statement<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::in_order(&mut parameters, ask.uri);
    let since_ms = parameters.whole("since", 0..=i64::MAX.unsigned_abs());
    parameters.end()?;
    let queue = queue_with_money(ask, "jobtracker queue statement QUEUE")?;
    let before = listing.after_number().map(|before| before.max(0).unsigned_abs());
    let read = ask.web.owner.statement(queue.clone(), StatementPage { since_ms, before });
    let statement = found(timeout(ANSWER_TIMEOUT, read).await)?.ok_or_else(|| no_such_queue(queue.as_str()))?;
    let skipped = statement.rows.len().saturating_sub(listing.limit());
    let rows = &statement.rows[skipped..];
    let first = rows.first().filter(|_| skipped > 0 || statement.has_earlier);
    let next = first.and_then(|row| i64::try_from(row.number).ok());
    Ok(listing.part(rows.iter().map(lasting).collect(), next))
}

pub(super) async fn spending<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let since_ms = parameters.whole("since", 0..=i64::MAX.unsigned_abs());
    let points = points(&mut parameters);
    parameters.end()?;
    let queue = queue_with_money(ask, "jobtracker queue info QUEUE")?;
    let read = ask.web.owner.spending_history(queue.clone(), HistoryPage { since_ms, points });
    let spending = found(timeout(ANSWER_TIMEOUT, read).await)?.ok_or_else(|| no_such_queue(queue.as_str()))?;
    Ok(Content::one(&spending))
}

/// The queue of the path, if its money is shown.
fn queue_with_money<O: Owner>(ask: &Ask<'_, O>, attempt: &str) -> Result<QueueName, Problem> {
    check_market(ask)?;
    let name = ask.parts.get(part::QUEUE);
    ask.check_money_of(name, attempt)?;
    name.parse().map_err(|_| no_such_queue(name))
}
