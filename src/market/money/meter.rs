//! The meter: what each queue holds in the open interval of what it pays for, in slot-milliseconds, and what each of its
//! jobs and applications holds. It sums when holdings change; nothing walks all queues between two ticks.
//!
//! Its clock is the interval's: ms since the tick, by the monotonic clock, without the time while the daemon was down.
//! What lies beyond the interval's length counts nothing, so an interval that is closed late costs no more.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::model::{Credits, JobId, Now, PerPool, Pool, QueueName, row_at};

use super::allocation::total;
use super::division::Division;
use super::interval::Interval;
use super::metered::{GivenBack, Grace, GraceStep, HeldChange, Metered, MeteredUse, SlotHolder};
use super::queue_meter::{HolderKey, HolderMeter, Holding, QueueMeter};

/// The end of the open interval, as a time of the monotonic clock: nothing counts beyond it.
pub(super) const AT_END: u64 = u64::MAX;
/// Longest time for which a container may be held without being launched and cost nothing, ms.
const MAX_FREE_MS: u64 = 1_000;

/// Sums of slot-milliseconds in the open interval.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    tick: u64,
    length_ms: u64,
    clock: IntervalClock,
    /// By name; the rest of the meter knows queues by their place.
    places: BTreeMap<QueueName, u32>,
    names: Vec<QueueName>,
    queues: Vec<QueueMeter>,
    free_queues: Vec<u32>,
    /// Looked up, never iterated.
    holder_places: FxHashMap<HolderKey, u32>,
    /// Those of preempted containers in their grace.
    graces: BTreeMap<(SlotHolder, u64), u32>,
    holders: Vec<HolderMeter>,
    free_holders: Vec<u32>,
    /// Slots that are sold and not held.
    unheld: u64,
    /// How they are divided among the queues with containers beyond their quota.
    division: Division,
    /// Jobs whose orders have set the rate of their queue.
    ordered: BTreeSet<JobId>,
    /// What was stored of the open interval, until [`Meter::start`] knows what is held.
    stored: Vec<Metered>,
    has_started: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct IntervalClock {
    mono_ms: u64,
    offset_ms: u64,
}

impl Meter {
    /// Begins to count, or continues after a restart: facts prove what was held up to the last of them, and the time from then
    /// to `now` is not counted. `holdings` are all that hold anything now. Returns the fact of what is held no more, if there
    /// is any: a later restart would count it on.
    pub(super) fn start(&mut self, holdings: Vec<Holding>, interval_ms: u64, now: Now) -> Option<Metered> {
        let stored = std::mem::take(&mut self.stored);
        if self.length_ms == 0 {
            self.length_ms = interval_ms;
        }
        self.has_started = true;
        let mut opened: BTreeMap<HolderKey, HeldChange> = BTreeMap::new();
        for change in stored.iter().flat_map(|metered| &metered.changes) {
            opened.entry(change.key()).or_insert_with(|| HeldChange {
                after: change.before,
                given_back_ms: 0,
                ..change.clone()
            });
        }
        for holding in &holdings {
            opened.entry(holding.key()).or_insert_with(|| holding.since_before());
        }
        self.set_held(&opened.into_values().collect::<Vec<_>>(), 0);
        for metered in &stored {
            self.set_held(&metered.changes, metered.offset_ms);
        }
        let proven_ms = stored.last().map_or(0, |metered| metered.offset_ms);
        self.clock = IntervalClock { mono_ms: now.mono_ms, offset_ms: proven_ms };
        // What the rows of jobs and containers say is what is held.
        let held: BTreeMap<HolderKey, PerPool<u32>> =
            holdings.iter().map(|holding| (holding.key(), holding.held)).collect();
        let known = self.holder_places.values().map(|place| &self.holders[*place as usize]);
        let wrong = known.filter(|known| held.get(&known.key()).copied().unwrap_or_default() != known.held);
        let mut changes: Vec<HeldChange> =
            wrong.map(|known| self.change_of(known, held.get(&known.key()).copied().unwrap_or_default())).collect();
        changes.sort_unstable_by_key(HeldChange::key);
        self.set_held(&changes, proven_ms);
        (!changes.is_empty()).then_some(Metered { tick: self.tick, offset_ms: proven_ms, changes })
    }

