//! The meter: what each queue holds in the open interval of what it pays for, in slot-milliseconds, and what each of its
//! jobs and applications holds. It sums when holdings change; nothing walks all queues between two ticks.
//!
//! Its clock is the interval's: ms since the tick, by the monotonic clock, without the time while the daemon was down.
//! What lies beyond the interval's length counts nothing, so an interval that is closed late costs no more.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::model::{Credits, JobId, Now, PerPool, Pool, QueueName};

use super::allocation::{Part, divide_slots, total, within};
use super::interval::Interval;
use super::metered::{GivenBack, HeldChange, Metered, MeteredUse};
use super::slot_holder::SlotHolder;

/// The end of the open interval, as a time of the monotonic clock: nothing counts beyond it.
pub(super) const AT_END: u64 = u64::MAX;
/// Longest time for which a container may be held without being launched and cost nothing, ms.
const MAX_FREE_MS: u64 = 1_000;

/// Sums of slot-milliseconds in the open interval.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// The tick that opened the interval.
    tick: u64,
    length_ms: u64,
    /// The interval's time at a moment of the monotonic clock.
    clock: Clock,
    /// By name; the rest of the meter knows queues by their place.
    places: BTreeMap<QueueName, u32>,
    names: Vec<QueueName>,
    queues: Vec<QueueMeter>,
    free_queues: Vec<u32>,
    /// Looked up, never iterated.
    holder_places: FxHashMap<SlotHolder, u32>,
    holders: Vec<HolderMeter>,
    free_holders: Vec<u32>,
    /// Slots that are sold and not held.
    unheld: u64,
    /// Queues with containers beyond their quota, by name.
    beyond: BTreeMap<QueueName, u32>,
    /// Jobs whose orders have set the rate of their queue.
    ordered: BTreeSet<JobId>,
    /// What was stored of the open interval, until [`Meter::start`] knows what is held.
    stored: Vec<Metered>,
    has_started: bool,
}

/// The interval's time.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    mono_ms: u64,
    offset_ms: u64,
}

/// A queue in the open interval.
#[derive(Clone, Debug, Default)]
struct QueueMeter {
    rate: Credits,
    quota: PerPool<u32>,
    /// The most slots that it can pay for.
    payable: u64,
    held: PerPool<u32>,
    /// Slots that others were sold and do not hold, counted as sold to its containers.
    part: u32,
    /// What was given back in the interval and is not charged, slot-milliseconds.
    given_back_ms: u64,
    /// Up to when containers last ran beyond the quota, ms of the interval: what they held then was not all counted.
    beyond_until_ms: u64,
    /// Up to when the sums go.
    summed_ms: u64,
    sums: MeteredUse,
    /// Those that hold slots or have held some in the interval, by the order of their submission.
    holders: Vec<u32>,
}

/// A job or application in the open interval.
#[derive(Clone, Debug)]
struct HolderMeter {
    holder: SlotHolder,
    queue: u32,
    order: u64,
    held: PerPool<u32>,
    summed_ms: u64,
    slot_ms: PerPool<u64>,
}

/// What a job or application holds when the meter starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The job or application.
    pub holder: SlotHolder,
    /// The queue that pays for it.
    pub queue: QueueName,
    /// Its place among submissions.
    pub order: u64,
    /// The slots it holds.
    pub held: PerPool<u32>,
}

// === impl Meter: the interval ===

impl Meter {
    /// Begins to count, or continues after a restart: facts prove what was held up to the last of them, and the time from then
    /// to `now` is not counted. `holdings` are all that hold anything now.
    pub(super) fn start(&mut self, holdings: Vec<Holding>, interval_ms: u64, now: Now) {
        let stored = std::mem::take(&mut self.stored);
        if self.length_ms == 0 {
            self.length_ms = interval_ms;
        }
        self.has_started = true;
        let mut opened: BTreeMap<SlotHolder, HeldChange> = BTreeMap::new();
        for change in stored.iter().flat_map(|metered| &metered.changes) {
            opened.entry(change.holder).or_insert_with(|| HeldChange {
                after: change.before,
                given_back_ms: 0,
                ..change.clone()
            });
        }
        for Holding { holder, queue, order, held } in &holdings {
            let before = PerPool::default();
            let (holder, order) = (*holder, *order);
            let change = || HeldChange { holder, queue: queue.clone(), order, before, after: *held, given_back_ms: 0 };
            opened.entry(holder).or_insert_with(change);
        }
        self.set_held(&opened.into_values().collect::<Vec<_>>(), 0);
        for metered in &stored {
            self.set_held(&metered.changes, metered.offset_ms);
        }
        let proven_ms = stored.last().map_or(0, |metered| metered.offset_ms);
        self.clock = Clock { mono_ms: now.mono_ms, offset_ms: proven_ms };
        // What the rows of jobs and containers say is what is held.
        let held: BTreeMap<SlotHolder, PerPool<u32>> =
            holdings.iter().map(|holding| (holding.holder, holding.held)).collect();
        let known = self.holder_places.values().map(|place| &self.holders[*place as usize]);
        let wrong = known.filter(|known| held.get(&known.holder).copied().unwrap_or_default() != known.held);
        let mut changes: Vec<HeldChange> =
            wrong.map(|known| self.change_of(known, held.get(&known.holder).copied().unwrap_or_default())).collect();
        changes.sort_unstable_by_key(|change| change.holder);
        self.set_held(&changes, proven_ms);
    }

