//! The rows of a page's table, cut to a bound.

/// Largest number of characters shown of a text that clients choose, such as a job's name.
const MAX_TEXT_CHARACTERS: usize = 120;

/// Largest number of rows of a table. The rest is counted.
const MAX_ROWS: usize = 1000;

/// The first rows of a table, and the number of rows left out.
pub(super) struct Rows<R> {
    pub(super) rows: Vec<R>,
    pub(super) left_out: usize,
}

impl<R> Rows<R> {
    pub(super) fn new<T>(all: impl IntoIterator<Item = T>, row: impl FnMut(T) -> R) -> Self {
        let mut all = all.into_iter();
        let rows = all.by_ref().take(MAX_ROWS).map(row).collect();
        Rows { rows, left_out: all.count() }
    }
}

/// A text cut to the length that tables show.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"ä".repeat(120)), "ä".repeat(120));
        assert_eq!(cut(&"ä".repeat(121)), format!("{}…", "ä".repeat(120)));
    }
}