    /// Stops: another scheduler rules, and nothing is sold.
    pub(super) fn stop(&mut self) {
        *self = Meter { tick: self.tick, ..Meter::default() };
    }

    pub fn has_started(&self) -> bool {
        self.has_started
    }

    /// The length of the open interval, ms: more of it costs nothing.
    pub(crate) fn length_ms(&self) -> u64 {
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
        self.ordered.clear();
        let mut unknown = Vec::new();
        let Self { places, queues, ordered, .. } = self;
        // Both are by name.
        let mut known = places.iter().peekable();
        for (queue, interval) in sold {
            ordered.extend(interval.by_order);
            match row_at(&mut known, |(name, _)| (*name).cmp(queue)) {
                Some((_, place)) => queues[*place as usize].sell(interval),
                None => unknown.push((queue, interval)),
            }
        }
        for (queue, interval) in unknown {
            let place = self.place(queue) as usize;
            self.queues[place].sell(interval);
        }
        self.retain_queues();
        let mut beyond = Vec::new();
        for (name, place) in &self.places {
            let meter = &self.queues[*place as usize];
            self.unheld += meter.unheld();
            beyond.extend(meter.part_wanted().map(|part| (*place, name.clone(), part)));
        }
        self.division = Division::new(self.unheld, beyond);
        self.apply_division(0);
    }

    /// Counts the graces of the interval that closes up to now, so that the next one counts what is left of them.
    pub(super) fn close(&mut self, now: Now) {
        let at_ms = self.offset_ms(now.mono_ms).min(self.length_ms);
        for place in self.graces.values() {
            self.holders[*place as usize].sum_up_to(at_ms);
        }
    }

    /// What is held in the interval that was just opened and no row says, as a fact: the graces that continue, whose rows do not
    /// say when they began, and what jobs that are over hold until their trackers have ended it.
    pub(super) fn continued(&self, over: impl Iterator<Item = SlotHolder>) -> Option<Metered> {
        let graces = self.graces.values().map(|place| &self.holders[*place as usize]);
        self.as_held(graces.chain(over.filter_map(|holder| self.known(holder))), 0)
    }

    /// What these hold from now on, as a fact: their rows will no longer say it.
    pub(super) fn proof(&self, over: impl Iterator<Item = SlotHolder>, mono_ms: u64) -> Option<Metered> {
        self.as_held(over.filter_map(|holder| self.known(holder)), self.offset_ms(mono_ms))
    }

