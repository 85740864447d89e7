//! Log lines: a value that a caller wrote can neither start a line of its own nor display as something else.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// What libraries add that write to the `log` crate: places in their source.
const OF_LIBRARIES: &str = "log.";

/// Formats values as tracing does, with control characters but tabs, line breaks and bidirectional marks escaped, as `\n` or `\u{202e}`.
pub(super) struct EscapedFields;

struct EscapedVisitor<'writer> {
    writer: Writer<'writer>,
    is_first: bool,
    done: fmt::Result,
}

impl<'writer> FormatFields<'writer> for EscapedFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut visitor = EscapedVisitor { writer, is_first: true, done: Ok(()) };
        fields.record(&mut visitor);
        visitor.done
    }
}

impl EscapedVisitor<'_> {
    fn write(&mut self, name: &str, value: &dyn fmt::Debug) -> fmt::Result {
        if !std::mem::replace(&mut self.is_first, false) {
            self.writer.write_char(' ')?;
        }
        match name {
            "message" => write!(Escaped(&mut self.writer), "{value:?}"),
            name => write!(Escaped(&mut self.writer), "{name}={value:?}"),
        }
    }
}

impl Visit for EscapedVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.done.is_ok() && !field.name().starts_with(OF_LIBRARIES) {
            self.done = self.write(field.name(), value);
        }
    }
}

/// Writes texts with misleading characters escaped.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (start, character) in text.char_indices().filter(|(_, character)| is_treacherous(*character)) {
            self.0.write_str(&text[plain..start])?;
            write!(self.0, "{}", character.escape_default())?;
            plain = start + character.len_utf8();
        }
        self.0.write_str(&text[plain..])
    }
}

fn is_treacherous(character: char) -> bool {
    match character {
        // Between the pairs of Hadoop's audit lines; it begins no line.
        '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::Lines;

    /// What the log has of these events.
    fn lines_of(events: impl FnOnce()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .fmt_fields(EscapedFields)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, events);
        lines.text()
    }

    #[test]
    fn one_event_is_one_line_whatever_others_have_written_into_it() {
        let text = lines_of(|| {
            let name = "a\n2026-01-01T00:00:00Z INFO jobtracker: forged\r\u{1b}[2J\u{202e}\u{2028}";
            tracing::warn!(user = %name, "{name} registered");
            tracing::info!(user = name, "größe 大小");
        });
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains(['\r', '\u{1b}', '\u{202e}', '\u{2028}']), "{text}");
        let named = r"a\n2026-01-01T00:00:00Z INFO jobtracker: forged\r\u{1b}[2J\u{202e}\u{2028}";
        assert!(text.contains(&format!("{named} registered user={named}")), "{text}");
        assert!(text.contains("größe 大小"), "{text}");
    }

    #[test]
    fn places_in_the_source_of_libraries_are_left_out() {
        let text = lines_of(|| {
            tracing::info!(log.file = "/registry/connection.rs", queue = "alice", log.line = 7, "a notice");
        });
        assert!(text.ends_with("a notice queue=\"alice\"\n"), "{text}");
    }
}
