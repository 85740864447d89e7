//! Laws 8 and 11: slot-milliseconds of the open interval, integrated from the facts alone, and what a tick must charge for
//! them and lay on jobs and applications.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::{ApplicationChange, Fact};
use crate::mapreduce::{AttemptRole, JobFact};
use crate::market::{HeldChange, LedgerAccount, MarketFact, SlotHolder, Tick};
use crate::model::{ApplicationId, AttemptId, Capability, ContainerId, Credits, JobId, PerPool};

use super::attempts::AttemptModel;
use super::holdings::Moment;
use super::law::Law;

/// Age from which a setup or a cleanup is charged, ms.
const FREE_HOUSEKEEPING_MS: u64 = 10_000;
/// Longest time for which a container may be held without being launched and cost nothing, ms; and a tenth of the interval.
const MOST_FREE_MS: u64 = 1_000;

/// An attempt that sets up or cleans up: whose slots it takes, and since when, by the time that the daemon was up.
#[derive(Clone, Debug)]
struct HousekeepingSlot {
    attempt: AttemptId,
    tracker: Arc<str>,
    slots: u32,
    since_up_ms: u64,
    /// Its age is not known here since a restart.
    is_old: bool,
}

#[derive(Clone, Debug, Default)]
struct Sale {
    rate: Credits,
    quota: PerPool<u32>,
    /// The most slots that its balance can pay for.
    payable: u64,
    /// The job whose order has set the rate, and what the owner bid.
    ordered: Option<(JobId, Credits)>,
}

/// Slot-milliseconds of a queue.
#[derive(Clone, Debug, Default)]
struct Sums {
    /// Within what it has bought.
    used: PerPool<u128>,
    /// All that its maps have held.
    maps: u128,
    /// All that each job and application has held and is to pay for.
    held: BTreeMap<(u64, SlotHolder), u128>,
    /// What containers have held that were given back promptly without having been launched.
    given_back: u128,
}

/// A preempted container that is not complete: it is charged within the quota or not, as its queue paid when it was granted.
#[derive(Clone, Debug)]
struct GracePeriod {
    queue: String,
    holder: (u64, SlotHolder),
    slots: u32,
    rate: Credits,
    /// For how long it is still charged, ms.
    left_ms: u64,
}

/// Slot-milliseconds of graces, by queue and rate.
type GraceSums = BTreeMap<(String, Credits), BTreeMap<(u64, SlotHolder), u128>>;

#[derive(Clone, Debug, Default)]
struct Elapsed {
    /// Since the tick, while the daemon was up, ms.
    offset_ms: u64,
    sums: BTreeMap<String, Sums>,
    graces: BTreeMap<ContainerId, GracePeriod>,
    grace_sums: GraceSums,
    /// Slot-milliseconds of setups and cleanups.
    housekeeping: u128,
}

#[derive(Clone, Debug)]
pub(super) struct SlotTime {
    /// Time between ticks, ms; none while another scheduler rules.
    interval_ms: Option<u64>,
    /// The length of the open interval, ms: what is beyond it is free.
    length_ms: u64,
    /// Until when time has been counted, by the daemon's clock, ms.
    until_mono_ms: u64,
    /// How long the daemon was up, ms.
    up_ms: u64,
    sales: BTreeMap<String, Sale>,
    elapsed: Elapsed,
    /// What the facts prove: up to the last change of what is held.
    proven: Elapsed,
    /// When setups and cleanups began to be charged in the open interval.
    aged: Vec<Elapsed>,
    housekeeping: Vec<HousekeepingSlot>,
    /// Jobs that are over, and attempts that have ended with them: these take their slots until a second fact frees them.
    over: BTreeSet<JobId>,
    ended_with_job: BTreeSet<AttemptId>,
    /// The queue and the order of submission of each application.
    applications: BTreeMap<ApplicationId, (String, u64)>,
    /// What queues paid when containers were granted to them, and when that was, by the time that the daemon was up; none: it
    /// has started again since.
    granted_at: BTreeMap<ContainerId, (Credits, Option<u64>)>,
    /// Slot-milliseconds of containers that this step has ended soon after their grants, never launched; none: not known.
    soon_ended: BTreeMap<ApplicationId, Option<u128>>,
    slot: Capability,
    /// Queues with setups or cleanups of unknown age.
    unsure: BTreeSet<String>,
    /// Queues whose accounts were removed while another scheduler ruled: nothing pays for what is left of them.
    removed: BTreeSet<String>,
}

