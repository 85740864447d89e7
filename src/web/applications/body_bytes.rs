//! The bytes of a body: JSON by its header, within a size and a time.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::engine::ApplicationCaller;
use crate::http::{FairBudget, Held, OverBudget, Peer, RequestPlace};

use super::super::request_body::{PIECE_TIMEOUT, PieceError, next_piece_of_request};
use super::problem::Problem;
use super::problem_name::ProblemName;

pub(super) const MAX_BODY_BYTES: usize = 8 << 20;
const BODY_TIMEOUT: Duration = Duration::from_secs(120);

/// Refuses a body that is no JSON by its header.
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

/// A body that is not read yet.
pub(super) struct UnreadBody<'a> {
    body: &'a mut Body,
    place: Option<&'a RequestPlace>,
    held: Held,
    is_cut: oneshot::Receiver<()>,
}

impl<'a> UnreadBody<'a> {
    /// The body of a request of that caller, whose bytes count in `bodies` until the request is answered.
    pub(super) fn of(
        head: &'a Parts,
        body: &'a mut Body,
        bodies: &Arc<FairBudget>,
        caller: &ApplicationCaller,
    ) -> Self {
        let user = match caller {
            ApplicationCaller::User { caller, .. } => caller.user.to_string(),
            ApplicationCaller::Application { application, .. } => application.to_string(),
        };
        let peer = head.extensions.get::<Peer>().copied();
        let (held, is_cut) = bodies.begin(peer.unwrap_or_else(|| IpAddr::from(Ipv4Addr::LOCALHOST).into()), &user);
        Self { body, place: head.extensions.get(), held, is_cut }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.body.is_end_stream()
    }

    /// Reads it to its end; its bytes count until the second is dropped.
    pub(super) async fn read(self) -> Result<(Vec<u8>, Held), Problem> {
        let too_large = || {
            let detail = format!("expected a body of at most {MAX_BODY_BYTES} bytes");
            Problem::new(ProblemName::BodyTooLarge, detail)
        };
        let Self { body, place, held, mut is_cut } = self;
        if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        let read = timeout(BODY_TIMEOUT, async {
            loop {
                let piece = tokio::select! {
                    biased;
                    Ok(()) = &mut is_cut => return Err(gave_way(OverBudget::GaveWay)),
                    piece = next_piece_of_request(body, place) => piece,
                };
                match piece {
                    Err(PieceError::TimedOut) => return Err(timed_out(PIECE_TIMEOUT, "no byte of the body came")),
                    Err(PieceError::GaveWay) => return Err(gave_way(OverBudget::GaveWay)),
                    Err(PieceError::CutOff(error)) => {
                        let detail = format!("the body is cut off: {error}");
                        return Err(Problem::new(ProblemName::InvalidRequest, detail));
                    }
                    Ok(None) => return Ok(()),
                    Ok(Some(piece)) if bytes.len() + piece.len() > MAX_BODY_BYTES => return Err(too_large()),
                    Ok(Some(piece)) => {
                        held.grow(piece.len() as u64).map_err(gave_way)?;
                        bytes.extend_from_slice(&piece);
                    }
                }
            }
        });
        read.await.unwrap_or_else(|_| Err(timed_out(BODY_TIMEOUT, "the body was not complete")))?;
        held.keep();
        Ok((bytes, held))
    }
}

fn gave_way(over: OverBudget) -> Problem {
    let detail = format!("bytes of bodies on their way are limited: {over}; send it again when others are through");
    Problem::busy(detail)
}

fn timed_out(time: Duration, what: &str) -> Problem {
    Problem::new(ProblemName::BodyTimedOut, format!("{what} within {} s", time.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_of_a_body_count_until_its_request_is_answered() {
        let bodies = FairBudget::new(20, 10);
        let read = async |user: &str| {
            let mut body = Body::from("x".repeat(8));
            let (held, is_cut) = bodies.begin(IpAddr::from(Ipv4Addr::LOCALHOST).into(), user);
            UnreadBody { body: &mut body, place: None, held, is_cut }.read().await.map(|(_, held)| held)
        };
        let first = read("alice").await.unwrap();
        assert!(read("alice").await.is_err(), "more than one user may hold");
        let second = read("bob").await.unwrap();
        assert!(read("carol").await.is_err(), "what is read gives way to no other");
        drop(first);
        let third = read("alice").await;
        assert!(third.is_ok(), "it was answered");
        drop((second, third));
    }
}
