//! Layers on each other over time, each a step from one moment to the next, under a line of what there is in all.

use std::fmt::Write as _;

use super::picture::{LegendLine, Mark, Picture, Px};
use super::picture::{Scale, axis_text, round_up, value_text};
use super::steps::clock_text;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 220.0;
/// The edges of the plot.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 592.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 188.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StackLayer {
    pub(crate) name: String,
    pub(crate) class: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StackPoint {
    /// Epoch ms.
    pub(crate) time_ms: i64,
    /// In the order of the layers, the lowest first.
    pub(crate) values: Vec<u64>,
    pub(crate) capacity: u64,
    pub(crate) row: Vec<String>,
}

/// The layers between two moments, epoch ms. A pause of more than `gap_ms` breaks them.
pub(crate) fn stack(
    name: &'static str,
    title: String,
    (layers, heads): (&[StackLayer], Vec<&'static str>),
    points: &[StackPoint],
    (since_ms, until_ms): (i64, i64),
    gap_ms: i64,
) -> Picture {
    let sum = |point: &StackPoint| point.values.iter().sum::<u64>();
    let largest = points.iter().map(|point| sum(point).max(point.capacity)).max().unwrap_or(0);
    let x = Scale::new((since_ms as f64, until_ms as f64), (LEFT, RIGHT));
    let y = Scale::new((0.0, round_up(largest as f64)), (BOTTOM, TOP));
    let runs: Vec<&[StackPoint]> =
        points.chunk_by(|one, next| next.time_ms.saturating_sub(one.time_ms) <= gap_ms).collect();
    let end_of = |run: &[StackPoint]| {
        let last = run.last().map_or(until_ms, |point| point.time_ms);
        if until_ms.saturating_sub(last) <= gap_ms { until_ms } else { last }
    };
    let mut marks =
        vec![Mark::Path { class: "axis".to_owned(), d: format!("M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"), series: None }];
    marks.extend(gaps(&runs, &x));
    let is_used = |index: usize| points.iter().any(|point| point.values.get(index).is_some_and(|value| *value > 0));
    for (index, layer) in layers.iter().enumerate().filter(|(index, _)| is_used(*index)) {
        let below = |point: &StackPoint, layers: usize| point.values.iter().take(layers).sum::<u64>() as f64;
        let mut d = String::new();
        for run in &runs {
            let end = x.px(end_of(run) as f64);
            let upper = |point: &StackPoint| y.px(below(point, index + 1));
            let lower = |point: &StackPoint| y.px(below(point, index));
            outline(&mut d, run, (&x, end), upper, lower);
        }
        marks.push(Mark::Path { class: format!("fill {}", layer.class), d, series: None });
    }
    for run in &runs {
        let d = capacity_line(run, (&x, &y), end_of(run));
        marks.push(Mark::Path { class: "right".to_owned(), d, series: Some("slots") });
    }
    marks.extend(
        [y.from, y.to / 2.0, y.to].map(|value| Mark::word("y", LEFT - 6.0, y.px(value) + 4.0, axis_text(value))),
    );
    marks.push(Mark::word("x start", LEFT, BOTTOM + 20.0, clock_text(since_ms)));
    marks.push(Mark::word("x end", RIGHT, BOTTOM + 20.0, clock_text(until_ms)));
    Picture {
        name,
        title,
        width: Px(WIDTH),
        height: Px(HEIGHT),
        data: axes(&x, &y),
        marks,
        legend: legend_of(layers),
        heads,
        rows: points.iter().map(|point| point.row.clone()).collect(),
    }
}

/// The ends of both axes, as values and as places.
fn axes(x: &Scale, y: &Scale) -> Vec<(&'static str, String)> {
    vec![
        ("x0", value_text(x.from)),
        ("x1", value_text(x.to)),
        ("y0", value_text(y.from)),
        ("y1", value_text(y.to)),
        ("px0", value_text(LEFT)),
        ("px1", value_text(RIGHT)),
        ("py0", value_text(BOTTOM)),
        ("py1", value_text(TOP)),
    ]
}

/// A block between each two runs of points.
fn gaps(runs: &[&[StackPoint]], x: &Scale) -> impl Iterator<Item = Mark> {
    runs.windows(2).filter_map(|pair| {
        let [before, after] = pair else { return None };
        let (from, to) = (x.px(before.last()?.time_ms as f64), x.px(after.first()?.time_ms as f64));
        Some(Mark::block("gap", (from, TOP), (to - from, BOTTOM - TOP)))
    })
}

fn capacity_line(run: &[StackPoint], (x, y): (&Scale, &Scale), end_ms: i64) -> String {
    let mut d = String::new();
    for (index, point) in run.iter().enumerate() {
        let (px, py) = (Px(x.px(point.time_ms as f64)), Px(y.px(point.capacity as f64)));
        // A text in memory takes all that is written to it.
        let _ = if index == 0 { write!(d, "M{px} {py}") } else { write!(d, "H{px}V{py}") };
    }
    let _ = write!(d, "H{}", Px(x.px(end_ms as f64)));
    d
}

fn legend_of(layers: &[StackLayer]) -> Vec<LegendLine> {
    let layers = layers.iter().map(|layer| LegendLine::new(format!("fill {}", layer.class), layer.name.clone()));
    layers
        .chain([
            LegendLine::new("right", "all slots of the cluster"),
            LegendLine::new("gap", "not sampled: the daemon was down"),
        ])
        .collect()
}

/// The outline of a layer: its upper steps there, its lower ones back.
fn outline(
    d: &mut String,
    run: &[StackPoint],
    (x, end): (&Scale, f64),
    upper: impl Fn(&StackPoint) -> f64,
    lower: impl Fn(&StackPoint) -> f64,
) {
    let Some(first) = run.first() else { return };
    let start = Px(x.px(first.time_ms as f64));
    // A text in memory takes all that is written to it.
    let _ = write!(d, "M{start} {}", Px(upper(first)));
    for point in run.iter().skip(1) {
        let _ = write!(d, "H{}V{}", Px(x.px(point.time_ms as f64)), Px(upper(point)));
    }
    let _ = write!(d, "H{}", Px(end));
    for point in run.iter().rev() {
        let _ = write!(d, "V{}H{}", Px(lower(point)), Px(x.px(point.time_ms as f64)));
    }
    d.push('z');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::pictures::picture::path_numbers;

    fn point(time_ms: i64, values: [u64; 2], capacity: u64) -> StackPoint {
        StackPoint { time_ms, values: values.to_vec(), capacity, row: vec![time_ms.to_string()] }
    }

    #[test]
    fn layers_stand_on_each_other_and_break_where_nothing_was_sampled() {
        let layer = |name: &str| StackLayer { name: name.to_owned(), class: name.to_owned() };
        let layers = [layer("q0"), layer("others")];
        let points = [point(0, [2, 3], 10), point(100, [4, 0], 10), point(1_000, [1, 1], 8)];
        let picture = stack("slots", "t".to_owned(), (&layers, vec!["Time"]), &points, (0, 1_000), 200);
        let paths = |class: &str| -> Vec<String> {
            let of_class = picture.marks.iter().filter_map(|mark| match mark {
                Mark::Path { class: found, d, .. } if found == class => Some(d.clone()),
                _ => None,
            });
            of_class.collect()
        };
        let y = Scale::new((0.0, 10.0), (BOTTOM, TOP));
        let upper = paths("fill others").remove(0);
        let (first, _) = upper.split_once('z').unwrap();
        // It begins at 2 + 3 and steps down to 4 + 0 at the second moment; its lower edge is the other layer.
        let numbers: Vec<f64> = path_numbers(first).into_iter().map(|px| (px * 100.0).round() / 100.0).collect();
        let round = |px: f64| (px * 100.0).round() / 100.0;
        assert_eq!((numbers[1], numbers[3]), (round(y.px(5.0)), round(y.px(4.0))));
        assert!(numbers.contains(&round(y.px(2.0))), "{numbers:?}");
        assert_eq!(paths("right").len(), 2, "a line on each side of the gap");
        let gaps = picture.marks.iter().filter(|mark| matches!(mark, Mark::Box { class, .. } if class == "gap"));
        assert_eq!((gaps.count(), picture.rows.len()), (1, 3));
    }
}
