//! Timestamps for signatures: rising, by this machine's clock and what the server says of it.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::client::market::used_timestamp_in;

use super::problem::Problem;

/// Longest time for which a signature may be good in advance, ms.
const MOST_AHEAD_MS: i64 = 300_000;

/// What is known of the server's clock.
#[derive(Debug)]
pub(super) struct SigningClock {
    /// Reads this machine's clock, epoch ms.
    wall_ms: fn() -> i64,
    /// The server's clock minus this machine's, ms.
    offset_ms: AtomicI64,
    /// The last timestamp that was signed, or that the server has accepted of this user, epoch ms.
    last_ms: AtomicI64,
}

impl SigningClock {
    pub(super) fn new(wall_ms: fn() -> i64) -> Self {
        Self { wall_ms, offset_ms: AtomicI64::new(0), last_ms: AtomicI64::new(0) }
    }

    /// A timestamp after all before, epoch ms.
    pub(super) fn stamp_ms(&self) -> i64 {
        let now_ms = (self.wall_ms)().saturating_add(self.offset_ms.load(Ordering::Relaxed));
        let stamp_ms = now_ms.max(self.last_ms.load(Ordering::Relaxed).saturating_add(1));
        self.last_ms.store(stamp_ms, Ordering::Relaxed);
        stamp_ms
    }

    /// Learns from the refusal of a timestamp; `false` if another timestamp will not do either.
    pub(super) fn correct(&self, problem: &Problem) -> bool {
        let Some(server_ms) = problem.server_time_ms else { return false };
        // Another program of the same user may have sent the same.
        let accepted_ms = used_timestamp_in(&problem.detail);
        if accepted_ms.is_some_and(|accepted_ms| accepted_ms.saturating_sub(server_ms) >= MOST_AHEAD_MS) {
            return false;
        }
        self.offset_ms.store(server_ms.saturating_sub((self.wall_ms)()), Ordering::Relaxed);
        self.last_ms.store(accepted_ms.unwrap_or(0), Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(detail: &str, server_ms: i64) -> Problem {
        Problem { detail: detail.to_owned(), server_time_ms: Some(server_ms), ..Problem::default() }
    }

    #[test]
    fn timestamps_rise_and_follow_the_server() {
        let clock = SigningClock::new(|| 9_000_000);
        assert_eq!([clock.stamp_ms(), clock.stamp_ms()], [9_000_000, 9_000_001]);
        assert!(clock.correct(&refusal("timestamp 9000001 is more than 3 ms from the server's time 5", 5)));
        assert_eq!([clock.stamp_ms(), clock.stamp_ms()], [5, 6]);
        let taken = "the signature of timestamp 90 was used before: sign with a later timestamp";
        assert!(clock.correct(&refusal(taken, 8)));
        assert_eq!(clock.stamp_ms(), 91);
    }

    #[test]
    fn nothing_is_signed_for_another_day() {
        let clock = SigningClock::new(|| 7);
        let ahead = "used signatures up to timestamp 300007, ahead of the server's time 7, are no longer kept";
        assert!(!clock.correct(&refusal(ahead, 7)));
        assert!(!clock.correct(&Problem::default()));
    }
}
