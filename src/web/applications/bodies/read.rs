//! A whole body: JSON, limits of numbers, then every member.

use crate::engine::BodyFault;

use super::super::json::{Findings, Item, JsonValue};

/// Why a body is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It is no JSON; with the place.
    NotJson(String),
    /// It has more of something than one call may have.
    TooMany(String),
    /// Members are wrong: at least one finding.
    Invalid(Vec<BodyFault>),
}

/// Reads a body. `refuse_large` says what it has too much of.
pub(crate) fn read_body<T>(
    text: &[u8],
    refuse_large: impl FnOnce(&JsonValue) -> Option<String>,
    read: impl FnOnce(Item<'_>) -> Option<T>,
) -> Result<T, BodyError> {
    let value = JsonValue::read(text).map_err(BodyError::NotJson)?;
    if let Some(text) = refuse_large(&value) {
        return Err(BodyError::TooMany(text));
    }
    let findings = Findings::default();
    let read = read(Item::body(&value, &findings));
    match (read, findings.into_vec()) {
        (Some(read), found) if found.is_empty() => Ok(read),
        (_, found) => Err(BodyError::Invalid(found)),
    }
}

impl BodyError {
    /// Whether only rows of `ask` and launches are wrong.
    pub(crate) fn is_of_requests(&self) -> bool {
        let of_request = |found: &BodyFault| {
            let first = found.pointer.trim_start_matches("#/").split('/').next();
            matches!(first, Some("ask" | "launch"))
        };
        matches!(self, Self::Invalid(findings) if findings.iter().all(of_request))
    }
}
