//! Attempts that outlive their jobs, as 1.2.1 counts them. Empty unless in compatible mode.
//!
//! From the end of a job to the next update each of its attempts counts in its pool, even one that has ended since; from
//! that update on none does, even one that still holds slots.

use std::collections::BTreeMap;

use crate::model::{Kind, PerKind};
use crate::scheduler::AppId;

#[derive(Debug, Default)]
pub(super) struct LeftoverAttempts {
    apps: BTreeMap<AppId, Leftover>,
}

#[derive(Debug)]
struct Leftover {
    /// The pools that counted the job, its own one first.
    pools: Vec<usize>,
    /// Attempts that 1.2.1 counts.
    counted: PerKind<u32>,
    held: PerKind<u32>,
}

impl LeftoverAttempts {
    /// Keeps counting what a job has when it ends.
    pub(super) fn add(&mut self, app: AppId, pools: Vec<usize>, running: PerKind<u32>) {
        if running != PerKind::default() {
            self.apps.insert(app, Leftover { pools, counted: running, held: running });
        }
    }

    /// Renews what a job holds, if it has ended.
    pub(super) fn set_held(&mut self, app: AppId, held: PerKind<u32>) {
        if let Some(leftover) = self.apps.get_mut(&app) {
            leftover.held = held;
            self.drop_settled(app);
        }
    }

    pub(super) fn forget(&mut self, app: AppId) {
        if let Some(leftover) = self.apps.get_mut(&app) {
            leftover.counted = PerKind::default();
            self.drop_settled(app);
        }
    }

    fn drop_settled(&mut self, app: AppId) {
        let is_settled = |leftover: &Leftover| [leftover.counted, leftover.held] == [PerKind::default(); 2];
        if self.apps.get(&app).is_some_and(is_settled) {
            self.apps.remove(&app);
        }
    }

    /// What 1.2.1 counts in a pool whose jobs hold so much.
    pub(super) fn count_in(&self, pool: usize, running: PerKind<u32>) -> PerKind<u32> {
        let of_pool =
            |kind: Kind| self.corrected(kind, running[kind].into(), |leftover| leftover.pools.contains(&pool));
        let of_pool = |kind: Kind| u32::try_from(of_pool(kind)).unwrap_or(u32::MAX);
        PerKind::new(of_pool(Kind::Map), of_pool(Kind::Reduce))
    }

    /// What 1.2.1 counts where all jobs hold so much.
    pub(super) fn count(&self, kind: Kind, running: u64) -> u64 {
        self.corrected(kind, running, |_| true)
    }

    fn corrected(&self, kind: Kind, running: u64, is_meant: impl Fn(&Leftover) -> bool) -> u64 {
        let meant = || self.apps.values().filter(|leftover| is_meant(leftover));
        let counted: u64 = meant().map(|leftover| u64::from(leftover.counted[kind])).sum();
        let held: u64 = meant().map(|leftover| u64::from(leftover.held[kind])).sum();
        (running + counted).saturating_sub(held)
    }
}
