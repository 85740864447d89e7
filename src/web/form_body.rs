//! The fields of a form that a page sends by POST.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, Uri};

use crate::http::RequestPlace;

use super::body_pieces::read_small;

/// Largest body, bytes: as many job ids as one form may name; it is read as the query of an address, which may not be longer than 64 KiB.
const MAX_BYTES: usize = 60 << 10;
/// The content type of a form.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Whether a body is a form by its content type.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FORM))
}

/// A form that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the form is no text, is larger than {MAX_BYTES} bytes, or did not come in time")]
pub(super) struct UnreadableForm;

/// The fields as the text of a query; none for another method or another kind of body.
///
/// # Errors
/// A form that is no text, too large or cut off.
pub(super) async fn read_form(
    method: &Method,
    headers: &HeaderMap,
    body: Body,
    place: Option<&RequestPlace>,
) -> Result<Option<String>, UnreadableForm> {
    if *method != Method::POST || !is_form(headers) {
        return Ok(None);
    }
    let bytes = read_small(body, MAX_BYTES, place).await.ok_or(UnreadableForm)?;
    String::from_utf8(bytes).map(Some).map_err(|_| UnreadableForm)
}

/// The decoded pairs of a form or a query, in order.
pub(super) fn form_pairs(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let uri = Uri::builder().path_and_query([b"/?", bytes].concat()).build().ok()?;
    Query::try_from_uri(&uri).ok().map(|Query(pairs)| pairs)
}

/// All values of a field, in order.
pub(super) fn values_of(bytes: &[u8], name: &str) -> impl Iterator<Item = String> {
    let pairs = form_pairs(bytes).unwrap_or_default();
    pairs.into_iter().filter(move |(known, _)| known == name).map(|(_, value)| value)
}

/// The first field of a form or a query that is there twice, with the values that it has.
pub(super) fn repeated_field(bytes: &[u8]) -> Option<(String, Vec<String>)> {
    let pairs = form_pairs(bytes)?;
    let values = |name: &str| pairs.iter().filter(|(other, _)| other == name).map(|(_, value)| value.clone()).collect();
    let mut fields = pairs.iter().map(|(name, _)| (name.clone(), values(name)));
    fields.find(|(_, values): &(String, Vec<String>)| values.len() > 1)
}

/// The decoded fields of a form or a query, each at most once.
pub(super) fn form_fields(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let pairs = form_pairs(bytes)?;
    let count = pairs.len();
    let fields: BTreeMap<String, String> = pairs.into_iter().collect();
    (fields.len() == count).then_some(fields)
}
