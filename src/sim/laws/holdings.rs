//! What the queues hold, and what they owe for it: slots of attempts and of containers within what was bought (resource
//! requests, section 10, Charge).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::market::{Interval, SlotHolder};
use crate::model::{Credits, JobId, PerKind, PerPool};

use super::attempts::AttemptModel;
use super::containers::ContainerBooks;

#[derive(Clone, Copy, Debug)]
pub(super) struct Holdings<'a> {
    pub(super) attempts: &'a AttemptModel,
    pub(super) containers: &'a ContainerBooks,
}

impl Holdings<'_> {
    /// Whether attempts or containers of an account hold anything, charged or not.
    pub(super) fn has_any(&self, account: &str) -> bool {
        self.attempts.owed(account) != PerKind::default()
            || self.attempts.has_charged_housekeeping(account)
            || self.containers.has_any(account)
    }
}

pub(super) fn cost(interval: &Interval, slots: PerPool<u32>) -> Credits {
    let slots = i128::from(slots.map) + i128::from(slots.reduce) + i128::from(slots.container);
    Credits::from_units(interval.share.rate().units() * slots)
}

#[derive(Clone, Debug, Default)]
pub(super) struct QueueMoment {
    /// Slots of running maps and reduces, and of containers, launched or not.
    pub(super) held: PerPool<u32>,
    /// The same of each job and application, with its place among submissions.
    pub(super) holders: Vec<(u64, SlotHolder, u32)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Moment(BTreeMap<Arc<str>, QueueMoment>);

impl Moment {
    pub(super) fn of(&self, queue: &str) -> Option<&QueueMoment> {
        self.0.get(queue)
    }

    pub(super) fn held(&self, queue: &str) -> PerPool<u32> {
        self.of(queue).map_or_else(PerPool::default, |moment| moment.held)
    }

    /// A container that is charged apart from what its queue holds.
    pub(super) fn take_container(&mut self, queue: &str, holder: (u64, SlotHolder), slots: u32) {
        let Some(moment) = self.0.get_mut(queue) else { return };
        moment.held.container = moment.held.container.saturating_sub(slots);
        let of_holder = moment.holders.iter_mut().find(|(order, one, _)| (*order, *one) == holder);
        if let Some((.., held)) = of_holder {
            *held = held.saturating_sub(slots);
        }
    }

    pub(super) fn add_map(&mut self, (account, job, order): (&str, JobId, u64), slots: u32) {
        let moment = self.0.entry(account.into()).or_default();
        moment.held.map += slots;
        moment.holders.push((order, SlotHolder::Job(job), slots));
    }
}

impl Holdings<'_> {
    /// Another pair: another moment.
    pub(super) fn changes(&self) -> (u64, u64) {
        (self.attempts.changes(), self.containers.changes())
    }

    pub(super) fn moment(&self) -> Moment {
        let mut moment = Moment::default();
        for (account, job, order, slots) in self.attempts.held_by_jobs() {
            let of_queue = moment.0.entry(Arc::clone(account)).or_default();
            let held = &mut of_queue.held;
            (held.map, held.reduce) = (held.map + slots.map, held.reduce + slots.reduce);
            of_queue.holders.push((order, SlotHolder::Job(job), slots.map + slots.reduce));
        }
        for (queue, application, order, slots) in self.containers.held_by_applications() {
            let of_queue = moment.0.entry(Arc::clone(queue)).or_default();
            of_queue.held.container += slots;
            of_queue.holders.push((order, SlotHolder::Application(application), slots));
        }
        moment
    }
}
