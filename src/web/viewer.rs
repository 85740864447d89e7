//! Who asks, and what is shown then: the API, the pages, the live stream and the log ask here alone.
//!
//! Without a proof of who asks, all are strangers. Money is shown to them only where the market's visibility is public; to a user who
//! has signed in, what is that user's own; to an administrator, all. More of a job than its row in lists is for all while access lists
//! are off, else for administrators and for those that the lists name.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

use crate::engine::Caller;
use crate::market::Role;

use super::form_body::form_fields;
use super::owner::{MarketPresence, Owner};
use super::same_site::came_through_proxy;
use super::sessions::session_in_cookies;
use super::signed_request::HttpRequest;
use super::state::WebState;

/// How the value of `Authorization` begins that has a session.
const BEARER: &str = "bearer ";

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Viewer {
    who: Who,
    is_money_public: bool,
    are_acls_on: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Stranger,
    /// Gives a name, which is believed as that of a job client is.
    Named(Arc<str>),
    /// Has signed in.
    User(Arc<str>),
    /// Has signed in, with the role of an administrator.
    Administrator(Arc<str>),
}

/// A bearer that is none, or that of a session that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the session in Authorization has ended or is none: its time is over, or its user has another key; expected Bearer and \
     what `jobtracker open --token` prints"
)]
pub(super) struct BadBearer;

// === impl Viewer ===

impl Viewer {
    /// Somebody who has proved nothing.
    pub(super) fn stranger<O: Owner>(state: &WebState<O>) -> Self {
        Self { who: Who::Stranger, is_money_public: state.shows_money, are_acls_on: state.stock.are_acls_on }
    }

    /// Who asks for a page: by the cookie of a session; else by `user.name`, where RPC believes names too.
    pub(super) async fn of_page<O: Owner>(state: &WebState<O>, request: &HttpRequest) -> Self {
        let stranger = Self::stranger(state);
        if let Some(session) = session_in_cookies(&request.headers)
            && let Some(viewer) = Self::of_session(state, session).await
        {
            return viewer;
        }
        let is_believed = matches!(state.owner.market_presence(), MarketPresence::Absent | MarketPresence::Idle)
            && !came_through_proxy(&request.headers);
        let query = request.uri.query().unwrap_or_default();
        let named = is_believed.then(|| form_fields(query.as_bytes())?.remove("user.name")).flatten();
        match named.filter(|name| !name.is_empty()) {
            Some(name) => Self { who: Who::Named(name.into()), ..stranger },
            None => stranger,
        }
    }

    /// Who asks the API, and the session that says so.
    ///
    /// # Errors
    /// [`BadBearer`]. A cookie that is none makes a stranger: browsers send it until it is over.
    pub(super) async fn of_program<O: Owner>(
        state: &WebState<O>,
        headers: &HeaderMap,
    ) -> Result<(Self, Option<String>), BadBearer> {
        if let Some(session) = bearer_in(headers) {
            let viewer = Self::of_session(state, session).await.ok_or(BadBearer)?;
            return Ok((viewer, Some(session.to_owned())));
        }
        let session = session_in_cookies(headers);
        let viewer = match session {
            Some(session) => Self::of_session(state, session).await,
            None => None,
        };
        let session = session.filter(|_| viewer.is_some()).map(str::to_owned);
        Ok((viewer.unwrap_or_else(|| Self::stranger(state)), session))
    }

    /// The user of a session; none of one that has ended.
    pub(super) async fn of_session<O: Owner>(state: &WebState<O>, session: &str) -> Option<Self> {
        let acl = state.owner.acl().await;
        let (user, entry) = state.sessions.find(session, &acl, state.owner.health().at_ms)?;
        let who = match entry.role {
            Role::Admin => Who::Administrator(user.into()),
            Role::User => Who::User(user.into()),
        };
        Some(Self { who, ..Self::stranger(state) })
    }

    /// The user who has signed in.
    pub(super) fn signed_in(&self) -> Option<&str> {
        match &self.who {
            Who::Stranger | Who::Named(_) => None,
            Who::User(user) | Who::Administrator(user) => Some(user),
        }
    }

    /// Whether all rates, shares, budgets and costs are shown.
    pub(super) fn sees_all_money(&self) -> bool {
        self.is_money_public || matches!(self.who, Who::Administrator(_))
    }

    /// Whether any of them are.
    pub(super) fn sees_some_money(&self) -> bool {
        self.is_money_public || self.signed_in().is_some()
    }

    /// Whether those of a queue are. A queue is that of the user of its name.
    pub(super) fn sees_money_of(&self, queue: &str) -> bool {
        self.sees_all_money() || self.signed_in() == Some(queue)
    }

    /// Whether is shown what a job or an application of a user in a queue costs.
    pub(super) fn sees_cost_of(&self, user: &str, queue: &str) -> bool {
        self.sees_money_of(queue) || self.signed_in() == Some(user)
    }

    /// Whether more of every job and application is shown than its row in lists.
    pub(super) fn sees_all_parts(&self) -> bool {
        !self.are_acls_on || matches!(self.who, Who::Administrator(_))
    }

    /// Whether more of a user's job or application is shown, whatever its lists say.
    pub(super) fn sees_parts_of(&self, user: &str) -> bool {
        self.sees_all_parts() || (!user.is_empty() && *self.caller().user == *user)
    }

    /// As whom access lists know it; without a name: as none that they name.
    pub(super) fn caller(&self) -> Caller {
        match &self.who {
            Who::Stranger => Caller::named(""),
            Who::Named(user) | Who::User(user) => Caller::named(user.clone()),
            Who::Administrator(user) => Caller { has_admin_role: true, ..Caller::named(user.clone()) },
        }
    }
}

#[cfg(test)]
impl Viewer {
    /// A stranger where money is public or not, and access lists are on or not.
    pub(super) const fn of(is_money_public: bool, are_acls_on: bool) -> Self {
        Self { who: Who::Stranger, is_money_public, are_acls_on }
    }

    /// The same viewer, signed in as a user.
    pub(super) fn signed_in_as(self, user: &str) -> Self {
        Self { who: Who::User(user.into()), ..self }
    }

    /// The same viewer, signed in as an administrator.
    pub(super) fn administered_by(self, user: &str) -> Self {
        Self { who: Who::Administrator(user.into()), ..self }
    }

    /// The same where access lists are on.
    pub(super) fn with_acls(self) -> Self {
        Self { are_acls_on: true, ..self }
    }
}

/// The session in `Authorization`; none unless it is a bearer at all.
fn bearer_in(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, session) = value.split_at_checked(BEARER.len())?;
    scheme.eq_ignore_ascii_case(BEARER).then(|| session.trim())
}