    /// Stops: another scheduler rules, and nothing is sold.
    pub(super) fn stop(&mut self) {
        *self = Meter { tick: self.tick, ..Meter::default() };
    }

    /// Whether it counts.
    pub fn has_started(&self) -> bool {
        self.has_started
    }

    /// The length of the open interval, ms: more of it costs nothing.
    pub fn length_ms(&self) -> u64 {
        self.length_ms
    }

    /// Opens the interval of a tick with what it sells; what the last one has summed is gone. `sold` is by name.
    pub(super) fn open<'a>(
        &mut self,
        tick: u64,
        length_ms: u64,
        sold: impl Iterator<Item = (&'a QueueName, &'a Interval)>,
    ) {
        self.tick = tick;
        self.length_ms = length_ms;
        self.stored.clear();
        self.clock.offset_ms = 0;
        self.forget_summed();
        self.unheld = 0;
        self.beyond.clear();
        self.ordered.clear();
        let mut unknown = Vec::new();
        let Self { places, queues, ordered, .. } = self;
        // Both are by name.
        let mut known = places.iter().peekable();
        for (queue, interval) in sold {
            ordered.extend(interval.by_order);
            while known.next_if(|(name, _)| *name < queue).is_some() {}
            match known.next_if(|(name, _)| *name == queue) {
                Some((_, place)) => queues[*place as usize].sell(interval),
                None => unknown.push((queue, interval)),
            }
        }
        for (queue, interval) in unknown {
            let place = self.place(queue) as usize;
            self.queues[place].sell(interval);
        }
        self.retain_queues();
        for (name, place) in &self.places {
            let meter = &self.queues[*place as usize];
            self.unheld += meter.unheld();
            if meter.is_beyond() {
                self.beyond.insert(name.clone(), *place);
            }
        }
        self.divide_unheld(0);
    }

    /// The interval is open since now.
    pub(super) fn open_at(&mut self, now: Now) {
        self.clock = Clock { mono_ms: now.mono_ms, offset_ms: 0 };
    }

    /// How long the interval has been open, ms.
    pub fn offset_ms(&self, mono_ms: u64) -> u64 {
        self.clock.offset_ms.saturating_add(mono_ms.saturating_sub(self.clock.mono_ms))
    }

    /// When the open interval ends, by the monotonic clock.
    pub fn end_mono_ms(&self, mono_ms: u64) -> u64 {
        mono_ms.saturating_add(self.length_ms.saturating_sub(self.offset_ms(mono_ms)))
    }

    /// Forgets what the interval that closes has summed, what was sold in it, and what holds nothing any more.
    fn forget_summed(&mut self) {
        let Self { queues, holders, holder_places, free_holders, .. } = self;
        for queue in queues {
            let held = queue.held;
            let mut left = std::mem::take(&mut queue.holders);
            left.retain(|place| {
                let meter = &mut holders[*place as usize];
                (meter.summed_ms, meter.slot_ms) = (0, PerPool::default());
                let holds = meter.held != PerPool::default();
                if !holds {
                    holder_places.remove(&meter.holder);
                    free_holders.push(*place);
                }
                holds
            });
            *queue = QueueMeter { held, holders: left, ..QueueMeter::default() };
        }
    }

    /// Forgets queues that hold nothing and were sold nothing.
    fn retain_queues(&mut self) {
        let Self { places, queues, free_queues, .. } = self;
        places.retain(|_, place| {
            let queue = &queues[*place as usize];
            let is_sold = queue.rate > Credits::ZERO || queue.quota != PerPool::default();
            let is_needed = !queue.holders.is_empty() || is_sold;
            if !is_needed {
                queues[*place as usize] = QueueMeter::default();
                free_queues.push(*place);
            }
            is_needed
        });
    }
}

// === impl Meter: holdings ===

