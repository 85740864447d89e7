//! `/static/…`, `/favicon.ico` and `/index.html`.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response, StatusCode};

use super::super::response::fresh;
use super::changes::go_back;

/// The style of stock pages, part of the binary.
const STYLE: &str = include_str!("../../../static/hadoop.css");
const ICON: &str = include_str!("../../../static/icon.svg");

/// Answers `/static/hadoop.css`.
pub(super) async fn style() -> Response<Body> {
    kept("text/css; charset=utf-8", STYLE)
}

/// Answers the scripts of 1.2.1. Our pages need none of them; programs that load them must find them.
pub(super) async fn script() -> Response<Body> {
    kept("text/javascript; charset=utf-8", "")
}

/// Answers `/favicon.ico`.
pub(super) async fn icon() -> Response<Body> {
    kept("image/svg+xml", ICON)
}

/// Answers `/index.html`.
pub(super) async fn index() -> Response<Body> {
    go_back("/")
}

fn kept(kind: &'static str, body: &'static str) -> Response<Body> {
    let mut response = fresh(StatusCode::OK, kind, body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
