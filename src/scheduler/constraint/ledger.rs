//! Slots that admitted jobs are promised, kept as things change.

use std::collections::BTreeMap;

use crate::scheduler::AppId;

use super::sums_by_time::SumsByTime;

/// What one admitted job may claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Map slots, now: those in use, or its minimum of the maps that are not done, whichever is more.
    pub maps: u32,
    /// Reduce slots, from `reduces_from_us` to `until_us`.
    pub reduces: u32,
    /// When its reduces start, at the latest.
    pub reduces_from_us: i64,
    /// Its deadline.
    pub until_us: i64,
}

/// All promises. A lookup costs far less than a walk of the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    promises: BTreeMap<AppId, Promise>,
    maps: u64,
    reduces: SumsByTime,
}

// === impl Ledger ===

impl Ledger {
    /// Sets what a job is promised; none: nothing any more.
    pub fn set(&mut self, app: AppId, promise: Option<Promise>) {
        let before = match promise {
            Some(promise) => self.promises.insert(app, promise),
            None => self.promises.remove(&app),
        };
        if before == promise {
            return;
        }
        if let Some(before) = before {
            self.maps = self.maps.saturating_sub(before.maps.into());
            self.add_reduces(before, -1);
        }
        if let Some(promise) = promise {
            self.maps = self.maps.saturating_add(promise.maps.into());
            self.add_reduces(promise, 1);
        }
    }

    fn add_reduces(&mut self, promise: Promise, sign: i64) {
        let reduces = sign * i64::from(promise.reduces);
        // One that would end before it starts holds nothing. A slot is free after the deadline, not at it.
        if promise.reduces_from_us <= promise.until_us {
            self.reduces.add(promise.reduces_from_us, reduces);
            self.reduces.add(promise.until_us.saturating_add(1), -reduces);
        }
    }

    /// The promises of all jobs but one. Linear in the promises.
    pub fn without(&self, app: AppId) -> Self {
        let mut others = self.clone();
        others.set(app, None);
        others
    }

    /// What a job is promised.
    pub fn get(&self, app: AppId) -> Option<Promise> {
        self.promises.get(&app).copied()
    }

    /// Map slots that are promised now.
    pub fn maps(&self) -> u64 {
        self.maps
    }

    /// Reduce slots that are promised at a moment, that of a start and that of a deadline included.
    pub fn reduces_at(&self, at_us: i64) -> u64 {
        u64::try_from(self.reduces.at(at_us)).unwrap_or(0)
    }

    /// The most reduce slots that are promised at one moment from this one to another, both included.
    pub fn most_reduces(&self, from_us: i64, until_us: i64) -> u64 {
        u64::try_from(self.reduces.peak_between(from_us, until_us)).unwrap_or(0)
    }

    /// The first moment from `from_us` on, from which no more than `most` reduces are promised for `during_us`. Linear in
    /// the promises.
    pub fn earliest_reduces(&self, most: u64, from_us: i64, during_us: u64) -> i64 {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut promised = self.reduces.at(from_us);
        let mut free_from = (promised <= most).then_some(from_us);
        for (at_us, change) in self.reduces.changes_after(from_us) {
            if let Some(free_from) = free_from.filter(|free_from| at_us.abs_diff(*free_from) > during_us) {
                return free_from;
            }
            promised += change;
            free_from = (promised <= most).then(|| free_from.unwrap_or(at_us));
        }
        // After the last deadline nothing is promised.
        free_from.unwrap_or(i64::MAX)
    }
}
