//! `/scheduler`: the document's signed requests and their XML.
//!
//! The signature is verified here. Whether the signer may, whether the timestamp is fresh and what the request does
//! are one step of the engine, so that no other request comes between.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use tokio::time::timeout;

use super::denied::denied;
use super::response::{XML, fresh, text, with_allow};
use super::{Owner, WebState};
use crate::market::answer::{render, render_error, short_host};
use crate::market::{ErrorClass, ServletRequest, Shape, VerifiedUser, signature};

/// What `/scheduler` takes.
const METHODS: &str = "GET, HEAD, POST, OPTIONS";
/// What it takes for a request that changes something.
const CHANGE_METHODS: &str = "GET, POST, OPTIONS";

/// Answers one request. Parameters come from the query string only: nothing signs a body.
pub(super) async fn scheduler<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    if !state.has_market {
        return text(
            StatusCode::NOT_FOUND,
            "The scheduler in use has no market; /scheduler belongs to the dynamic one",
        );
    }
    let error = |status, message: &str| fresh(status, XML, render_error(message, short_host(&state.host)));
    if method == Method::OPTIONS {
        return with_allow(Response::new(Body::empty()), METHODS);
    }
    if ![Method::GET, Method::HEAD, Method::POST].contains(&method) {
        let message = format!("{method} is not taken here");
        return with_allow(error(StatusCode::METHOD_NOT_ALLOWED, &message), METHODS);
    }
    let query = uri.query().unwrap_or_default();
    let shape = match Shape::parse(query) {
        Ok(shape) => shape,
        Err(refusal) => return error(StatusCode::BAD_REQUEST, &refusal.to_string()),
    };
    if method == Method::HEAD && shape.kind.is_change() {
        let message = format!("HEAD must not change anything; send {} by GET or POST", shape.kind.parameter());
        return with_allow(error(StatusCode::METHOD_NOT_ALLOWED, &message), CHANGE_METHODS);
    }
    let verified = verify(&state.owner, &shape, &headers);
    if verified.is_none() && !shape.kind.is_open_to_all() {
        return denied(query, None);
    }
    let answer = timeout(state.limits.answer, state.owner.market(ServletRequest { verified, shape })).await;
    let reply = match answer {
        Ok(Ok(reply)) => reply,
        Ok(Err(gone)) => return error(StatusCode::SERVICE_UNAVAILABLE, &gone.to_string()),
        Err(_) => {
            let message = "no answer in time; what was asked for may have been done, or may still be";
            return error(StatusCode::SERVICE_UNAVAILABLE, message);
        }
    };
    match reply {
        Ok(answer) => fresh(StatusCode::OK, XML, render(&answer, short_host(&state.host))),
        Err(refusal) => match refusal.class() {
            ErrorClass::Denied => denied(query, refusal.reason_line().as_deref()),
            ErrorClass::BadRequest => error(StatusCode::BAD_REQUEST, &refusal.to_string()),
            ErrorClass::NotFound => error(StatusCode::NOT_FOUND, &refusal.to_string()),
            ErrorClass::Conflict => error(StatusCode::CONFLICT, &refusal.to_string()),
        },
    }
}

/// Who signed the query as it came, if anybody did. The file of keys is looked at only where there is a signature.
fn verify(owner: &impl Owner, shape: &Shape, headers: &HeaderMap) -> Option<VerifiedUser> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    signature::verify(&owner.acl(), shape.user.as_deref(), &shape.query, Some(header)).ok()
}
