//! The ACL of signers: `user role key` lines.
//!
//! Invariants: an [`Acl`] is exactly the content of one file, and no key ever appears in a debug print or an error.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::acl_line::{
    AclError, AclProblem, BLANKS, BYTE_ORDER_MARK, has_control_character, lines_of, shown_word, three_fields,
};
use super::key::{Key, RetiringKey};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything, on every queue.
    Admin,
    /// Read the queue of the same name and set its spending rate.
    User,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AclEntry {
    pub role: Role,
    pub key: Key,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acl {
    entries: BTreeMap<String, AclEntry>,
    retiring: Vec<RetiringKey>,
}

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
    pub(crate) fn parse_all(text: &str, origin: &str) -> (Acl, Vec<AclError>) {
        let (mut entries, mut lines) = (BTreeMap::new(), BTreeMap::new());
        let mut errors = Vec::new();
        for (line, number) in lines_of(text) {
            let parsed = parse_line(line).and_then(|(user, entry)| match lines.insert(user, number) {
                None => Ok((user, entry)),
                Some(first) => Err(AclProblem::Repeated { first }),
            });
            match parsed {
                Ok((user, entry)) => drop(entries.insert(user.to_owned(), entry)),
                Err(problem) => {
                    let text = shown_word(line);
                    errors.push(AclError { file: origin.to_owned(), line: number, text, problem });
                }
            }
        }
        (Acl { entries, retiring: Vec::new() }, errors)
    }

    /// The same list with old keys of its users; those of other users do not count.
    #[must_use]
    pub fn with_retiring(mut self, keys: impl IntoIterator<Item = RetiringKey>) -> Self {
        self.retiring.extend(keys.into_iter().filter(|key| self.entries.contains_key(&key.user)));
        self
    }

    /// The list without old keys that are not valid at `now_ms`, epoch ms; none if all are.
    pub(crate) fn without_expired(&self, now_ms: i64) -> Option<Self> {
        let is_valid = |key: &RetiringKey| key.is_valid(now_ms);
        if self.retiring.iter().all(is_valid) {
            return None;
        }
        let retiring = self.retiring.iter().filter(|key| is_valid(key)).cloned().collect();
        Some(Acl { entries: self.entries.clone(), retiring })
    }

    /// The keys that a user signs with: the one of its line first, then old ones.
    pub(crate) fn keys_of(&self, user: &str) -> impl Iterator<Item = &Key> {
        let old = self.retiring.iter().filter(move |key| key.user == user).map(|key| &key.key);
        self.entries.get(user).map(|entry| &entry.key).into_iter().chain(old)
    }

    pub(crate) fn retiring(&self) -> &[RetiringKey] {
        &self.retiring
    }

    pub(crate) fn users(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub(crate) fn admins(&self) -> usize {
        self.entries.values().filter(|entry| entry.role == Role::Admin).count()
    }

    pub fn get(&self, user: &str) -> Option<&AclEntry> {
        self.entries.get(user)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

fn parse_line(line: &str) -> Result<(&str, AclEntry), AclProblem> {
    let [user, role, key] = three_fields(line).ok_or(AclProblem::Fields)?;
    if has_control_character([user, role, key]) {
        return Err(AclProblem::ControlCharacter);
    }
    let role = match role {
        "admin" => Role::Admin,
        "user" => Role::User,
        _ => return Err(AclProblem::Role),
    };
    Ok((user, AclEntry { role, key: Key::new(key) }))
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Role::Admin => "admin",
            Role::User => "user",
        })
    }
}

/// Why an edit is refused; the text stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AclEditError {
    #[error("{0}; repair the file first")]
    Line(#[from] AclError),
    #[error("{file} has the user {user:?} already; expected another name, or: jobtracker user key {user}")]
    Exists { file: String, user: String },
    #[error("{file} has no user {user:?}")]
    Unknown { file: String, user: String },
    #[error(
        "{0:?} cannot be the name of a user; expected a word without blanks and control characters, and no # before it"
    )]
    Name(String),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct AclText<'a> {
    pub(crate) text: &'a str,
    pub(crate) file: &'a str,
}

