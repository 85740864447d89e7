//! What the log says of an outage: each cause when it is new, and that it is over.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// After that a cause that lasts is logged again.
const REPEAT_PAUSE: Duration = Duration::from_secs(600);
/// Causes that are remembered; a database's message may have a number that changes.
const MOST_CAUSES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Outage {
    since: Option<Instant>,
    /// When each was logged.
    causes: BTreeMap<String, Instant>,
}

impl Outage {
    /// Notes a failure. Whether it is to be logged: each try has one, and there are several a minute.
    pub(super) fn note_failure(&mut self, cause: &str, now: Instant) -> bool {
        self.since.get_or_insert(now);
        let is_logged = |at: &Instant| now.saturating_duration_since(*at) < REPEAT_PAUSE;
        if self.causes.get(cause).is_some_and(is_logged) {
            return false;
        }
        if self.causes.len() >= MOST_CAUSES {
            self.causes.clear();
        }
        self.causes.insert(cause.to_owned(), now);
        true
    }

    /// Ends it, if there was one; returns how long it was.
    pub(super) fn end(&mut self, now: Instant) -> Option<Duration> {
        self.causes.clear();
        self.since.take().map(|since| now.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::budget_file::back_end::now;

    #[test]
    fn each_cause_is_logged_when_it_is_new_and_after_a_long_time_again() {
        let begin = now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut outage = Outage::default();
        assert_eq!(outage.end(at(0)), None);
        assert!(outage.note_failure("connection refused", at(1)));
        assert!(!outage.note_failure("connection refused", at(2)));
        assert!(outage.note_failure("wrong password", at(3)), "a new cause");
        assert!(!outage.note_failure("connection refused", at(4)), "two that alternate");
        assert!(outage.note_failure("connection refused", at(601)));
        assert_eq!(outage.end(at(602)), Some(Duration::from_secs(601)));
        assert_eq!(outage.end(at(603)), None, "it is said once");
        assert!(outage.note_failure("connection refused", at(604)), "another outage");
        for number in 0..100 {
            assert!(outage.note_failure(&format!("session {number}"), at(605)));
        }
        assert!(outage.causes.len() <= MOST_CAUSES);
    }
}
