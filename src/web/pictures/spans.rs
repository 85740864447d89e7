//! Spans of time: lines that each have spans of classes on one axis, such as where a job's time went, or deadlines.

use super::bars::short;
use super::picture::{LegendLine, Mark, Picture, Px};
use super::picture::{Scale, value_text};
use super::steps::clock_text;

const WIDTH: f64 = 600.0;
const ROW: f64 = 24.0;
const RIGHT: f64 = 592.0;

/// A line with its spans: class, words, from and to, epoch ms.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpanLine {
    pub(crate) name: String,
    pub(crate) spans: Vec<(String, String, i64, i64)>,
    /// Moments with a class.
    pub(crate) marks: Vec<(&'static str, i64)>,
}

/// The lines between two moments, epoch ms.
pub(crate) fn span_lines(
    name: &'static str,
    title: String,
    lines: &[SpanLine],
    (from_ms, to_ms): (i64, i64),
    legend: Vec<LegendLine>,
) -> Picture {
    let left = if lines.iter().any(|line| !line.name.is_empty()) { 160.0 } else { 8.0 };
    let x = Scale::new((from_ms as f64, to_ms as f64), (left, RIGHT));
    let (mut marks, mut rows) = (Vec::new(), Vec::new());
    for (index, line) in lines.iter().enumerate() {
        let y = index as f64 * ROW + 2.0;
        if !line.name.is_empty() {
            marks.push(Mark::word("name", left - 8.0, y + 13.0, short(&line.name)));
        }
        for (class, words, span_from, span_to) in &line.spans {
            let (start, end) = (x.px(*span_from as f64), x.px(*span_to as f64));
            let (width, height) = (Px((end - start).max(0.0)), Px(ROW - 8.0));
            let words = format!("{words}: {} s", span_to.saturating_sub(*span_from) / 1_000);
            marks.push(Mark::Box { class: class.clone(), x: Px(start), y: Px(y), width, height, words });
        }
        for (class, moment) in &line.marks {
            let d = format!("M{} {}v{}", Px(x.px(*moment as f64)), Px(y - 2.0), Px(ROW - 4.0));
            marks.push(Mark::Path { class: (*class).to_owned(), d, series: None });
        }
        rows.extend(line.spans.iter().map(|(_, words, span_from, span_to)| {
            let seconds = span_to.saturating_sub(*span_from) / 1_000;
            vec![line.name.clone(), words.clone(), clock_text(*span_from), seconds.to_string()]
        }));
    }
    let height = lines.len().max(1) as f64 * ROW + 24.0;
    marks.push(Mark::word("x start", left, height - 6.0, clock_text(from_ms)));
    marks.push(Mark::word("x end", RIGHT, height - 6.0, clock_text(to_ms)));
    Picture {
        name,
        title,
        width: Px(WIDTH),
        height: Px(height),
        data: vec![
            ("x0", from_ms.to_string()),
            ("x1", to_ms.to_string()),
            ("px0", value_text(left)),
            ("px1", value_text(RIGHT)),
        ],
        marks,
        legend,
        heads: vec!["What", "State", "From", "Seconds"],
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_as_long_as_their_time() {
        let spans = vec![
            ("fill running".to_owned(), "runs".to_owned(), 0, 30_000),
            ("fill waiting".to_owned(), "waits".to_owned(), 30_000, 40_000),
        ];
        let line = SpanLine { name: String::new(), spans, marks: vec![("right", 40_000)] };
        let picture = span_lines("waits", "t".to_owned(), &[line], (0, 40_000), vec![]);
        let widths: Vec<_> = picture
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Box { width, .. } => Some((width.0 / (RIGHT - 8.0) * 40.0).round()),
                _ => None,
            })
            .collect();
        assert_eq!(widths, [30.0, 10.0]);
        assert_eq!(picture.rows[1], ["", "waits", "Jan 01, 00:00:30 UTC", "10"]);
    }
}
