//! A signed request, from its query to the market's answer: what `/scheduler` and the addresses beside it share.
//!
//! The signature is verified here. Whether the signer may, whether the timestamp is fresh and what the request does
//! are one step of the engine, so that no other request comes between.

use axum::body::Body;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use tokio::time::timeout;

use super::denied::denied;
use super::response::{JSON, fresh, json_refusal, text, with_allow};
use super::{Owner, WebState};
use crate::market::{Answer, ErrorClass, QueryError, ServletRequest, Shape, VerifiedUser, signature};

/// What is taken.
const METHODS: &str = "GET, HEAD, POST, OPTIONS";
/// What is taken for a request that changes something.
const CHANGE_METHODS: &str = "GET, POST, OPTIONS";

/// A request as it came.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
}

/// What the market answers, or else what is to be sent: a denial, or what `error` makes of a status and a text.
/// Parameters come from the query string only: nothing signs a body.
pub(super) async fn ask<O: Owner>(
    state: &WebState<O>,
    asked: Asked,
    parse: impl Fn(&str) -> Result<Shape, QueryError>,
    error: impl Fn(StatusCode, &str) -> Response<Body>,
) -> Result<Answer, Box<Response<Body>>> {
    let Asked { method, uri, headers } = asked;
    if !state.has_market {
        let told = "The scheduler in use has no market; /scheduler belongs to the dynamic one";
        return Err(Box::new(text(StatusCode::NOT_FOUND, told)));
    }
    check_method(&method, &error)?;
    let query = uri.query().unwrap_or_default();
    let refuse = |status, message: &str| Err(Box::new(error(status, message)));
    let shape = match parse(query) {
        Ok(shape) => shape,
        Err(refusal) => return refuse(StatusCode::BAD_REQUEST, &refusal.to_string()),
    };
    if method == Method::HEAD && shape.kind.is_change() {
        let message = format!("HEAD must not change anything; send {} by GET or POST", shape.kind.parameter());
        return Err(Box::new(with_allow(error(StatusCode::METHOD_NOT_ALLOWED, &message), CHANGE_METHODS)));
    }
    let verified = verify(&state.owner, &shape, &headers).await;
    if verified.is_none() && !shape.kind.is_open_to_all() {
        return Err(Box::new(denied(query, None)));
    }
    let answer = timeout(super::ANSWER_PATIENCE, state.owner.market(ServletRequest { verified, shape })).await;
    let reply = match answer {
        Ok(Ok(reply)) => reply,
        Ok(Err(gone)) => return refuse(StatusCode::SERVICE_UNAVAILABLE, &gone.to_string()),
        Err(_) => {
            let message = "no answer in time; what was asked for may have been done, or may still be";
            return refuse(StatusCode::SERVICE_UNAVAILABLE, message);
        }
    };
    match reply {
        Ok(answer) => Ok(answer),
        Err(refusal) => match refusal.class() {
            ErrorClass::Denied => Err(Box::new(denied(query, refusal.reason_line().as_deref()))),
            ErrorClass::BadRequest => refuse(StatusCode::BAD_REQUEST, &refusal.to_string()),
            ErrorClass::NotFound => refuse(StatusCode::NOT_FOUND, &refusal.to_string()),
            ErrorClass::Conflict => refuse(StatusCode::CONFLICT, &refusal.to_string()),
        },
    }
}

/// Answers a signed request as JSON: what `read` makes of the market's answer, or a status and a text.
pub(super) async fn answer_json<O: Owner, R>(
    state: &WebState<O>,
    asked: Asked,
    parse: impl Fn(&str) -> Result<Shape, QueryError>,
    read: impl FnOnce(Answer) -> R,
) -> Response<Body>
where
    R: Future<Output = Result<String, (StatusCode, String)>>,
{
    match ask(state, asked, parse, json_refusal).await {
        Err(refusal) => *refusal,
        Ok(answer) => match read(answer).await {
            Ok(found) => fresh(StatusCode::OK, JSON, found),
            Err((status, message)) => json_refusal(status, &message),
        },
    }
}

/// What is told where the market answers a question that was not asked.
pub(super) fn mismatch() -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, "the market answers something else".to_owned())
}

/// Whether a method is taken at all, or else what is to be sent.
pub(super) fn check_method(
    method: &Method,
    error: impl Fn(StatusCode, &str) -> Response<Body>,
) -> Result<(), Box<Response<Body>>> {
    match *method {
        Method::GET | Method::HEAD | Method::POST => Ok(()),
        Method::OPTIONS => Err(Box::new(with_allow(Response::new(Body::empty()), METHODS))),
        _ => {
            let message = format!("{method} is not taken here");
            Err(Box::new(with_allow(error(StatusCode::METHOD_NOT_ALLOWED, &message), METHODS)))
        }
    }
}

/// Who signed the query as it came, if anybody did. The file of keys is looked at only where there is a signature.
async fn verify(owner: &impl Owner, shape: &Shape, headers: &HeaderMap) -> Option<VerifiedUser> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let acl = owner.acl().await;
    signature::verify(&acl, shape.user.as_deref(), &shape.query, Some(header)).ok()
}
