//! A signed request, from its query to the market's answer: shared by `/scheduler` and the addresses below it.
//!
//! The query is what is signed. Role, timestamp and operation are one step of the engine, so that no other request comes
//! between.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use tokio::time::timeout;

use crate::market::{Acl, Answer, ErrorClass, ParsedQuery, QueryError, ServletRequest, VerifiedUser, signature};

use super::owner::{MarketPresence, Owner};
use super::page_user::PageUser;
use super::response::{JSON, access_denied, fresh, json_refusal, text, with_allow};
use super::state::{ANSWER_TIMEOUT, WebState};

const METHODS: &str = "GET, HEAD, POST, OPTIONS";
/// The methods that are accepted for a request that changes something.
const CHANGE_METHODS: &str = "GET, POST, OPTIONS";

pub(super) struct HttpRequest {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    /// Who asks, by a login of pages.
    pub(super) user: Option<PageUser>,
}

impl<S: Sync> FromRequestParts<S> for HttpRequest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let user = parts.extensions.get().cloned();
        Ok(Self { method: parts.method.clone(), uri: parts.uri.clone(), headers: parts.headers.clone(), user })
    }
}

/// Verifies a request and passes it to the market. Returns the answer, or else the response to send: a denial, or what
/// `error` renders of a status and a text. Parameters come from the query string only, because a body is not signed.
pub(super) async fn request_market<O: Owner>(
    state: &WebState<O>,
    request: HttpRequest,
    parse: impl Fn(&str) -> Result<ParsedQuery, QueryError>,
    error: impl Fn(StatusCode, &str) -> Response<Body>,
) -> Result<Answer, Box<Response<Body>>> {
    let HttpRequest { method, uri, headers, .. } = request;
    if state.owner.market_presence() == MarketPresence::Absent {
        let message = "The scheduler in use has no market; /scheduler belongs to the dynamic one";
        return Err(Box::new(text(StatusCode::NOT_FOUND, message)));
    }
    check_method(&method, &error)?;
    let query = uri.query().unwrap_or_default();
    let refuse = |status, message: &str| Err(Box::new(error(status, message)));
    let parsed = match parse(query) {
        Ok(parsed) => parsed,
        Err(refusal) => return refuse(StatusCode::BAD_REQUEST, &refusal.to_string()),
    };
    if method == Method::HEAD && parsed.kind.is_change() {
        let message = format!("HEAD must not change anything; send {} by GET or POST", parsed.kind.parameter());
        return Err(Box::new(with_allow(error(StatusCode::METHOD_NOT_ALLOWED, &message), CHANGE_METHODS)));
    }
    let verified = find_signer(state.owner.acl(), parsed.user.as_deref(), &parsed.raw, &headers).await;
    if verified.is_none() && !parsed.kind.is_open_to_all() {
        return Err(Box::new(access_denied(query, None)));
    }
    let answer = timeout(ANSWER_TIMEOUT, state.owner.market(ServletRequest { verified, query: parsed })).await;
    let reply = match answer {
        Ok(Ok(reply)) => reply,
        Ok(Err(gone)) => return refuse(StatusCode::SERVICE_UNAVAILABLE, &gone.to_string()),
        Err(_) => {
            let why = state.owner.health().unwritable.map(|why| format!("{why}; ")).unwrap_or_default();
            let message = format!("{why}no answer in time; the request may have been performed, or may still be");
            return refuse(StatusCode::SERVICE_UNAVAILABLE, &message);
        }
    };
    match reply {
        Ok(answer) => Ok(answer),
        Err(refusal) => match refusal.class() {
            ErrorClass::Denied => Err(Box::new(access_denied(query, refusal.reason_line().as_deref()))),
            class => refuse(status_of_refusal(class), &refusal.to_string()),
        },
    }
}

pub(super) const fn status_of_refusal(class: ErrorClass) -> StatusCode {
    match class {
        // As the document has it.
        ErrorClass::Denied => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorClass::BadRequest => StatusCode::BAD_REQUEST,
        ErrorClass::NotFound => StatusCode::NOT_FOUND,
        ErrorClass::Conflict => StatusCode::CONFLICT,
        ErrorClass::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Answers a signed request as JSON: `read` turns the market's answer into the body, or into a status and a text.
pub(super) async fn answer_json<O: Owner, R>(
    state: &WebState<O>,
    request: HttpRequest,
    parse: impl Fn(&str) -> Result<ParsedQuery, QueryError>,
    read: impl FnOnce(Answer) -> R,
) -> Response<Body>
where
    R: Future<Output = Result<String, (StatusCode, String)>>,
{
    match request_market(state, request, parse, json_refusal).await {
        Err(refusal) => *refusal,
        Ok(answer) => match read(answer).await {
            Ok(found) => fresh(StatusCode::OK, JSON, found),
            Err((status, message)) => json_refusal(status, &message),
        },
    }
}

/// The refusal for an answer of the market that does not fit the request: a defect.
pub(super) fn unexpected_answer() -> (StatusCode, String) {
    (StatusCode::INTERNAL_SERVER_ERROR, "the market gave an unexpected answer".to_owned())
}

/// Accepts a method, or returns the response to send.
pub(super) fn check_method(
    method: &Method,
    error: impl Fn(StatusCode, &str) -> Response<Body>,
) -> Result<(), Box<Response<Body>>> {
    match *method {
        Method::GET | Method::HEAD | Method::POST => Ok(()),
        Method::OPTIONS => Err(Box::new(with_allow(Response::new(Body::empty()), METHODS))),
        _ => {
            let message = format!("{method} is not allowed here");
            Err(Box::new(with_allow(error(StatusCode::METHOD_NOT_ALLOWED, &message), METHODS)))
        }
    }
}

/// The user who signed `signed_text`, if the signature in the headers is valid. The ACL is read only if there is one.
pub(super) async fn find_signer(
    acl: impl Future<Output = Arc<Acl>>,
    user: Option<&str>,
    signed_text: &str,
    headers: &HeaderMap,
) -> Option<VerifiedUser> {
    let header = signature_in(headers)?;
    signature::verify(acl.await.as_ref(), user, signed_text, Some(header)).ok()
}

pub(super) fn signature_in(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()
}
