//! A part of a list: filtered, in an order, from a cursor on.

use std::collections::BTreeMap;

use axum::http::Uri;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::model::hex;

use super::super::applications::QueryParameters;
use super::answer::Content;

/// Rows of a part unless it is given.
const ROWS: usize = 100;
/// Parameters that do not change which rows a list has.
const OF_FORM: [&str; 5] = ["limit", "after", "format", "pretty", "at"];

#[derive(Clone, Debug)]
pub(super) struct Listing {
    limit: usize,
    sort: &'static str,
    is_descending: bool,
    after: Option<RowPlace>,
    /// The path with the filters and the order.
    asked: String,
    /// The address of the next part without its cursor.
    next: String,
}

impl Listing {
    /// Reads `limit`, `after` and `sort`, which is one of `sorts`, with `-` in front of it for the other way round; the first is
    /// what it is unless it is given.
    pub(super) fn read(parameters: &mut QueryParameters, uri: &Uri, sorts: &[&'static str]) -> Self {
        let plain = |name: &'static str| (name.trim_start_matches('-'), name.starts_with('-'));
        let expected =
            format!("one of {}, or -NAME", sorts.iter().map(|name| plain(name).0).collect::<Vec<_>>().join(", "));
        let sort = parameters.parsed("sort", &expected, |text| {
            let (name, is_descending) = (text.trim_start_matches('-'), text.starts_with('-'));
            let known = sorts.iter().map(|known| plain(known).0).find(|known| *known == name)?;
            (text.len() - name.len() <= 1).then_some((known, is_descending))
        });
        let (sort, is_descending) = sort.or(sorts.first().map(|first| plain(first))).unwrap_or_default();
        Self { sort, is_descending, ..Self::in_order(parameters, uri) }
    }

    /// The same of a list with one order alone, in which its rows come.
    pub(super) fn in_order(parameters: &mut QueryParameters, uri: &Uri) -> Self {
        let limit = parameters.whole("limit", 1..=1_000).unwrap_or(ROWS);
        let pairs: Vec<&str> = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).collect();
        let name_of = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
        let mut filters: Vec<&str> =
            pairs.iter().copied().filter(|pair| !OF_FORM.contains(&name_of(pair).as_str())).collect();
        filters.sort_unstable();
        let asked = format!("{}?{}", uri.path(), filters.join("&"));
        let after = parameters.parsed(
            "after",
            "the cursor of `next`, with the filters and the order of the list before",
            |text| RowPlace::parse(text, &asked),
        );
        let kept = pairs.iter().copied().filter(|pair| name_of(pair) != "after");
        let next = kept.chain(["after="]).collect::<Vec<_>>().join("&");
        Self { limit, sort: "", is_descending: false, after, asked, next: format!("{}?{next}", uri.path()) }
    }

    pub(super) const fn sort(&self) -> &'static str {
        self.sort
    }

    /// The number after which rows are wanted, of a list in the order of numbers.
    pub(super) fn after_number(&self) -> Option<i64> {
        match &self.after {
            Some(RowPlace(SortKey::Number(number), _)) => Some(*number),
            _ => None,
        }
    }

    /// Most rows.
    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    /// The part that is wanted of rows in any order.
    pub(super) fn page<T>(&self, rows: impl Iterator<Item = (RowPlace, T)>, shown: impl Fn(&T) -> Value) -> Content {
        let mut kept: BTreeMap<RowPlace, T> = BTreeMap::new();
        for (place, row) in rows {
            let follows = self
                .after
                .as_ref()
                .is_none_or(|after| if self.is_descending { place < *after } else { place > *after });
            if !follows {
                continue;
            }
            kept.insert(place, row);
            if kept.len() > self.limit + 1 {
                if self.is_descending {
                    kept.pop_first()
                } else {
                    kept.pop_last()
                };
            }
        }
        let rows: Vec<(RowPlace, T)> =
            if self.is_descending { kept.into_iter().rev().collect() } else { kept.into_iter().collect() };
        self.cut(rows, shown)
    }

    /// The same of rows that come in the order of their numbers: no more of them are made than are shown.
    pub(super) fn page_in_order<T>(
        &self,
        rows: impl Iterator<Item = (i64, T)>,
        shown: impl Fn(&T) -> Value,
    ) -> Content {
        let after = self.after_number();
        let rows = rows.filter(|(number, _)| after.is_none_or(|after| *number > after)).take(self.limit + 1);
        self.cut(rows.map(|(number, row)| (RowPlace(SortKey::Number(number), String::new()), row)).collect(), shown)
    }

    /// A part whose last row has this number, with others behind it or none.
    pub(super) fn part(&self, items: Vec<Value>, last: Option<i64>) -> Content {
        let next = last.map(|number| self.address_after(&RowPlace(SortKey::Number(number), String::new())));
        Content::List { items, next }
    }

    fn cut<T>(&self, rows: Vec<(RowPlace, T)>, shown: impl Fn(&T) -> Value) -> Content {
        let has_more = rows.len() > self.limit;
        let rows = &rows[..rows.len().min(self.limit)];
        let next = rows.last().filter(|_| has_more).map(|(place, _)| self.address_after(place));
        Content::List { items: rows.iter().map(|(_, row)| shown(row)).collect(), next }
    }

    fn address_after(&self, place: &RowPlace) -> String {
        format!("{}{}", self.next, place.cursor(&self.asked))
    }
}

const HASH_BYTES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum SortKey {
    Number(i64),
    Text(String),
}

/// The place of a row: its key, and its id among those with the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct RowPlace(pub(super) SortKey, pub(super) String);

impl RowPlace {
    /// As programs pass it back; `asked`: the path with the filters and the order.
    pub(super) fn cursor(&self, asked: &str) -> String {
        // Texts and numbers always serialize.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&(hash(asked), self)).unwrap_or_default())
    }

    /// The place in a cursor; none if it is no cursor, or that of another list.
    pub(super) fn parse(cursor: &str, asked: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (of, place): (String, Self) = serde_json::from_slice(&bytes).ok()?;
        (of == hash(asked)).then_some(place)
    }
}

fn hash(asked: &str) -> String {
    hex(&Sha256::digest(asked)[..HASH_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_bound_to_what_was_asked_for() {
        for place in [
            RowPlace(SortKey::Number(-7), "job_1_0001".to_owned()),
            RowPlace(SortKey::Text("ä".to_owned()), String::new()),
        ] {
            let cursor = place.cursor("/jobs?state=RUNNING");
            assert_eq!(RowPlace::parse(&cursor, "/jobs?state=RUNNING"), Some(place));
            assert_eq!(RowPlace::parse(&cursor, "/jobs?state=PREP"), None);
        }
        for wrong in ["", "x", "eyJ9", "é"] {
            assert_eq!(RowPlace::parse(wrong, ""), None);
        }
    }
}
