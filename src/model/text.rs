//! Values as text: bytes in hexadecimal digits, numbers of things, and words of a POSIX shell.

use std::fmt::Write as _;

/// Bytes in lower-case hexadecimal digits, two for each.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of pairs of hexadecimal digits; none of another text.
#[must_use]
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// So many of something: `1 job`, `2 jobs`; a noun whose plural ends in an s.
pub(crate) fn counted(number: impl TryInto<u128>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u128::MAX);
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The beginning of a text of a caller's, as errors repeat it.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST_CHARACTERS: usize = 64;
    text.chars().take(MOST_CHARACTERS).collect()
}

/// A text as one word, quoted if needed.
pub(crate) fn as_shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:@%+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) { text.to_owned() } else { quoted_as_shell_word(text) }
}

/// A text as one word, quoted.
pub(crate) fn quoted_as_shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
        assert_eq!(hex(&[]), "");
        assert_eq!([from_hex("000AfF"), from_hex("")], [Some(vec![0, 10, 255]), Some(vec![])]);
        assert_eq!(["0", "0g", "+1", "ä"].map(from_hex), [const { None }; 4]);
    }

    #[test]
    fn one_is_singular_and_all_others_are_plural() {
        let texts = [0_u32, 1, 2].map(|number| counted(number, "map slot"));
        assert_eq!(texts, ["0 map slots", "1 map slot", "2 map slots"]);
        assert_eq!(counted(1_usize, "queue"), "1 queue");
    }

    #[test]
    fn what_a_shell_would_read_is_quoted() {
        let words = ["a.b=1,2", "", "$(reboot)", "it's", "<i>", "a b"].map(as_shell_word);
        assert_eq!(words, ["a.b=1,2", "''", "'$(reboot)'", r"'it'\''s'", "'<i>'", "'a b'"]);
    }
}
