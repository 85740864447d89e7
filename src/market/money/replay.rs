//! Replay guard: each signature is accepted once, in whatever order signatures arrive.
//!
//! Kept are the used signatures of the window, by consumer, user and key. Those older than it are forgotten up to a
//! timestamp, at or before which nothing is accepted any more; it never moves back. So no signature is accepted twice,
//! whatever the clock, the ACL file or a restart do. Each acceptance is a fact, for reads too. What a key has used is
//! kept when the user changes keys, and applies if the key returns.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Maximum number of used signatures that are kept of a user with one consumer.
pub(crate) const MAX_KEPT_SIGNATURES: usize = 100_000;

/// In place of a user: what is forgotten of all of them. No user has this name.
pub(crate) const EVERYONE: &str = "";

/// Settings of the replay guard: for how long and how often a signature is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketConfig {
    /// Largest difference between a timestamp and the server's clock, either way, ms (`mapred.priority-scheduler.signature-window`).
    pub signature_window_ms: u64,
    /// How many jobs one signature may submit (`mapred.dynamic-scheduler.job-signature-uses`).
    pub job_signature_uses: u32,
    /// How long after its timestamp a job signature may be reused, ms (`mapred.dynamic-scheduler.job-signature-window`).
    pub job_signature_window_ms: u64,
}

/// Identifies a user's key without revealing it: the first 8 bytes of its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyId(pub u64);

/// Identifies what a key has signed: the first 8 bytes of the text's SHA-256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SignedTextId(pub u64);

/// A consumer of signatures; each keeps its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consumer {
    /// Requests to `/scheduler`.
    Servlet,
    /// Job submissions. They sign user and time alone, so a timestamp is one signature.
    Job,
    /// Files of jobs over HTTP.
    Upload,
    /// Requests about applications, by users.
    Application,
    /// Requests about applications, by their secrets: the user is the application.
    Secret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature<'a> {
    pub(crate) consumer: Consumer,
    pub(crate) user: &'a str,
    pub(crate) key_id: KeyId,
    /// The timestamp under the signature, epoch ms.
    pub(crate) timestamp_ms: i64,
    pub(crate) text: SignedTextId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub consumer: Consumer,
    pub user: String,
    pub key_id: KeyId,
    pub timestamp_ms: i64,
    /// What was signed; 0 for jobs, whose timestamps identify their signatures.
    pub text: SignedTextId,
    /// Number of uses; above 1 only for jobs.
    pub uses: u32,
}

/// The signatures of a key at or before a timestamp are forgotten, and none of them is accepted any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenStamps {
    pub consumer: Consumer,
    pub user: String,
    pub key_id: KeyId,
    pub up_to_ms: i64,
}

