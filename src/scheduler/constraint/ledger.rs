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
    starting_reduces: SumsByTime,
    ending_reduces: SumsByTime,
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
        if let Some(Promise { maps, reduces, reduces_from_us, until_us }) = before {
            self.maps = self.maps.saturating_sub(maps.into());
            self.starting_reduces.subtract(reduces_from_us, reduces.into());
            self.ending_reduces.subtract(until_us, reduces.into());
        }
        if let Some(Promise { maps, reduces, reduces_from_us, until_us }) = promise {
            self.maps = self.maps.saturating_add(maps.into());
            self.starting_reduces.add(reduces_from_us, reduces.into());
            self.ending_reduces.add(until_us, reduces.into());
        }
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
        let started = self.starting_reduces.sum_before(at_us.saturating_add(1));
        started.saturating_sub(self.ending_reduces.sum_before(at_us))
    }

    /// The first moment from `from_us` on, from which no more than `most` reduces are promised for `during_us`. Linear in
    /// the promises.
    pub fn earliest_reduces(&self, most: u64, from_us: i64, during_us: u64) -> i64 {
        let starts = self.starting_reduces.counts_from(from_us.saturating_add(1)).map(|(at, count)| (at, count, 0));
        // A slot is free after the deadline, not at it.
        let ends = self.ending_reduces.counts_from(from_us).map(|(at, count)| (at.saturating_add(1), 0, count));
        let mut changes: Vec<(i64, u64, u64)> = starts.chain(ends).collect();
        changes.sort_unstable();
        let mut promised = self.reduces_at(from_us);
        let mut free_from = (promised <= most).then_some(from_us);
        for change in changes.chunk_by(|before, after| before.0 == after.0) {
            let at_us = change[0].0;
            if let Some(free_from) = free_from.filter(|free_from| at_us.abs_diff(*free_from) > during_us) {
                return free_from;
            }
            let (started, ended) = change.iter().fold((0, 0), |sums, (_, more, less)| (sums.0 + more, sums.1 + less));
            promised = (promised + started).saturating_sub(ended);
            free_from = (promised <= most).then(|| free_from.unwrap_or(at_us));
        }
        // After the last deadline nothing is promised.
        free_from.unwrap_or(i64::MAX)
    }
}
