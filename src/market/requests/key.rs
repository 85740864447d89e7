//! The secret that a user signs with; never printed.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::market::money::KeyId;

use super::acl_line::{BYTE_ORDER_MARK, three_fields};

#[derive(Clone, PartialEq, Eq)]
pub struct Key(Box<str>);

/// Why a text is not a key alone. No key of the ACL file is such a text, so that every signature with it would be denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyFault {
    #[error("is empty")]
    Empty,
    #[error("is not UTF-8 text: save the file as UTF-8, without a byte order mark")]
    NotText,
    #[error("begins with a byte order mark: save the file as UTF-8 without one")]
    ByteOrderMark,
    #[error("holds a comment: write the key alone")]
    Comment,
    #[error("holds a whole line of the ACL file: write its third word, the key, alone")]
    AclLine,
    #[error("has more than one line: write the key alone")]
    Lines,
    /// A blank parts the fields of the ACL file.
    #[error("has a blank inside, which no key of the ACL file has: write the key alone")]
    Blank,
    #[error("has a control character inside, which no key of the ACL file has: write the key alone")]
    ControlCharacter,
}

impl Key {
    pub fn new(text: &str) -> Self {
        Key(Box::from(text))
    }

    /// The key that a file has, with nothing else but blanks and line ends around it.
    pub(crate) fn alone_in(bytes: &[u8]) -> Result<Self, KeyFault> {
        let text = std::str::from_utf8(bytes).map_err(|_| KeyFault::NotText)?;
        if text.starts_with(BYTE_ORDER_MARK) {
            return Err(KeyFault::ByteOrderMark);
        }
        let key = text.trim();
        if key.is_empty() {
            return Err(KeyFault::Empty);
        }
        let has_lines = key.contains(['\n', '\r']);
        let has_blank = key.contains(char::is_whitespace);
        if has_blank && key.lines().any(|line| line.trim_start().starts_with('#')) {
            return Err(KeyFault::Comment);
        }
        if key.lines().any(is_acl_line) {
            return Err(KeyFault::AclLine);
        }
        match (has_lines, has_blank) {
            (true, _) => Err(KeyFault::Lines),
            (false, true) => Err(KeyFault::Blank),
            (false, false) if key.contains(char::is_control) => Err(KeyFault::ControlCharacter),
            (false, false) => Ok(Self::new(key)),
        }
    }

    /// Whether it has quotes around it. They count as part of it, and few keys of the ACL file have any.
    pub(crate) fn is_quoted(&self) -> bool {
        let inner = |quote: char| self.0.strip_prefix(quote).and_then(|key| key.strip_suffix(quote));
        ['"', '\'', '`'].into_iter().any(|quote| inner(quote).is_some())
    }

    /// The text, for a file that has keys.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    pub(crate) fn key_id(&self) -> KeyId {
        let digest: [u8; 32] = Sha256::digest(self.as_bytes()).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        KeyId(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

fn is_acl_line(line: &str) -> bool {
    three_fields(line.trim()).is_some_and(|[_, role, _]| matches!(role, "user" | "admin"))
}

/// Never prints the key.
impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_alone_in_its_file() {
        for text in ["alicekey-abc", "alicekey-abc\n", " \talicekey-abc \r\n\n"] {
            assert_eq!(Key::alone_in(text.as_bytes()), Ok(Key::new("alicekey-abc")), "{text:?}");
        }
        assert_eq!(
            Key::alone_in("#k\u{e9}y".as_bytes()),
            Ok(Key::new("#k\u{e9}y")),
            "a key may begin with any character"
        );
    }

    #[test]
    fn what_is_wrong_with_a_key_file_is_named() {
        let cases: [(&[u8], KeyFault); 13] = [
            (b"", KeyFault::Empty),
            (b" \n", KeyFault::Empty),
            (b"\xef\xbb\xbfalicekey-abc\n", KeyFault::ByteOrderMark),
            (b"\xff\xfea\0l\0", KeyFault::NotText),
            (b"# key of alice\nalicekey-abc\n", KeyFault::Comment),
            (b"alicekey-abc\n#old\n", KeyFault::Comment),
            (b"# alicekey-abc", KeyFault::Comment),
            (b"alice user alicekey-abc\n", KeyFault::AclLine),
            (b"root\tadmin  rootkey\nalice user alicekey-abc\n", KeyFault::AclLine),
            (b"alicekey-abc\nother\n", KeyFault::Lines),
            (b"alicekey-abc # mine", KeyFault::Blank),
            (b"alicekey\t-abc", KeyFault::Blank),
            (b"alice\x07key", KeyFault::ControlCharacter),
        ];
        for (bytes, fault) in cases {
            assert_eq!(Key::alone_in(bytes), Err(fault), "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn files_with_more_than_a_key_are_no_keys() {
        let mark = include_bytes!("../../../tests/fixtures/faults/key-file-with-byte-order-mark.key");
        let comment = include_bytes!("../../../tests/fixtures/faults/key-file-with-comment.key");
        assert_eq!(
            [Key::alone_in(mark), Key::alone_in(comment)],
            [Err(KeyFault::ByteOrderMark), Err(KeyFault::Comment)]
        );
    }

    #[test]
    fn quotes_around_a_key_are_seen() {
        for (key, is_quoted) in [("\"k\"", true), ("'k'", true), ("\"k", false), ("k'k", false), ("\"", false)] {
            assert_eq!(Key::new(key).is_quoted(), is_quoted, "{key}");
        }
    }
}
