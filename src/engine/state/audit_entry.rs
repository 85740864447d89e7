//! An entry of the audit log: a change of a job, of money or of the cluster with its author, or the refusal of one.

use std::fmt;

/// A line of the audit log, without its time.
///
/// ```text
/// kill job=job_202611240913_0007 user=alice
/// denied add-budget queue=bob user=alice amount=100 why="addBudget needs the role admin, which alice has not"
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub(crate) verb: &'static str,
    /// Whether it was refused by an access list, a role or a signature.
    pub(crate) is_denied: bool,
    /// Who did it; for a refusal perhaps only what the caller claims.
    pub(crate) user: String,
    /// What it was done to, and how; in this order.
    pub(crate) fields: Vec<(&'static str, String)>,
}

/// In place of a user, where a change does not show its author.
pub(crate) const UNKNOWN_USER: &str = "-";

impl AuditEntry {
    pub(crate) fn new(verb: &'static str, user: impl Into<String>) -> Self {
        Self { verb, is_denied: false, user: user.into(), fields: Vec::new() }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.fields.push((name, value.to_string()));
        self
    }

    /// The same with one more field, if there is a value.
    #[must_use]
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    #[must_use]
    pub(crate) fn denied(self) -> Self {
        Self { is_denied: true, ..self }
    }
}

impl fmt::Display for AuditEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let denied = if self.is_denied { "denied " } else { "" };
        write!(formatter, "{denied}{} user={}", self.verb, word(&self.user))?;
        self.fields.iter().try_for_each(|(name, value)| write!(formatter, " {name}={}", word(value)))
    }
}

/// A value as one word: in quotes, with line breaks and quotes escaped, where it would be taken for more or less than one.
fn word(value: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "_-.:/@+,*".contains(character);
    match value.is_empty() || !value.chars().all(is_plain) {
        true => format!("{value:?}"),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_makes_a_line_or_a_field_of_its_own() {
        let entry = AuditEntry::new("add-budget", "root").with("queue", "alice").with("amount", "-1.5");
        assert_eq!(entry.to_string(), "add-budget user=root queue=alice amount=-1.5");
        let entry = AuditEntry::new("submit", "a b").with("name", "x\nkill job=\"1\"").with_some("note", None::<&str>);
        assert_eq!(entry.denied().to_string(), r#"denied submit user="a b" name="x\nkill job=\"1\"""#);
        assert_eq!(AuditEntry::new("kill", "").with("job", "ärger").to_string(), r#"kill user="" job=ärger"#);
    }
}
