//! The secret that a user signs with, never printed; and keys that stay valid for a while after a user has another:
//! `user until_ms key` lines of a file beside the ACL.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::market::money::KeyId;

use super::acl_line::{
    AclError, AclProblem, BYTE_ORDER_MARK, has_control_character, lines_of, shown_word, three_fields,
};

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

/// The longest time for which an old key stays valid, ms.
pub(crate) const MAX_RETIRING_MS: i64 = 7 * 86_400_000;
/// Tolerated on top, since clocks differ and are corrected.
const CLOCK_TOLERANCE_MS: i64 = 3_600_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetiringKey {
    pub user: String,
    /// From when on it is no longer valid, epoch ms.
    pub until_ms: i64,
    pub key: Key,
}

impl RetiringKey {
    /// Whether it may sign at `now_ms`, epoch ms: it has not expired, and does not claim to be valid for longer than [`MAX_RETIRING_MS`].
    pub(crate) fn is_valid(&self, now_ms: i64) -> bool {
        let latest_ms = now_ms.saturating_add(MAX_RETIRING_MS).saturating_add(CLOCK_TOLERANCE_MS);
        now_ms < self.until_ms && self.until_ms <= latest_ms
    }

    /// Reads all lines, with those that do not count. `origin` names the file in errors.
    pub(crate) fn parse_all(text: &str, origin: &str) -> (Vec<RetiringKey>, Vec<AclError>) {
        let (mut keys, mut errors) = (Vec::new(), Vec::new());
        for (line, number) in lines_of(text) {
            match parse_line(line) {
                Ok(key) => keys.push(key),
                Err(problem) => {
                    let text = shown_word(line);
                    errors.push(AclError { file: origin.to_owned(), line: number, text, problem });
                }
            }
        }
        (keys, errors)
    }
}

fn parse_line(line: &str) -> Result<RetiringKey, AclProblem> {
    let [user, until, key] = three_fields(line).ok_or(AclProblem::RetiringFields)?;
    if has_control_character([user, until, key]) {
        return Err(AclProblem::ControlCharacter);
    }
    let until_ms = until.parse().map_err(|_| AclProblem::Until)?;
    Ok(RetiringKey { user: user.to_owned(), until_ms, key: Key::new(key) })
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

    #[test]
    fn lines_have_a_user_a_time_and_a_key() {
        let (keys, errors) = RetiringKey::parse_all("# old\nalice 5000 k0\r\n\talice\t6000  k1\n", "acl.retiring");
        assert_eq!(errors, []);
        let times: Vec<_> = keys.iter().map(|key| (key.user.as_str(), key.until_ms)).collect();
        assert_eq!(times, [("alice", 5000), ("alice", 6000)]);
        let (keys, errors) = RetiringKey::parse_all("alice soon s3cret\nalice 5000\nbob 1 k\n", "acl.retiring");
        assert_eq!(keys.len(), 1);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                r#"acl.retiring:1: the second field is no time; expected milliseconds since 1970: "alice …""#,
                r#"acl.retiring:2: expected three fields: user until_ms key: "alice …""#,
            ]
        );
    }

    #[test]
    fn a_key_is_valid_until_its_time_and_no_longer_than_seven_days() {
        let key = |until_ms| RetiringKey { user: "alice".to_owned(), until_ms, key: Key::new("k") };
        let now_ms = 1_000_000_000_000;
        assert!(key(now_ms + 1).is_valid(now_ms));
        assert!(!key(now_ms).is_valid(now_ms));
        assert!(key(now_ms + MAX_RETIRING_MS).is_valid(now_ms));
        assert!(!key(now_ms + MAX_RETIRING_MS + CLOCK_TOLERANCE_MS + 1).is_valid(now_ms));
        assert!(!key(i64::MAX).is_valid(now_ms));
    }
}
