//! Responses: content types and headers, the form that a request wants, and `500 ACCESS DENIED: query`.

use std::fmt::Display;
use std::io::Write as _;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, IF_NONE_MATCH,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::ext::ReasonPhrase;

/// The content type of `/scheduler`, as the original sends it.
pub(super) const XML: &str = "text/xml; charset=utf-8";
/// The content type for programs.
pub(super) const JSON: &str = "application/json";
/// The content type of pages.
pub(super) const HTML: &str = "text/html; charset=utf-8";
/// The content type of short texts for people.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// A page without forms needs its style and nothing else, so the policy forbids everything else, framing included.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Of answers that one reader alone may keep.
pub(super) const OF_ONE_READER: HeaderValue = HeaderValue::from_static("private, no-cache");

/// Shorter content is sent as it is, bytes.
const LEAST_GZIPPED_BYTES: usize = 1 << 10;

pub(super) fn packed(content: String, takes_gzip: bool) -> Response<Body> {
    let Some(gzipped) = takes_gzip.then(|| gzipped(content.as_bytes())).flatten() else {
        return Response::new(content.into());
    };
    let mut response = Response::new(gzipped.into());
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response
}

/// None: it is sent as it is.
fn gzipped(content: &[u8]) -> Option<Vec<u8>> {
    if content.len() < LEAST_GZIPPED_BYTES {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).ok()?;
    encoder.finish().ok()
}

/// A response that must not be cached.
pub(super) fn fresh(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Adds the security headers of every response that it has not: no type guessing, no scripts, no framing, no referrer. Responses that
/// the router makes itself have no content type, so they get one.
pub(super) fn guarded(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(TEXT));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    response
}

pub(super) fn text(status: StatusCode, line: impl Display) -> Response<Body> {
    fresh(status, TEXT, format!("{line}\n"))
}

pub(super) fn with_allow(mut response: Response<Body>, methods: &'static str) -> Response<Body> {
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

pub(super) fn json(value: &impl serde::Serialize) -> String {
    // These types always serialize.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

pub(super) fn json_refusal(status: StatusCode, message: &str) -> Response<Body> {
    fresh(status, JSON, json(&serde_json::json!({ "error": message })))
}

/// Largest reason phrase, bytes. Queries may be longer than the status lines that clients accept.
const MAX_REASON_BYTES: usize = 1024;

/// The denial of a raw query. `reason` is only for a signer whose signature is valid.
pub(super) fn access_denied(query: &str, reason: Option<&str>) -> Response<Body> {
    let denial = format!("ACCESS DENIED: {query}");
    let mut body = escape(&denial);
    body.push('\n');
    if let Some(reason) = reason {
        body.push_str(&escape(reason));
        body.push('\n');
    }
    let mut response = fresh(StatusCode::INTERNAL_SERVER_ERROR, HTML, body);
    if let Ok(phrase) = ReasonPhrase::try_from(reason_phrase(&denial)) {
        response.extensions_mut().insert(phrase);
    }
    response
}

/// A text as a status line can hold it: cut, and without control characters.
fn reason_phrase(text: &str) -> String {
    let cut = text.get(..text.floor_char_boundary(MAX_REASON_BYTES)).unwrap_or_default();
    cut.replace(char::is_control, "?")
}

/// Escapes a text for HTML outside of attributes and replaces control characters.
fn escape(text: &str) -> String {
    quick_xml::escape::partial_escape(text.replace(char::is_control, "\u{FFFD}")).into_owned()
}

/// The values of a list with weights, but for those with weight 0.
pub(super) fn offered(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter_map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let name = parts.next()?;
        let is_refused =
            parts.any(|part| part.strip_prefix("q=").is_some_and(|weight| weight.trim_matches(['0', '.']).is_empty()));
        (!is_refused).then_some(name)
    })
}

pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(offered).any(|packing| packing.eq_ignore_ascii_case("gzip"))
}

/// The entity tags of answers that the reader has.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownTags(Vec<String>);

impl KnownTags {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
        Self(lists.flat_map(|list| list.split(',').map(|tag| tag.trim().to_owned())).collect())
    }

    /// Whether a tag is among them, weak or strong.
    pub(super) fn contain(&self, tag: &str) -> bool {
        let strong = |tag: &str| tag.trim_start_matches("W/").to_owned();
        self.0.iter().any(|known| known == "*" || strong(known) == strong(tag))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn phrase(query: &str) -> Vec<u8> {
        let response = access_denied(query, None);
        response.extensions().get::<ReasonPhrase>().unwrap().as_bytes().to_vec()
    }

    #[test]
    fn the_reason_phrase_is_the_documents() {
        assert_eq!(phrase("info&user=u"), b"ACCESS DENIED: info&user=u");
        assert_eq!(phrase(""), b"ACCESS DENIED: ");
    }

    #[test]
    fn a_long_query_is_cut_at_a_character() {
        let cut = phrase(&"ä".repeat(2000));
        // The prefix has 15 bytes, so 1024 would split a two-byte character.
        assert_eq!(cut.len(), 1023);
        assert!(String::from_utf8(cut).unwrap().ends_with("ää"));
    }

    #[test]
    fn control_characters_never_reach_the_status_line() {
        assert_eq!(phrase("a\r\nSet-Cookie: b\u{7f}\u{85}\t"), b"ACCESS DENIED: a??Set-Cookie: b???");
    }

    fn headers(name: HeaderName, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn packings_are_lists_with_weights() {
        let takes = |values: &[&'static str]| takes_gzip(&headers(ACCEPT_ENCODING, values));
        assert!(takes(&["gzip"]) && takes(&["br, GZip;q=0.5"]) && takes(&["br", "gzip"]));
        assert!(!takes(&[]) && !takes(&["gzip;q=0"]) && !takes(&["gzip; q=0.000"]) && !takes(&["gzippy"]));
    }

    #[test]
    fn known_tags_are_lists_of_weak_and_strong_ones() {
        let knows = |values: &[&'static str], tag: &str| KnownTags::of(&headers(IF_NONE_MATCH, values)).contain(tag);
        assert!(knows(&["\"x\", W/\"a\""], "\"a\"") && knows(&["\"x\"", "\"a\""], "W/\"a\"") && knows(&["*"], "\"a\""));
        assert!(!knows(&[], "\"a\"") && !knows(&["\"ab\""], "\"a\""));
    }
}
