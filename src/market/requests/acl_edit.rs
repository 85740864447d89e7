//! Edits of the ACL's text that leave every other line as it is: comments, order, spaces and line ends.

use super::acl::{Acl, Role};
use super::acl_line::{AclError, BLANKS, BYTE_ORDER_MARK};
use super::key::Key;

/// Why an edit is refused; the text stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AclEditError {
    /// A line of the present text does not count: repair it first.
    #[error("{0}; repair the file first")]
    Line(#[from] AclError),
    /// The user to add is there.
    #[error("{file} has the user {user:?} already; expected another name, or: jobtracker user key {user}")]
    Exists { file: String, user: String },
    /// The user to change is not there.
    #[error("{file} has no user {user:?}")]
    Unknown { file: String, user: String },
    /// A name that no line can have.
    #[error(
        "{0:?} cannot be the name of a user; expected a word without blanks and control characters, and no # before it"
    )]
    Name(String),
}

/// The text of an ACL, and its name for errors.
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
    use super::*;

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
