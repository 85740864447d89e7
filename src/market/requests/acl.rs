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
/// Between fields.
const BLANKS: [char; 2] = [' ', '\t'];
/// What some editors put before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

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

/// A line that does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}: {text:?}")]
pub struct AclError {
    /// The file, or what else the list was read from.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The first word of the line; the rest may hold a key and is not shown.
    pub text: String,
    /// What is wrong.
    pub problem: AclProblem,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AclProblem {
    /// It has fewer fields than three, or more.
    #[error("expected three fields: user role key")]
    Fields,
    /// It has a character that no editor shows.
    #[error("a control character; expected: user role key")]
    ControlCharacter,
    /// Its role is another.
    #[error("the role is neither `user` nor `admin`; expected: user role key")]
    Role,
    /// The user has a line already.
    #[error("the user has line {first} already; expected one line for each")]
    Repeated {
        /// That line, counted from 1.
        first: usize,
    },
}

// === impl Acl ===

impl Acl {
    /// Reads a list. `origin` names it in errors.
    ///
    /// Each line is `user role key` with spaces or tabs between; the role is `user` or `admin`, and a user has one line.
    /// Empty lines, lines that begin with `#` and a byte order mark are ignored.
    ///
    /// # Errors
    /// The first line that does not count.
    pub fn parse(text: &str, origin: &str) -> Result<Acl, AclError> {
        let (acl, errors) = Self::parse_all(text, origin);
        errors.into_iter().next().map_or(Ok(acl), Err)
    }

    /// The same with all lines that do not count, beside the list of the others.
    pub fn parse_all(text: &str, origin: &str) -> (Acl, Vec<AclError>) {
        let (mut entries, mut lines) = (BTreeMap::new(), BTreeMap::new());
        let mut errors = Vec::new();
        for (line, number) in text.trim_start_matches(BYTE_ORDER_MARK).lines().zip(1..) {
            let line = line.trim_matches(BLANKS);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = parse_line(line).and_then(|(user, entry)| match lines.insert(user, number) {
                None => Ok((user, entry)),
                Some(first) => Err(AclProblem::Repeated { first }),
            });
            match parsed {
                Ok((user, entry)) => drop(entries.insert(user.to_owned(), entry)),
                Err(problem) => {
                    let text = first_word(line);
                    errors.push(AclError { file: origin.to_owned(), line: number, text, problem });
                }
            }
        }
        (Acl { entries }, errors)
    }

    /// Names of the users.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Number of administrators.
    pub fn admins(&self) -> usize {
        self.entries.values().filter(|entry| entry.role == Role::Admin).count()
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

fn parse_line(line: &str) -> Result<(&str, AclEntry), AclProblem> {
    let mut fields = line.split(BLANKS).filter(|field| !field.is_empty());
    let (Some(user), Some(role), Some(key), None) = (fields.next(), fields.next(), fields.next(), fields.next()) else {
        return Err(AclProblem::Fields);
    };
    if [user, role, key].into_iter().any(|field| field.chars().any(char::is_control)) {
        return Err(AclProblem::ControlCharacter);
    }
    let role = match role {
        "admin" => Role::Admin,
        "user" => Role::User,
        _ => return Err(AclProblem::Role),
    };
    Ok((user, AclEntry { role, key: Key::new(key) }))
}

/// The user's name, where something follows it: a lone word may be a key.
fn first_word(line: &str) -> String {
    match line.split_once(BLANKS) {
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
        let acl = parse("\u{feff}alice user k1\nroot admin k2\r\n\tbob  user\tk3 \ncarol user kä\n").unwrap();
        assert_eq!((acl.len(), acl.admins()), (4, 1));
        assert_eq!(acl.get("root").map(|entry| entry.role), Some(Role::Admin));
        assert_eq!(acl.get("alice").map(|entry| entry.role), Some(Role::User));
        assert_eq!(acl.get("bob").unwrap().key, Key::new("k3"));
        assert_eq!(acl.get("root").unwrap().key, Key::new("k2"));
        assert_eq!(acl.get("carol").unwrap().key.as_bytes(), "kä".as_bytes());
        assert_eq!(acl.get("dave"), None);
    }

    #[test]
    fn a_role_that_is_mistyped_and_a_second_line_of_a_user_are_refused_with_their_lines() {
        for role in ["usr", "USER", "ADMIN", "admim"] {
            assert_eq!(parse(&format!("a {role} s3cret")).unwrap_err().problem, AclProblem::Role);
        }
        let (acl, errors) = Acl::parse_all("a user k1\nb usr k\na admin k2\nc k\n", "acl");
        assert_eq!(acl.users().collect::<Vec<_>>(), ["a"]);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                r#"acl:2: the role is neither `user` nor `admin`; expected: user role key: "b …""#,
                r#"acl:3: the user has line 1 already; expected one line for each: "a …""#,
                r#"acl:4: expected three fields: user role key: "c …""#,
            ]
        );
    }

    /// Defect 2: an empty line froze the original.
    #[test]
    fn defect_02_empty_lines_are_passed_over_and_bad_lines_are_named() {
        assert_eq!(parse("\na user k\n\n  \n# b admin k\n").unwrap().len(), 1);
        for bad in ["a user", "a", "a user k k2", "a user k\u{7}"] {
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
