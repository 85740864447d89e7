//! Output: unchanged into a file or a pipe; on a terminal, control characters are escaped and characters are whole.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use std::io::{ErrorKind, IsTerminal, Write};

/// Prints to stdout. Errors: the system's error, except for a closed pipe, as by `head`.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    match stdout.write_all(shown(text, stdout.is_terminal()).as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

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

/// A text of somebody else's, with whatever could end its line or move the cursor escaped.
pub(crate) fn one_line(text: &str) -> String {
    let escaped = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// The bytes without an incomplete character at their end, which its rest will follow.
pub(super) fn whole_characters(part: &[u8]) -> &[u8] {
    match std::str::from_utf8(part.get(part.len().saturating_sub(4)..).unwrap_or(part)) {
        Ok(_) => part,
        // From the middle of a character on, the bytes are no text for another reason than their end.
        Err(_) => {
            let is_start = |byte: &u8| *byte >= 0xc0;
            let last = part.iter().rev().take(4).position(is_start).map(|back| part.len() - 1 - back);
            let is_cut =
                |at: &usize| matches!(std::str::from_utf8(&part[*at..]), Err(error) if error.error_len().is_none());
            last.filter(is_cut).map_or(part, |at| &part[..at])
        }
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

    #[test]
    fn a_character_is_printed_once_it_is_whole() {
        let text = "größe 大小".as_bytes();
        for end in 0..=text.len() {
            let whole = whole_characters(&text[..end]);
            assert!(std::str::from_utf8(whole).is_ok() && end - whole.len() < 4, "{end}");
        }
        for no_text in [&b"ab\xff"[..], b"\xffab", b"a\xf0\x28\x8c", b"", b"\x80\x80\x80\x80\x80"] {
            assert_eq!(whole_characters(no_text), no_text, "bytes that are no text do not wait");
        }
    }
}
