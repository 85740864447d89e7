//! A value that holds from one moment to the next, as a line of steps with a band between its lowest and highest values.

use std::fmt::Write as _;

use super::picture::{LegendLine, Mark, Picture, Px};
use super::picture::{Scale, axis_text, round_up, value_text};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 220.0;
/// The edges of the plot.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 592.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 188.0;

/// A value from a moment on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepPoint {
    /// Epoch ms.
    pub(crate) time_ms: i64,
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) row: Vec<String>,
}

/// The steps of points between two moments, epoch ms; `series`: what they are. A pause of more than `gap_ms` breaks the line.
pub(crate) fn steps(
    name: &'static str,
    series: &'static str,
    title: String,
    points: &[StepPoint],
    (since_ms, until_ms): (i64, i64),
    gap_ms: i64,
) -> Picture {
    let largest = points.iter().map(|point| point.high.max(point.value)).fold(0.0, f64::max);
    let x = Scale::new((since_ms as f64, until_ms as f64), (LEFT, RIGHT));
    let y = Scale::new((0.0, round_up(largest)), (BOTTOM, TOP));
    let lines = broken(points, gap_ms);
    let mut marks = axes(&x, &y).to_vec();
    for pair in lines.windows(2) {
        if let [before, after] = pair
            && let (Some(from), Some(to)) = (before.last(), after.first())
        {
            let (from, to) = (x.px(from.time_ms as f64), x.px(to.time_ms as f64));
            marks.push(Mark::block("gap", (from, TOP), (to - from, BOTTOM - TOP)));
        }
    }
    marks.extend(lines.iter().map(|line| band(line, &x, &y, until_ms, gap_ms)));
    marks.extend(lines.iter().map(|line| Mark::Path {
        class: "line".to_owned(),
        d: line_path(line, &x, &y, until_ms, gap_ms),
        series: Some(series),
    }));
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
        data: scales(&x, &y),
        marks,
        legend: vec![
            LegendLine::new("line", series),
            LegendLine::new("band", "lowest to highest of a span"),
            LegendLine::new("gap", "no value: the daemon was down"),
        ],
        heads: vec!["Time", "Value", "Lowest", "Highest"],
        rows: points.iter().map(|point| point.row.clone()).collect(),
    }
}

fn scales(x: &Scale, y: &Scale) -> Vec<(&'static str, String)> {
    let of = |value: f64| value_text(value);
    vec![
        ("x0", of(x.from)),
        ("x1", of(x.to)),
        ("y0", of(y.from)),
        ("y1", of(y.to)),
        ("px0", of(x.px_from)),
        ("px1", of(x.px_to)),
        ("py0", of(y.px_from)),
        ("py1", of(y.px_to)),
    ]
}

/// The points in lines without a gap.
fn broken(points: &[StepPoint], gap_ms: i64) -> Vec<&[StepPoint]> {
    points.chunk_by(|one, next| next.time_ms.saturating_sub(one.time_ms) <= gap_ms).collect()
}

/// Until when the last value of a line is shown.
fn end_of(line: &[StepPoint], until_ms: i64, gap_ms: i64) -> i64 {
    let last = line.last().map_or(until_ms, |point| point.time_ms);
    if until_ms.saturating_sub(last) <= gap_ms { until_ms } else { last }
}

fn line_path(line: &[StepPoint], x: &Scale, y: &Scale, until_ms: i64, gap_ms: i64) -> String {
    let mut d = String::new();
    for (index, point) in line.iter().enumerate() {
        let (px, py) = (Px(x.px(point.time_ms as f64)), Px(y.px(point.value)));
        // A text in memory takes all that is written to it.
        let _ = if index == 0 { write!(d, "M{px} {py}") } else { write!(d, "H{px}V{py}") };
    }
    let _ = write!(d, "H{}", Px(x.px(end_of(line, until_ms, gap_ms) as f64)));
    d
}

