//! Output: unchanged into a file or a pipe; on a terminal, control characters are escaped.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Prints to stdout.
///
/// # Errors
/// The system's error, except for a closed pipe, as by `head`.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    match stdout.write_all(shown(text, stdout.is_terminal()).as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Prints a line to stderr.
pub(super) fn print_error(line: &str) {
    let is_terminal = io::stderr().is_terminal();
    eprintln!("{}", shown(line, is_terminal));
}

fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { visible(text) } else { Cow::Borrowed(text) }
}

/// Escapes control characters, except for line breaks and tabs, and marks of writing direction, as
/// `\u{1b}`: otherwise a job's name or log could move the cursor, set the clipboard or falsify the output.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_treacherous) {
        return Cow::Borrowed(text);
    }
    let mut visible = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_treacherous(character) {
            // Writing to a string cannot fail.
            let _ = write!(visible, "{}", character.escape_default());
        } else {
            visible.push(character);
        }
    }
    Cow::Owned(visible)
}

fn is_treacherous(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_escaped() {
        let name = "a\u{1b}]52;c;aGk=\u{7}b\rc\u{9b}31m\u{202e}gpj.exe\u{2066}\u{200f}\u{61c}\u{7f}\0";
        let written = r"a\u{1b}]52;c;aGk=\u{7}b\rc\u{9b}31m\u{202e}gpj.exe\u{2066}\u{200f}\u{61c}\u{7f}\u{0}";
        assert_eq!(shown(name, true), written);
        assert_eq!(shown(name, false), name, "a file or a program gets the bytes");
    }

    #[test]
    fn texts_of_any_language_stay_as_they_are() {
        for text in ["", "one\ttwo\nthree\n", "größe 大小 שלום 👩\u{200d}💻", "back\\slash"] {
            assert!(matches!(shown(text, true), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }
}
