//! The snapshot of the cluster that an answer shows: with its age where no newer one can be had, or why there is none.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::AGE;
use axum::http::{HeaderValue, Response};
use tokio::time::timeout;

use crate::engine::ClusterSnapshot;
use crate::views::LookAt;

use super::owner::{Health, Owner, OwnerGone};
use super::state::{ANSWER_TIMEOUT, WebState};
use super::time_text::format_duration;

/// Age from which a snapshot says so, ms: newer ones are due every second.
const OLD_MS: i64 = 5_000;

#[derive(Clone, Debug)]
pub(super) struct ClusterView {
    pub(super) overview: Arc<ClusterSnapshot>,
    /// Its age, s, and why there is no newer one; none of a fresh one.
    pub(super) old: Option<(i64, String)>,
}

impl ClusterView {
    /// The newest snapshot that may be shown.
    pub(super) async fn of<O: Owner>(state: &WebState<O>) -> Result<Self, String> {
        let overview = timeout(ANSWER_TIMEOUT, state.owner.overview()).await;
        Self::found(state, overview.ok().and_then(Result::ok))
    }

    /// The same with the jobs of its report.
    pub(super) async fn with_jobs<O: Owner>(state: &WebState<O>) -> Result<Self, String> {
        let shown = timeout(ANSWER_TIMEOUT, state.owner.shown(LookAt::Policy)).await;
        Self::found(state, shown.ok().and_then(Result::ok).map(|shown| shown.overview))
    }

    /// A snapshot that was found; none: there is none to be had.
    pub(super) fn found<O: Owner>(state: &WebState<O>, overview: Option<Arc<ClusterSnapshot>>) -> Result<Self, String> {
        let overview = overview.ok_or_else(|| unavailable(state))?;
        let health = state.owner.health();
        let age_ms = health.at_ms.saturating_sub(overview.at_ms);
        let old = (!health.is_ready && age_ms >= OLD_MS).then_some((age_ms / 1_000, health.text));
        Ok(Self { overview, old })
    }

    /// The same answer with the age of what it shows.
    pub(super) fn aged(&self, mut response: Response<Body>) -> Response<Body> {
        if let Some((age_s, _)) = &self.old {
            response.headers_mut().insert(AGE, HeaderValue::from(*age_s));
        }
        response
    }
}

/// That what is shown is old though the daemon is well: the owner is too busy to say what is new, or the views are behind.
pub(super) fn views_complaint(health: &Health, overview: &ClusterSnapshot) -> Option<String> {
    let age_ms = health.at_ms.saturating_sub(overview.at_ms);
    let is_behind = health.is_ready && overview.at_ms > 0 && age_ms >= OLD_MS;
    is_behind.then(|| format!("what pages and metrics show is {} old", format_duration(age_ms)))
}

/// Why no answer comes: what is wrong with the daemon, as far as that is known.
pub(super) fn unavailable<O: Owner>(state: &WebState<O>) -> String {
    let health = state.owner.health();
    if health.is_ready || health.text.is_empty() { OwnerGone.to_string() } else { health.text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_that_are_behind_a_daemon_that_is_well_are_complained_of() {
        let overview = ClusterSnapshot { at_ms: 1_000_000, ..ClusterSnapshot::default() };
        let complaint = |is_ready, age_ms: i64| {
            views_complaint(&Health { is_ready, at_ms: 1_000_000 + age_ms, ..Health::default() }, &overview)
        };
        assert_eq!(complaint(true, 65_000).unwrap(), "what pages and metrics show is 1 min 5 s old");
        assert_eq!(complaint(true, 4_999), None);
        assert_eq!(complaint(false, 65_000), None, "why it is not ready says more");
    }
}
