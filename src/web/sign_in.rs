//! `/session`: a link that is signed once begins a read-only session of a browser. `/session/end` ends it there.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, LOCATION, SET_COOKIE};
use axum::http::{HeaderName, HeaderValue, Method, Response, StatusCode, Uri};

use crate::market::{Answer, Operation, ParsedQuery, signature};

use super::owner::Owner;
use super::response::{text, with_allow};
use super::same_site::is_from_own_page;
use super::sessions::{no_cookie, session_in_cookies};
use super::signed_request::{HttpRequest, request_market, unexpected_answer};
use super::state::WebState;

/// Between the query that is signed and its signature.
const SIGNATURE: &str = "&signature=";

/// Why a key in its overlap opens no session: the session would outlive it.
const OLD_KEY: &str =
    "this link is signed with a key that another one replaces; expected one that is signed with the new key";

/// Handles `/session`: a signed query with the page to begin at, and its signature behind it. The market judges it as every other, so
/// that a link works once.
pub(super) async fn begin<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    if request.method != Method::GET {
        let refusal = text(StatusCode::METHOD_NOT_ALLOWED, format_args!("{}: expected GET", request.method));
        return with_allow(refusal, "GET");
    }
    let linked = request.uri.query().and_then(|query| query.rsplit_once(SIGNATURE));
    let Some((query, signature)) = linked else {
        let expected = "signature: expected a link of `jobtracker open`, which ends with its signature";
        return text(StatusCode::BAD_REQUEST, expected);
    };
    let Some(signed) = as_signed_request(&request, query, signature) else {
        return text(StatusCode::BAD_REQUEST, "session: this is no link of `jobtracker open`");
    };
    let answer = request_market(&state, signed, ParsedQuery::parse_session, |status, why| text(status, why)).await;
    let (page, user) = match answer {
        Ok(Answer::Permitted(Operation::Session { page, by })) => (page, by),
        Ok(_) => {
            let (status, message) = unexpected_answer();
            return text(status, message);
        }
        Err(refusal) => return *refusal,
    };
    let acl = state.owner.acl().await;
    let Some(entry) = acl.get(&user).filter(|entry| signature::is_by_key(query, signature, &entry.key)) else {
        return text(StatusCode::FORBIDDEN, OLD_KEY);
    };
    let session = state.sessions.begin(&user, &entry.key, state.owner.health().at_ms);
    lead_to(&page, &state.sessions.cookie(&session))
}

/// Handles `/session/end`: takes the cookie from the browser and closes the streams of its session. By POST and from a page of this
/// server alone.
pub(super) async fn end<O: Owner>(State(state): State<Arc<WebState<O>>>, request: HttpRequest) -> Response<Body> {
    if request.method != Method::POST {
        let refusal = text(StatusCode::METHOD_NOT_ALLOWED, format_args!("{}: expected POST", request.method));
        return with_allow(refusal, "POST");
    }
    if !is_from_own_page(&request.headers) {
        return text(StatusCode::FORBIDDEN, "a page of another site must not end a session here");
    }
    if let Some(session) = session_in_cookies(&request.headers) {
        state.streams.end_session(session);
    }
    lead_to("/", &no_cookie())
}

/// The request as if its signature came in the header, as that of `/scheduler` does.
fn as_signed_request(request: &HttpRequest, query: &str, signature: &str) -> Option<HttpRequest> {
    let uri = Uri::builder().path_and_query(format!("{}?{query}", request.uri.path())).build().ok()?;
    let mut headers = request.headers.clone();
    headers.insert(AUTHORIZATION, HeaderValue::from_str(signature).ok()?);
    Some(HttpRequest { method: request.method.clone(), uri, headers, user: None })
}

fn lead_to(page: &str, cookie: &str) -> Response<Body> {
    let mut response = text(StatusCode::SEE_OTHER, page);
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.headers_mut().insert(name, value);
        }
    };
    set(LOCATION, page);
    set(SET_COOKIE, cookie);
    response
}