impl SlotTime {
    pub(super) fn new(start_mono_ms: u64, interval_ms: Option<u64>, slot: Capability) -> Self {
        Self {
            interval_ms,
            length_ms: interval_ms.unwrap_or(0),
            until_mono_ms: start_mono_ms,
            up_ms: 0,
            sales: BTreeMap::new(),
            elapsed: Elapsed::default(),
            proven: Elapsed::default(),
            aged: Vec::new(),
            housekeeping: Vec::new(),
            over: BTreeSet::new(),
            ended_with_job: BTreeSet::new(),
            applications: BTreeMap::new(),
            granted_at: BTreeMap::new(),
            soon_ended: BTreeMap::new(),
            slot,
            unsure: BTreeSet::new(),
            removed: BTreeSet::new(),
        }
    }

    /// Counts the time since the last step with facts, in which all held what they hold before this one: at each step while a
    /// setup or cleanup grows older, else at those with facts.
    pub(super) fn advance(&mut self, now_mono_ms: u64, has_facts: bool, held: &Moment, attempts: &AttemptModel) {
        if !has_facts && self.housekeeping.is_empty() {
            return;
        }
        self.soon_ended.clear();
        let passed_ms = now_mono_ms.saturating_sub(self.until_mono_ms);
        self.until_mono_ms = now_mono_ms;
        if passed_ms == 0 {
            return;
        }
        let until_up_ms = self.up_ms + passed_ms;
        let mut moment = Cow::Borrowed(held);
        for grace in self.elapsed.graces.values() {
            moment.to_mut().take_container(&grace.queue, grace.holder, grace.slots);
        }
        while self.up_ms < until_up_ms {
            let begin_ms = |one: &HousekeepingSlot| one.since_up_ms + FREE_HOUSEKEEPING_MS;
            let next_ms = self.housekeeping.iter().map(begin_ms).filter(|at_ms| *at_ms > self.up_ms).min();
            let until_ms = next_ms.unwrap_or(u64::MAX).min(until_up_ms);
            let mut with = moment.clone();
            for one in &self.housekeeping {
                let payer = attempts.payer_of(one.attempt.task.job);
                if let Some((queue, ..)) = payer.filter(|_| one.is_old) {
                    self.unsure.insert(queue.to_owned());
                }
                if let Some(payer) = payer.filter(|_| begin_ms(one) <= self.up_ms) {
                    with.to_mut().add_map(payer, one.slots);
                }
            }
            self.count(&with, until_ms - self.up_ms);
            self.up_ms = until_ms;
            if next_ms == Some(until_ms) {
                self.aged.push(self.elapsed.clone());
            }
        }
    }

    /// Adds what all hold for so long.
    fn count(&mut self, moment: &Moment, ms: u64) {
        let counted_ms = u128::from(ms.min(self.length_ms.saturating_sub(self.elapsed.offset_ms)));
        self.elapsed.offset_ms += ms;
        if counted_ms == 0 {
            return;
        }
        let Elapsed { graces, grace_sums, .. } = &mut self.elapsed;
        for grace in graces.values_mut() {
            let charged_ms = u128::from(grace.left_ms).min(counted_ms);
            grace.left_ms -= charged_ms as u64;
            let sums = grace_sums.entry((grace.queue.clone(), grace.rate)).or_default();
            *sums.entry(grace.holder).or_default() += u128::from(grace.slots) * charged_ms;
        }
        let housekeeping: u32 = self.housekeeping.iter().map(|one| one.slots).sum();
        self.elapsed.housekeeping += u128::from(housekeeping) * counted_ms;
        let covered = |queue: &str, sale: &Sale| sale.quota.left_for_containers(moment.held(queue).slots());
        let mut unheld = 0_u64;
        let mut beyond: Vec<(&str, Credits, u64)> = Vec::new();
        for (queue, sale) in &self.sales {
            let (held, covered) = (moment.held(queue), covered(queue, sale));
            unheld += u64::from(covered.saturating_sub(held.container));
            if held.container > covered && sale.rate > Credits::ZERO {
                let within = u64::from(held.map.min(sale.quota.map))
                    + u64::from(held.reduce.min(sale.quota.reduce))
                    + u64::from(covered);
                let most = u64::from(held.container - covered).min(sale.payable.saturating_sub(within));
                beyond.push((queue, sale.rate, most));
            }
        }
        let parts = divide(unheld, &beyond.iter().map(|(_, rate, most)| (*rate, *most)).collect::<Vec<_>>());
        let more: BTreeMap<&str, u64> = beyond.iter().map(|(queue, ..)| *queue).zip(parts).collect();
        for (queue, sale) in &self.sales {
            let Some(of_queue) = moment.of(queue) else { continue };
            let held = of_queue.held;
            let most = u64::from(covered(queue, sale)) + more.get(queue.as_str()).copied().unwrap_or(0);
            let sums = self.elapsed.sums.entry(queue.clone()).or_default();
            sums.used.map += u128::from(held.map.min(sale.quota.map)) * counted_ms;
            sums.used.reduce += u128::from(held.reduce.min(sale.quota.reduce)) * counted_ms;
            sums.used.container += u128::from(u64::from(held.container).min(most)) * counted_ms;
            sums.maps += u128::from(held.map) * counted_ms;
            for (order, holder, slots) in &of_queue.holders {
                *sums.held.entry((*order, *holder)).or_default() += u128::from(*slots) * counted_ms;
            }
        }
    }

