//! The one place that reads a clock; everybody else is told the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::Now;

/// Tells the time since it was started, and the wall time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: tokio::time::Instant,
}

// === impl Clock ===

impl Clock {
    /// A clock whose monotonic side starts at [`Self::START_MS`] now. It follows tokio's time, so tests may pause it.
    pub fn start() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }

    /// What the monotonic side shows at the start, ms: what began before, under an earlier incarnation, has a time too.
    pub const START_MS: u64 = 1 << 40;

    /// Milliseconds since [`Self::START_MS`] before the start; never goes back.
    pub fn mono_ms(&self) -> u64 {
        Self::START_MS + self.origin.elapsed().as_millis() as u64
    }

    /// Both clocks.
    pub fn now(&self) -> Now {
        Now { mono_ms: self.mono_ms(), wall_ms: wall_ms() }
    }

    /// The instant at which [`Self::mono_ms`] reaches `mono_ms`.
    pub fn instant(&self, mono_ms: u64) -> tokio::time::Instant {
        self.origin + Duration::from_millis(mono_ms.saturating_sub(Self::START_MS))
    }
}

/// Milliseconds since the epoch; negative before it.
#[allow(clippy::disallowed_methods, reason = "this file is where the wall clock is read")]
pub fn wall_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn monotonic_time_leaves_room_for_the_past_and_follows_the_runtime() {
        let clock = Clock::start();
        assert_eq!(clock.now().mono_ms, Clock::START_MS);
        tokio::time::advance(Duration::from_millis(1500)).await;
        assert_eq!(clock.mono_ms(), Clock::START_MS + 1500);
        assert_eq!(clock.instant(Clock::START_MS + 1500), tokio::time::Instant::now());
        assert!(clock.now().wall_ms > 1_600_000_000_000);
    }
}
