//! Replay guard: each signature is accepted once.
//!
//! Invariants: the last accepted timestamp of a key never moves back, whatever the clock, the ACL file or a restart do;
//! a refusal changes nothing; each acceptance is a fact, for reads too, so a crash makes no signature valid again. The
//! last timestamp of a key is kept when the user changes keys, and applies if the key returns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Settings of the replay guard: for how long and how often a signature is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketConfig {
    /// Largest difference between a timestamp and the server's clock, either way, ms
    /// (`mapred.priority-scheduler.signature-window`).
    pub signature_window_ms: u64,
    /// How many jobs one signature may submit (`mapred.dynamic-scheduler.job-signature-uses`).
    pub job_signature_uses: u32,
    /// How long after its timestamp a job signature may be reused, ms
    /// (`mapred.dynamic-scheduler.job-signature-window`).
    pub job_signature_window_ms: u64,
}

/// Identifies a user's key without revealing it: the first 8 bytes of its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyId(pub u64);

/// A consumer of signatures; each has its own stamps, so one timestamp may be used once with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consumer {
    /// Requests to `/scheduler`.
    Servlet,
    /// Job submissions.
    Job,
    /// Files of jobs over HTTP.
    Upload,
    /// Requests about applications.
    Application,
}

/// The last accepted signature of a user's key with one consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The consumer.
    pub consumer: Consumer,
    /// The signer.
    pub user: String,
    /// The key that signed.
    pub key_id: KeyId,
    /// The timestamp under the signature, epoch ms.
    pub timestamp_ms: i64,
    /// Number of uses; above 1 only for jobs.
    pub uses: u32,
}

/// Whether a timestamp is of the server's time, but for the unit: `date +%s` for `date +%s000`.
fn looks_like_seconds(timestamp_ms: i64, now_ms: i64) -> bool {
    const DAY_MS: u64 = 86_400_000;
    timestamp_ms.checked_mul(1_000).is_some_and(|in_ms| in_ms.abs_diff(now_ms) < DAY_MS.min(now_ms.unsigned_abs() / 2))
}

/// Why a timestamp is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayRefusal {
    /// Too far from the server's clock.
    #[error(
        "timestamp {timestamp_ms} is more than {window_ms} ms from the server's time {now_ms}{}",
        if looks_like_seconds(*.timestamp_ms, *.now_ms) { ": it looks like seconds, expected milliseconds" } else { "" }
    )]
    OutsideWindow {
        /// The timestamp.
        timestamp_ms: i64,
        /// The server's time.
        now_ms: i64,
        /// The window.
        window_ms: u64,
    },
    /// Signed before the server started, by a user without a stored stamp.
    #[error("timestamp {timestamp_ms} is not after the server's start {start_ms}")]
    BeforeStart {
        /// The timestamp.
        timestamp_ms: i64,
        /// The server's start.
        start_ms: i64,
    },
    /// Not after the last accepted timestamp.
    #[error("timestamp {timestamp_ms} is not after the last accepted one, {last_ms}")]
    NotAfterLast {
        /// The timestamp.
        timestamp_ms: i64,
        /// The last accepted one.
        last_ms: i64,
    },
    /// The server's clock was set back: every honest timestamp lies before the last accepted one.
    #[error(
        "the last accepted timestamp {last_ms} is ahead of the server's time {now_ms}; \
         wait until the clock passes it or have the key changed"
    )]
    StampAhead {
        /// The last accepted one.
        last_ms: i64,
        /// The server's time.
        now_ms: i64,
    },
    /// The signature has been used for as many jobs as allowed.
    #[error("the signature has been used {uses} times, the limit of mapred.dynamic-scheduler.job-signature-uses")]
    UsedUp {
        /// How often.
        uses: u32,
    },
    /// The signature may be reused by count, but not by age.
    #[error(
        "timestamp {timestamp_ms} is older than the {window_ms} ms of mapred.dynamic-scheduler.job-signature-window"
    )]
    TooOldForReuse {
        /// The timestamp.
        timestamp_ms: i64,
        /// The window.
        window_ms: u64,
    },
}

