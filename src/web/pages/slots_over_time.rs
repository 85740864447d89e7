//! Slots by queue over the last hour, as they were sampled.

use std::collections::BTreeMap;

use crate::views::{SAMPLE_MS, Sample};

use super::super::pictures::{Layer, Picture, StackPoint, stack};
use super::piece::iso_text;
use super::queue_colours::{Colours, OTHERS};
use super::viewer::View;

/// What is shown, ms.
const SHOWN_MS: i64 = 3_600_000;
/// Most points.
const POINTS: usize = 120;
/// Layers with a name of their own, those of the largest area.
const LAYERS: usize = 6;

/// The picture; none before the second sample.
pub(super) fn slots_picture(view: &View) -> Option<Picture> {
    let (since_ms, until_ms) = (view.at_ms() - SHOWN_MS, view.at_ms());
    let shown: Vec<&Sample> = view.samples().slots().filter(|sample| sample.time_ms >= since_ms).collect();
    let every = shown.len().div_ceil(POINTS).max(1);
    let mut points: Vec<&Sample> = shown.iter().rev().step_by(every).copied().collect();
    points.reverse();
    let (first, last) = (points.first()?, points.last().filter(|_| points.len() > 1)?);
    let mut areas: BTreeMap<&str, u64> = BTreeMap::new();
    for queue in points.iter().flat_map(|sample| &sample.queues).filter(|queue| queue.used > 0) {
        *areas.entry(&queue.queue).or_default() += queue.used;
    }
    let mut named: Vec<(&str, u64)> = areas.into_iter().collect();
    named.sort_by_key(|(name, area)| (std::cmp::Reverse(*area), *name));
    named.truncate(LAYERS);
    named.sort_unstable();
    let colours = Colours::of(named.iter().map(|(name, _)| *name));
    let layer = |name: &str, class: &str| Layer { name: name.to_owned(), class: class.to_owned() };
    let mut layers: Vec<Layer> = named.iter().map(|(name, _)| layer(name, colours.class(name))).collect();
    layers.push(layer("others", OTHERS));
    let point = |sample: &&Sample| {
        let all = u64::from(sample.used.map) + u64::from(sample.used.reduce) + sample.containers;
        let of = |name: &str| sample.queues.iter().find(|queue| &*queue.queue == name).map_or(0, |queue| queue.used);
        let mut values: Vec<u64> = named.iter().map(|(name, _)| of(name)).collect();
        let others = all.saturating_sub(values.iter().sum());
        values.push(others);
        let capacity = u64::from(sample.slots.map) + u64::from(sample.slots.reduce);
        let by_queue = sample.queues.iter().filter(|queue| queue.used > 0);
        let by_queue = by_queue.map(|queue| format!("{} {}", queue.queue, queue.used)).collect::<Vec<_>>().join(", ");
        let row = vec![iso_text(sample.time_ms), capacity.to_string(), all.to_string(), by_queue];
        StackPoint { time_ms: sample.time_ms, values, capacity, row }
    };
    let points: Vec<StackPoint> = points.iter().map(point).collect();
    let used = |point: &StackPoint| point.values.iter().sum::<u64>();
    let most = points.iter().map(used).max().unwrap_or(0);
    let (now, capacity) = points.last().map(|point| (used(point), point.capacity))?;
    let title = format!("Slots in use by queue, last hour: {now} of {capacity} now, {most} at most");
    let span = (first.time_ms.max(since_ms), until_ms.max(last.time_ms));
    let gap_ms = i64::try_from(SAMPLE_MS).unwrap_or(i64::MAX).saturating_mul(every as i64).saturating_mul(3);
    let heads = vec!["Time", "Slots", "In use", "By queue"];
    Some(stack("slots_over_time", title, (&layers, heads), &points, span, gap_ms))
}
