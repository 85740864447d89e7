//! Responses: content types and headers.

use std::fmt::Display;
use std::io::Write as _;

use axum::body::Body;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Response, StatusCode};
use flate2::Compression;
use flate2::write::GzEncoder;

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

/// A response with this content, packed for readers that take gzip.
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

/// One line of text.
pub(super) fn text(status: StatusCode, line: impl Display) -> Response<Body> {
    fresh(status, TEXT, format!("{line}\n"))
}

/// Adds the `Allow` header.
pub(super) fn with_allow(mut response: Response<Body>, methods: &'static str) -> Response<Body> {
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// A value as a line of JSON.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    // These types always serialize.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

pub(super) fn json_refusal(status: StatusCode, message: &str) -> Response<Body> {
    fresh(status, JSON, json(&serde_json::json!({ "error": message })))
}