impl Meter {
    /// The fact that slots of these holders changed now, by so many each; nothing where the market does not count.
    /// `given_back` are containers among them that were never launched.
    /// `unknown` says of what holds nothing yet who pays for it and where it stands among submissions; none: no queue does.
    pub(super) fn changed(
        &self,
        changes: &[(SlotHolder, PerPool<i64>)],
        given_back: &[GivenBack],
        mono_ms: u64,
        mut unknown: impl FnMut(SlotHolder) -> Option<(QueueName, u64)>,
    ) -> Option<Metered> {
        if !self.has_started {
            return None;
        }
        let mut free = self.free_of(given_back, self.offset_ms(mono_ms));
        let change = |(holder, by): &(SlotHolder, PerPool<i64>)| {
            let known = self.holder_places.get(holder).map(|place| &self.holders[*place as usize]);
            let (queue, order, before) = match known {
                Some(known) => (None, known.order, known.held),
                None => {
                    let (queue, order) = unknown(*holder)?;
                    (Some(queue), order, PerPool::default())
                }
            };
            let changed = |pool: Pool| {
                let after = i64::from(before[pool]).saturating_add(by[pool]);
                u32::try_from(after.max(0)).unwrap_or(u32::MAX)
            };
            let after = PerPool::new(changed(Pool::Map), changed(Pool::Reduce), changed(Pool::Container));
            let queue = queue.or_else(|| known.map(|known| self.name_of(known.queue)))?;
            let given_back_ms = free.remove(holder).unwrap_or(0);
            let is_change = before != after || given_back_ms > 0;
            is_change.then_some(HeldChange { holder: *holder, queue, order, before, after, given_back_ms })
        };
        let changes: Vec<HeldChange> = changes.iter().filter_map(change).collect();
        Some(Metered { tick: self.tick, offset_ms: self.offset_ms(mono_ms), changes })
    }

    /// What of containers that are given back now is not charged, by holder: of each that was held no longer than a second and
    /// a tenth of the interval, the time of this interval that was counted, as far as its slots are within the quota, where
    /// those given back first are beyond it first; in all that time for each slot that the queue was sold.
    fn free_of(&self, given_back: &[GivenBack], offset_ms: u64) -> BTreeMap<SlotHolder, u64> {
        let most_ms = self.free_ms();
        let mut free = BTreeMap::new();
        // By queue: slots given back so far, and what of them is free.
        let mut of_queues: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
        for GivenBack { holder, slots, held_ms } in given_back.iter().filter(|given_back| given_back.held_ms <= most_ms)
        {
            let Some(known) = self.holder_places.get(holder).map(|place| &self.holders[*place as usize]) else {
                continue;
            };
            let queue = &self.queues[known.queue as usize];
            let (before, sum_ms) = of_queues.entry(known.queue).or_default();
            let within = slots.saturating_sub(queue.beyond().saturating_sub(*before));
            let left_ms = most_ms.saturating_mul(total(queue.quota)).saturating_sub(queue.given_back_ms + *sum_ms);
            // While any ran beyond the quota before, these may have been the ones that were free.
            let begun_ms = offset_ms.saturating_sub(*held_ms);
            let begun_ms = if queue.beyond() > 0 { begun_ms } else { begun_ms.max(queue.beyond_until_ms) };
            let counted_ms = offset_ms.min(self.length_ms).saturating_sub(begun_ms);
            let free_ms = u64::from(within).saturating_mul(counted_ms).min(left_ms);
            (*before, *sum_ms) = (before.saturating_add(*slots), *sum_ms + free_ms);
            *free.entry(*holder).or_default() += free_ms;
        }
        free
    }

    /// How long a container may be held without being launched and cost nothing, ms.
    fn free_ms(&self) -> u64 {
        MAX_FREE_MS.min(self.length_ms / 10)
    }

    /// Applies a fact of [`Self::changed`]. Before the meter has started it is kept.
    pub(super) fn apply(&mut self, metered: &Metered) {
        if self.has_started {
            self.set_held(&metered.changes, metered.offset_ms);
        } else if metered.tick == self.tick {
            self.stored.push(metered.clone());
        }
    }