/// Whether a timestamp is of the server's time, but for the unit: `date +%s` for `date +%s000`.
fn looks_like_seconds(timestamp_ms: i64, now_ms: i64) -> bool {
    const DAY_MS: u64 = 86_400_000;
    timestamp_ms.checked_mul(1_000).is_some_and(|in_ms| in_ms.abs_diff(now_ms) < DAY_MS.min(now_ms.unsigned_abs() / 2))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayRefusal {
    #[error(
        "timestamp {timestamp_ms} is more than {window_ms} ms from the server's time {now_ms}{}",
        if looks_like_seconds(*.timestamp_ms, *.now_ms) { ": it looks like seconds, expected milliseconds" } else { "" }
    )]
    OutsideWindow { timestamp_ms: i64, now_ms: i64, window_ms: u64 },
    /// Signed before the server started, by a user none of whose signatures was ever accepted.
    #[error("timestamp {timestamp_ms} is not after the server's start {start_ms}")]
    BeforeStart { timestamp_ms: i64, start_ms: i64 },
    #[error("the signature of timestamp {timestamp_ms} was used before: sign with a later timestamp")]
    Used { timestamp_ms: i64 },
    /// Not after what is forgotten: the window was shorter before.
    #[error("timestamp {timestamp_ms} is not after {up_to_ms}, up to which used signatures are no longer kept")]
    Forgotten { timestamp_ms: i64, up_to_ms: i64 },
    /// The server's clock was set back behind what is forgotten.
    #[error(
        "used signatures up to timestamp {up_to_ms}, ahead of the server's time {now_ms}, are no longer kept; \
         wait until the clock passes it or have the key changed"
    )]
    ClockSetBack { up_to_ms: i64, now_ms: i64 },
    #[error("{limit} signatures of this user within {window_ms} ms have been used, as many as are kept; wait")]
    TooMany { limit: usize, window_ms: u64 },
    #[error("the signature has been used {uses} times, the limit of mapred.dynamic-scheduler.job-signature-uses")]
    UsedUp { uses: u32 },
    #[error(
        "timestamp {timestamp_ms} is older than the {window_ms} ms of mapred.dynamic-scheduler.job-signature-window"
    )]
    TooOldForReuse { timestamp_ms: i64, window_ms: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplayGuard {
    start_ms: i64,
    max_kept: usize,
    users: BTreeMap<(Consumer, String), BTreeMap<KeyId, UsedSignatures>>,
    /// The oldest kept timestamp of each key.
    oldest: BTreeSet<(i64, Consumer, String, KeyId)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct UsedSignatures {
    forgotten_up_to_ms: Option<i64>,
    /// How often each was used.
    uses: BTreeMap<(i64, SignedTextId), u32>,
}

impl ForgottenStamps {
    /// Everything that anybody has signed up to that time, epoch ms: what was used of it is lost.
    pub(crate) fn of_everyone(consumer: Consumer, up_to_ms: i64) -> Self {
        Self { consumer, user: EVERYONE.to_owned(), key_id: KeyId(0), up_to_ms }
    }
}

impl Stamp {
    fn place(&self) -> (i64, SignedTextId) {
        (self.timestamp_ms, self.text)
    }
}

impl UsedSignatures {
    fn oldest_ms(&self) -> Option<i64> {
        self.uses.first_key_value().map(|((oldest_ms, _), _)| *oldest_ms)
    }

    /// The last timestamp before this one, if any is kept.
    fn last_before(&self, before_ms: i64) -> Option<i64> {
        self.uses.range(..(before_ms, SignedTextId(0))).next_back().map(|((last_ms, _), _)| *last_ms)
    }
}

impl ReplayGuard {
    pub(crate) fn new(start_ms: i64) -> Self {
        Self::with_limit(start_ms, MAX_KEPT_SIGNATURES)
    }

    fn with_limit(start_ms: i64, max_kept: usize) -> Self {
        ReplayGuard { start_ms, max_kept, users: BTreeMap::new(), oldest: BTreeSet::new() }
    }

    pub(crate) fn start_ms(&self) -> i64 {
        self.start_ms
    }

    /// Applies a use; one that is forgotten or known with more uses changes nothing.
    pub(crate) fn apply(&mut self, stamp: &Stamp) {
        self.change(stamp.consumer, &stamp.user, stamp.key_id, |used| {
            if used.forgotten_up_to_ms.is_none_or(|up_to_ms| stamp.timestamp_ms > up_to_ms) {
                let uses = used.uses.entry(stamp.place()).or_default();
                *uses = stamp.uses.max(*uses);
            }
        });
    }

    pub(crate) fn forget(&mut self, forgotten: &ForgottenStamps) {
        let ForgottenStamps { consumer, user, key_id, up_to_ms } = forgotten;
        self.change(*consumer, user, *key_id, |used| {
            used.forgotten_up_to_ms = used.forgotten_up_to_ms.max(Some(*up_to_ms));
            while used.oldest_ms().is_some_and(|oldest_ms| oldest_ms <= *up_to_ms) {
                used.uses.pop_first();
            }
        });
    }

    /// Forgets a user whose signatures can never be verified again.
    pub(crate) fn remove_user(&mut self, consumer: Consumer, user: &str) {
        let keys = self.users.remove(&(consumer, user.to_owned())).unwrap_or_default();
        for (key_id, used) in keys {
            if let Some(oldest_ms) = used.oldest_ms() {
                self.oldest.remove(&(oldest_ms, consumer, user.to_owned(), key_id));
            }
        }
    }

    fn change(&mut self, consumer: Consumer, user: &str, key_id: KeyId, change: impl FnOnce(&mut UsedSignatures)) {
        let keys = self.users.entry((consumer, user.to_owned())).or_default();
        let used = keys.entry(key_id).or_default();
        let before = used.oldest_ms();
        change(used);
        let after = used.oldest_ms();
        if before != after {
            let place = |oldest_ms| (oldest_ms, consumer, user.to_owned(), key_id);
            before.map(|oldest_ms| self.oldest.remove(&place(oldest_ms)));
            after.map(|oldest_ms| self.oldest.insert(place(oldest_ms)));
        }
    }

    /// What should be forgotten after this signature was used: used signatures that no other can equal any more. A key
    /// forgets once in a while, not at each use, unless its user has as many as are kept.
    pub(crate) fn next_to_forget(
        &self,
        signature: &Signature<'_>,
        now_ms: i64,
        config: &MarketConfig,
    ) -> Option<ForgottenStamps> {
        let Signature { consumer, user, .. } = *signature;
        let full = self.keys(consumer, user).filter(|keys| self.is_full(keys));
        if let Some((key_id, up_to_ms)) = full.and_then(|keys| outdated(keys, now_ms, config)) {
            return Some(ForgottenStamps { consumer, user: user.to_owned(), key_id, up_to_ms });
        }
        let (oldest_ms, consumer, user, key_id) = self.oldest.first()?;
        let kept_ms = config.kept_ms();
        if *oldest_ms >= now_ms.saturating_sub_unsigned(kept_ms.saturating_add(kept_ms / 4)) {
            return None;
        }
        let used = self.keys(*consumer, user)?.get(key_id)?;
        let up_to_ms = used.last_before(now_ms.saturating_sub_unsigned(kept_ms))?;
        Some(ForgottenStamps { consumer: *consumer, user: user.clone(), key_id: *key_id, up_to_ms })
    }

    fn forgotten_of_all(&self, consumer: Consumer) -> Option<i64> {
        self.keys(consumer, EVERYONE)?.values().filter_map(|used| used.forgotten_up_to_ms).max()
    }

    fn keys(&self, consumer: Consumer, user: &str) -> Option<&BTreeMap<KeyId, UsedSignatures>> {
        self.users.get(&(consumer, user.to_owned()))
    }

    fn is_full(&self, keys: &BTreeMap<KeyId, UsedSignatures>) -> bool {
        keys.values().map(|used| used.uses.len()).sum::<usize>() >= self.max_kept
    }

    /// The use of a signature, or why it is refused; nothing changes. The stamp must be applied and stored before the request is answered.
    pub(crate) fn check(
        &self,
        signature: &Signature<'_>,
        now_ms: i64,
        config: &MarketConfig,
    ) -> Result<Stamp, ReplayRefusal> {
        let Signature { consumer, user, key_id, timestamp_ms, text } = *signature;
        let text = if consumer == Consumer::Job { SignedTextId::default() } else { text };
        let keys = self.keys(consumer, user);
        let used = keys.and_then(|keys| keys.get(&key_id));
        let uses = used.and_then(|used| used.uses.get(&(timestamp_ms, text)));
        let uses = match uses {
            Some(uses) if consumer == Consumer::Job => config.reuse(timestamp_ms, *uses, now_ms)?,
            Some(_) => return Err(ReplayRefusal::Used { timestamp_ms }),
            None => {
                let forgotten_up_to_ms = used.and_then(|used| used.forgotten_up_to_ms);
                let forgotten_up_to_ms = forgotten_up_to_ms.max(self.forgotten_of_all(consumer));
                config.check_window(forgotten_up_to_ms, timestamp_ms, now_ms)?;
                // With a new key, the server's start bounds nothing: signatures of the old keys died with them. Neither
                // does it for an application, which is stored with its secret.
                if keys.is_none() && consumer != Consumer::Secret && timestamp_ms <= self.start_ms {
                    return Err(ReplayRefusal::BeforeStart { timestamp_ms, start_ms: self.start_ms });
                }
                if keys.is_some_and(|keys| self.is_full(keys) && outdated(keys, now_ms, config).is_none()) {
                    return Err(ReplayRefusal::TooMany { limit: self.max_kept, window_ms: config.kept_ms() });
                }
                1
            }
        };
        Ok(Stamp { consumer, user: user.to_owned(), key_id, timestamp_ms, text, uses })
    }
}

/// A key of a user with signatures that are no longer kept, and the last of them.
fn outdated(keys: &BTreeMap<KeyId, UsedSignatures>, now_ms: i64, config: &MarketConfig) -> Option<(KeyId, i64)> {
    let before_ms = now_ms.saturating_sub_unsigned(config.kept_ms());
    keys.iter().find_map(|(key_id, used)| Some((*key_id, used.last_before(before_ms)?)))
}

impl SignedTextId {
    pub(crate) fn of(text: &str) -> Self {
        let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        SignedTextId(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

impl Default for MarketConfig {
    fn default() -> Self {
        MarketConfig { signature_window_ms: 300_000, job_signature_uses: 1, job_signature_window_ms: 300_000 }
    }
}

impl MarketConfig {
    /// For how long after its timestamp a used signature is kept, ms.
    fn kept_ms(&self) -> u64 {
        let of_jobs_ms = if self.job_signature_uses > 1 { self.job_signature_window_ms } else { 0 };
        self.signature_window_ms.max(of_jobs_ms)
    }

    fn check_window(
        &self,
        forgotten_up_to_ms: Option<i64>,
        timestamp_ms: i64,
        now_ms: i64,
    ) -> Result<(), ReplayRefusal> {
        let window_ms = self.signature_window_ms;
        match forgotten_up_to_ms.filter(|up_to_ms| timestamp_ms <= *up_to_ms) {
            Some(up_to_ms) if up_to_ms > now_ms => Err(ReplayRefusal::ClockSetBack { up_to_ms, now_ms }),
            _ if timestamp_ms.abs_diff(now_ms) > window_ms => {
                Err(ReplayRefusal::OutsideWindow { timestamp_ms, now_ms, window_ms })
            }
            Some(up_to_ms) => Err(ReplayRefusal::Forgotten { timestamp_ms, up_to_ms }),
            None => Ok(()),
        }
    }

    /// The number of uses including this one, if the job signature may be reused.
    fn reuse(&self, timestamp_ms: i64, uses: u32, now_ms: i64) -> Result<u32, ReplayRefusal> {
        let window_ms = self.job_signature_window_ms;
        if uses >= self.job_signature_uses {
            return Err(ReplayRefusal::UsedUp { uses });
        }
        if timestamp_ms.abs_diff(now_ms) > window_ms {
            return Err(ReplayRefusal::TooOldForReuse { timestamp_ms, window_ms });
        }
        Ok(uses + 1)
    }
}

#[cfg(test)]
#[path = "replay/tests.rs"]
mod tests;
