//! Laws 8 and 11: slot-milliseconds within the quotas of the open interval, from the facts alone, and what a tick may charge
//! for them.

use std::collections::BTreeMap;

use crate::engine::Fact;
use crate::mapreduce::{AttemptRole, JobFact};
use crate::market::{LedgerAccount, Tick};
use crate::model::{AttemptId, Credits, PerPool};

use super::holdings::{Holdings, Moment};
use super::law::Law;

/// Age from which a setup or a cleanup is charged, ms.
const FREE_HOUSEKEEPING_MS: u64 = 10_000;

/// An attempt that sets up or cleans up, with whose slots it takes and since when, by the time that the daemon was up.
#[derive(Clone, Debug)]
struct Housekeeping {
    attempt: AttemptId,
    tracker: std::sync::Arc<str>,
    slots: u32,
    since_up_ms: u64,
}

/// What a queue has bought, and how much of it was used.
#[derive(Clone, Debug, Default)]
struct OpenBook {
    rate: Credits,
    quota: PerPool<u32>,
    /// The most slots that the balance could pay for when the interval was opened.
    payable: u32,
    /// Slot-milliseconds within the quota.
    used_ms: PerPool<u128>,
    /// Slot-milliseconds of maps, beyond the quota included.
    held_map_ms: u128,
}

/// The open interval of all queues.
#[derive(Clone, Debug)]
pub(super) struct SlotTime {
    /// Time between ticks, ms; none while another scheduler rules.
    interval_ms: Option<u64>,
    /// Until when time has been counted, by the daemon's clock, ms.
    until_mono_ms: u64,
    /// How long the daemon was up, ms.
    up_ms: u64,
    /// How much of the open interval has been counted, ms; what is beyond its length is free.
    counted_ms: u64,
    queues: BTreeMap<String, OpenBook>,
    housekeeping: Vec<Housekeeping>,
    /// Slot-milliseconds of setups and cleanups in the open interval.
    housekeeping_ms: u128,
    /// The daemon has crashed in the open interval: only what facts prove of the time before may be charged.
    has_restarted: bool,
    /// Slot-milliseconds within the quota since the last restart in the interval.
    proven: BTreeMap<String, u128>,
}

// === impl OpenBook ===

impl OpenBook {
    fn total_ms(&self) -> u128 {
        self.used_ms.map + self.used_ms.reduce + self.used_ms.container
    }

    fn bought(&self) -> u128 {
        u128::from(self.quota.map) + u128::from(self.quota.reduce) + u128::from(self.quota.container)
    }
}

// === impl SlotTime ===

impl SlotTime {
    pub(super) fn new(start_mono_ms: u64, interval_ms: Option<u64>) -> Self {
        Self {
            interval_ms,
            until_mono_ms: start_mono_ms,
            up_ms: 0,
            counted_ms: 0,
            queues: BTreeMap::new(),
            housekeeping: Vec::new(),
            housekeeping_ms: 0,
            has_restarted: false,
            proven: BTreeMap::new(),
        }
    }

    /// Counts the time since the last step, in which all held what they hold before this one.
    pub(super) fn advance(&mut self, now_mono_ms: u64, holdings: &Holdings<'_>) {
        let passed_ms = now_mono_ms.saturating_sub(self.until_mono_ms);
        self.until_mono_ms = now_mono_ms;
        if passed_ms == 0 {
            return;
        }
        let until_up_ms = self.up_ms + passed_ms;
        if self.queues.is_empty() {
            self.up_ms = until_up_ms;
            return;
        }
        let moment = holdings.moment();
        while self.up_ms < until_up_ms {
            let begin_ms = |one: &Housekeeping| one.since_up_ms + FREE_HOUSEKEEPING_MS;
            let next_ms = self.housekeeping.iter().map(begin_ms).filter(|at_ms| *at_ms > self.up_ms).min();
            let until_ms = next_ms.unwrap_or(u64::MAX).min(until_up_ms);
            let charged: Vec<_> = self.housekeeping.iter().filter(|one| begin_ms(one) <= self.up_ms).collect();
            let moment = match charged.is_empty() {
                true => &moment,
                false => &{
                    let mut with = moment.clone();
                    for one in charged {
                        with.add_map(holdings.attempts.account_of(one.attempt.task.job), one.slots);
                    }
                    with
                },
            };
            let left_ms = self.interval_ms.unwrap_or(0).saturating_sub(self.counted_ms);
            let counted_ms = (until_ms - self.up_ms).min(left_ms);
            self.counted_ms += counted_ms;
            let housekeeping: u32 = self.housekeeping.iter().map(|one| one.slots).sum();
            self.housekeeping_ms += u128::from(housekeeping) * u128::from(counted_ms);
            Self::count(&mut self.queues, &mut self.proven, moment, counted_ms);
            self.up_ms = until_ms;
        }
    }

