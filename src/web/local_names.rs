//! Names that unsigned requests give, where the web server listens on a Unix socket too: there the kernel says who asks, and over TCP
//! no name is believed.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use axum::middleware::Next;

use crate::http::LocalCaller;

use super::applications::ApplicationOwner;
use super::form_body::values_of;
use super::owner::Owner;
use super::response::json_refusal;
use super::state::WebState;

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