impl AclText<'_> {
    /// The text with one more user at its end.
    pub(crate) fn with_user(self, user: &str, role: Role, key: &str) -> Result<String, AclEditError> {
        let is_word = !user.is_empty() && !user.starts_with('#') && !user.starts_with(BYTE_ORDER_MARK);
        if !is_word || user.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(AclEditError::Name(user.to_owned()));
        }
        if self.parse()?.get(user).is_some() {
            return Err(AclEditError::Exists { file: self.file.to_owned(), user: user.to_owned() });
        }
        let end = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let before = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { end };
        Ok(format!("{}{before}{user} {role} {key}{end}", self.text))
    }

    /// The text without the user's line, and the role that it had.
    pub(crate) fn without_user(self, user: &str) -> Result<(String, Role), AclEditError> {
        let role = self.entry(user)?.0;
        Ok((self.text.split_inclusive('\n').filter(|line| user_of(line) != Some(user)).collect(), role))
    }

    /// The text with another key in the user's line, and the key that stood there.
    pub(crate) fn with_key(self, user: &str, key: &str) -> Result<(String, Key), AclEditError> {
        let old = self.entry(user)?.1;
        let lines = self.text.split_inclusive('\n').map(|line| match user_of(line) == Some(user) {
            true => replace_last_field(line, key),
            false => line.to_owned(),
        });
        Ok((lines.collect(), old))
    }

    fn entry(self, user: &str) -> Result<(Role, Key), AclEditError> {
        let acl = self.parse()?;
        let unknown = || AclEditError::Unknown { file: self.file.to_owned(), user: user.to_owned() };
        acl.get(user).map(|entry| (entry.role, entry.key.clone())).ok_or_else(unknown)
    }

    fn parse(self) -> Result<Acl, AclError> {
        Acl::parse(self.text, self.file)
    }
}

/// The first word of a line that is no comment.
fn user_of(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(BYTE_ORDER_MARK).trim_start_matches(BLANKS);
    let word = line.split(|c: char| c.is_whitespace()).next()?;
    (!word.is_empty() && !word.starts_with('#')).then_some(word)
}

fn replace_last_field(line: &str, field: &str) -> String {
    let content = line.trim_end_matches(['\n', '\r', ' ', '\t']);
    let start = content.rfind(BLANKS).map_or(0, |at| at + 1);
    format!("{}{field}{}", &content[..start], &line[content.len()..])
}

#[cfg(test)]
mod tests {
    use crate::market::KeyId;

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

    const TEXT: &str = "\u{feff}# who may sign\r\nroot  admin\tk0\r\n\r\n# the team\r\nalice user k1\r\nbob user k2";

    fn acl(text: &str) -> AclText<'_> {
        AclText { text, file: "acl" }
    }

    #[test]
    fn all_other_lines_stay_as_they_are() {
        let (rotated, old) = acl(TEXT).with_key("root", "new").unwrap();
        assert_eq!(rotated, TEXT.replace("\tk0\r\n", "\tnew\r\n"));
        assert_eq!(old, Key::new("k0"));
        assert_eq!(acl(TEXT).with_key("bob", "new").unwrap().0, TEXT.replace("k2", "new"));
        let (without, role) = acl(TEXT).without_user("alice").unwrap();
        assert_eq!(without, TEXT.replace("alice user k1\r\n", ""));
        assert_eq!(role, Role::User);
        let with = acl(TEXT).with_user("carol", Role::Admin, "k3").unwrap();
        assert_eq!(with, format!("{TEXT}\r\ncarol admin k3\r\n"));
        assert_eq!(Acl::parse(&with, "acl").unwrap().admins(), 2);
        assert_eq!(acl("").with_user("carol", Role::User, "k").unwrap(), "carol user k\n");
    }

    #[test]
    fn what_cannot_be_edited_is_named() {
        let refusal = |result: Result<String, AclEditError>| result.unwrap_err().to_string();
        assert_eq!(
            refusal(acl(TEXT).with_user("alice", Role::User, "k")),
            r#"acl has the user "alice" already; expected another name, or: jobtracker user key alice"#
        );
        assert_eq!(acl(TEXT).without_user("dave").unwrap_err().to_string(), r#"acl has no user "dave""#);
        assert_eq!(acl(TEXT).with_key("the", "k").unwrap_err().to_string(), r#"acl has no user "the""#);
        for name in ["", "a b", "#a", "a\n", "a\tb", "a\u{7}"] {
            assert!(matches!(acl(TEXT).with_user(name, Role::User, "k"), Err(AclEditError::Name(_))), "{name:?}");
        }
        assert_eq!(
            refusal(acl("a usr k\n").with_user("b", Role::User, "k")),
            r#"acl:1: the role is neither `user` nor `admin`; expected: user role key: "a …"; repair the file first"#
        );
    }
}
