//! Submissions between their phases, and the ids and order numbers for them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mapreduce::AcceptedJob;
use crate::model::{Identifier, JobId, Violations, lower};

use super::access_list::Caller;
use super::limits::Limits;

pub(crate) const MAX_PENDING: usize = 10_000;

#[derive(Debug)]
pub(crate) struct Submissions {
    pending: BTreeMap<JobId, PendingSubmission>,
    reserved_ids: ReservedIds,
    last_job_number: i32,
    last_order: u64,
}

#[derive(Debug)]
pub(crate) enum PendingSubmission {
    Reading(Caller),
    /// It is valid; the edge is writing its system directory. With the user that acts for its own, if another does.
    Writing(Box<AcceptedJob>, Option<Arc<str>>),
}

impl Submissions {
    /// No submissions; the next one accepted follows `last_order`.
    pub(crate) fn after(last_order: u64) -> Self {
        Self { pending: BTreeMap::new(), reserved_ids: ReservedIds::default(), last_job_number: 0, last_order }
    }

    /// Reserves an id for the owner: a new one, or at the limit the oldest unused id of the caller with the most. None
    /// when all numbers are used up.
    pub(crate) fn reserve_new_id(&mut self, identifier: Identifier, owner: IdOwner) -> Option<JobId> {
        let id = match self.make_room_for_id().filter(|reclaimed| reclaimed.identifier == identifier) {
            Some(reclaimed) => reclaimed,
            None => {
                self.last_job_number = self.last_job_number.checked_add(1)?;
                JobId::new(identifier, self.last_job_number)
            }
        };
        self.reserved_ids.reserve(id, owner);
        Some(id)
    }

    pub(crate) fn reserve_old_id(&mut self, id: JobId, owner: IdOwner) {
        self.make_room_for_id();
        self.reserved_ids.reserve(id, owner);
    }

    /// Keeps the reservation of the previous process, while there is room.
    pub(crate) fn inherit_id(&mut self, id: JobId, user: Arc<str>) {
        if !self.reserved_ids.is_full() {
            self.reserved_ids.reserve(id, IdOwner::named(user));
        }
    }

    pub(crate) fn reserved_ids(&self) -> &ReservedIds {
        &self.reserved_ids
    }

    /// At the limit, releases the oldest unused id of the caller with the most ids and returns it.
    fn make_room_for_id(&mut self) -> Option<JobId> {
        let Self { reserved_ids, pending, .. } = self;
        if reserved_ids.is_full() { reserved_ids.reclaim(|id| pending.contains_key(&id)) } else { None }
    }

    /// Moves the invariants found broken since the last call to `violations`.
    pub(crate) fn report_violations(&mut self, violations: &mut Violations) {
        violations.append(&mut self.reserved_ids.violations);
    }

    pub(crate) fn is_pending(&self, id: JobId) -> bool {
        self.pending.contains_key(&id)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }

    pub(crate) fn insert(&mut self, id: JobId, submission: PendingSubmission) {
        self.pending.insert(id, submission);
    }

    pub(crate) fn remove(&mut self, id: JobId) -> Option<PendingSubmission> {
        self.pending.remove(&id)
    }

    pub(crate) fn next_order(&mut self) -> u64 {
        self.last_order += 1;
        self.last_order
    }

    pub(crate) fn release_id(&mut self, id: JobId) {
        self.reserved_ids.release(id);
    }

    /// Tasks of all pending submissions that are read, by [`Limits::weight`].
    pub(crate) fn tasks(&self) -> u64 {
        self.written().map(|accepted| Limits::weight(&accepted.spec)).sum()
    }

    /// Users and memory of all pending submissions that are read.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = (&str, u64)> {
        self.written().map(|accepted| (accepted.spec.user.as_str(), accepted.bytes()))
    }

    pub(crate) fn has_any_for(&self, queue: &str) -> bool {
        self.written().any(|accepted| accepted.spec.queue == queue)
    }

    fn written(&self) -> impl Iterator<Item = &AcceptedJob> {
        self.pending.values().filter_map(|pending| match pending {
            PendingSubmission::Reading(_) => None,
            PendingSubmission::Writing(accepted, _) => Some(&**accepted),
        })
    }
}

pub(crate) const MAX_RESERVED_IDS: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdOwner {
    /// Short user name: only this user may submit under the id.
    pub(crate) user: Arc<str>,
    pub(crate) connection: u64,
    /// A number for the caller's network address; the edge decides which addresses count as one.
    pub(crate) origin: u128,
}

/// Job ids that were issued to a user and not yet submitted. At the limit, the next id is the oldest one of the caller with the most: by address
/// first, then by user, then by connection. So a flood of calls reclaims its own ids, and uses up no job numbers.
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
