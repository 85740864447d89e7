//! A picture as marks, and the numbers that it shows as a table.

use std::fmt;

/// A picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Picture {
    /// What it is, as `data-picture`.
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

/// A mark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    /// A path of a class; a line of a series has its name.
    Path { class: String, d: String, series: Option<&'static str> },
    /// A box, which may say what it is.
    Box { class: String, x: Px, y: Px, width: Px, height: Px, words: String },
    /// A word.
    Word { class: &'static str, x: Px, y: Px, text: String },
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

// === impl Px ===

impl fmt::Display for Px {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.2}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        formatter.write_str(if text == "-0" { "0" } else { text })
    }
}

// === impl LegendLine ===

impl LegendLine {
    pub(crate) fn new(class: impl Into<String>, text: impl Into<String>) -> Self {
        Self { class: class.into(), text: text.into() }
    }
}

// === impl Mark ===

impl Mark {
    /// A box that says nothing itself.
    pub(crate) fn block(class: impl Into<String>, (x, y): (f64, f64), (width, height): (f64, f64)) -> Self {
        let words = String::new();
        Self::Box { class: class.into(), x: Px(x), y: Px(y), width: Px(width), height: Px(height), words }
    }

    /// A word.
    pub(crate) fn word(class: &'static str, x: f64, y: f64, text: impl Into<String>) -> Self {
        Self::Word { class, x: Px(x), y: Px(y), text: text.into() }
    }
}

/// The numbers of a path, for tests of pictures.
#[cfg(test)]
pub(super) fn path_numbers(d: &str) -> Vec<f64> {
    let numbers = d.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
    numbers.filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect()
}
