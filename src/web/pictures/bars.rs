//! Bars beside each other: what each holds of what it may hold, and what it waits for.

use super::picture::{LegendLine, Mark, Picture, Px};
use super::picture::{Scale, round_up, value_text};

const WIDTH: f64 = 600.0;
const ROW: f64 = 26.0;
const LEFT: f64 = 160.0;
const RIGHT: f64 = 592.0;
/// Most bars; the rest is in the table alone.
const MOST_BARS: usize = 20;
/// Most characters of a name beside its bar, as large as a telephone shows them.
const MOST_CHARACTERS: usize = 11;
/// Of these at its start, where it is cut.
const FIRST_CHARACTERS: usize = 4;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) used: u64,
    /// What it has a right to; none: that is not shown.
    pub(crate) right: Option<u64>,
    pub(crate) waiting: u64,
}

pub(crate) fn bars(name: &'static str, title: String, bars: &[Bar], right: &'static str) -> Picture {
    let shown = || bars.iter().take(MOST_BARS);
    let largest = shown().map(|bar| (bar.used + bar.waiting).max(bar.right.unwrap_or(0))).max().unwrap_or(0);
    let x = Scale::new((0.0, round_up(largest as f64)), (LEFT, RIGHT));
    let mut marks = Vec::new();
    for (index, bar) in shown().enumerate() {
        let y = index as f64 * ROW + 4.0;
        let (start, used, end) = (x.px(0.0), x.px(bar.used as f64), x.px((bar.used + bar.waiting) as f64));
        marks.push(Mark::word("name", LEFT - 8.0, y + 13.0, short(&bar.name)));
        let words = format!("{} uses {}", bar.name, bar.used);
        let (width, height) = (Px(used - start), Px(ROW - 8.0));
        marks.push(Mark::Box { class: format!("used {}", bar.class), x: Px(start), y: Px(y), width, height, words });
        if bar.waiting > 0 {
            let words = format!("{} waits for {}", bar.name, bar.waiting);
            let (width, height) = (Px(end - used), Px(ROW - 8.0));
            marks.push(Mark::Box { class: "waits".to_owned(), x: Px(used), y: Px(y), width, height, words });
        }
        if let Some(right) = bar.right {
            let d = format!("M{} {}v{}", Px(x.px(right as f64)), Px(y - 2.0), Px(ROW - 4.0));
            marks.push(Mark::Path { class: "right".to_owned(), d, series: None });
        }
    }
    let height = shown().count().max(1) as f64 * ROW + 24.0;
    for (class, value) in [("x", 0.0), ("x", x.to / 2.0), ("x end", x.to)] {
        marks.push(Mark::word(class, x.px(value), height - 4.0, value_text(value)));
    }
    let mut legend = vec![LegendLine::new("waits", "waiting")];
    let mut heads = vec!["Name", "Used", "Waiting"];
    if bars.iter().any(|bar| bar.right.is_some()) {
        legend.push(LegendLine::new("right", right.to_lowercase()));
        heads.push(right);
    }
    if bars.iter().any(|bar| bar.waiting > 0 || bar.right.is_some()) {
        legend.insert(0, LegendLine::new("used", "used"));
    }
    let row = |bar: &Bar| {
        let right = bar.right.map(|right| right.to_string());
        let numbers = [Some(bar.name.clone()), Some(bar.used.to_string()), Some(bar.waiting.to_string()), right];
        numbers.into_iter().flatten().collect()
    };
    Picture {
        name,
        title,
        width: Px(WIDTH),
        height: Px(height),
        data: vec![
            ("x0", value_text(x.from)),
            ("x1", value_text(x.to)),
            ("px0", value_text(x.px_from)),
            ("px1", value_text(x.px_to)),
        ],
        marks,
        legend,
        heads,
        rows: bars.iter().map(row).collect(),
    }
}

/// A name that fits beside a bar: names of machines differ at their end.
pub(super) fn short(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= MOST_CHARACTERS {
        return name.to_owned();
    }
    let last = MOST_CHARACTERS - FIRST_CHARACTERS - 1;
    let (start, end) = (&letters[..FIRST_CHARACTERS], &letters[letters.len() - last..]);
    start.iter().chain(['…'].iter()).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_the_numbers() {
        let bar = |name: &str, used, right, waiting| Bar {
            name: name.to_owned(),
            class: "q0".to_owned(),
            used,
            right,
            waiting,
        };
        let picture = bars("queue_slots", "t".to_owned(), &[bar("a", 8, Some(6), 24), bar("b", 2, None, 0)], "bought");
        let number =
            |name: &str| picture.data.iter().find(|(known, _)| *known == name).unwrap().1.parse::<f64>().unwrap();
        let unit = (number("px1") - number("px0")) / (number("x1") - number("x0"));
        let widths: Vec<f64> = picture
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Box { width, .. } => Some((width.0 / unit * 100.0).round() / 100.0),
                _ => None,
            })
            .collect();
        assert_eq!((number("x1"), widths), (50.0, vec![8.0, 24.0, 2.0]));
        assert_eq!(picture.rows, [vec!["a", "8", "24", "6"], vec!["b", "2", "0"]]);
    }
}