    fn set_held(&mut self, changes: &[HeldChange], offset_ms: u64) {
        if changes.is_empty() {
            return;
        }
        let at_ms = offset_ms.min(self.length_ms);
        for change in changes {
            let place = self.holder_place(change);
            let holder = &mut self.holders[place as usize];
            holder.sum_up_to(at_ms);
            holder.slot_ms.container = holder.slot_ms.container.saturating_sub(change.given_back_ms);
            let before = std::mem::replace(&mut holder.held, change.after);
            let queue_place = holder.queue;
            let queue = &mut self.queues[queue_place as usize];
            queue.sum_up_to(at_ms);
            queue.give_back(change.given_back_ms);
            self.unheld -= queue.unheld();
            for pool in Pool::ALL {
                queue.held[pool] = queue.held[pool].saturating_sub(before[pool]).saturating_add(change.after[pool]);
            }
            self.unheld += queue.unheld();
            if queue.is_beyond() {
                self.beyond.insert(change.queue.clone(), queue_place);
            } else if !self.beyond.is_empty() {
                queue.part = 0;
                self.beyond.remove(&change.queue);
            }
        }
        if !self.beyond.is_empty() {
            self.divide_unheld(at_ms);
        }
    }

    /// Divides what is sold and not held among the containers beyond their quotas: each its part of it in proportion to the
    /// rate, no more than it holds or its queue can pay for.
    fn divide_unheld(&mut self, at_ms: u64) {
        let parts: Vec<Part> = self.beyond.values().map(|place| self.queues[*place as usize].part_wanted()).collect();
        let unheld = u32::try_from(self.unheld).unwrap_or(u32::MAX);
        for (place, part) in self.beyond.values().zip(divide_slots(unheld, &parts)) {
            let queue = &mut self.queues[*place as usize];
            queue.sum_up_to(at_ms);
            queue.part = part;
        }
    }

    fn change_of(&self, known: &HolderMeter, after: PerPool<u32>) -> HeldChange {
        let HolderMeter { holder, queue, order, held: before, .. } = *known;
        HeldChange { holder, queue: self.name_of(queue), order, before, after, given_back_ms: 0 }
    }

    fn name_of(&self, place: u32) -> QueueName {
        self.names[place as usize].clone()
    }

    /// The place of a queue, which is new where the meter does not know it.
    fn place(&mut self, queue: &QueueName) -> u32 {
        if let Some(place) = self.places.get(queue) {
            return *place;
        }
        let place = match self.free_queues.pop() {
            Some(place) => {
                self.names[place as usize] = queue.clone();
                place
            }
            None => {
                self.names.push(queue.clone());
                self.queues.push(QueueMeter::default());
                // At most as many as there are queues and jobs.
                (self.queues.len() - 1) as u32
            }
        };
        self.places.insert(queue.clone(), place);
        place
    }

    /// The place of what a change is of, which is new where the meter does not know it.
    fn holder_place(&mut self, change: &HeldChange) -> u32 {
        if let Some(place) = self.holder_places.get(&change.holder) {
            return *place;
        }
        let queue = self.place(&change.queue);
        let HeldChange { holder, order, .. } = *change;
        let (held, slot_ms) = (PerPool::default(), PerPool::default());
        let meter = HolderMeter { holder, queue, order, held, summed_ms: 0, slot_ms };
        let place = match self.free_holders.pop() {
            Some(place) => {
                self.holders[place as usize] = meter;
                place
            }
            None => {
                self.holders.push(meter);
                // Fewer than slots and changes of an interval.
                (self.holders.len() - 1) as u32
            }
        };
        self.holder_places.insert(holder, place);
        let Self { queues, holders, .. } = self;
        let of_queue = &mut queues[queue as usize].holders;
        let before = of_queue.partition_point(|other| {
            let other = &holders[*other as usize];
            (other.order, other.holder) < (order, holder)
        });
        of_queue.insert(before, place);
        place
    }
}

// === impl Meter: sums ===

impl Meter {
    /// What a queue has held up to now of what it pays for.
    pub(super) fn use_of(&self, queue: &QueueName, mono_ms: u64) -> MeteredUse {
        let at_ms = self.offset_ms(mono_ms).min(self.length_ms);
        self.places.get(queue).map_or(MeteredUse::default(), |place| {
            let queue = &self.queues[*place as usize];
            queue.sums_up_to(at_ms)
        })
    }

    /// The queues that have held anything up to now that they pay for, by name.
    pub(super) fn uses(&self, mono_ms: u64) -> impl Iterator<Item = (&QueueName, MeteredUse)> {
        let at_ms = self.offset_ms(mono_ms).min(self.length_ms);
        let uses = self.places.iter().map(move |(name, place)| (name, self.queues[*place as usize].sums_up_to(at_ms)));
        uses.filter(|(_, metered)| !metered.is_nothing())
    }

    /// Whether a queue will pay for anything that it has held.
    pub(super) fn owes(&self, queue: &QueueName, mono_ms: u64) -> bool {
        !self.use_of(queue, mono_ms).is_nothing()
    }

