//! The only place that reads a clock; all other code receives the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::Now;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: tokio::time::Instant,
}

impl Clock {
    /// A clock whose monotonic time is [`Self::START_MS`] now. It follows tokio's time, so tests may pause it.
    pub fn start() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }

    /// Monotonic time at the start, ms: events of an earlier run need a time too.
    pub(crate) const START_MS: u64 = 1 << 40;

    /// Monotonic time, ms: [`Self::START_MS`] plus the time since the start.
    pub(crate) fn mono_ms(&self) -> u64 {
        Self::START_MS + self.elapsed().as_millis() as u64
    }

    /// Time since the start, for what must be known more finely.
    pub(crate) fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Both clocks.
    pub fn now(&self) -> Now {
        Now { mono_ms: self.mono_ms(), wall_ms: wall_ms() }
    }

    /// The instant at which [`Self::mono_ms`] reaches `mono_ms`.
    pub(crate) fn instant(&self, mono_ms: u64) -> tokio::time::Instant {
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
