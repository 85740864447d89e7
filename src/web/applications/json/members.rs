//! The members of an object: each is asked for by its name, and what is left in the end is unknown.

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Display;

use super::item::Item;
use super::place::{Findings, Place};
use super::value::JsonValue;

/// The members of an object while it is read.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    members: &'a [(String, JsonValue)],
    place: Place<'a>,
    findings: &'a Findings,
    /// Names that were asked for.
    known: Vec<&'static str>,
}

impl<'a> Members<'a> {
    pub(crate) fn of(item: Item<'a>) -> Option<Self> {
        let Item { value, place, findings } = item;
        match value {
            JsonValue::Object(members) => Some(Self { members, place, findings, known: Vec::new() }),
            other => item.refuse(format_args!("expected an object, found {other}")),
        }
    }

    /// A member that has to be there.
    pub(crate) fn required<T>(&mut self, name: &'static str, read: impl FnOnce(Item<'_>) -> Option<T>) -> Option<T> {
        match self.optional(name, read)? {
            Some(member) => Some(member),
            None => self.refuse_at(name, "the member is missing"),
        }
    }

    /// A member that may be absent: `None` if it is wrong, `Some(None)` if it is absent.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Item<'_>) -> Option<T>,
    ) -> Option<Option<T>> {
        self.known.push(name);
        match self.members.iter().find(|(member, _)| member == name) {
            None => Some(None),
            Some((_, value)) => read(Item::new(value, Place::Member(&self.place, name), self.findings)).map(Some),
        }
    }

    /// A member that has a value where it is absent.
    pub(crate) fn or<T>(
        &mut self,
        name: &'static str,
        absent: T,
        read: impl FnOnce(Item<'_>) -> Option<T>,
    ) -> Option<T> {
        Some(self.optional(name, read)?.unwrap_or(absent))
    }

    /// Whether a member is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(member, _)| member == name)
    }

    /// Notes that the object itself is wrong.
    pub(crate) fn refuse<T>(&self, detail: impl Display) -> Option<T> {
        self.findings.add(&self.place, detail)
    }

    /// Notes that a member is wrong, or missing where it would stand.
    pub(crate) fn refuse_at<T>(&self, name: &str, detail: impl Display) -> Option<T> {
        self.findings.add(&Place::Member(&self.place, name), detail)
    }

    /// Notes members that are unknown or repeated; none if there are any.
    pub(crate) fn end(self) -> Option<()> {
        let mut names = BTreeSet::new();
        let mut is_good = Some(());
        for (name, _) in self.members {
            if !names.insert(name.as_str()) {
                is_good = self.refuse_at(name, "the member is repeated");
            } else if !self.known.contains(&name.as_str()) {
                is_good = self.refuse_at(name, format_args!("the member is unknown; known are {}", Known(&self.known)));
            }
        }
        is_good
    }
}

/// Names with commas, put together only when they are shown.
struct Known<'a>(&'a [&'static str]);

impl Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}
