//! Requests that were sent to the market.

use super::laws::Intent;

/// A request as it went over the network: anybody may send it once more.
#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    pub(super) query: String,
    pub(super) header: String,
    pub(super) intent: Intent,
}
