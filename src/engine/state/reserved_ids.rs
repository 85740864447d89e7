//! Reserved job ids: issued to a user and not yet submitted.
//!
//! Their number is limited. At the limit, the next id is the oldest one of the caller with the most: by address first,
//! then by user, then by connection. So a flood of calls reclaims its own ids, and uses up no job numbers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{JobId, Violations, lower};

pub(crate) const MAX_RESERVED_IDS: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdOwner {
    /// Short user name: only this user may submit under the id.
    pub(crate) user: Arc<str>,
    pub(crate) connection: u64,
    /// A number for the caller's network address; the edge decides which addresses count as one.
    pub(crate) origin: u128,
}

/// Job ids that were issued and not yet submitted.
#[derive(Debug, Default)]
pub(crate) struct ReservedIds {
    ids: BTreeMap<JobId, ReservedId>,
    /// By address, user, connection and age.
    oldest: BTreeMap<(u128, Arc<str>, u64, u64), JobId>,
    origins: Ranking<(), u128>,
    users: Ranking<u128, Arc<str>>,
    connections: Ranking<(u128, Arc<str>), u64>,
    last_age: u64,
    pub(super) violations: Violations,
}

#[derive(Debug)]
struct ReservedId {
    owner: IdOwner,
    /// Sequence number of the reservation.
    age: u64,
}

/// Members of groups, by number of ids, largest first.
#[derive(Debug)]
struct Ranking<G, K> {
    counts: BTreeMap<(G, K), usize>,
    ranks: BTreeSet<(G, Reverse<usize>, K)>,
}

impl IdOwner {
    /// An owner without connection and address.
    pub fn named(user: impl Into<Arc<str>>) -> Self {
        Self { user: user.into(), connection: 0, origin: 0 }
    }
}

impl ReservedIds {
    /// The user who may submit under `id`; none when it is not reserved.
    pub(crate) fn user(&self, id: JobId) -> Option<&Arc<str>> {
        self.ids.get(&id).map(|reservation| &reservation.owner.user)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (JobId, &Arc<str>)> {
        self.ids.iter().map(|(id, reservation)| (*id, &reservation.owner.user))
    }

    pub(crate) fn contains(&self, id: JobId) -> bool {
        self.ids.contains_key(&id)
    }

    /// Whether an id must be released before the next reservation.
    pub(crate) fn is_full(&self) -> bool {
        self.ids.len() >= MAX_RESERVED_IDS
    }

    /// Reserves `id` for `owner`, replacing an earlier owner.
    pub(crate) fn reserve(&mut self, id: JobId, owner: IdOwner) {
        self.release(id);
        self.last_age += 1;
        let age = self.last_age;
        let IdOwner { user, connection, origin } = &owner;
        self.oldest.insert((*origin, user.clone(), *connection, age), id);
        self.origins.add((), *origin);
        self.users.add(*origin, user.clone());
        self.connections.add((*origin, user.clone()), *connection);
        self.ids.insert(id, ReservedId { owner, age });
    }

    pub(crate) fn release(&mut self, id: JobId) -> bool {
        let Some(ReservedId { owner: IdOwner { user, connection, origin }, age }) = self.ids.remove(&id) else {
            return false;
        };
        self.oldest.remove(&(origin, user.clone(), connection, age));
        self.origins.remove((), origin, &mut self.violations);
        self.users.remove(origin, user.clone(), &mut self.violations);
        self.connections.remove((origin, user), connection, &mut self.violations);
        true
    }

    /// Releases and returns the oldest id of the caller with the most ids. Ids that are `in_use` become its youngest.
    pub(crate) fn reclaim(&mut self, in_use: impl Fn(JobId) -> bool) -> Option<JobId> {
        for _ in 0..self.ids.len() {
            let id = self.oldest_of_largest_holder()?;
            if !in_use(id) {
                self.release(id);
                return Some(id);
            }
            let owner = self.ids.get(&id)?.owner.clone();
            self.reserve(id, owner);
        }
        None
    }

    fn oldest_of_largest_holder(&self) -> Option<JobId> {
        let origin = self.origins.first(&())?;
        let user = self.users.first(&origin)?;
        let connection = self.connections.first(&(origin, user.clone()))?;
        self.oldest.range((origin, user, connection, 0)..).next().map(|(_, id)| *id)
    }
}

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

    fn remove(&mut self, group: G, member: K, violations: &mut Violations) {
        let before = self.counts.get(&(group.clone(), member.clone())).copied().unwrap_or(0);
        let mut count = before;
        lower(&mut count, 1_usize, violations);
        self.rank(group, member, before, count);
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
