//! Delegation tokens of the JobTracker and the keys that sign them (1.2.1 `AbstractDelegationTokenSecretManager`).
//!
//! Both are facts, so they outlive a restart. A token ends at its time by the wall clock, as its dates say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use subtle::ConstantTimeEq;

use crate::model::{DelegationSettings, JobId, Now, Violations};
use crate::wire::DelegationIdentifier;

pub(crate) const KEY_BYTES: usize = 20;
/// Most live tokens: of one owner, asked for from one host, and of all.
const MAX_TOKENS: (usize, usize, usize) = (1_000, 10_000, 50_000);
const MAX_ENDED: usize = 1_000;

/// A key. It does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct DelegationKey {
    pub(crate) id: i32,
    /// Random bytes. Secret.
    pub(crate) secret: [u8; KEY_BYTES],
    /// Since when it signs, epoch ms.
    pub(crate) made_ms: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationToken {
    pub(crate) identifier: DelegationIdentifier,
    /// When it ends unless it is renewed, epoch ms.
    pub(crate) until_ms: i64,
    /// A number for the host that asked for it.
    pub(crate) origin: u128,
}

#[derive(Clone, Debug)]
pub enum DelegationChange {
    KeyMade(DelegationKey),
    KeyForgotten(i32),
    Issued(DelegationToken),
    Renewed {
        sequence: i32,
        /// When it ends now, epoch ms.
        until_ms: i64,
    },
    /// Tokens were cancelled or have ended, by number.
    Ended(Vec<i32>),
}

#[derive(Debug, Default)]
pub struct RestoredDelegation {
    pub(crate) keys: Vec<DelegationKey>,
    pub(crate) tokens: Vec<DelegationToken>,
    pub(crate) last_sequence: i32,
}

#[derive(Debug)]
pub(crate) struct DelegationTokens {
    settings: DelegationSettings,
    keys: BTreeMap<i32, DelegationKey>,
    tokens: BTreeMap<i32, DelegationToken>,
    /// By when they end.
    ends: BTreeSet<(i64, i32)>,
    of_owner: BTreeMap<Arc<str>, usize>,
    of_origin: BTreeMap<u128, usize>,
    last_sequence: i32,
    of_jobs: BTreeMap<JobId, Vec<i32>>,
    /// In how many such jobs a token is.
    uses: BTreeMap<i32, usize>,
    /// Tokens of jobs that have ended, which are to be cancelled.
    released: BTreeSet<i32>,
    /// When the next token ends, ms of the monotonic clock.
    due_mono_ms: Option<u64>,
}

impl std::fmt::Debug for DelegationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DelegationKey").field("id", &self.id).field("made_ms", &self.made_ms).finish_non_exhaustive()
    }
}

impl DelegationKey {
    /// The password of a token with these bytes as its identifier.
    pub(crate) fn password_of(&self, identifier: &[u8]) -> Vec<u8> {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mut mac = Hmac::<Sha1>::new_from_slice(&self.secret).expect("a key of any length");
        mac.update(identifier);
        mac.finalize().into_bytes().to_vec()
    }
}

impl DelegationTokens {
    /// Those of an earlier run, under these settings.
    pub(crate) fn restored(settings: DelegationSettings, restored: RestoredDelegation, now: Now) -> Self {
        let mut tokens = Self {
            settings,
            keys: restored.keys.into_iter().map(|key| (key.id, key)).collect(),
            tokens: BTreeMap::new(),
            ends: BTreeSet::new(),
            of_owner: BTreeMap::new(),
            of_origin: BTreeMap::new(),
            last_sequence: restored.last_sequence,
            of_jobs: BTreeMap::new(),
            uses: BTreeMap::new(),
            released: BTreeSet::new(),
            due_mono_ms: None,
        };
        restored.tokens.into_iter().for_each(|token| tokens.add(token));
        tokens.set_due(now);
        tokens
    }

