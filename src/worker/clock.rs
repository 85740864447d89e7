//! The time that reports tell.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the epoch.
#[expect(clippy::disallowed_methods, reason = "reports tell when attempts began and ended")]
pub fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
