//! The allowance of a queue, as its status shows it.

use serde::{Deserialize, Serialize};

use crate::model::Credits;

/// Credits that a queue gets again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowanceStatus {
    /// Credits of each period.
    pub(crate) credits: Credits,
    /// The length of a period, s.
    pub(crate) every_s: u64,
    /// The balance at which payment stops; absent: it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cap: Option<Credits>,
    /// Time until the next payment, s, rounded up.
    pub(crate) next_s: u64,
    /// The administrator who set it.
    pub(crate) by: String,
}