    pub(crate) fn apply(&mut self, change: &DelegationChange, now: Now, violations: &mut Violations) {
        match change {
            DelegationChange::KeyMade(key) => drop(self.keys.insert(key.id, key.clone())),
            DelegationChange::KeyForgotten(id) => drop(self.keys.remove(id)),
            DelegationChange::Issued(token) => self.add(token.clone()),
            DelegationChange::Renewed { sequence, until_ms } => {
                if let Some(token) = self.tokens.get_mut(sequence) {
                    self.ends.remove(&(token.until_ms, *sequence));
                    token.until_ms = *until_ms;
                    self.ends.insert((*until_ms, *sequence));
                }
            }
            DelegationChange::Ended(sequences) => sequences.iter().for_each(|sequence| self.remove(*sequence)),
        }
        violations.check(self.ends.len() == self.tokens.len(), || "each delegation token ends once".to_owned());
        self.set_due(now);
    }

    fn add(&mut self, token: DelegationToken) {
        let sequence = token.identifier.sequence;
        self.last_sequence = self.last_sequence.max(sequence);
        self.remove(sequence);
        *self.of_owner.entry(Arc::from(&*token.identifier.owner)).or_default() += 1;
        *self.of_origin.entry(token.origin).or_default() += 1;
        self.ends.insert((token.until_ms, sequence));
        self.tokens.insert(sequence, token);
    }

    fn remove(&mut self, sequence: i32) {
        let Some(token) = self.tokens.remove(&sequence) else { return };
        self.ends.remove(&(token.until_ms, sequence));
        lower_count(&mut self.of_owner, &Arc::from(&*token.identifier.owner));
        lower_count(&mut self.of_origin, &token.origin);
    }

    /// Sets when the next token ends. A clock that was set moves it.
    pub(crate) fn set_due(&mut self, now: Now) {
        self.due_mono_ms = self.ends.first().map(|(until_ms, _)| {
            // Strictly after its last millisecond.
            let left_ms = until_ms.saturating_sub(now.wall_ms).saturating_add(1);
            now.mono_ms.saturating_add(u64::try_from(left_ms).unwrap_or(0))
        });
    }

    /// When the next token ends, ms of the monotonic clock.
    pub(crate) fn due_mono_ms(&self) -> Option<u64> {
        self.due_mono_ms
    }

    /// Keys that are no longer needed: they sign nothing, and all that they signed has ended.
    pub(crate) fn unneeded_keys(&self, now: Now) -> Vec<i32> {
        let kept_ms = self.settings.key_update_ms.saturating_add(self.settings.max_lifetime_ms);
        let is_old = |key: &DelegationKey| now.wall_ms > key.made_ms.saturating_add_unsigned(kept_ms);
        self.keys.values().filter(|key| is_old(key)).map(|key| key.id).collect()
    }

    pub(crate) fn signing_key(&self, now: Now) -> Option<&DelegationKey> {
        let signs =
            |key: &&DelegationKey| now.wall_ms < key.made_ms.saturating_add_unsigned(self.settings.key_update_ms);
        self.keys.values().next_back().filter(signs)
    }

    pub(crate) fn new_key(&self, secret: [u8; KEY_BYTES], now: Now) -> DelegationKey {
        let last = self.keys.keys().next_back().copied().unwrap_or(0);
        DelegationKey { id: last.wrapping_add(1), secret, made_ms: now.wall_ms }
    }

    pub(crate) fn key(&self, id: i32) -> Option<&DelegationKey> {
        self.keys.get(&id)
    }

    pub(crate) fn new_token(
        &self,
        owner: &str,
        renewer: &str,
        real_user: Option<&str>,
        key: i32,
        origin: u128,
        now: Now,
    ) -> DelegationToken {
        let max_ms = now.wall_ms.saturating_add_unsigned(self.settings.max_lifetime_ms);
        let identifier = DelegationIdentifier {
            owner: owner.into(),
            renewer: renewer.into(),
            real_user: real_user.unwrap_or_default().into(),
            issue_ms: now.wall_ms,
            max_ms,
            sequence: self.last_sequence.wrapping_add(1),
            key,
        };
        let until_ms = now.wall_ms.saturating_add_unsigned(self.settings.renew_interval_ms).min(max_ms);
        DelegationToken { identifier, until_ms, origin }
    }

