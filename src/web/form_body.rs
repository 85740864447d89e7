//! The fields of a form that a page sends by POST.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, Uri};

use crate::http::RequestPlace;

use super::body_pieces::read_small;

/// Largest body, bytes: a job id with a few short fields.
const MAX_BYTES: usize = 4 << 10;
/// The content type of a form.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// The fields as the text of a query; none for another method, another kind of body or one that is too large.
pub(super) async fn read_form(
    method: &Method,
    headers: &HeaderMap,
    body: Body,
    place: Option<&RequestPlace>,
) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    if *method != Method::POST || !kind.split(';').next()?.trim().eq_ignore_ascii_case(FORM) {
        return None;
    }
    String::from_utf8(read_small(body, MAX_BYTES, place).await?).ok()
}

/// The first field of a form or a query that is there twice, with the values that it has.
pub(super) fn repeated_field(bytes: &[u8]) -> Option<(String, Vec<String>)> {
    let pairs = decoded(bytes)?;
    let values = |name: &str| pairs.iter().filter(|(other, _)| other == name).map(|(_, value)| value.clone()).collect();
    let all = pairs.iter().map(|(name, _)| (name.clone(), values(name)));
    all.into_iter().find(|(_, values): &(String, Vec<String>)| values.len() > 1)
}

/// The decoded fields of a form or a query, each at most once.
pub(super) fn form_fields(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let pairs = decoded(bytes)?;
    let count = pairs.len();
    let fields: BTreeMap<String, String> = pairs.into_iter().collect();
    (fields.len() == count).then_some(fields)
}

fn decoded(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let uri = Uri::builder().path_and_query([b"/?", bytes].concat()).build().ok()?;
    Query::<Vec<(String, String)>>::try_from_uri(&uri).ok().map(|Query(pairs)| pairs)
}
