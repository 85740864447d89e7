//! Answers of these pages: HTML with the policy that lets them load our own style and scripts, and JSON as 1.2.1 sends it.

use askama::Template;
use axum::body::Body;
use axum::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use axum::http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

use crate::engine::Refusal;

use super::super::response::{HTML, fresh, text};

/// Stock pages load a style and scripts, and have forms; all of them are ours.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// The content type of JSON, as 1.2.1 sends it.
const JSON: &str = "application/json; charset=utf-8";
/// Blank lines before the JSON, which the JSPs of 1.2.1 leave there.
const BLANK_LINES: &str = "\n\n\n\n\n\n\n\n\n\n\n\n";

pub(super) fn page(status: StatusCode, page: &impl Template) -> Response<Body> {
    match page.render() {
        Ok(html) => html_of(status, html),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error),
    }
}

fn html_of(status: StatusCode, html: String) -> Response<Body> {
    let mut response = fresh(status, HTML, html);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

/// The same answer, if it `has_forms` with its own address as referrer, so that a form is known to be its own.
pub(super) fn with_forms(mut response: Response<Body>, has_forms: bool) -> Response<Body> {
    if has_forms {
        response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    }
    response
}

/// JSON after the blank lines.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    // These types always serialize.
    let body = serde_json::to_string(value).unwrap_or_default();
    fresh(status, JSON, format!("{BLANK_LINES}{body}\n\n"))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonError {
    error_description: String,
    error_code: u32,
}

pub(super) fn json_error(status: StatusCode, code: u32, description: impl Into<String>) -> Response<Body> {
    json(status, &JsonError { error_description: description.into(), error_code: code })
}

/// A page of a few words, as 1.2.1 leaves it when it stops early.
#[derive(Template)]
#[template(path = "stock/words.html")]
struct Words<'a> {
    title: &'a str,
    new_page: &'a str,
    /// `h2` or `b`.
    is_heading: bool,
    words: &'a str,
}

pub(super) fn heading(title: &str, new_page: &str, words: &str) -> Response<Body> {
    page(StatusCode::OK, &Words { title, new_page, is_heading: true, words })
}

pub(super) fn bold(title: &str, new_page: &str, words: &str) -> Response<Body> {
    page(StatusCode::OK, &Words { title, new_page, is_heading: false, words })
}

/// The same words with the status of a parameter that is missing or malformed; 1.2.1 fails with 500.
pub(super) fn malformed(mut words: Response<Body>) -> Response<Body> {
    *words.status_mut() = StatusCode::BAD_REQUEST;
    words
}

/// The page of a refusal (1.2.1 `job_authorization_error.jsp`).
#[derive(Template)]
#[template(path = "stock/job_authorization_error.html")]
struct Denied<'a> {
    user: &'a str,
    what: &'a str,
    why: String,
    back: &'a str,
    back_to: &'a str,
}

/// The answer to a viewer that access lists keep out; `what`: what the user failed to do.
pub(super) fn denied(user: &str, what: &str, refusal: &Refusal) -> Response<Body> {
    if user.is_empty() {
        return text(StatusCode::UNAUTHORIZED, "Null user");
    }
    let denied = Denied { user, what, why: refusal.to_string(), back: "jobtracker.jsp", back_to: "JobTracker" };
    page(StatusCode::UNAUTHORIZED, &denied)
}
