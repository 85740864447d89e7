//! Job ids that were given out and wait for their submission: each belongs to the user who got it.
//!
//! There is room for a number of them. When it is used up, the next id is the oldest one of the caller that holds the most:
//! by address first, then by user, then by connection. So a flood voids its own ids, and uses up no job numbers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::JobId;

/// Most ids that wait for their submission.
pub(super) const MAX_OPEN_IDS: usize = 20_000;

/// The caller that a job id is given to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdOwner {
    /// Short user name: only this user may submit under the id.
    pub user: Arc<str>,
    /// The number of the caller's connection.
    pub connection: u64,
    /// A number for the caller's network address; the edge decides which addresses count as one.
    pub origin: u128,
}

/// Job ids that wait for their submission.
#[derive(Debug, Default)]
pub(super) struct OpenIds {
    ids: BTreeMap<JobId, OpenId>,
    /// By address, user, connection and age.
    oldest: BTreeMap<(u128, Arc<str>, u64, u64), JobId>,
    origins: Ranking<(), u128>,
    users: Ranking<u128, Arc<str>>,
    connections: Ranking<(u128, Arc<str>), u64>,
    last_age: u64,
}

#[derive(Debug)]
struct OpenId {
    owner: IdOwner,
    /// Counts up from the first id that was ever opened.
    age: u64,
}

/// Members of groups, the one with the most ids first.
#[derive(Debug)]
struct Ranking<G, K> {
    counts: BTreeMap<(G, K), usize>,
    ranks: BTreeSet<(G, Reverse<usize>, K)>,
}

// === impl IdOwner ===

impl IdOwner {
    /// A user whose connection and address do not matter.
    pub fn named(user: impl Into<Arc<str>>) -> Self {
        Self { user: user.into(), connection: 0, origin: 0 }
    }
}

// === impl OpenIds ===

impl OpenIds {
    /// The user who may submit under `id`; none when it is not open.
    pub(super) fn user(&self, id: JobId) -> Option<&Arc<str>> {
        self.ids.get(&id).map(|open| &open.owner.user)
    }

    /// All of them with their users.
    pub(super) fn iter(&self) -> impl Iterator<Item = (JobId, &Arc<str>)> {
        self.ids.iter().map(|(id, open)| (*id, &open.owner.user))
    }

    /// Whether a submission may come under `id`.
    pub(super) fn contains(&self, id: JobId) -> bool {
        self.ids.contains_key(&id)
    }

    /// Whether one must go before another is opened.
    pub(super) fn is_full(&self) -> bool {
        self.ids.len() >= MAX_OPEN_IDS
    }

    /// Opens `id` for `owner`, who replaces an earlier one.
    pub(super) fn open(&mut self, id: JobId, owner: IdOwner) {
        self.close(id);
        self.last_age += 1;
        let age = self.last_age;
        let IdOwner { user, connection, origin } = &owner;
        self.oldest.insert((*origin, user.clone(), *connection, age), id);
        self.origins.add((), *origin);
        self.users.add(*origin, user.clone());
        self.connections.add((*origin, user.clone()), *connection);
        self.ids.insert(id, OpenId { owner, age });
    }

    /// No submission comes under `id` any more. Returns whether one might have.
    pub(super) fn close(&mut self, id: JobId) -> bool {
        let Some(OpenId { owner: IdOwner { user, connection, origin }, age }) = self.ids.remove(&id) else {
            return false;
        };
        self.oldest.remove(&(origin, user.clone(), connection, age));
        self.origins.remove((), origin);
        self.users.remove(origin, user.clone());
        self.connections.remove((origin, user), connection);
        true
    }

    /// Closes the oldest id of the caller with the most ids and returns it. Those that are `in_use` become its youngest.
    pub(super) fn reclaim(&mut self, in_use: impl Fn(JobId) -> bool) -> Option<JobId> {
        for _ in 0..self.ids.len() {
            let id = self.greediest()?;
            if !in_use(id) {
                self.close(id);
                return Some(id);
            }
            let owner = self.ids.get(&id)?.owner.clone();
            self.open(id, owner);
        }
        None
    }

    fn greediest(&self) -> Option<JobId> {
        let origin = self.origins.first(&())?;
        let user = self.users.first(&origin)?;
        let connection = self.connections.first(&(origin, user.clone()))?;
        self.oldest.range((origin, user, connection, 0)..).next().map(|(_, id)| *id)
    }
}

// === impl Ranking ===

impl<G, K> Default for Ranking<G, K> {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), ranks: BTreeSet::new() }
    }
}

impl<G: Ord + Clone, K: Ord + Clone + Default> Ranking<G, K> {
    fn add(&mut self, group: G, member: K) {
        let count = self.counts.get(&(group.clone(), member.clone())).copied().unwrap_or(0);
        self.rank(group, member, count, count + 1);
    }

    fn remove(&mut self, group: G, member: K) {
        let count = self.counts.get(&(group.clone(), member.clone())).copied().unwrap_or(0);
        self.rank(group, member, count, count.saturating_sub(1));
    }

    fn rank(&mut self, group: G, member: K, before: usize, after: usize) {
        self.ranks.remove(&(group.clone(), Reverse(before), member.clone()));
        if after == 0 {
            self.counts.remove(&(group, member));
            return;
        }
        self.ranks.insert((group.clone(), Reverse(after), member.clone()));
        self.counts.insert((group, member), after);
    }

    /// The member of `group` with the most ids.
    fn first(&self, group: &G) -> Option<K> {
        let (found, _, member) = self.ranks.range((group.clone(), Reverse(usize::MAX), K::default())..).next()?;
        (found == group).then(|| member.clone())
    }
}
