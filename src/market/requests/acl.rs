//! The ACL of signers: `user role key` lines.
//!
//! Invariants: an [`Acl`] is exactly the content of one file, and no key ever appears in a debug print or an error.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::market::money::KeyId;

/// Characters of a bad line that an error repeats.
const SHOWN_CHARACTERS: usize = 64;

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything, on every queue.
    Admin,
    /// Read the queue of the same name and set its spending rate.
    User,
}

/// The secret that a user signs with.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Box<str>);

/// One user's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclEntry {
    /// What the user may do.
    pub role: Role,
    /// The secret that the user signs with.
    pub key: Key,
}

/// The users who may sign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl {
    entries: BTreeMap<String, AclEntry>,
}

/// A line that is not `user role key`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}: {text:?}")]
pub struct AclError {
    /// The file, or what else the list was read from.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The first word of the line; the rest may hold a key and is not shown.
    pub text: String,
    /// What is wrong.
    pub reason: &'static str,
}

// === impl Acl ===

impl Acl {
    /// Reads a list. `origin` names it in errors.
    ///
    /// Each line is `user role key` with one blank between. The role `admin` gives [`Role::Admin`], every other word
    /// [`Role::User`]; the last line of a user counts. Empty lines and lines that begin with `#` are ignored.
    pub fn parse(text: &str, origin: &str) -> Result<Acl, AclError> {
        let mut entries = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_end_matches(' ');
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (user, entry) = parse_line(line).map_err(|reason| AclError {
                file: origin.to_owned(),
                line: index + 1,
                text: first_word(line),
                reason,
            })?;
            entries.insert(user.to_owned(), entry);
        }
        Ok(Acl { entries })
    }

    /// The line of a user.
    pub fn get(&self, user: &str) -> Option<&AclEntry> {
        self.entries.get(user)
    }

    /// Number of users.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no user may sign.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

fn parse_line(line: &str) -> Result<(&str, AclEntry), &'static str> {
    let mut fields = line.split(' ');
    let (Some(user), Some(role), Some(key), None) = (fields.next(), fields.next(), fields.next(), fields.next()) else {
        return Err("expected three fields with one blank between: user role key");
    };
    if user.is_empty() || role.is_empty() || key.is_empty() {
        return Err("a field is empty; expected one blank between: user role key");
    }
    if line.chars().any(char::is_control) {
        return Err("a control character; expected: user role key");
    }
    let role = if role == "admin" { Role::Admin } else { Role::User };
    Ok((user, AclEntry { role, key: Key::new(key) }))
}

/// The user's name, where something follows it: a lone word may be a key.
fn first_word(line: &str) -> String {
    match line.trim_start().split_once(' ') {
        Some((word, _)) => format!("{} …", word.chars().take(SHOWN_CHARACTERS).collect::<String>()),
        None => "…".to_owned(),
    }
}

// === impl Key ===

impl Key {
    /// A key from the text in the list.
    pub fn new(text: &str) -> Self {
        Key(Box::from(text))
    }

    /// The bytes to sign with: UTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The id of this key.
    pub fn key_id(&self) -> KeyId {
        let digest: [u8; 32] = Sha256::digest(self.as_bytes()).into();
        let [a, b, c, d, e, f, g, h, ..] = digest;
        KeyId(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
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

    fn parse(text: &str) -> Result<Acl, AclError> {
        Acl::parse(text, "/etc/hadoop.acl")
    }

    #[test]
    fn lines_become_users() {
        let acl = parse("alice user k1\nroot admin k2\r\nbob ADMIN k3\ncarol anything kä\n").unwrap();
        assert_eq!(acl.len(), 4);
        assert_eq!(acl.get("root").map(|entry| entry.role), Some(Role::Admin));
        assert_eq!(acl.get("bob").map(|entry| entry.role), Some(Role::User));
        assert_eq!(acl.get("root").unwrap().key, Key::new("k2"));
        assert_eq!(acl.get("carol").unwrap().key.as_bytes(), "kä".as_bytes());
        assert_eq!(acl.get("dave"), None);
    }

    #[test]
    fn the_last_line_of_a_user_counts() {
        assert_eq!(parse("a user k1\na admin k2").unwrap().get("a").unwrap().role, Role::Admin);
    }

    /// Defect 2: an empty line froze the original.
    #[test]
    fn defect_02_empty_lines_are_passed_over_and_bad_lines_are_named() {
        assert_eq!(parse("\na user k\n\n  \n# b admin k\n").unwrap().len(), 1);
        for bad in ["a user", "a", " a user k", "a  user k", "a user k k2", "a\tuser k", "a user k\u{7}"] {
            let error = parse(&format!("ok user k\n{bad}\n")).unwrap_err();
            assert_eq!((error.file.as_str(), error.line), ("/etc/hadoop.acl", 2), "{bad:?}");
        }
    }

    #[test]
    fn no_key_is_ever_printed() {
        let acl = parse("alice user s3cret").unwrap();
        assert!(!format!("{acl:?}").contains("s3cret"));
        for bad in ["alice user s3cret more", "s3cret", "alice  s3cret"] {
            let error = parse(bad).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_key_id_tells_keys_apart() {
        assert_eq!(Key::new("a").key_id(), Key::new("a").key_id());
        assert_ne!(Key::new("a").key_id(), Key::new("b").key_id());
        // The first 8 bytes of SHA-256("abc").
        assert_eq!(Key::new("abc").key_id(), KeyId(0xba78_16bf_8f01_cfea));
    }
}
