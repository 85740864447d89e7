//! A whole body: JSON, limits of numbers, then every member; and texts that several bodies have.

use std::collections::BTreeMap;

use crate::engine::BodyFault;
use crate::model::{ApplicationId, ContainerId, HttpUrl, LaunchContext};

use super::super::json::{Findings, Item, JsonValue};
use super::launch_context::read_context;

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

/// Stored contexts of an application.
const MAX_SPECS: usize = 100;
const MAX_SPEC_NAME_BYTES: usize = 64;

pub(super) fn application_id(item: Item<'_>) -> Option<ApplicationId> {
    item.parsed("an application id such as application_1700000000000_0001", |text| text.parse().ok())
}

pub(super) fn container_id(item: Item<'_>) -> Option<ContainerId> {
    item.parsed("a container id such as container_1700000000000_0001_01_000001", |text| text.parse().ok())
}

/// Where people look at an application. Only these schemes: pages show it as a link.
pub(super) fn tracking_url(item: Item<'_>) -> Option<String> {
    item.text_of(0..=2_048)?;
    item.parsed("a URL that begins with http:// or https://, with a host and no port beyond 65535", |text| {
        let is_url = HttpUrl::parse_also_secure(text).is_ok();
        let is_plain = !text.contains(|c: char| c.is_control() || c.is_whitespace());
        (is_url && is_plain).then(|| text.to_owned())
    })
}

/// The name of a queue; whether there is one is for the engine to say.
pub(super) fn queue(item: Item<'_>) -> Option<String> {
    name_without_blanks(item, "the name of a queue, without blanks")
}

/// The name of a host, the path of a rack, or `*`.
pub(super) fn place(item: Item<'_>) -> Option<String> {
    name_without_blanks(item, "a host, a rack that begins with /, or *")
}

pub(super) fn host_or_rack(item: Item<'_>) -> Option<String> {
    let name = name_without_blanks(item, "a host, or a rack that begins with /")?;
    if name == "*" { item.refuse("expected a host or a rack, found *") } else { Some(name) }
}

fn name_without_blanks(item: Item<'_>, expected: &str) -> Option<String> {
    item.text_of(1..=255)?;
    item.parsed(expected, |text| {
        let is_plain = !text.contains(|c: char| c.is_control() || c.is_whitespace());
        is_plain.then(|| text.to_owned())
    })
}

pub(super) fn spec_name(item: Item<'_>) -> Option<String> {
    let expected = "the name of a stored context: 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -";
    item.parsed(expected, |text| is_spec_name(text).then(|| text.to_owned()))
}

fn is_spec_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=MAX_SPEC_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_part)
}

pub(super) fn specs(item: Item<'_>) -> Option<BTreeMap<String, LaunchContext>> {
    let members = item.each_member(MAX_SPECS, |name, context| {
        if !is_spec_name(name) {
            return context.refuse("the name has to be 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -");
        }
        read_context(context)
    });
    Some(members?.into_iter().collect())
}
