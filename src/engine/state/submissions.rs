//! Submissions between their phases, and the ids and order numbers for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::mapreduce::AcceptedJob;
use crate::model::{Identifier, JobId, Violations};

use super::access_list::Caller;
use super::limits::Limits;
use super::reserved_ids::{IdOwner, ReservedIds};

pub(crate) const MAX_PENDING: usize = 10_000;

#[derive(Debug)]
pub(crate) struct Submissions {
    pending: BTreeMap<JobId, PendingSubmission>,
    reserved_ids: ReservedIds,
    last_job_number: i32,
    /// The last number in the order of submissions.
    last_order: u64,
}

/// A submission between its phases.
#[derive(Debug)]
pub(crate) enum PendingSubmission {
    /// The edge is reading its files.
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
}

impl Submissions {
    /// Moves the invariants found broken since the last call to `violations`.
    pub(crate) fn report_violations(&mut self, violations: &mut Violations) {
        violations.append(&mut self.reserved_ids.violations);
    }
}

impl Submissions {
    pub(crate) fn is_pending(&self, id: JobId) -> bool {
        self.pending.contains_key(&id)
    }

    /// Whether no more submission may begin.
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }

    pub(crate) fn insert(&mut self, id: JobId, submission: PendingSubmission) {
        self.pending.insert(id, submission);
    }

    pub(crate) fn remove(&mut self, id: JobId) -> Option<PendingSubmission> {
        self.pending.remove(&id)
    }

    /// The next number in the order of submissions.
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

    /// Whether any is for this queue, as far as is known.
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
