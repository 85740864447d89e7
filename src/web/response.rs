//! The forms an answer takes.

use std::fmt::Display;

use axum::body::Body;
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Response, StatusCode};

/// The content type of `/scheduler`, as the original sends it.
pub(super) const XML: &str = "text/xml; charset=utf-8";
/// What programs read.
pub(super) const JSON: &str = "application/json";
/// Pages.
pub(super) const HTML: &str = "text/html; charset=utf-8";
/// Everything for people without a page.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// Our page needs its style and nothing else, so nothing else may be smuggled into any answer, nor may any be framed.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// An answer of a moment: nobody may keep it.
pub(super) fn fresh(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Any answer, as it leaves: no browser guesses another type for it, runs or frames it, or tells others where it was read.
/// Those that the router makes by itself, without a body, have no type of their own.
pub(super) fn guarded(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(TEXT));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// One line of text.
pub(super) fn text(status: StatusCode, line: impl Display) -> Response<Body> {
    fresh(status, TEXT, format!("{line}\n"))
}

/// Names the methods that are taken here.
pub(super) fn with_allow(mut response: Response<Body>, methods: &'static str) -> Response<Body> {
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// A value as a line of JSON.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    // Texts, numbers and lists always have a JSON form.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// A refusal where JSON is spoken.
pub(super) fn json_refusal(status: StatusCode, message: &str) -> Response<Body> {
    fresh(status, JSON, json(&serde_json::json!({ "error": message })))
}
