//! A ticket for the logs of an attempt: the answer at `/scheduler/logticket`.

use serde::{Deserialize, Serialize};

use crate::model::AttemptId;

/// What a worker takes as `expires` and `ticket` beside the `attemptid` at `/tasklog`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogTicket {
    /// The attempt.
    pub attempt: AttemptId,
    /// Until when it is valid, epoch ms.
    pub expires_ms: i64,
    /// 64 hexadecimal digits.
    pub ticket: String,
}