/// The last accepted timestamps of all users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayGuard {
    start_ms: i64,
    stamps: BTreeMap<(Consumer, String), BTreeMap<KeyId, Used>>,
}

/// The last timestamp of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Used {
    timestamp_ms: i64,
    uses: u32,
}

// === impl ReplayGuard ===

impl ReplayGuard {
    /// A guard without stamps, of a server that started at `start_ms`, epoch ms.
    pub fn new(start_ms: i64) -> Self {
        ReplayGuard { start_ms, stamps: BTreeMap::new() }
    }

    /// When the server started, epoch ms.
    pub fn start_ms(&self) -> i64 {
        self.start_ms
    }

    /// Restores a stored stamp; one older than the known one changes nothing.
    pub fn restore(&mut self, stamp: &Stamp) {
        let keys = self.stamps.entry((stamp.consumer, stamp.user.clone())).or_default();
        let used = keys.entry(stamp.key_id).or_insert(Used { timestamp_ms: i64::MIN, uses: 0 });
        if (stamp.timestamp_ms, stamp.uses) >= (used.timestamp_ms, used.uses) {
            *used = Used { timestamp_ms: stamp.timestamp_ms, uses: stamp.uses };
        }
    }

    /// Accepts a signature for one use, or refuses it. The stamp must be stored before the request is answered.
    pub fn accept(
        &mut self,
        consumer: Consumer,
        user: &str,
        key_id: KeyId,
        timestamp_ms: i64,
        now_ms: i64,
        config: &MarketConfig,
    ) -> Result<Stamp, ReplayRefusal> {
        let stamp = self.check(consumer, user, key_id, timestamp_ms, now_ms, config)?;
        self.restore(&stamp);
        Ok(stamp)
    }

    /// The stamp that [`accept`](Self::accept) would make; nothing changes.
    pub fn check(
        &self,
        consumer: Consumer,
        user: &str,
        key_id: KeyId,
        timestamp_ms: i64,
        now_ms: i64,
        config: &MarketConfig,
    ) -> Result<Stamp, ReplayRefusal> {
        let last = self.last(consumer, user, key_id);
        let uses = match last {
            Last::Stamp(used) if used.timestamp_ms == timestamp_ms && consumer == Consumer::Job => {
                config.reuse(used, now_ms)?
            }
            _ => {
                config.fresh(last, timestamp_ms, now_ms)?;
                1
            }
        };
        Ok(Stamp { consumer, user: user.to_owned(), key_id, timestamp_ms, uses })
    }

    fn last(&self, consumer: Consumer, user: &str, key_id: KeyId) -> Last {
        match self.stamps.get(&(consumer, user.to_owned())) {
            None => Last::Start(self.start_ms),
            // Signatures of the old keys died with them, so the server's start bounds nothing.
            Some(keys) => keys.get(&key_id).map_or(Last::NewKey, |used| Last::Stamp(*used)),
        }
    }
}

/// The time that a timestamp must be later than.
#[derive(Clone, Copy)]
enum Last {
    /// The server's start: the user was never seen.
    Start(i64),
    /// Nothing: the user has a new key.
    NewKey,
    /// The last accepted one.
    Stamp(Used),
}

// === impl MarketConfig ===

impl Default for MarketConfig {
    fn default() -> Self {
        MarketConfig { signature_window_ms: 300_000, job_signature_uses: 1, job_signature_window_ms: 300_000 }
    }
}

impl MarketConfig {
    /// Whether a timestamp may be used for the first time.
    fn fresh(&self, last: Last, timestamp_ms: i64, now_ms: i64) -> Result<(), ReplayRefusal> {
        let window_ms = self.signature_window_ms;
        let within_window = timestamp_ms.abs_diff(now_ms) <= window_ms;
        match last {
            Last::Stamp(Used { timestamp_ms: last_ms, .. }) if last_ms > now_ms && timestamp_ms <= last_ms => {
                Err(ReplayRefusal::StampAhead { last_ms, now_ms })
            }
            _ if !within_window => Err(ReplayRefusal::OutsideWindow { timestamp_ms, now_ms, window_ms }),
            Last::Stamp(Used { timestamp_ms: last_ms, .. }) if timestamp_ms <= last_ms => {
                Err(ReplayRefusal::NotAfterLast { timestamp_ms, last_ms })
            }
            Last::Start(start_ms) if timestamp_ms <= start_ms => {
                Err(ReplayRefusal::BeforeStart { timestamp_ms, start_ms })
            }
            _ => Ok(()),
        }
    }