    /// Follows setups and cleanups, and what the facts prove.
    pub(super) fn apply(&mut self, fact: &Fact) -> Result<(), (Law, String)> {
        match fact {
            Fact::Job(JobFact::AttemptLaunched { attempt, role, tracker, slots, .. }) if *role != AttemptRole::Work => {
                let (attempt, slots, tracker) = (*attempt, *slots, tracker.clone());
                let (since_up_ms, is_old) = (self.up_ms, false);
                self.housekeeping.push(HousekeepingSlot { attempt, tracker, slots, since_up_ms, is_old });
            }
            Fact::Applications(changes) => changes.iter().for_each(|change| self.follow_container(change)),
            Fact::Job(JobFact::Ended { job, .. }) => drop(self.over.insert(*job)),
            Fact::Job(JobFact::AttemptEnded(ended)) => {
                let ends_with_job = self.over.contains(&ended.attempt.task.job);
                if !(ends_with_job && self.ended_with_job.insert(ended.attempt)) {
                    self.end_housekeeping(|one| one.attempt == ended.attempt);
                }
            }
            Fact::Job(JobFact::TaskCleanupLost { attempt }) => self.end_housekeeping(|one| one.attempt == *attempt),
            Fact::KillJobAcknowledged { job, tracker } => {
                self.end_housekeeping(|one| one.attempt.task.job == *job && one.tracker == *tracker);
            }
            Fact::Market(MarketFact::AccountRemoved { queue }) => drop(self.removed.insert(queue.as_str().to_owned())),
            Fact::Market(MarketFact::Account { queue, .. }) => drop(self.removed.remove(queue.as_str())),
            Fact::Market(MarketFact::Metered(metered)) => {
                metered.changes.iter().try_for_each(|change| self.give_back(change))?;
                let aged = self.aged.iter().find(|aged| aged.offset_ms == metered.offset_ms);
                if metered.offset_ms == self.elapsed.offset_ms {
                    self.proven = self.elapsed.clone();
                } else if let Some(aged) = aged {
                    self.proven = aged.clone();
                } else if self.unsure.is_empty() {
                    let at_ms = self.elapsed.offset_ms;
                    let known = (self.up_ms, &self.housekeeping);
                    return Err((
                        Law::Charges,
                        format!("at {at_ms} ms of the interval comes {metered:?}, with {known:?}"),
                    ));
                } else {
                    // Of a setup or cleanup whose age is not known here: the sums of such an interval are not compared.
                    self.proven = Elapsed { offset_ms: metered.offset_ms, ..self.elapsed.clone() };
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes what a queue pays when a container is granted to it, and when the grace of one begins and ends. Steps are stored
    /// whole, so a restart knows of graces what the facts say.
    fn follow_container(&mut self, change: &ApplicationChange) {
        let container = match change {
            ApplicationChange::Submitted { submitted, .. } => {
                self.applications.insert(submitted.id, (submitted.queue.to_string(), submitted.order));
                return;
            }
            ApplicationChange::Container(container) => container,
            _ => return,
        };
        let id = container.id;
        let Some((queue, order)) = self.applications.get(&id.application) else { return };
        // Before its queue was sold anything it is the bid.
        let rate_now = self.sales.get(queue).map_or(container.rate, |sale| sale.rate);
        let (rate, since_up_ms) = *self.granted_at.entry(id).or_insert((rate_now, Some(self.up_ms)));
        let is_in_grace = container.end.is_none() && container.kill.as_ref().is_some_and(|kill| kill.is_preemption);
        let slots = container.request.capability.slots(self.slot);
        let (queue, holder) = (queue.clone(), (*order, SlotHolder::Application(id.application)));
        let grace = GracePeriod { queue, holder, slots, rate, left_ms: self.length_ms };
        for elapsed in [&mut self.elapsed, &mut self.proven] {
            if !is_in_grace {
                elapsed.graces.remove(&id);
            } else {
                elapsed.graces.entry(id).or_insert_with(|| grace.clone());
            }
        }
        if container.end.is_some() {
            if container.launch.is_none() {
                let age_ms = since_up_ms.map(|since_ms| self.up_ms - since_ms);
                let is_soon = age_ms.is_none_or(|age_ms| age_ms <= self.most_free_ms());
                let held_ms = age_ms.map(|age_ms| u128::from(slots) * u128::from(if is_soon { age_ms } else { 0 }));
                let sum = self.soon_ended.entry(id.application).or_insert(Some(0));
                *sum = sum.zip(held_ms).map(|(sum, held_ms)| sum + held_ms);
            }
            self.granted_at.remove(&id);
        }
    }

    /// Takes off what is free of containers that were given back promptly.
    fn give_back(&mut self, change: &HeldChange) -> Result<(), (Law, String)> {
        let free_ms = u128::from(change.given_back_ms);
        if free_ms == 0 {
            return Ok(());
        }
        let queue = change.queue.as_str();
        let slots = self.sales.get(queue).map_or(0, |sale| sale.quota.map + sale.quota.reduce + sale.quota.container);
        let most_ms = u128::from(self.most_free_ms()) * u128::from(slots);
        let soon_ms = match change.holder {
            SlotHolder::Application(id) => self.soon_ended.get(&id).copied().unwrap_or(Some(0)),
            SlotHolder::Job(_) => Some(0),
        };
        if soon_ms.is_some_and(|soon_ms| soon_ms < free_ms) {
            return Err((Law::Holding, format!("{change:?} is free, {soon_ms:?} slot-ms were given back soon")));
        }
        let sums = self.elapsed.sums.entry(queue.to_owned()).or_default();
        sums.given_back += free_ms;
        let held = sums.held.entry((change.order, change.holder)).or_default();
        if sums.given_back > most_ms || *held < free_ms || sums.used.container < free_ms {
            return Err((
                Law::Holding,
                format!("{queue} gives back {change:?} free, {sums:?}, of {slots} bought slots"),
            ));
        }
        *held -= free_ms;
        sums.used.container -= free_ms;
        Ok(())
    }

    fn most_free_ms(&self) -> u64 {
        MOST_FREE_MS.min(self.length_ms / 10)
    }

    fn end_housekeeping(&mut self, is_meant: impl Fn(&HousekeepingSlot) -> bool) {
        self.housekeeping.retain(|one| !is_meant(one));
    }

    pub(super) fn rule(&mut self, interval_ms: Option<u64>) {
        if self.interval_ms.is_none() {
            // It counts from the switch on.
            let mut graces = std::mem::take(&mut self.elapsed.graces);
            graces.values_mut().for_each(|grace| grace.left_ms = interval_ms.unwrap_or(0));
            self.elapsed = Elapsed { graces, ..Elapsed::default() };
            self.proven = self.elapsed.clone();
        }
        self.interval_ms = interval_ms;
        if interval_ms.is_none() {
            self.sales.clear();
        }
    }

    /// The daemon starts again: it knows of the open interval what facts prove; the time that it was down is free.
    pub(super) fn restart(&mut self, now_mono_ms: u64) {
        self.until_mono_ms = now_mono_ms;
        self.elapsed = self.proven.clone();
        self.aged.clear();
        self.housekeeping.iter_mut().for_each(|one| one.is_old = true);
        self.granted_at.values_mut().for_each(|(_, since_up_ms)| *since_up_ms = None);
    }

    pub(super) fn left_ms(&self) -> u64 {
        self.length_ms.saturating_sub(self.elapsed.offset_ms)
    }

    /// Jobs with setups or cleanups that count as maps by now, or may since their age is not known here.
    pub(super) fn jobs_with_housekeeping(&self) -> BTreeSet<JobId> {
        self.counted_housekeeping().map(|(job, _)| job).collect()
    }

    /// The same with the slots of each.
    pub(super) fn counted_housekeeping(&self) -> impl Iterator<Item = (JobId, u32)> {
        let counts = |one: &&HousekeepingSlot| one.is_old || one.since_up_ms + FREE_HOUSEKEEPING_MS <= self.up_ms;
        self.housekeeping.iter().filter(counts).map(|one| (one.attempt.task.job, one.slots))
    }

    /// Slot-milliseconds of maps that a queue has held in the open interval, and of setups and cleanups of all queues.
    pub(super) fn maps_held(&self, queue: &str) -> (u128, u128) {
        (self.elapsed.sums.get(queue).map_or(0, |sums| sums.maps), self.elapsed.housekeeping)
    }

    /// Closes the interval and opens the next; says what of the charges is wrong, given the balances after the tick.
    pub(super) fn tick(
        &mut self,
        tick: &Tick,
        balance_of: impl Fn(&str) -> Option<Credits>,
    ) -> Result<(), (Law, String)> {
        let checked = self.check_charges(tick, balance_of);
        let graces = std::mem::take(&mut self.elapsed.graces);
        self.elapsed = Elapsed { graces, ..Elapsed::default() };
        self.proven = self.elapsed.clone();
        self.unsure.clear();
        self.aged.clear();
        self.length_ms = self.interval_ms.unwrap_or(0);
        self.sales.clear();
        for one in &tick.queue_ticks {
            let Some(interval) = one.interval else { continue };
            let rate = interval.share.rate();
            let payable = one.balance.units().checked_div(rate.units()).unwrap_or(0);
            let payable = u64::try_from(payable).unwrap_or(u64::MAX).min(u64::from(u32::MAX));
            let ordered = interval.by_order.map(|job| (job, interval.own_rate.unwrap_or(rate)));
            let sale = Sale { rate, quota: interval.quota, payable, ordered };
            self.sales.insert(one.queue.as_str().to_owned(), sale);
        }
        checked
    }

    fn check_charges(&self, tick: &Tick, balance_of: impl Fn(&str) -> Option<Credits>) -> Result<(), (Law, String)> {
        // What one is charged depends on what all hold.
        if self.interval_ms.is_none() || !self.unsure.is_empty() {
            return Ok(());
        }
        let mut charges = charges_of(tick);
        let mut slot_ms: BTreeMap<String, PerPool<u64>> = BTreeMap::new();
        for one in &tick.queue_ticks {
            slot_ms.insert(one.queue.as_str().to_owned(), one.charge.slot_ms);
        }
        let mut due: BTreeMap<SlotHolder, i128> = BTreeMap::new();
        let (empty, unsold) = (Sums::default(), Sale::default());
        let with_graces = self.elapsed.grace_sums.keys().map(|(queue, _)| queue);
        let queues = self.sales.keys().chain(with_graces).filter(|queue| !self.removed.contains(*queue));
        let queues: BTreeSet<&String> = queues.collect();
        for queue in queues {
            let sale = self.sales.get(queue).unwrap_or(&unsold);
            let sums = self.elapsed.sums.get(queue).unwrap_or(&empty);
            let charged = charges.remove(queue).unwrap_or_default();
            let own = self.cost(sale.rate, sums);
            let (mut owed, mut most_rate) = (own, sale.rate);
            for ((_, rate), held) in self.elapsed.grace_sums.iter().filter(|((of, _), _)| of == queue) {
                let amount = self.cost_of(*rate, held.values().sum());
                lay(amount.units(), None, held, &mut due);
                owed = Credits::from_units(owed.units() + amount.units());
                most_rate = most_rate.max(*rate);
            }
            // What is beyond the quota is paid as far as the balance reaches.
            let is_spent = balance_of(queue)
                .is_some_and(|balance| balance.units().saturating_mul(i128::from(self.length_ms)) <= most_rate.units());
            if charged < owed && is_spent {
                return Ok(());
            }
            if charged < owed {
                return Err((
                    Law::Holding,
                    format!(
                        "{queue} pays {charged} for {:?}, which costs {owed}: {sale:?}, {sums:?}",
                        slot_ms.get(queue)
                    ),
                ));
            }
            if charged > owed {
                return Err((
                    Law::Charges,
                    format!("{queue} pays {charged} for what costs {owed}: {sale:?}, {sums:?}"),
                ));
            }
            let ordered =
                sale.ordered.map(|(job, bid)| (job, own.units() - self.cost(bid.min(sale.rate), sums).units()));
            lay(own.units(), ordered, &sums.held, &mut due);
        }
        if let Some((queue, amount)) = charges.first_key_value() {
            return Err((Law::Charges, format!("{queue} pays {amount} and has bought nothing")));
        }
        check_laid(tick, due)
    }

    fn cost(&self, rate: Credits, sums: &Sums) -> Credits {
        let total_ms = sums.used.map + sums.used.reduce + sums.used.container;
        self.cost_of(rate, total_ms)
    }

    fn cost_of(&self, rate: Credits, total_ms: u128) -> Credits {
        let units = rate.units().cast_unsigned() * total_ms / u128::from(self.length_ms.max(1));
        Credits::from_units(units.cast_signed())
    }
}

fn charges_of(tick: &Tick) -> BTreeMap<String, Credits> {
    let mut charges: BTreeMap<String, Credits> = BTreeMap::new();
    for entry in tick.charges() {
        if let LedgerAccount::Queue(queue) = &entry.debit {
            let sum = charges.entry(queue.as_str().to_owned()).or_default();
            *sum = Credits::from_units(sum.units() + entry.amount.units());
        }
    }
    charges
}

fn check_laid(tick: &Tick, mut due: BTreeMap<SlotHolder, i128>) -> Result<(), (Law, String)> {
    let mut laid: BTreeMap<SlotHolder, i128> = BTreeMap::new();
    for charge in &tick.laid {
        *laid.entry(charge.holder).or_default() += charge.amount.units();
    }
    due.retain(|_, units| *units != 0);
    laid.retain(|_, units| *units != 0);
    if due == laid {
        return Ok(());
    }
    Err((Law::Charges, format!("the charges are laid as {laid:?}, and should as {due:?}")))
}

/// Lays an amount on all that have held anything in proportion to what they held, by largest remainder, then submission;
/// what an order has added to the rate on its job alone.
fn lay(
    units: i128,
    ordered: Option<(JobId, i128)>,
    held: &BTreeMap<(u64, SlotHolder), u128>,
    due: &mut BTreeMap<SlotHolder, i128>,
) {
    let alone = ordered.map_or(0, |(_, more)| more);
    if let Some((job, more)) = ordered {
        *due.entry(SlotHolder::Job(job)).or_default() += more;
    }
    let total_ms = held.values().sum::<u128>().max(1).cast_signed();
    let mut left = units - alone;
    let (quotient, rest) = (left / total_ms, left % total_ms);
    let mut remainders = Vec::new();
    for (place, ((_, holder), ms)) in held.iter().enumerate() {
        let ms = ms.cast_signed();
        let whole = quotient * ms + rest * ms / total_ms;
        *due.entry(*holder).or_default() += whole;
        left -= whole;
        remainders.push((Reverse(rest * ms % total_ms), place, *holder));
    }
    remainders.sort_unstable();
    for (_, _, holder) in remainders.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        *due.entry(holder).or_default() += 1;
    }
}

/// Divides whole slots in proportion to rates, to none more than it can use: each slot to who has least for its rate, where
/// the slot counts half; ties to the first.
fn divide(slots: u64, parts: &[(Credits, u64)]) -> Vec<u64> {
    let mut divided = vec![0_u64; parts.len()];
    for _ in 0..slots {
        let rate = |place: usize| parts[place].0.units();
        let open = (0..parts.len()).filter(|place| rate(*place) > 0 && divided[*place] < parts[*place].1);
        let weight = |of: usize, by: usize| i128::from(2 * divided[of] + 1) * rate(by);
        let Some(place) = open.min_by(|a, b| weight(*a, *b).cmp(&weight(*b, *a))) else { break };
        divided[place] += 1;
    }
    divided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_cannot_use_goes_to_the_others() {
        let part = |rate: i128, most: u64| (Credits::from_units(rate), most);
        assert_eq!(divide(10, &[part(900, 1), part(2, 99), part(1, 99)]), [1, 6, 3]);
        assert_eq!(divide(10, &[part(1, 2), part(1, 3)]), [2, 3]);
        assert_eq!(divide(2, &[part(1, 9), part(1, 9), part(1, 9)]), [1, 1, 0]);
        assert_eq!(divide(7, &[part(0, 9), part(1, 9)]), [0, 7]);
        assert_eq!(divide(7, &[]), [0_u64; 0]);
    }
}
