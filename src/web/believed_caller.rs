//! The user of an unsigned change: believed where RPC believes it (a name in `user.name=`), if no page of another site
//! could have sent the request.

use std::collections::BTreeMap;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};

use super::owner::MarketPresence;
use super::same_site::{THROUGH_PROXY, came_through_proxy, is_from_own_page};
use super::signed_request::HttpRequest;

/// A header that a page of another site cannot send unasked.
const REQUESTED_BY: &str = "x-requested-by";
/// Longest name of a user, bytes.
const MAX_USER_BYTES: usize = 256;

/// Refuses a request whose sender may be a page of another site, and any while the market rules or changes
/// must be signed: then no name is believed.
///
/// # Errors
/// The status and text of the refusal.
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
///
/// # Errors
/// The status and text of the refusal: it is missing, empty or too long.
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