    /// The number of uses including this one, if the job signature may be reused.
    fn reuse(&self, used: Used, now_ms: i64) -> Result<u32, ReplayRefusal> {
        let window_ms = self.job_signature_window_ms;
        if used.uses >= self.job_signature_uses {
            return Err(ReplayRefusal::UsedUp { uses: used.uses });
        }
        if used.timestamp_ms.abs_diff(now_ms) > window_ms {
            return Err(ReplayRefusal::TooOldForReuse { timestamp_ms: used.timestamp_ms, window_ms });
        }
        Ok(used.uses + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_700_000_000_000;
    const MINUTE: i64 = 60_000;
    const CONFIG: MarketConfig =
        MarketConfig { signature_window_ms: 300_000, job_signature_uses: 1, job_signature_window_ms: 300_000 };
    const KEY: KeyId = KeyId(1);

    fn servlet(guard: &mut ReplayGuard, timestamp_ms: i64, now_ms: i64) -> Result<Stamp, ReplayRefusal> {
        guard.accept(Consumer::Servlet, "alice", KEY, timestamp_ms, now_ms, &CONFIG)
    }

    fn job(guard: &mut ReplayGuard, at: i64, now: i64, config: &MarketConfig) -> Result<u32, ReplayRefusal> {
        guard.accept(Consumer::Job, "alice", KEY, at, now, config).map(|stamp| stamp.uses)
    }

    #[test]
    fn timestamps_strictly_increase_from_the_servers_start() {
        let mut guard = ReplayGuard::new(START);
        let before = ReplayRefusal::BeforeStart { timestamp_ms: START, start_ms: START };
        assert_eq!(servlet(&mut guard, START, START), Err(before));
        assert!(servlet(&mut guard, START + 5, START).is_ok());
        let again = ReplayRefusal::NotAfterLast { timestamp_ms: START + 5, last_ms: START + 5 };
        assert_eq!(servlet(&mut guard, START + 5, START + 9), Err(again));
        assert!(servlet(&mut guard, START + 4, START + 9).is_err());
        assert!(servlet(&mut guard, START + 6, START + 9).is_ok());
    }

    #[test]
    fn consumers_and_users_have_guards_of_their_own() {
        let mut guard = ReplayGuard::new(START);
        assert!(servlet(&mut guard, START + 5, START).is_ok());
        assert!(job(&mut guard, START + 5, START, &CONFIG).is_ok());
        assert!(guard.accept(Consumer::Servlet, "bob", KEY, START + 5, START, &CONFIG).is_ok());
    }

    /// Defect 16: in the original each ACL edit made every request since the start good again.
    #[test]
    fn defect_16_stamps_survive_key_changes_and_restarts() {
        let mut guard = ReplayGuard::new(START);
        let stamp = servlet(&mut guard, START + 5, START + 5).unwrap();
        let new_key = |guard: &mut ReplayGuard, at| {
            guard.accept(Consumer::Servlet, "alice", KeyId(2), at, START + 9, &CONFIG).is_ok()
        };
        assert!(new_key(&mut guard, START + 1), "a changed key starts a new guard");
        assert!(!new_key(&mut guard, START + 1));
        assert!(servlet(&mut guard, START + 5, START + 9).is_err(), "the old key is back, and its stamp too");

        let mut restarted = ReplayGuard::new(START + 1);
        restarted.restore(&stamp);
        assert!(servlet(&mut restarted, START + 5, START + 9).is_err());
        assert!(servlet(&mut restarted, START + 6, START + 9).is_ok());
    }

    /// Defect 17: with the clock set back, old signatures worked again.
    #[test]
    fn defect_17_a_window_around_now_and_strict_increase_both_hold() {
        let mut guard = ReplayGuard::new(START);
        let now = START + 10 * MINUTE;
        let early = servlet(&mut guard, now - 5 * MINUTE - 1, now).unwrap_err();
        assert!(matches!(early, ReplayRefusal::OutsideWindow { .. }) && !early.to_string().contains("seconds"));
        let in_seconds = servlet(&mut guard, now / 1_000, now).unwrap_err().to_string();
        assert!(in_seconds.ends_with(": it looks like seconds, expected milliseconds"), "{in_seconds}");
        assert!(servlet(&mut guard, now - 5 * MINUTE, now).is_ok());
        assert!(servlet(&mut guard, now + 5 * MINUTE, now).is_ok());
    }

    /// Defect 18: a timestamp far ahead was taken and locked its user out.
    #[test]
    fn defect_18_a_far_timestamp_is_refused_and_moves_nothing() {
        let mut guard = ReplayGuard::new(START);
        for far in [START + 5 * MINUTE + 1, i64::MAX, i64::MIN] {
            assert!(matches!(servlet(&mut guard, far, START), Err(ReplayRefusal::OutsideWindow { .. })));
        }
        assert_eq!(guard, ReplayGuard::new(START));
        assert!(servlet(&mut guard, START + 1, START).is_ok());
    }

    /// Defect 38: the clock set back either locked users out without a word or let replays in.
    #[test]
    fn defect_38_a_clock_set_back_never_moves_the_guard_back() {
        let mut guard = ReplayGuard::new(START);
        let then = START + 60 * MINUTE;
        assert!(servlet(&mut guard, then, then).is_ok());
        let set_back = START + MINUTE;
        let ahead = ReplayRefusal::StampAhead { last_ms: then, now_ms: set_back };
        assert_eq!(servlet(&mut guard, set_back, set_back), Err(ahead));
        assert_eq!(servlet(&mut guard, then, set_back), Err(ahead));
        assert!(guard.accept(Consumer::Servlet, "alice", KeyId(2), set_back, set_back, &CONFIG).is_ok());
        assert!(servlet(&mut guard, then + 1, then + 1).is_ok(), "the clock has passed the stamp");
    }

    #[test]
    fn a_job_signature_is_good_once_by_default() {
        let mut guard = ReplayGuard::new(START);
        assert_eq!(job(&mut guard, START + 1, START + 1, &CONFIG), Ok(1));
        let refusal = job(&mut guard, START + 1, START + 2, &CONFIG).unwrap_err();
        assert_eq!(refusal, ReplayRefusal::UsedUp { uses: 1 });
        assert!(refusal.to_string().contains("mapred.dynamic-scheduler.job-signature-uses"));
    }

    #[test]
    fn a_job_signature_may_be_used_more_often_inside_its_window() {
        let config = MarketConfig { job_signature_uses: 3, job_signature_window_ms: 600_000, ..CONFIG };
        let mut guard = ReplayGuard::new(START);
        let at = START + 1;
        assert_eq!(job(&mut guard, at, at, &config), Ok(1));
        assert_eq!(job(&mut guard, at, at + 10 * MINUTE, &config), Ok(2));
        let old = ReplayRefusal::TooOldForReuse { timestamp_ms: at, window_ms: 600_000 };
        assert_eq!(job(&mut guard, at, at + 10 * MINUTE + 1, &config), Err(old));
        let mut restarted = ReplayGuard::new(START + MINUTE);
        restarted.restore(&Stamp {
            consumer: Consumer::Job,
            user: "alice".into(),
            key_id: KEY,
            timestamp_ms: at,
            uses: 2,
        });
        assert_eq!(job(&mut restarted, at, at + MINUTE, &config), Ok(3), "the count is durable");
        assert_eq!(job(&mut restarted, at, at + MINUTE, &config), Err(ReplayRefusal::UsedUp { uses: 3 }));
        assert!(job(&mut restarted, at - 1, at + MINUTE, &config).is_err());
    }
}
