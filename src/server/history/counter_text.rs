//! Counters as one text (1.2.1 `Counters.makeEscapedCompactString`):
//! `{(group)(display name)[(counter)(display name)(value)]…}…`.

use crate::wire::Counters;

use super::record::push_escaped;

/// Characters of a name that get a backslash (1.2.1 `Counters.charsToEscape`), and the backslash itself.
const ESCAPED_IN_NAMES: &[char] = &['{', '}', '[', ']', '(', ')', '\\'];

/// The text of counters; empty without any.
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
