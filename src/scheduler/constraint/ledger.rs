//! Slots that admitted jobs are promised, kept as things change.

use std::collections::BTreeMap;

use crate::scheduler::AppId;

use super::sums_by_time::SumsByTime;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Promise {
    /// Map slots, in times that do not overlap.
    pub(crate) maps: [MapClaim; 2],
    /// Reduce slots, from `reduces_from_us` to `until_us`.
    pub(crate) reduces: u32,
    pub(crate) reduces_from_us: i64,
    pub(crate) until_us: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapClaim {
    pub(crate) slots: u32,
    pub(crate) from_us: i64,
    /// Until when, that moment not included; the last that there is: for ever.
    pub(crate) until_us: i64,
}

/// All promises. A lookup costs far less than a walk of the jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PromiseLedger {
    promises: BTreeMap<AppId, Promise>,
    maps: SumsByTime,
    reduces: SumsByTime,
}

impl MapClaim {
    pub(crate) const fn lasting(slots: u32) -> Self {
        Self { slots, from_us: i64::MIN, until_us: i64::MAX }
    }

    fn at(&self, at_us: i64) -> i64 {
        if self.from_us <= at_us && at_us < self.until_us { self.slots.into() } else { 0 }
    }
}

impl PromiseLedger {
    /// Sets what a job is promised; none: nothing any more.
    pub(crate) fn set(&mut self, app: AppId, promise: Option<Promise>) {
        let before = match promise {
            Some(promise) => self.promises.insert(app, promise),
            None => self.promises.remove(&app),
        };
        if before == promise {
            return;
        }
        if let Some(before) = before {
            self.add(before, -1);
        }
        if let Some(promise) = promise {
            self.add(promise, 1);
        }
    }

    fn add(&mut self, promise: Promise, sign: i64) {
        for MapClaim { slots, from_us, until_us } in promise.maps {
            if from_us < until_us {
                self.maps.add(from_us, sign * i64::from(slots));
            }
            if from_us < until_us && until_us < i64::MAX {
                self.maps.add(until_us, -sign * i64::from(slots));
            }
        }
        let reduces = sign * i64::from(promise.reduces);
        // One that would end before it starts holds nothing. A slot is free after the deadline, not at it.
        if promise.reduces_from_us <= promise.until_us {
            self.reduces.add(promise.reduces_from_us, reduces);
            self.reduces.add(promise.until_us.saturating_add(1), -reduces);
        }
    }

    /// The promises of all jobs but one. Linear in the promises.
    pub(crate) fn without(&self, app: AppId) -> Self {
        let mut others = self.clone();
        others.set(app, None);
        others
    }

    pub(crate) fn get(&self, app: AppId) -> Option<Promise> {
        self.promises.get(&app).copied()
    }

    pub(crate) fn maps_at(&self, at_us: i64) -> u64 {
        unsigned(self.maps.at(at_us))
    }

    pub(super) fn maps(&self) -> &SumsByTime {
        &self.maps
    }

    /// The most map slots that are promised at one moment from this one to another, both included.
    pub(crate) fn most_maps(&self, from_us: i64, until_us: i64) -> u64 {
        unsigned(self.maps.peak_between(from_us, until_us))
    }

    /// The same beside those of one job.
    pub(crate) fn most_maps_beside(&self, app: AppId, from_us: i64, until_us: i64) -> u64 {
        let Some(own) = self.promises.get(&app) else { return self.most_maps(from_us, until_us) };
        let mut cuts = [from_us; 5];
        for (cut, claim) in cuts[1..].chunks_mut(2).zip(&own.maps) {
            cut.copy_from_slice(&[claim.from_us, claim.until_us].map(|at_us| at_us.clamp(from_us, until_us)));
        }
        cuts.sort_unstable();
        let mut most = 0;
        for (place, at_us) in cuts.iter().enumerate() {
            // The moment before the next cut; the last part ends with the time.
            let end_us = cuts.get(place + 1).map_or(until_us, |next_us| next_us.saturating_sub(1).max(*at_us));
            let of_own: i64 = own.maps.iter().map(|claim| claim.at(*at_us)).sum();
            let has_next = cuts.get(place + 1) == Some(at_us);
            if !has_next {
                most = most.max(unsigned(self.maps.peak_between(*at_us, end_us) - of_own));
            }
        }
        most
    }

    /// Reduce slots that are promised at a moment, that of a start and that of a deadline included.
    #[cfg(test)]
    pub(crate) fn reduces_at(&self, at_us: i64) -> u64 {
        unsigned(self.reduces.at(at_us))
    }

    /// The most reduce slots that are promised at one moment from this one to another, both included.
    pub(crate) fn most_reduces(&self, from_us: i64, until_us: i64) -> u64 {
        unsigned(self.reduces.peak_between(from_us, until_us))
    }

    /// The first moment from `from_us` on, from which no more than `most` reduces are promised for `during_us`, both ends included.
    pub(crate) fn earliest_reduces(&self, most: u64, from_us: i64, during_us: u64) -> i64 {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        // After the last deadline nothing is promised.
        self.reduces.first_low(most, during_us.saturating_add(1), from_us, i64::MAX).unwrap_or(i64::MAX)
    }
}

fn unsigned(slots: i64) -> u64 {
    u64::try_from(slots).unwrap_or(0)
}
