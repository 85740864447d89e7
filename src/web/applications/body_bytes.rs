//! The bytes of a body: JSON by its header, within a size and a time.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use tokio::time::timeout;

use super::super::body_pieces::{PIECE_TIMEOUT, next_piece};
use super::problem::Problem;
use super::problem_name::ProblemName;

/// Largest body.
pub(super) const MAX_BODY_BYTES: usize = 8 << 20;
/// Time for a whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(120);

/// Refuses a body that is no JSON by its header.
///
/// # Errors
/// `unsupported-media-type`.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let (kind, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    let parameters = parameters.trim().to_ascii_lowercase();
    let is_utf_8 = matches!(parameters.as_str(), "" | "charset=utf-8" | "charset=\"utf-8\"");
    if kind.trim().eq_ignore_ascii_case("application/json") && is_utf_8 {
        return Ok(());
    }
    Err(Problem::new(ProblemName::UnsupportedMediaType, "expected Content-Type: application/json, in UTF-8"))
}

/// Reads a body to its end.
///
/// # Errors
/// `body-too-large`, `body-timed-out`, or `invalid-request` if it is cut off.
pub(super) async fn read_bytes(body: &mut Body) -> Result<Vec<u8>, Problem> {
    let too_large = || {
        let detail = format!("expected a body of at most {MAX_BODY_BYTES} bytes");
        Problem::new(ProblemName::BodyTooLarge, detail)
    };
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let read = timeout(BODY_TIMEOUT, async {
        loop {
            match timeout(PIECE_TIMEOUT, next_piece(body)).await {
                Err(_) => return Err(timed_out(PIECE_TIMEOUT, "no byte of the body came")),
                Ok(Err(error)) => {
                    return Err(Problem::new(ProblemName::InvalidRequest, format!("the body is cut off: {error}")));
                }
                Ok(Ok(None)) => return Ok(()),
                Ok(Ok(Some(piece))) if bytes.len() + piece.len() > MAX_BODY_BYTES => return Err(too_large()),
                Ok(Ok(Some(piece))) => bytes.extend_from_slice(&piece),
            }
        }
    });
    read.await.unwrap_or_else(|_| Err(timed_out(BODY_TIMEOUT, "the body was not complete")))?;
    Ok(bytes)
}

fn timed_out(time: Duration, what: &str) -> Problem {
    Problem::new(ProblemName::BodyTimedOut, format!("{what} within {} s", time.as_secs()))
}