    /// Adds what all hold within their quotas, for so long.
    fn count(
        queues: &mut BTreeMap<String, OpenBook>,
        proven: &mut BTreeMap<String, u128>,
        moment: &Moment<'_>,
        ms: u64,
    ) {
        if ms == 0 {
            return;
        }
        let held = |queue: &str| moment.held(queue);
        let covered = |queue: &str, book: &OpenBook| book.quota.left_for_containers(held(queue).slots());
        let mut unused = 0_u64;
        let mut beyond: Vec<(&str, Credits, u32)> = Vec::new();
        for (queue, book) in &*queues {
            let (containers, covered) = (held(queue).container, covered(queue, book));
            unused += u64::from(covered.saturating_sub(containers));
            if containers > covered {
                // All that was bought is held.
                let bought = u32::try_from(book.bought()).unwrap_or(u32::MAX);
                beyond.push((queue, book.rate, (containers - covered).min(book.payable.saturating_sub(bought))));
            }
        }
        let more: BTreeMap<String, u32> = match beyond.is_empty() {
            true => BTreeMap::new(),
            false => {
                let parts = divide(unused, &beyond.iter().map(|(_, rate, most)| (*rate, *most)).collect::<Vec<_>>());
                beyond.iter().map(|(queue, ..)| (*queue).to_owned()).zip(parts).collect()
            }
        };
        for (queue, book) in queues {
            let held = moment.held(queue);
            let most = book.quota.left_for_containers(held.slots()) + more.get(queue).copied().unwrap_or(0);
            let used = PerPool::new(
                held.map.min(book.quota.map),
                held.reduce.min(book.quota.reduce),
                held.container.min(most),
            );
            let add = |sum: &mut u128, slots: u32| *sum += u128::from(slots) * u128::from(ms);
            add(&mut book.used_ms.map, used.map);
            add(&mut book.used_ms.reduce, used.reduce);
            add(&mut book.used_ms.container, used.container);
            add(&mut book.held_map_ms, held.map);
            let proven = proven.entry(queue.clone()).or_default();
            *proven += u128::from(used.map + used.reduce + used.container) * u128::from(ms);
        }
    }