    fn as_held<'a>(&self, holders: impl Iterator<Item = &'a HolderMeter>, offset_ms: u64) -> Option<Metered> {
        let holders = holders.filter(|holder| holder.held != PerPool::default());
        let changes: Vec<HeldChange> = holders.map(|holder| self.change_of(holder, holder.held)).collect();
        (!changes.is_empty()).then_some(Metered { tick: self.tick, offset_ms, changes })
    }

    pub(super) fn open_at(&mut self, now: Now) {
        self.clock = IntervalClock { mono_ms: now.mono_ms, offset_ms: 0 };
    }

    /// How long the interval has been open, ms.
    pub(crate) fn offset_ms(&self, mono_ms: u64) -> u64 {
        self.clock.offset_ms.saturating_add(mono_ms.saturating_sub(self.clock.mono_ms))
    }

    pub(crate) fn end_mono_ms(&self, mono_ms: u64) -> u64 {
        mono_ms.saturating_add(self.length_ms.saturating_sub(self.offset_ms(mono_ms)))
    }

    /// Forgets what the interval that closes has summed, what was sold in it, and what holds nothing any more.
    fn forget_summed(&mut self) {
        let Self { queues, holders, holder_places, graces, free_holders, .. } = self;
        for queue in queues {
            let held = queue.held;
            let mut left = std::mem::take(&mut queue.holders);
            left.retain(|place| {
                let meter = &mut holders[*place as usize];
                (meter.summed_ms, meter.slot_ms) = (0, PerPool::default());
                let holds = meter.held != PerPool::default();
                if !holds {
                    holder_places.remove(&meter.key());
                    if let (holder, Some(container)) = meter.key() {
                        graces.remove(&(holder, container));
                    }
                    free_holders.push(*place);
                }
                holds
            });
            let has_graces = left.iter().any(|place| holders[*place as usize].grace.is_some());
            *queue = QueueMeter { held, holders: left, has_graces, ..QueueMeter::default() };
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

    /// The fact that slots of these holders changed now, by so many each; nothing where the market does not count.
    /// `given_back` are containers among them that were never launched; `graces` are steps of preempted containers, which
    /// leave what the others hold when their grace begins.
    /// `unknown` says of what holds nothing yet who pays for it and where it stands among submissions; none: no queue does.
    pub(super) fn changed(
        &self,
        changes: &[(SlotHolder, PerPool<i64>)],
        given_back: &[GivenBack],
        graces: &[GraceStep],
        mono_ms: u64,
        mut unknown: impl FnMut(SlotHolder) -> Option<(QueueName, u64)>,
    ) -> Option<Metered> {
        if !self.has_started {
            return None;
        }
        let mut free = self.free_of(given_back, self.offset_ms(mono_ms));
        let (mut changes, mut of_graces) = (changes.to_vec(), BTreeMap::new());
        for step in graces {
            self.step_grace(step, &mut changes, &mut of_graces);
        }
        let mut metered = Vec::with_capacity(changes.len() + of_graces.len());
        let mut payer = |holder: SlotHolder| {
            let known = self.known(holder);
            known.map(|known| (self.name_of(known.queue), known.order)).or_else(|| unknown(holder))
        };
        for (holder, by) in changes {
            let before = self.known(holder).map_or_else(PerPool::default, |known| known.held);
            let changed = |pool: Pool| {
                let after = i64::from(before[pool]).saturating_add(by[pool]);
                u32::try_from(after.max(0)).unwrap_or(u32::MAX)
            };
            let after = PerPool::new(changed(Pool::Map), changed(Pool::Reduce), changed(Pool::Container));
            let given_back_ms = free.remove(&holder).unwrap_or(0);
            if before == after && given_back_ms == 0 {
                continue;
            }
            let Some((queue, order)) = payer(holder) else { continue };
            metered.push(HeldChange { holder, queue, order, grace: None, before, after, given_back_ms });
        }
        for ((holder, _), (grace, before, after)) in of_graces {
            let Some((queue, order)) = payer(holder) else { continue };
            let (grace, given_back_ms) = (Some(grace), 0);
            let [before, after] = [before, after].map(|slots| PerPool::new(0, 0, slots));
            metered.push(HeldChange { holder, queue, order, grace, before, after, given_back_ms });
        }
        Some(Metered { tick: self.tick, offset_ms: self.offset_ms(mono_ms), changes: metered })
    }

    /// Moves the slots of a preempted container from what its application holds into its grace, or out of it at its end,
    /// where the scheduler has released them.
    fn step_grace(
        &self,
        step: &GraceStep,
        changes: &mut Vec<(SlotHolder, PerPool<i64>)>,
        of_graces: &mut BTreeMap<(SlotHolder, u64), (Grace, u32, u32)>,
    ) {
        let GraceStep { holder, container, slots, rate, begins } = *step;
        let key = (holder, container);
        let moved = if begins {
            of_graces.insert(key, (Grace { container, rate, left_ms: self.length_ms }, 0, slots));
            -i64::from(slots)
        } else if of_graces.remove(&key).is_some() {
            i64::from(slots)
        } else if let Some(place) = self.graces.get(&key) {
            let known = &self.holders[*place as usize];
            of_graces.extend(known.grace.map(|grace| (key, (grace, known.held.container, 0))));
            known.held.container.into()
        } else {
            return;
        };
        match changes.iter_mut().find(|(changed, _)| *changed == holder) {
            Some((_, by)) => by.container += moved,
            None => changes.push((holder, PerPool::new(0, 0, moved))),
        }
    }

    /// What a job or application holds, but for graces.
    fn known(&self, holder: SlotHolder) -> Option<&HolderMeter> {
        self.holder_places.get(&(holder, None)).map(|place| &self.holders[*place as usize])
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
            let Some(known) = self.known(*holder) else { continue };
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
            if change.grace.is_some() {
                queue.has_graces = true;
                continue;
            }
            queue.sum_up_to(at_ms);
            queue.give_back(change.given_back_ms);
            self.unheld -= queue.unheld();
            for pool in Pool::ALL {
                queue.held[pool] = queue.held[pool].saturating_sub(before[pool]).saturating_add(change.after[pool]);
            }
            self.unheld += queue.unheld();
            self.division.set(queue_place, &change.queue, queue.part_wanted());
        }
        self.division.divide(self.unheld);
        self.apply_division(at_ms);
    }

    /// Counts what is divided of slots that are sold and not held as sold to the containers beyond quotas from now on.
    fn apply_division(&mut self, at_ms: u64) {
        for (place, part) in self.division.take_changed() {
            let queue = &mut self.queues[place as usize];
            queue.sum_up_to(at_ms);
            queue.part = part;
        }
    }

    fn change_of(&self, known: &HolderMeter, after: PerPool<u32>) -> HeldChange {
        let HolderMeter { holder, grace, queue, order, held: before, .. } = *known;
        HeldChange { holder, queue: self.name_of(queue), order, grace, before, after, given_back_ms: 0 }
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

    fn holder_place(&mut self, change: &HeldChange) -> u32 {
        if let Some(place) = self.holder_places.get(&change.key()) {
            return *place;
        }
        let queue = self.place(&change.queue);
        let HeldChange { holder, order, grace, .. } = *change;
        let (held, slot_ms) = (PerPool::default(), PerPool::default());
        let meter = HolderMeter { holder, grace, queue, order, held, summed_ms: 0, slot_ms };
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
        self.holder_places.insert(change.key(), place);
        self.graces.extend(grace.map(|grace| ((holder, grace.container), place)));
        let Self { queues, holders, .. } = self;
        let of_queue = &mut queues[queue as usize].holders;
        let before = of_queue.partition_point(|other| {
            let other = &holders[*other as usize];
            (other.order, other.key()) < (order, change.key())
        });
        of_queue.insert(before, place);
        place
    }

    /// What a queue has held up to now of what it pays for.
    pub(super) fn use_of(&self, queue: &QueueName, mono_ms: u64) -> MeteredUse {
        let at_ms = self.offset_ms(mono_ms).min(self.length_ms);
        self.places.get(queue).map_or(MeteredUse::default(), |place| {
            let queue = &self.queues[*place as usize];
            queue.sums_up_to(at_ms)
        })
    }

    /// The queues that have held anything up to now that they pay for, by name, with their places.
    pub(super) fn uses(&self, mono_ms: u64) -> impl Iterator<Item = (&QueueName, u32, MeteredUse)> {
        let at_ms = self.offset_ms(mono_ms).min(self.length_ms);
        self.places.iter().filter_map(move |(name, place)| {
            let metered = self.queues[*place as usize].sums_up_to(at_ms);
            (!metered.is_nothing() || self.has_graces(*place)).then_some((name, *place, metered))
        })
    }

    pub(super) fn place_of(&self, queue: &QueueName) -> Option<u32> {
        self.places.get(queue).copied()
    }

    /// Whether a queue will pay for anything that it has held, if it pays now.
    pub(super) fn owes(&self, queue: &QueueName, mono_ms: u64) -> bool {
        !self.use_of(queue, mono_ms).is_nothing()
    }

    /// Whether the queue at a place has held anything in the open interval in the grace of preempted containers.
    pub(super) fn has_graces(&self, place: u32) -> bool {
        !self.graces.is_empty() && self.queues[place as usize].has_graces
    }

    /// The most that the graces of a queue's preempted containers may cost in the open interval, rounded up for each.
    pub(super) fn most_for_graces(&self, queue: &str) -> Credits {
        let place = self.places.get(queue).filter(|place| self.has_graces(**place));
        let holders = place.into_iter().flat_map(|place| &self.queues[*place as usize].holders);
        let most = holders.filter_map(|place| self.holders[*place as usize].most_in_grace(self.length_ms));
        Credits::from_units(most.map(Credits::units).fold(0, i128::saturating_add))
    }

    /// The queue that pays for what a job or application holds, or has held in the open interval.
    pub(crate) fn queue_of(&self, holder: SlotHolder) -> Option<&QueueName> {
        let of_grace = || self.graces_of(holder).next().map(|place| &self.holders[place as usize]);
        self.names.get(self.known(holder).or_else(of_grace)?.queue as usize)
    }

    /// Whether the next tick may charge a job or application: it holds anything, or has in the open interval, or its order has set a rate.
    pub(crate) fn may_charge(&self, holder: SlotHolder) -> bool {
        self.known(holder).is_some()
            || self.graces_of(holder).next().is_some()
            || holder.job().is_some_and(|job| self.ordered.contains(&job))
    }

    fn graces_of(&self, holder: SlotHolder) -> impl Iterator<Item = u32> {
        self.graces.range((holder, 0)..=(holder, u64::MAX)).map(|(_, place)| *place)
    }

    /// The slots of all that is known to hold any, but for graces, for checks.
    pub fn held(&self) -> impl Iterator<Item = (SlotHolder, PerPool<u32>)> {
        let held = self.holder_places.values().map(|place| &self.holders[*place as usize]);
        let held = held.filter(|holder| holder.grace.is_none() && holder.held != PerPool::default());
        held.map(|holder| (holder.holder, holder.held))
    }

    /// What each job and application of the queue at a place has held up to now, beyond the quota too, but for graces, by the order of
    /// submissions.
    pub(super) fn held_by(&self, place: u32, mono_ms: u64) -> impl Iterator<Item = (SlotHolder, PerPool<u64>)> {
        let held = self.holders_of(place, mono_ms).filter(|(holder, _)| holder.grace.is_none());
        held.map(|(holder, slot_ms)| (holder.holder, slot_ms))
    }

    /// What was held in the graces of preempted containers of the queue at a place up to now, with the rates of their grants.
    pub(super) fn held_in_graces(
        &self,
        place: u32,
        mono_ms: u64,
    ) -> impl Iterator<Item = (Credits, SlotHolder, PerPool<u64>)> {
        let held = self.holders_of(place, mono_ms);
        held.filter_map(|(holder, slot_ms)| Some((holder.grace?.rate, holder.holder, slot_ms)))
    }

    fn holders_of(&self, place: u32, mono_ms: u64) -> impl Iterator<Item = (&HolderMeter, PerPool<u64>)> {
        let at_ms = self.offset_ms(mono_ms).min(self.length_ms);
        self.queues[place as usize].holders.iter().map(move |place| {
            let holder = &self.holders[*place as usize];
            (holder, holder.slot_ms_up_to(at_ms))
        })
    }
}

#[cfg(test)]
#[path = "../tests/meter.rs"]
mod tests;
