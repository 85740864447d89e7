//! The fields of a form that a page sends by POST.

use axum::body::{Body, to_bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method};

/// Largest body, bytes: a job id and the name of a pool.
const MAX_BYTES: usize = 4 << 10;
const FORM: &str = "application/x-www-form-urlencoded";

/// The fields as the text of a query; none for another method, another kind of body or one that is too large.
pub(super) async fn read_form(method: &Method, headers: &HeaderMap, body: Body) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    if *method != Method::POST || !kind.split(';').next()?.trim().eq_ignore_ascii_case(FORM) {
        return None;
    }
    let bytes = to_bytes(body, MAX_BYTES).await.ok()?;
    String::from_utf8(bytes.to_vec()).ok()
}