    /// Follows setups and cleanups.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Job(JobFact::AttemptLaunched { attempt, role, tracker, slots, .. }) if *role != AttemptRole::Work => {
                let (attempt, slots, tracker) = (*attempt, *slots, tracker.clone());
                self.housekeeping.push(Housekeeping { attempt, tracker, slots, since_up_ms: self.up_ms });
            }
            Fact::Job(JobFact::AttemptEnded(ended)) => self.end_housekeeping(|one| one.attempt == ended.attempt),
            Fact::Job(JobFact::TaskCleanupLost { attempt }) => self.end_housekeeping(|one| one.attempt == *attempt),
            Fact::KillJobAcknowledged { job, tracker } => {
                self.end_housekeeping(|one| one.attempt.task.job == *job && one.tracker == *tracker);
            }
            _ => {}
        }
    }

    fn end_housekeeping(&mut self, is_meant: impl Fn(&Housekeeping) -> bool) {
        self.housekeeping.retain(|one| !is_meant(one));
    }

    /// Closes the interval and opens the next; says what of the charges is wrong.
    pub(super) fn tick(&mut self, tick: &Tick) -> Result<(), (Law, String)> {
        let judged = self.check_charges(tick);
        self.queues.clear();
        self.proven.clear();
        self.housekeeping_ms = 0;
        (self.counted_ms, self.has_restarted) = (0, false);
        for (queue, interval) in tick.intervals() {
            let (rate, quota) = (interval.share.rate(), interval.quota);
            let payable = interval.most_paid.unwrap_or(u32::MAX);
            let book = OpenBook { rate, quota, payable, ..OpenBook::default() };
            self.queues.insert(queue.as_str().to_owned(), book);
        }
        judged
    }

    fn check_charges(&self, tick: &Tick) -> Result<(), (Law, String)> {
        let Some(interval_ms) = self.interval_ms.map(u128::from) else { return Ok(()) };
        let mut charges: BTreeMap<String, Credits> = BTreeMap::new();
        for entry in tick.charges() {
            if let LedgerAccount::Queue(queue) = &entry.debit {
                charges.insert(queue.as_str().to_owned(), entry.amount);
            }
        }
        // The lesser of a second and a tenth of the interval for each slot bought.
        let free_of_one_ms = (interval_ms / 10).min(1_000);
        for (queue, book) in &self.queues {
            let charged = charges.remove(queue).unwrap_or_default();
            let cost = |slot_ms: u128| {
                let units = book.rate.units().cast_unsigned() * slot_ms / interval_ms;
                Credits::from_units(units.cast_signed())
            };
            let used_ms = match self.has_restarted {
                true => self.proven.get(queue).copied().unwrap_or(0),
                false => book.total_ms(),
            };
            let least = cost(used_ms.saturating_sub(free_of_one_ms * book.bought()));
            let is_all = tick.queue_ticks.iter().any(|one| one.queue.as_str() == queue && one.balance == Credits::ZERO);
            if charged < least && !is_all {
                let text = format!("{queue} pays {charged} for what costs {least} at least: {book:?}");
                return Err((Law::Holding, text));
            }
            let most = cost(book.total_ms());
            if charged > most {
                return Err((Law::Charges, format!("{queue} pays {charged} for what costs {most}: {book:?}")));
            }
        }
        match charges.first_key_value() {
            Some((queue, amount)) => Err((Law::Charges, format!("{queue} pays {amount} and has bought nothing"))),
            None => Ok(()),
        }
    }

    /// An account is gone, with what it bought.
    pub(super) fn close(&mut self, queue: &str) {
        self.queues.remove(queue);
    }

    /// The market rules from now on, with so long between ticks, or another scheduler does.
    pub(super) fn rule(&mut self, interval_ms: Option<u64>) {
        self.interval_ms = interval_ms;
        if interval_ms.is_none() {
            self.queues.clear();
        }
    }

    /// The daemon starts again: the time that it was down is free.
    pub(super) fn restart(&mut self, now_mono_ms: u64) {
        self.until_mono_ms = now_mono_ms;
        self.has_restarted = true;
        self.proven.clear();
    }

    /// Slot-milliseconds of maps that a queue has held in the open interval, and of setups and cleanups of all queues.
    pub(super) fn maps_held(&self, queue: &str) -> (u128, u128) {
        (self.queues.get(queue).map_or(0, |book| book.held_map_ms), self.housekeeping_ms)
    }
}

/// Divides whole slots in proportion to rates, to none more than it can use; what one cannot use goes to the others. By
/// largest remainder, ties to the first.
fn divide(slots: u64, parts: &[(Credits, u32)]) -> Vec<u32> {
    let mut divided = vec![0_u32; parts.len()];
    let mut open: Vec<usize> = (0..parts.len()).filter(|place| parts[*place].0 > Credits::ZERO).collect();
    let mut left = i128::from(slots);
    loop {
        let rate = |place: &usize| parts[*place].0.units();
        let price: i128 = open.iter().map(rate).sum();
        let is_full = |place: &usize| rate(place) * left >= i128::from(parts[*place].1) * price;
        match open.iter().position(is_full) {
            Some(place) => {
                let place = open.remove(place);
                divided[place] = parts[place].1;
                left -= i128::from(parts[place].1);
            }
            None => {
                let mut missing = left;
                for place in &open {
                    let whole = rate(place) * left / price;
                    divided[*place] = whole as u32;
                    missing -= whole;
                }
                let mut by_remainder = open.clone();
                by_remainder.sort_by_key(|place| (std::cmp::Reverse(rate(place) * left % price), *place));
                let more = if open.is_empty() { 0 } else { missing as usize };
                by_remainder.into_iter().take(more).for_each(|place| divided[place] += 1);
                return divided;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_cannot_use_goes_to_the_others() {
        let part = |rate: i128, most: u32| (Credits::from_units(rate), most);
        assert_eq!(divide(10, &[part(900, 1), part(2, 99), part(1, 99)]), [1, 6, 3]);
        assert_eq!(divide(10, &[part(1, 2), part(1, 3)]), [2, 3]);
        assert_eq!(divide(2, &[part(1, 9), part(1, 9), part(1, 9)]), [1, 1, 0]);
        assert_eq!(divide(7, &[part(0, 9), part(1, 9)]), [0, 7]);
        assert_eq!(divide(7, &[]), [0_u32; 0]);
    }
}
