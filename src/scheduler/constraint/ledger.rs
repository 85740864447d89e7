//! Slots that admitted jobs are promised, kept as things change.

use std::collections::BTreeMap;

use crate::model::{Kind, PerKind};
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

    /// Slots without a promise: maps now, reduces at `reduces_at_us`. `others` hold slots without a deadline.
    pub fn free_slots(&self, total: PerKind<u64>, others: PerKind<u64>, reduces_at_us: i64) -> PerKind<u64> {
        let promised = PerKind::new(self.maps, self.reduces_at(reduces_at_us));
        let free = |kind: Kind| total[kind].saturating_sub(promised[kind]).saturating_sub(others[kind]);
        PerKind::new(free(Kind::Map), free(Kind::Reduce))
    }
}
