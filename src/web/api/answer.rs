//! Answers: JSON or CSV, with what lets a reader ask again for nothing.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, LINK, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::api::csv_cell;
use crate::model::hex;
use crate::views::Shown;

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::response::{JSON, packed};
use super::super::response::{KnownTags, offered, takes_gzip};

const CSV: &str = "text/csv; charset=utf-8";
/// Bytes of the hash in an entity tag.
const TAG_BYTES: usize = 16;

const GENERATION: HeaderName = HeaderName::from_static("jobtracker-generation");
const AS_OF: HeaderName = HeaderName::from_static("jobtracker-as-of");
const DEPENDS_ON: HeaderValue = HeaderValue::from_static("Accept, Accept-Encoding, Cookie, Authorization");

/// Members that depend on the moment of reading: commands print them, the API leaves them out.
const OF_NOW: [&str; 16] = [
    "at_ms",
    "below_half_share_ms",
    "below_minimum_ms",
    "deficit_slot_ms",
    "elapsed_ms",
    "for_ms",
    "lasts_s",
    "left_ms",
    "left_s",
    "live_cpu_ms",
    "live_memory_mb",
    "longest_s",
    "next_s",
    "old_s",
    "uptime_ms",
    "waited_ms",
];

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    One(Value),
    /// A part of a list, and the address of the next part.
    List {
        items: Vec<Value>,
        next: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerForm {
    is_csv: bool,
    is_pretty: bool,
    is_gzipped: bool,
    /// Whether `format` says which, whatever the headers accept.
    is_chosen: bool,
}

impl Content {
    /// A value as commands print it, without what depends on the moment of reading.
    pub(super) fn one(value: &impl Serialize) -> Self {
        Self::One(lasting(value))
    }
}

/// A value without what is absent and what depends on the moment of reading.
pub(super) fn lasting(value: &impl Serialize) -> Value {
    // These types always serialize.
    let mut value = serde_json::to_value(value).unwrap_or_default();
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, value| !value.is_null() && !OF_NOW.contains(&name.as_str()));
            members.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl AnswerForm {
    /// Reads `format` and `pretty`, and what the headers accept. Only lists are CSV.
    pub(super) fn read(parameters: &mut QueryParameters, headers: &HeaderMap, is_list: bool) -> Self {
        let (formats, expected): (&[&str], _) =
            if is_list { (&["json", "csv"], "json or csv") } else { (&["json"], "json") };
        let format = parameters.parsed("format", expected, |text| formats.iter().find(|known| **known == text));
        let is_pretty =
            parameters.parsed("pretty", "no value, or true", |text| matches!(text, "" | "true").then_some(()));
        let accepts_csv = is_list && !accepts(headers, "application/json", "application/*") && accepts_any_csv(headers);
        Self {
            is_csv: format.map_or(accepts_csv, |format| *format == "csv"),
            is_pretty: is_pretty.is_some(),
            is_chosen: format.is_some(),
            is_gzipped: takes_gzip(headers),
        }
    }

    /// Refuses what the headers do not accept.
    pub(super) fn check(self, headers: &HeaderMap, is_list: bool) -> Result<(), Problem> {
        let takes_csv = is_list && accepts_any_csv(headers);
        if accepts(headers, "application/json", "application/*")
            || accepts(headers, "*/*", "*/*")
            || takes_csv
            || self.is_chosen
        {
            return Ok(());
        }
        let expected = if is_list { "application/json or text/csv" } else { "application/json" };
        Err(Problem::new(ProblemName::NotAcceptable, format!("this is {expected}")))
    }
}

fn accepts_any_csv(headers: &HeaderMap) -> bool {
    accepts(headers, "text/csv", "text/*")
}

/// Whether the headers accept a type by its name or its range; without the header everything is accepted as JSON.
fn accepts(headers: &HeaderMap, name: &str, range: &str) -> bool {
    let Some(accepted) = headers.get(ACCEPT) else { return name != "text/csv" };
    let accepted = accepted.to_str().unwrap_or_default();
    offered(accepted).any(|kind| kind.eq_ignore_ascii_case(name) || kind.eq_ignore_ascii_case(range))
}

/// The answer; 304 if the reader has it already.
pub(super) fn respond(found: Content, form: AnswerForm, headers: &HeaderMap, shown: &Shown) -> Response<Body> {
    let next = match &found {
        Content::List { next, .. } => next.clone(),
        Content::One(_) => None,
    };
    let text = text_of(found, form);
    let tag = format!("W/\"{}\"", hex(&Sha256::digest(&text)[..TAG_BYTES]));
    let is_known = KnownTags::of(headers).contain(&tag);
    let mut response = match is_known {
        true => Response::new(Body::empty()),
        false => full(text, form),
    };
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let all = response.headers_mut();
    let mut set = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            all.insert(name, value);
        }
    };
    set(ETAG, &tag);
    set(GENERATION, &shown.generation.to_string());
    set(AS_OF, &shown.overview.at_ms.to_string());
    set(CACHE_CONTROL, "no-cache");
    if let Some(next) = next {
        set(LINK, &format!("<{next}>; rel=\"next\""));
    }
    all.insert(VARY, DEPENDS_ON);
    response
}

