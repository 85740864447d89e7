//! A value of a body at its place, read as what it has to be: the members of an object are asked for by name, those left are unknown.

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::place::{Findings, Place};
use super::value::JsonValue;

/// A value at its place. Each reading gives none after it has noted what is wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub(super) value: &'a JsonValue,
    pub(super) place: Place<'a>,
    pub(super) findings: &'a Findings,
}

impl<'a> Item<'a> {
    pub(crate) const fn body(value: &'a JsonValue, findings: &'a Findings) -> Self {
        Self::new(value, Place::Body, findings)
    }

    pub(super) const fn new(value: &'a JsonValue, place: Place<'a>, findings: &'a Findings) -> Self {
        Self { value, place, findings }
    }

    /// Notes that this is wrong.
    pub(crate) fn refuse<T>(&self, detail: impl Display) -> Option<T> {
        self.findings.add(&self.place, detail)
    }

    pub(crate) const fn is_null(&self) -> bool {
        matches!(self.value, JsonValue::Null)
    }

    /// Reads every member of an object as `read` has it; the names are the caller's to check. None if one is wrong.
    pub(crate) fn each_member<T>(
        &self,
        most: usize,
        mut read: impl FnMut(&'a str, Item<'_>) -> Option<T>,
    ) -> Option<Vec<(String, T)>> {
        let JsonValue::Object(members) = self.value else {
            return self.refuse(format_args!("expected an object, found {}", self.value));
        };
        if members.len() > most {
            return self.refuse(format_args!("expected at most {most} members, found {}", members.len()));
        }
        let mut names = std::collections::BTreeSet::new();
        let mut all = Some(Vec::with_capacity(members.len()));
        for (name, value) in members {
            let place = Place::Member(&self.place, name);
            let is_first = names.insert(name.as_str());
            if !is_first {
                self.findings.add::<()>(&place, "the member is repeated");
            }
            let member = read(name, Item::new(value, place, self.findings)).filter(|_| is_first);
            all = all.zip(member).map(|(mut all, member)| {
                all.push((name.clone(), member));
                all
            });
        }
        all
    }

    /// Reads every item of an array. None if one is wrong.
    pub(crate) fn each<T>(
        &self,
        count: RangeInclusive<usize>,
        mut read: impl FnMut(Item<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let JsonValue::Array(items) = self.value else {
            return self.refuse(format_args!("expected an array, found {}", self.value));
        };
        if !count.contains(&items.len()) {
            let (least, most) = count.into_inner();
            return self.refuse(format_args!("expected {least} to {most} items, found {}", items.len()));
        }
        let mut all = Some(Vec::with_capacity(items.len()));
        for (index, value) in items.iter().enumerate() {
            let read = read(Item::new(value, Place::Index(&self.place, index), self.findings));
            all = all.zip(read).map(|(mut all, item)| {
                all.push(item);
                all
            });
        }
        all
    }

    pub(crate) fn whole<N: TryFrom<u64>>(&self, range: RangeInclusive<u64>) -> Option<N> {
        let number = match self.value {
            JsonValue::Whole(number) if range.contains(number) => N::try_from(*number).ok(),
            _ => None,
        };
        let (least, most) = range.into_inner();
        number.or_else(|| {
            self.refuse(format_args!("expected a whole number from {least} to {most}, found {}", self.value))
        })
    }

    /// A number from 0 to 1.
    pub(crate) fn share(&self) -> Option<f64> {
        match self.value {
            JsonValue::Whole(0) => Some(0.0),
            JsonValue::Whole(1) => Some(1.0),
            JsonValue::Number(number) if (0.0..=1.0).contains(number) => Some(*number),
            other => self.refuse(format_args!("expected a number from 0 to 1, found {other}")),
        }
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.value {
            JsonValue::Boolean(value) => Some(*value),
            other => self.refuse(format_args!("expected true or false, found {other}")),
        }
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        match self.value {
            JsonValue::Text(text) => Some(text),
            other => self.refuse(format_args!("expected a text, found {other}")),
        }
    }

    pub(crate) fn text_of(&self, characters: RangeInclusive<usize>) -> Option<&'a str> {
        let text = self.text()?;
        let count = text.chars().count();
        if characters.contains(&count) {
            return Some(text);
        }
        let (least, most) = characters.into_inner();
        self.refuse(format_args!("expected {least} to {most} characters, found {count}"))
    }

    /// A text that the system takes as an argument, a path or a value: without a zero byte, and not empty.
    pub(crate) fn plain_text(&self) -> Option<&'a str> {
        match self.text_without_zero()? {
            "" => self.refuse("expected a text that is not empty"),
            text => Some(text),
        }
    }

    /// A text without a zero byte, empty perhaps.
    pub(crate) fn text_without_zero(&self) -> Option<&'a str> {
        match self.text()? {
            text if text.contains('\0') => self.refuse("a zero byte cannot be passed to a program"),
            text => Some(text),
        }
    }

    /// A text that `parse` reads; `expected` says what it should be.
    pub(crate) fn parsed<T>(&self, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text()?;
        parse(text).or_else(|| self.refuse(format_args!("expected {expected}, found {:?}", shown(text))))
    }
}

/// The start of a text, to show what was found.
fn shown(text: &str) -> &str {
    const MOST_BYTES: usize = 100;
    text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or_default()
}

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
                is_good =
                    self.refuse_at(name, format_args!("the member is unknown; known are {}", NameList(&self.known)));
            }
        }
        is_good
    }
}

/// Names with commas, put together only when they are shown.
struct NameList<'a>(&'a [&'static str]);

impl Display for NameList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}
