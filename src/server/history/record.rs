//! One record of a history file of format 1 (1.2.1 `JobHistory.log`): a type, then `KEY="value"` pairs, then a full stop.

use crate::wire::Counters;

/// Characters of a value that get a backslash (1.2.1 `JobHistory.charsToEscape`), and the backslash itself.
const ESCAPED_IN_VALUES: &Escaped = &escaped(br#""=.\"#);

/// Whether a byte gets a backslash: a table, since histories have thousands of bytes for each attempt.
type Escaped = [bool; 256];

const fn escaped(ascii: &[u8]) -> Escaped {
    let mut escaped = [false; 256];
    let mut place = 0;
    while place < ascii.len() {
        escaped[ascii[place] as usize] = true;
        place += 1;
    }
    escaped
}

/// A record that is being put together.
#[derive(Debug)]
pub(super) struct Record {
    text: String,
}

impl Record {
    /// A record without pairs. `kind`: Meta, Job, Task, MapAttempt or ReduceAttempt.
    pub(super) fn new(kind: &str) -> Self {
        Self { text: format!("{kind} ") }
    }

    /// The same with one more pair.
    #[must_use]
    pub(super) fn with(mut self, key: &str, value: &str) -> Self {
        self.text.push_str(key);
        self.text.push_str("=\"");
        push_escaped(&mut self.text, value, ESCAPED_IN_VALUES);
        self.text.push_str("\" ");
        self
    }

    /// The same with one more pair whose value is a number or an id.
    #[must_use]
    pub(super) fn with_number(self, key: &str, value: impl std::fmt::Display) -> Self {
        self.with(key, &value.to_string())
    }

    pub(super) fn into_line(mut self) -> String {
        self.text.push_str(".\n");
        self.text
    }
}

/// Appends a text with a backslash before each of these ASCII characters (1.2.1 `StringUtils.escapeString`).
pub(super) fn push_escaped(text: &mut String, value: &str, escaped: &Escaped) {
    let mut from = 0;
    for (at, _) in value.bytes().enumerate().filter(|(_, byte)| escaped[usize::from(*byte)]) {
        text.push_str(&value[from..at]);
        text.push('\\');
        from = at;
    }
    text.push_str(&value[from..]);
}

pub(super) fn escaped_value(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    push_escaped(&mut text, value, ESCAPED_IN_VALUES);
    text
}

/// Characters of a name that get a backslash (1.2.1 `Counters.charsToEscape`), and the backslash itself.
const ESCAPED_IN_NAMES: &Escaped = &escaped(br"{}[]()\");

/// The text of counters (1.2.1 `Counters.makeEscapedCompactString`), empty without any:
/// `{(group)(display name)[(counter)(display name)(value)]…}…`.
pub(super) fn counter_text(counters: &Counters) -> String {
    let mut text = String::new();
    for group in &counters.groups {
        text.push('{');
        push_unit(&mut text, &group.name);
        push_unit(&mut text, &group.display_name);
        for counter in &group.counters {
            text.push('[');
            push_unit(&mut text, &counter.name);
            push_unit(&mut text, counter.display_name.as_ref().unwrap_or(&counter.name));
            text.push_str(&format!("({})]", counter.value));
        }
        text.push('}');
    }
    text
}

fn push_unit(text: &mut String, name: &str) {
    text.push('(');
    push_escaped(text, name, ESCAPED_IN_NAMES);
    text.push(')');
}
