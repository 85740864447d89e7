//! Who asks, by what a request proves: the session of a cookie or a bearer, or a name where names are believed.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use tokio::time::timeout;

use super::owner::{MarketPresence, Owner, OwnerGone};
use super::page_user::{PageLogin, PageUser};
use super::request_body::form_fields;
use super::same_site::came_through_proxy;
use super::sessions::session_in_cookies;
use super::signed_request::HttpRequest;
use super::state::{ANSWER_TIMEOUT, WebState};
use super::viewer::Viewer;

/// How the value of `Authorization` begins that has a session.
const BEARER: &str = "bearer";

/// A bearer that is none, or that of a session that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the session in Authorization has ended or is none: its time is over, or its user has another key; expected Bearer and \
     what `jobtracker open --token` prints"
)]
pub(super) struct BadBearer;

/// Somebody who has proved nothing.
pub(super) fn stranger<O: Owner>(state: &WebState<O>) -> Viewer {
    Viewer::stranger(state.shows_money, state.stock.are_acls_on)
}

/// Who asks for a page: by the cookie of a session; else by a login of pages; else by `user.name`, where RPC believes names too.
pub(super) async fn viewer_of_page<O: Owner>(state: &WebState<O>, request: &HttpRequest) -> Viewer {
    if let Some(session) = session_in_cookies(&request.headers)
        && let Some(viewer) = viewer_of_session(state, session).await
    {
        return viewer;
    }
    if let Some(PageUser(user)) = &request.user {
        return stranger(state).named(user);
    }
    let is_believed = state.stock.login == PageLogin::Nameless
        && matches!(state.owner.market_presence(), MarketPresence::Absent | MarketPresence::Idle)
        && !came_through_proxy(&request.headers);
    let query = request.uri.query().unwrap_or_default();
    let named = is_believed.then(|| form_fields(query.as_bytes())?.remove("user.name")).flatten();
    match named.filter(|name| !name.is_empty()) {
        Some(name) => stranger(state).named(&name),
        None => stranger(state),
    }
}

/// Who asks the API, and the session that says so; `user`: who it is by a login of pages.
/// A cookie that is none makes a stranger: browsers send it until it is over.
pub(super) async fn viewer_of_program<O: Owner>(
    state: &WebState<O>,
    headers: &HeaderMap,
    user: Option<&PageUser>,
) -> Result<(Viewer, Option<String>), BadBearer> {
    if let Some(session) = bearer_in(headers) {
        let viewer = viewer_of_session(state, session).await.ok_or(BadBearer)?;
        return Ok((viewer, Some(session.to_owned())));
    }
    let session = session_in_cookies(headers);
    let viewer = match session {
        Some(session) => viewer_of_session(state, session).await,
        None => None,
    };
    let session = session.filter(|_| viewer.is_some()).map(str::to_owned);
    let named = || user.map_or_else(|| stranger(state), |PageUser(user)| stranger(state).named(user));
    Ok((viewer.unwrap_or_else(named), session))
}

/// The user of a session; none of one that has ended.
pub(super) async fn viewer_of_session<O: Owner>(state: &WebState<O>, session: &str) -> Option<Viewer> {
    let acl = state.owner.acl().await;
    let (user, entry) = state.sessions.find(session, &acl, state.owner.health().at_ms)?;
    Some(stranger(state).signed_in_as(&user, entry.role))
}

/// The session in `Authorization`; none unless it is a bearer at all. One that is empty is none that is good.
fn bearer_in(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, session) = value.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((value, ""));
    scheme.eq_ignore_ascii_case(BEARER).then(|| session.trim())
}

/// Whether a viewer is an administrator.
pub(super) async fn is_administrator<O: Owner>(state: &WebState<O>, viewer: &Viewer) -> Result<bool, OwnerGone> {
    match viewer.is_administrator() {
        Some(is_one) => Ok(is_one),
        None => {
            let asked = timeout(ANSWER_TIMEOUT, state.owner.is_administrator(viewer.caller())).await;
            asked.unwrap_or(Err(OwnerGone))
        }
    }
}
