//! The user of an unsigned change: believed where RPC believes it (a name in `user.name=`), if no page of another site
//! could have sent the request.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::middleware::Next;

use crate::http::LocalCaller;

use super::applications::ApplicationOwner;
use super::owner::{MarketPresence, Owner};
use super::request_body::values_of;
use super::response::json_refusal;
use super::same_site::{THROUGH_PROXY, came_through_proxy, is_from_own_page};
use super::signed_request::HttpRequest;
use super::state::WebState;

/// A header that a page of another site cannot send unasked.
const REQUESTED_BY: &str = "x-requested-by";
const MAX_USER_BYTES: usize = 256;

/// Refuses a request whose sender may be a page of another site, and any while the market rules or changes
/// must be signed: then no name is believed.
pub(super) fn check_believable(request: &HttpRequest, market: MarketPresence) -> Result<(), (StatusCode, String)> {
    let distrust = match market {
        MarketPresence::Absent | MarketPresence::Idle => None,
        MarketPresence::Ruling => Some("while the market rules no name is believed; expected a signed request"),
        MarketPresence::Signing => {
            Some("jobtracker.job-changes is signed, so no name is believed; expected a signed request")
        }
    };
    if let Some(message) = distrust {
        return Err((StatusCode::UNAUTHORIZED, message.to_owned()));
    }
    if came_through_proxy(&request.headers) {
        return Err((StatusCode::FORBIDDEN, THROUGH_PROXY.to_owned()));
    }
    if !is_from_program(&request.headers) {
        let message =
            "expected the header X-Requested-By, and Content-Type application/json or application/octet-stream";
        return Err((StatusCode::FORBIDDEN, message.to_owned()));
    }
    Ok(())
}

/// Takes `user.name` from the parameters of a request that [`check_believable`] let pass.
pub(super) fn take_user(fields: &mut BTreeMap<String, String>) -> Result<String, (StatusCode, String)> {
    let user = fields.remove("user.name").filter(|user| !user.is_empty() && user.len() <= MAX_USER_BYTES);
    user.ok_or_else(|| (StatusCode::UNAUTHORIZED, "user.name is missing; expected who asks".to_owned()))
}

fn is_from_program(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_kind = matches!(kind.as_str(), "application/json" | "application/octet-stream");
    is_kind && headers.contains_key(REQUESTED_BY) && is_from_own_page(headers)
}

/// The user id that may name every user.
const ROOT: u32 = 0;

/// What a user of this machine may do in a name.
pub(super) struct NameRight {
    pub(super) is_own_name: bool,
    /// Of root's, and of this process's user.
    pub(super) may_name_all: bool,
}

impl NameRight {
    pub(super) async fn of<O: ApplicationOwner>(owner: &O, user: &str, uid: u32) -> Self {
        let may_name_all = uid == ROOT || uid == rustix::process::geteuid().as_raw();
        Self { is_own_name: owner.is_uid_of(user, uid).await, may_name_all }
    }

    pub(super) const fn is_granted(&self) -> bool {
        self.is_own_name || self.may_name_all
    }
}

/// Why no name is believed over TCP.
pub(super) const NOT_BY_TCP: &str =
    "without a signature names are believed at the Unix socket of jobtracker.web.socket only";

/// Refuses requests that name a user by `user.name`, which no signature proves, where that is not the caller.
pub(super) async fn check_names<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let Some(caller) = request.extensions().get::<LocalCaller>().copied() else { return next.run(request).await };
    let query = request.uri().query().unwrap_or_default().to_owned();
    // Each of them, whichever a reader of the request takes.
    for user in values_of(query.as_bytes(), "user.name") {
        let why = match caller {
            LocalCaller::Unknown => NOT_BY_TCP.to_owned(),
            LocalCaller::Known(uid) if NameRight::of(&state.owner, &user, uid).await.is_granted() => continue,
            LocalCaller::Known(uid) => format!("user.name={user} is not the user with the uid {uid}, who asks"),
        };
        return json_refusal(StatusCode::FORBIDDEN, &why);
    }
    next.run(request).await
}
