//! Diagnostics of an attempt, from its tracker and from this server.

/// Texts in order of arrival (1.2.1 `TaskInProgress.addDiagnosticInfo`).
///
/// Invariant: no text is empty, and all of them joined are at most [`Self::MAX_BYTES`] long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Diagnostics(Vec<Box<str>>);

impl From<String> for Diagnostics {
    fn from(text: String) -> Self {
        let mut diagnostics = Self::default();
        diagnostics.add(&text);
        diagnostics
    }
}

impl Diagnostics {
    /// Most that is kept for one attempt, bytes: later texts are dropped.
    pub(crate) const MAX_BYTES: usize = crate::wire::limits::DIAGNOSTICS_BYTES;

    /// Appends a text, cut to the room left.
    pub(crate) fn add(&mut self, text: &str) {
        let used: usize = self.0.iter().map(|text| text.len() + 1).sum();
        let room = Self::MAX_BYTES.saturating_sub(used);
        let kept = &text[..text.floor_char_boundary(room)];
        if !kept.is_empty() {
            self.0.push(kept.into());
        }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|text| &**text)
    }

    /// All texts, one a line: a client that prints them one by one shows the same.
    pub(crate) fn joined(&self) -> String {
        self.0.join("\n")
    }

    /// Whether the last text ends with `text`.
    pub(crate) fn ends_with(&self, text: &str) -> bool {
        self.0.last().is_some_and(|last| last.ends_with(text))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_apart_and_empty_ones_are_none() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.add("");
        assert!(diagnostics.is_empty());
        diagnostics.add("disk on fire\n");
        diagnostics.add("killed");
        assert_eq!(diagnostics.texts().collect::<Vec<_>>(), ["disk on fire\n", "killed"]);
        assert_eq!(diagnostics.joined(), "disk on fire\n\nkilled");
    }

    #[test]
    fn they_are_bounded_and_cut_at_characters() {
        for text in ["ä", "x", "more than one character"] {
            let mut diagnostics = Diagnostics::default();
            diagnostics.add(&"ä".repeat(100));
            for _ in 0..Diagnostics::MAX_BYTES {
                diagnostics.add(text);
            }
            let bytes = diagnostics.joined().len();
            assert!((Diagnostics::MAX_BYTES - 2..=Diagnostics::MAX_BYTES).contains(&bytes), "{bytes} bytes of {text}");
        }
    }
}