    /// The queue that pays for what a job or application holds, or has held in the open interval.
    pub fn queue_of(&self, holder: SlotHolder) -> Option<&QueueName> {
        let place = self.holder_places.get(&holder)?;
        self.names.get(self.holders[*place as usize].queue as usize)
    }

    /// Whether the next tick may charge a job or application: it holds anything, or has in the open interval, or its order
    /// has set a rate.
    pub fn may_charge(&self, holder: SlotHolder) -> bool {
        self.holder_places.contains_key(&holder) || holder.job().is_some_and(|job| self.ordered.contains(&job))
    }

    /// The slots of all that is known to hold any, for checks.
    pub fn held(&self) -> impl Iterator<Item = (SlotHolder, PerPool<u32>)> {
        let held = self.holder_places.values().map(|place| &self.holders[*place as usize]);
        held.filter(|holder| holder.held != PerPool::default()).map(|holder| (holder.holder, holder.held))
    }

    /// What each job and application of a queue has held up to now, beyond the quota too, by the order of submissions.
    pub(super) fn held_by(&self, queue: &QueueName, mono_ms: u64) -> impl Iterator<Item = (SlotHolder, PerPool<u64>)> {
        let at_ms = self.offset_ms(mono_ms).min(self.length_ms);
        let holders = self.places.get(queue).map(|place| self.queues[*place as usize].holders.as_slice());
        holders.unwrap_or_default().iter().map(move |place| {
            let holder = &self.holders[*place as usize];
            (holder.holder, holder.slot_ms_up_to(at_ms))
        })
    }
}

// === impl QueueMeter ===

impl QueueMeter {
    fn sell(&mut self, interval: &Interval) {
        (self.rate, self.quota, self.payable) = (interval.share.rate(), interval.quota, interval.payable());
    }

    fn within(&self) -> PerPool<u32> {
        within(self.held, self.quota)
    }

    /// Slots that it was sold and does not hold.
    fn unheld(&self) -> u64 {
        total(self.quota).saturating_sub(total(self.within()))
    }

    /// Whether containers run beyond what it was sold, and it pays for what it holds.
    fn is_beyond(&self) -> bool {
        self.rate > Credits::ZERO && self.beyond() > 0
    }

    /// Slots of containers beyond its quota.
    fn beyond(&self) -> u32 {
        self.held.container.saturating_sub(self.quota.left_for_containers(self.held.slots()))
    }

    /// What it takes part with where slots that are sold and not held are divided.
    fn part_wanted(&self) -> Part {
        let payable = self.payable.saturating_sub(total(self.within()));
        Part { rate: self.rate, most: u32::try_from(payable).unwrap_or(u32::MAX).min(self.beyond()) }
    }

    fn give_back(&mut self, slot_ms: u64) {
        self.given_back_ms = self.given_back_ms.saturating_add(slot_ms);
        self.sums.within_ms.container = self.sums.within_ms.container.saturating_sub(slot_ms);
    }

    fn sum_up_to(&mut self, at_ms: u64) {
        if at_ms > self.summed_ms {
            if self.beyond() > 0 {
                self.beyond_until_ms = at_ms;
            }
            self.sums = self.sums_up_to(at_ms);
            self.summed_ms = at_ms;
        }
    }

    fn sums_up_to(&self, at_ms: u64) -> MeteredUse {
        let time_ms = at_ms.saturating_sub(self.summed_ms);
        let MeteredUse { within_ms, beyond_ms } = self.sums;
        let beyond_ms = beyond_ms.saturating_add(time_ms.saturating_mul(self.part.into()));
        MeteredUse { within_ms: added(within_ms, self.within(), time_ms), beyond_ms }
    }
}

// === impl HolderMeter ===

impl HolderMeter {
    fn sum_up_to(&mut self, at_ms: u64) {
        if at_ms > self.summed_ms {
            self.slot_ms = self.slot_ms_up_to(at_ms);
            self.summed_ms = at_ms;
        }
    }

    fn slot_ms_up_to(&self, at_ms: u64) -> PerPool<u64> {
        added(self.slot_ms, self.held, at_ms.saturating_sub(self.summed_ms))
    }
}

/// Sums with slots that were held for so long.
fn added(slot_ms: PerPool<u64>, held: PerPool<u32>, time_ms: u64) -> PerPool<u64> {
    let sum = |pool: Pool| slot_ms[pool].saturating_add(time_ms.saturating_mul(held[pool].into()));
    PerPool::new(sum(Pool::Map), sum(Pool::Reduce), sum(Pool::Container))
}

#[cfg(test)]
#[path = "../tests/meter.rs"]
mod tests;
