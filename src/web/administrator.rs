//! Whether an administrator looks: by the session of one, or by a name where names are believed.

use tokio::time::timeout;

use super::owner::{Owner, OwnerGone};
use super::state::{ANSWER_TIMEOUT, WebState};
use super::viewer::Viewer;

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
