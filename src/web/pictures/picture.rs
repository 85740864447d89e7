//! A picture as marks on scales, and the numbers that it shows as a table.

use std::collections::BTreeSet;
use std::fmt;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Picture {
    pub(crate) name: &'static str,
    /// What is to be seen, in words.
    pub(crate) title: String,
    /// Its size in units of its marks.
    pub(crate) width: Px,
    pub(crate) height: Px,
    /// Attributes of the svg: `x0` is `data-x0`.
    pub(crate) data: Vec<(&'static str, String)>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) legend: Vec<LegendLine>,
    /// The heads of its table, and the rows.
    pub(crate) heads: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    /// A path of a class; a line of a series has its name.
    Path {
        class: String,
        d: String,
        series: Option<&'static str>,
    },
    /// A box, which may say what it is.
    Box {
        class: String,
        x: Px,
        y: Px,
        width: Px,
        height: Px,
        words: String,
    },
    Word {
        class: &'static str,
        x: Px,
        y: Px,
        text: String,
    },
}

/// What a class of marks means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LegendLine {
    pub(crate) class: String,
    pub(crate) text: String,
}

/// A length in units of a picture, to a hundredth.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(crate) struct Px(pub(crate) f64);

impl fmt::Display for Px {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.2}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        formatter.write_str(if text == "-0" { "0" } else { text })
    }
}

impl Picture {
    /// The lines of the legend that explain a mark of this picture: by the last word of their class.
    pub(crate) fn shown_legend(&self) -> Vec<&LegendLine> {
        let drawn: BTreeSet<&str> =
            self.marks.iter().filter_map(Mark::drawn_class).flat_map(str::split_whitespace).collect();
        let is_drawn =
            |line: &&LegendLine| line.class.split_whitespace().next_back().is_some_and(|last| drawn.contains(last));
        self.legend.iter().filter(is_drawn).collect()
    }
}

impl LegendLine {
    pub(crate) fn new(class: impl Into<String>, text: impl Into<String>) -> Self {
        Self { class: class.into(), text: text.into() }
    }

    /// Whether its marks are lines, not areas.
    pub(crate) fn is_line(&self) -> bool {
        matches!(&*self.class, "right" | "line" | "median" | "quantile")
    }
}

impl Mark {
    /// The class of a mark that can be seen.
    fn drawn_class(&self) -> Option<&str> {
        match self {
            Self::Path { class, d, .. } => (!d.is_empty()).then_some(class),
            Self::Box { class, width, .. } => (*width > Px(0.0)).then_some(class),
            Self::Word { .. } => None,
        }
    }

    /// A box that says nothing itself.
    pub(crate) fn block(class: impl Into<String>, (x, y): (f64, f64), (width, height): (f64, f64)) -> Self {
        let words = String::new();
        Self::Box { class: class.into(), x: Px(x), y: Px(y), width: Px(width), height: Px(height), words }
    }

    pub(crate) fn word(class: &'static str, x: f64, y: f64, text: impl Into<String>) -> Self {
        Self::Word { class, x: Px(x), y: Px(y), text: text.into() }
    }
}

#[cfg(test)]
pub(super) fn path_numbers(d: &str) -> Vec<f64> {
    let numbers = d.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
    numbers.filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}

/// A scale from values to units of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// The values at the edges of the plot.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) px_from: f64,
    pub(super) px_to: f64,
}

impl Scale {
    pub(super) fn new((from, to): (f64, f64), (px_from, px_to): (f64, f64)) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self { from, to, px_from, px_to }
    }

    pub(super) fn px(&self, value: f64) -> f64 {
        self.px_from + (value - self.from) / (self.to - self.from) * (self.px_to - self.px_from)
    }

    #[cfg(test)]
    pub(super) fn value(&self, px: f64) -> f64 {
        self.from + (px - self.px_from) / (self.px_to - self.px_from) * (self.to - self.from)
    }
}

/// The next round value from a largest one on: 1, 2 or 5 times a power of ten.
pub(super) fn round_up(largest: f64) -> f64 {
    if largest.is_nan() || largest <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(largest.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= largest * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A value without needless digits.
pub(super) fn value_text(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(super) fn axis_text(value: f64) -> String {
    match value {
        _ if value >= 1e6 => format!("{}M", value_text(value / 1e6)),
        _ if value >= 1e4 => format!("{}k", value_text(value / 1e3)),
        _ => value_text(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_explains_what_is_there() {
        let path = |class: &str, d: &str| Mark::Path { class: class.to_owned(), d: d.to_owned(), series: None };
        let legend =
            [("fill q1", "bob"), ("cell q0 above", "beyond"), ("band", "lowest to highest"), ("gap", "was down")];
        let picture = Picture {
            marks: vec![
                path("fill q1", "M0 0h1"),
                path("cell q4 above", "M0 0h1"),
                path("band", ""),
                Mark::block("gap", (0.0, 0.0), (0.0, 9.0)),
            ],
            legend: legend.map(|(class, words)| LegendLine::new(class, words)).into(),
            ..Picture::default()
        };
        let shown: Vec<&str> = picture.shown_legend().into_iter().map(|line| &*line.text).collect();
        assert_eq!(shown, ["bob", "beyond"]);
    }

    #[test]
    fn axes_end_at_round_values_and_scales_go_both_ways() {
        let rounded = [0.0, 0.3, 1.0, 2.1, 5.0, 7.0, 11.0, 120.0].map(round_up);
        assert_eq!(rounded, [1.0, 0.5, 1.0, 5.0, 5.0, 10.0, 20.0, 200.0]);
        let scale = Scale::new((10.0, 30.0), (200.0, 0.0));
        assert_eq!((scale.px(10.0), scale.px(20.0), scale.px(30.0), scale.value(50.0)), (200.0, 100.0, 0.0, 25.0));
        assert_eq!(value_text(0.5), "0.5");
        assert_eq!([5_000.0, 25_000.0, 500_000.0, 2_500_000.0].map(axis_text), ["5000", "25k", "500k", "2.5M"]);
    }
}
