//! What queues were sold at the last ticks of the market: of each only what is shown.

use serde::Serialize;

use crate::model::{Credits, PerPool};
use crate::views::TickShares;

use super::super::applications::{Problem, QueryParameters};
use super::super::owner::Owner;
use super::super::viewer::Viewer;
use super::answer::Found;
use super::ask::Ask;
use super::market::{check_market, points};
use super::samples::thinned;

/// The ticks, thinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ShareSeries<'a> {
    /// Distance of two points, ms; a longer one is a gap.
    step_ms: u64,
    points: Vec<SharePoint<'a>>,
}

/// A tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SharePoint<'a> {
    time_ms: i64,
    tick: u64,
    queues: Vec<SoldShare<'a>>,
}

/// What a queue was sold at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SoldShare<'a> {
    queue: &'a str,
    rate: Credits,
    share: String,
    quota: PerPool<u32>,
}

impl<'a> SharePoint<'a> {
    fn of(tick: &'a TickShares, viewer: &Viewer) -> Self {
        let shown = tick.queues.iter().filter(|sold| viewer.sees_money_of(sold.queue.as_str()));
        let queues = shown.map(|sold| SoldShare {
            queue: sold.queue.as_str(),
            rate: sold.share.rate(),
            share: sold.share.to_string(),
            quota: sold.quota,
        });
        Self { time_ms: tick.time_ms, tick: tick.tick, queues: queues.collect() }
    }
}

/// Answers `/market/shares`.
pub(super) fn shares<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Found, Problem> {
    let since_ms: i64 = parameters.whole("since", 0..=i64::MAX.unsigned_abs()).unwrap_or(0);
    let most = points(&mut parameters) as usize;
    parameters.end()?;
    check_market(ask)?;
    let ticks: Vec<&TickShares> = ask.shown.samples.ticks().filter(|tick| tick.time_ms >= since_ms).collect();
    let interval_ms = ticks.last().map_or(0, |last| last.interval_ms);
    let (every, kept) = thinned(ticks, most);
    let points = kept.into_iter().map(|tick| SharePoint::of(tick, &ask.viewer)).collect();
    Ok(Found::one(&ShareSeries { step_ms: interval_ms.saturating_mul(every), points }))
}
