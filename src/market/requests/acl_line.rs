//! Lines of the files that have keys, and what is wrong with them. No error has a key.

use crate::model::excerpt;

pub(super) const BLANKS: [char; 2] = [' ', '\t'];
/// What some editors put before the first line.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}: {text:?}")]
pub struct AclError {
    /// The file, or what else the list was read from.
    pub(crate) file: String,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// The first word of the line; the rest may hold a key and is not shown.
    pub(crate) text: String,
    pub(crate) problem: AclProblem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AclProblem {
    #[error("expected three fields: user role key")]
    Fields,
    /// It has a character that no editor shows.
    #[error("a control character; expected: user role key")]
    ControlCharacter,
    #[error("the role is neither `user` nor `admin`; expected: user role key")]
    Role,
    #[error("the user has line {first} already; expected one line for each")]
    Repeated { first: usize },
    #[error("expected three fields: user until_ms key")]
    RetiringFields,
    #[error("the second field is no time; expected milliseconds since 1970")]
    Until,
}

/// The lines that are neither empty nor comments, without blanks around them, with their numbers from 1.
pub(super) fn lines_of(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines = text.trim_start_matches(BYTE_ORDER_MARK).lines().map(|line| line.trim_matches(BLANKS)).zip(1..);
    lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'))
}

pub(super) fn three_fields(line: &str) -> Option<[&str; 3]> {
    let mut fields = line.split(BLANKS).filter(|field| !field.is_empty());
    let three = [fields.next()?, fields.next()?, fields.next()?];
    fields.next().is_none().then_some(three)
}

pub(super) fn has_control_character(fields: [&str; 3]) -> bool {
    fields.into_iter().any(|field| field.chars().any(char::is_control))
}

/// The user's name, where something follows it: a lone word may be a key.
pub(super) fn shown_word(line: &str) -> String {
    match line.split_once(BLANKS) {
        Some((word, _)) => format!("{} …", excerpt(word)),
        None => "…".to_owned(),
    }
}
