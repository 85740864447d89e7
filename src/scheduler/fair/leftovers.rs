//! Attempts of ended jobs that still hold slots: 1.2.1 does not count them in their pools. Empty unless in compatible
//! mode.

use std::collections::BTreeMap;

use crate::model::{Kind, PerKind};
use crate::scheduler::AppId;

#[derive(Debug, Default)]
pub(super) struct Leftovers {
    /// With the pools that counted the job, its own one first.
    apps: BTreeMap<AppId, (Vec<usize>, PerKind<u32>)>,
}

// === impl Leftovers ===

impl Leftovers {
    pub(super) fn set(&mut self, app: AppId, pools: impl Iterator<Item = usize>, running: PerKind<u32>) {
        match running == PerKind::default() {
            true => drop(self.apps.remove(&app)),
            false => drop(self.apps.insert(app, (pools.collect(), running))),
        }
    }

    /// The pool of an ended job.
    pub(super) fn pool_of(&self, app: AppId) -> Option<usize> {
        self.apps.get(&app)?.0.first().copied()
    }

    pub(super) fn of_pool(&self, pool: usize) -> PerKind<u32> {
        let of_pool = || self.apps.values().filter(|(pools, _)| pools.contains(&pool));
        let sum = |kind: Kind| of_pool().map(|(_, running)| running[kind]).sum();
        PerKind::new(sum(Kind::Map), sum(Kind::Reduce))
    }

    pub(super) fn total(&self) -> PerKind<u64> {
        let sum = |kind: Kind| self.apps.values().map(|(_, running)| u64::from(running[kind])).sum();
        PerKind::new(sum(Kind::Map), sum(Kind::Reduce))
    }
}