    /// The token that must end before this owner gets a further one from this host: of the host, or of the host with the most, that of the
    /// owner who has the most there, the oldest first; none: there is room. Names cost nothing, so the host stays served.
    /// An error: the owner has as many as a user may have, or all others are in use by jobs.
    pub(crate) fn make_room(&self, owner: &str, origin: u128) -> Result<Option<i32>, String> {
        let count = |count: Option<&usize>| count.copied().unwrap_or(0);
        if count(self.of_owner.get(owner)) >= MAX_TOKENS.0 {
            return Err(format!("{owner} has {} delegation tokens, which is the limit for a user", MAX_TOKENS.0));
        }
        let crowded = if count(self.of_origin.get(&origin)) >= MAX_TOKENS.1 {
            Some(origin)
        } else if self.tokens.len() >= MAX_TOKENS.2 {
            self.of_origin.iter().max_by_key(|(_, count)| **count).map(|(origin, _)| *origin)
        } else {
            None
        };
        let Some(crowded) = crowded else { return Ok(None) };
        let unused = |(sequence, token): &(&i32, &DelegationToken)| {
            token.origin == crowded && !self.uses.contains_key(*sequence)
        };
        let mut of_owners = BTreeMap::<&str, (usize, i32)>::new();
        for (sequence, token) in self.tokens.iter().filter(unused) {
            of_owners.entry(&token.identifier.owner).or_insert((0, *sequence)).0 += 1;
        }
        // Of equal owners, the one whose first token is the oldest.
        let greediest = of_owners.into_values().max_by_key(|(count, first)| (*count, std::cmp::Reverse(*first)));
        let all_used =
            || format!("{} delegation tokens of your host are in use by jobs, which is the limit", MAX_TOKENS.1);
        greediest.map(|(_, first)| Some(first)).ok_or_else(all_used)
    }

    pub(crate) fn is_in_force(&self, identifier: &DelegationIdentifier) -> bool {
        self.tokens.get(&identifier.sequence).is_some_and(|token| token.identifier == *identifier)
    }

    /// When a token ends that is renewed now, epoch ms.
    pub(crate) fn renewed_until_ms(&self, identifier: &DelegationIdentifier, now: Now) -> i64 {
        now.wall_ms.saturating_add_unsigned(self.settings.renew_interval_ms).min(identifier.max_ms)
    }

    /// Whether a password is that of the key for these bytes.
    pub(crate) fn has_password(key: &DelegationKey, identifier: &[u8], password: &[u8]) -> bool {
        key.password_of(identifier).ct_eq(password).into()
    }

    /// Tokens that have ended, not all at once.
    pub(crate) fn ended(&self, now: Now) -> Vec<&DelegationToken> {
        let ended = self.ends.iter().take_while(|(until_ms, _)| *until_ms < now.wall_ms).take(MAX_ENDED);
        ended.filter_map(|(_, sequence)| self.tokens.get(sequence)).collect()
    }

    pub(crate) fn is_of_job(&self, sequence: i32) -> bool {
        self.uses.contains_key(&sequence)
    }

    /// Keeps the tokens of a job in mind until [`Self::release`].
    pub(crate) fn hold(&mut self, job: JobId, sequences: Vec<i32>) {
        if !sequences.is_empty() && !self.of_jobs.contains_key(&job) {
            sequences.iter().for_each(|sequence| *self.uses.entry(*sequence).or_default() += 1);
            self.of_jobs.insert(job, sequences);
        }
    }

    /// A job ends: its tokens are to be cancelled, or left alone.
    pub(crate) fn release(&mut self, job: JobId, cancels: bool) {
        let sequences = self.of_jobs.remove(&job).unwrap_or_default();
        sequences.iter().for_each(|sequence| lower_count(&mut self.uses, sequence));
        if cancels {
            self.released.extend(sequences);
        }
    }

    /// Removes and returns the tokens to be cancelled since the last call.
    pub(crate) fn take_released(&mut self) -> Vec<DelegationToken> {
        let released = std::mem::take(&mut self.released);
        released.iter().filter_map(|sequence| self.tokens.get(sequence).cloned()).collect()
    }

    #[cfg(test)]
    pub(crate) fn in_force(&self) -> usize {
        self.tokens.len()
    }
}

fn lower_count<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
