//! Samples of slots by queue over the last day, and what queues were sold at the last ticks: of each only what is shown.

use serde::Serialize;

use crate::model::{Credits, PerPool};
use crate::views::{SAMPLE_MS, Sample, TickShares};

use super::super::applications::{Problem, QueryParameters};
use super::super::owner::Owner;
use super::super::viewer::Viewer;
use super::answer::Content;
use super::ask::Ask;
use super::market::{check_market, points};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SampleSeries<'a> {
    /// Distance of two points, ms; a longer one is a gap.
    step_ms: u64,
    points: Vec<&'a Sample>,
}

pub(super) fn samples<O>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let since_ms: i64 = parameters.whole("since", 0..=i64::MAX.unsigned_abs()).unwrap_or(0);
    let most = points(&mut parameters) as usize;
    parameters.end()?;
    let wanted: Vec<&Sample> = ask.shown.samples.slots().filter(|sample| sample.time_ms >= since_ms).collect();
    let (every, kept) = thinned(wanted, most);
    Ok(Content::one(&SampleSeries { step_ms: SAMPLE_MS * every, points: kept }))
}

/// At most so many of a series, and of how many each is the last: counted from the newest, which is always there.
pub(super) fn thinned<T>(series: Vec<&T>, most: usize) -> (u64, Vec<&T>) {
    let every = series.len().div_ceil(most).max(1);
    let mut kept: Vec<&T> = series.into_iter().rev().step_by(every).collect();
    kept.reverse();
    (every as u64, kept)
}

/// The ticks, thinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ShareSeries<'a> {
    /// Distance of two points, ms; a longer one is a gap.
    step_ms: u64,
    points: Vec<SharePoint<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct SharePoint<'a> {
    time_ms: i64,
    tick: u64,
    queues: Vec<SoldShare<'a>>,
}

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

pub(super) fn shares<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let since_ms: i64 = parameters.whole("since", 0..=i64::MAX.unsigned_abs()).unwrap_or(0);
    let most = points(&mut parameters) as usize;
    parameters.end()?;
    check_market(ask)?;
    let ticks: Vec<&TickShares> = ask.shown.samples.ticks().filter(|tick| tick.time_ms >= since_ms).collect();
    let interval_ms = ticks.last().map_or(0, |last| last.interval_ms);
    let (every, kept) = thinned(ticks, most);
    let points = kept.into_iter().map(|tick| SharePoint::of(tick, &ask.viewer)).collect();
    Ok(Content::one(&ShareSeries { step_ms: interval_ms.saturating_mul(every), points }))
}