fn band(line: &[StepPoint], x: &Scale, y: &Scale, until_ms: i64, gap_ms: i64) -> Mark {
    let mut d = String::new();
    let ends = line.iter().skip(1).map(|point| point.time_ms).chain([end_of(line, until_ms, gap_ms)]);
    for (point, end_ms) in line.iter().zip(ends).filter(|(point, _)| point.low < point.high) {
        let (from, to) = (Px(x.px(point.time_ms as f64)), Px(x.px(end_ms as f64)));
        let (top, bottom) = (Px(y.px(point.high)), Px(y.px(point.low)));
        // A text in memory takes all that is written to it.
        let _ = write!(d, "M{from} {top}H{to}V{bottom}H{from}z");
    }
    Mark::Path { class: "band".to_owned(), d, series: None }
}

fn axes(x: &Scale, y: &Scale) -> [Mark; 2] {
    let (left, right, top, bottom) = (Px(x.px_from), Px(x.px_to), Px(y.px_to), Px(y.px_from));
    let half = Px(y.px(y.to / 2.0));
    let path = |class: &str, d: String| Mark::Path { class: class.to_owned(), d, series: None };
    [
        path("rule", format!("M{left} {half}H{right}M{left} {top}H{right}")),
        path("axis", format!("M{left} {top}V{bottom}H{right}")),
    ]
}

/// A moment of an axis: day and time in UTC.
pub(super) fn clock_text(epoch_ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(epoch_ms);
    time.map_or_else(|_| String::new(), |time| time.strftime("%b %d, %H:%M:%S UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::super::picture::path_numbers;
    use super::*;

    fn point(time_ms: i64, value: f64, low: f64, high: f64) -> StepPoint {
        StepPoint { time_ms, value, low, high, row: vec![] }
    }

    fn number(picture: &Picture, name: &str) -> f64 {
        picture.data.iter().find(|(known, _)| *known == name).unwrap().1.parse().unwrap()
    }

    fn line(picture: &Picture) -> &str {
        let is_line = |mark: &&Mark| matches!(mark, Mark::Path { series: Some("price"), .. });
        let Some(Mark::Path { d, .. }) = picture.marks.iter().find(is_line) else { panic!("{picture:?}") };
        d
    }

    #[test]
    fn the_path_put_through_the_scales_is_the_series() {
        let series: [(i64, f64); 3] = [(1_000, 1.5), (4_000, 3.25), (7_000, 0.5)];
        let points = series.map(|(time_ms, value)| point(time_ms, value, value, value + 0.5));
        let picture = steps("price", "price", String::new(), &points, (0, 10_000), 5_000);
        let x = Scale::new(
            (number(&picture, "x0"), number(&picture, "x1")),
            (number(&picture, "px0"), number(&picture, "px1")),
        );
        let y = Scale::new(
            (number(&picture, "y0"), number(&picture, "y1")),
            (number(&picture, "py0"), number(&picture, "py1")),
        );
        let numbers = path_numbers(line(&picture));
        let (ends, pairs) = (numbers[6], &numbers[..6]);
        for (pair, (time_ms, value)) in pairs.chunks(2).zip(series) {
            assert!((x.value(pair[0]) - time_ms as f64).abs() < 1.0, "{pair:?}");
            assert!((y.value(pair[1]) - value).abs() < 0.001, "{pair:?}");
        }
        assert!((x.value(ends) - 10_000.0).abs() < 1.0, "the last value holds until the end");
        assert_eq!(y.to, 5.0);
    }

    #[test]
    fn a_pause_breaks_the_line_and_is_hatched() {
        let points = [point(0, 1.0, 1.0, 1.0), point(1_000, 2.0, 2.0, 2.0), point(9_000, 1.0, 1.0, 1.0)];
        let picture = steps("price", "price", String::new(), &points, (0, 10_000), 2_000);
        let lines = picture.marks.iter().filter(|mark| matches!(mark, Mark::Path { series: Some(_), .. })).count();
        let gaps: Vec<_> =
            picture.marks.iter().filter(|mark| matches!(mark, Mark::Box { class, .. } if class == "gap")).collect();
        assert_eq!((lines, gaps.len()), (2, 1));
        let Mark::Box { x, width, .. } = gaps[0] else { panic!() };
        let second = (RIGHT - LEFT) / 10.0;
        assert!((x.0 - LEFT - second).abs() < 0.01 && (width.0 - 8.0 * second).abs() < 0.01, "{x} {width}");
    }
}