fn text_of(found: Content, form: AnswerForm) -> String {
    let value = match found {
        Content::One(value) => value,
        Content::List { items, .. } if form.is_csv => return csv(&items),
        Content::List { items, next } => {
            let mut list = serde_json::json!({ "items": items });
            if let Some(next) = next {
                list["next"] = next.into();
            }
            list
        }
    };
    // Values of JSON always serialize.
    let text = if form.is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
    text.unwrap_or_default() + "\n"
}

fn full(text: String, form: AnswerForm) -> Response<Body> {
    let mut response = packed(text, form.is_gzipped);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(if form.is_csv { CSV } else { JSON }));
    response
}

/// The rows of a list, with a line of names.
pub(super) fn csv(rows: &[Value]) -> String {
    let cells: Vec<BTreeMap<String, String>> = rows.iter().map(cells_of).collect();
    let mut columns: Vec<&str> = Vec::new();
    for name in cells.iter().flat_map(BTreeMap::keys) {
        if let Err(free) = columns.binary_search(&name.as_str()) {
            columns.insert(free, name);
        }
    }
    let mut text = line(columns.iter().copied());
    for row in &cells {
        text += &line(columns.iter().map(|column| row.get(*column).map_or("", String::as_str)));
    }
    text
}

fn cells_of(row: &Value) -> BTreeMap<String, String> {
    let mut cells = BTreeMap::new();
    add(&mut cells, String::new(), row);
    cells
}

fn add(cells: &mut BTreeMap<String, String>, name: String, value: &Value) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                add(cells, if name.is_empty() { member.clone() } else { format!("{name}.{member}") }, value);
            }
        }
        Value::Null => {}
        Value::String(text) => drop(cells.insert(name, text.clone())),
        other => drop(cells.insert(name, other.to_string())),
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.map(csv_cell).collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formula() {
        let rows = [
            serde_json::json!({ "name": "=cmd|' /C calc'!A0", "tasks": { "map": { "total": 3 } } }),
            serde_json::json!({ "name": "a \"b\", c\nd", "percent": -4, "why": [1] }),
        ];
        let expected = "name,percent,tasks.map.total,why\r\n\
                        '=cmd|' /C calc'!A0,,3,\r\n\
                        \"a \"\"b\"\", c\nd\",-4,,[1]\r\n";
        assert_eq!(csv(&rows), expected);
        for text in ["+1", "-a", "@a"] {
            assert_eq!(csv(&[serde_json::json!({ "a": text })]), format!("a\r\n'{text}\r\n"));
        }
        assert_eq!(csv(&[]), "\r\n");
    }
}
