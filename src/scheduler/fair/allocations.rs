//! What the allocation file grants: minimums, maximums, weights and limits of pools and users.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::model::{Kind, PartsPerMillion, PerKind};

/// The pool of a job that names none. It always exists.
pub(crate) const DEFAULT_POOL: &str = "default";

/// The allocations in force. Default: those of an empty file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Declared pools by full name: `parent.child` for a pool in a pool.
    pub(crate) pools: BTreeMap<String, DeclaredPool>,
    pub(crate) undeclared: PoolSettings,
    /// Most running jobs of the users that have a limit of their own; none = no limit.
    pub(crate) user_max_running_jobs: BTreeMap<String, Option<u32>>,
    /// Most running jobs of any other user; none = no limit.
    pub(crate) default_user_max_running_jobs: Option<u32>,
    /// A pool below half its fair share for longer than this may preempt, ms; none = never.
    pub(crate) fair_share_timeout_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredPool {
    pub(crate) parent: Option<String>,
    /// Its settings, defaults of the file included.
    pub(crate) settings: PoolSettings,
    /// Line of its first element, from 1.
    pub(crate) line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolSettings {
    /// Slots that it gets before others get more than their own minimum; of a pool with children at least their sum.
    pub(crate) min: PerKind<u32>,
    /// Most slots; none = no limit. Wins over a larger minimum.
    pub(crate) max: PerKind<Option<u32>>,
    /// Most running jobs; none = no limit.
    pub(crate) max_running_jobs: Option<u32>,
    /// Its share beside others; zero: it gets its minimum and what no other pool wants.
    pub(crate) weight: PartsPerMillion,
    /// Below its minimum for longer than this it may preempt, ms; none = never.
    pub(crate) min_share_timeout_ms: Option<u64>,
    pub(crate) mode: SchedulingMode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SchedulingMode {
    /// By running tasks and weight.
    #[default]
    Fair,
    /// By priority, then submission.
    Fifo,
}

impl Allocations {
    pub(crate) fn settings(&self, pool: &str) -> PoolSettings {
        self.pools.get(pool).map_or(self.undeclared, |declared| declared.settings)
    }

    /// Whether another file declares the same pools inside of the same pools.
    pub(crate) fn has_same_tree(&self, other: &Self) -> bool {
        let inner = |allocations: &Self| -> BTreeMap<String, String> {
            let pools = allocations.pools.iter();
            pools.filter_map(|(name, pool)| Some((name.clone(), pool.parent.clone()?))).collect()
        };
        inner(self) == inner(other)
    }

    pub(crate) fn has_pools_in(&self, pool: &str) -> bool {
        let later = self.pools.range::<str, _>((Bound::Excluded(pool), Bound::Unbounded));
        let is_in = |declared: &DeclaredPool| declared.parent.as_deref() == Some(pool);
        let mut within = later.take_while(|(name, _)| name.starts_with(pool));
        within.any(|(_, declared)| is_in(declared))
    }

    pub(crate) fn max_running_jobs_of_user(&self, user: &str) -> Option<u32> {
        self.user_max_running_jobs.get(user).copied().unwrap_or(self.default_user_max_running_jobs)
    }
}

impl PoolSettings {
    pub(crate) fn is_inverted(&self, kind: Kind) -> bool {
        self.max[kind].is_some_and(|max| max < self.min[kind])
    }
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            min: PerKind::default(),
            max: PerKind::default(),
            max_running_jobs: None,
            weight: PartsPerMillion::ONE,
            min_share_timeout_ms: None,
            mode: SchedulingMode::Fair,
        }
    }
}

impl SchedulingMode {
    /// `FAIR` or `FIFO`, as pages show it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fair => "FAIR",
            Self::Fifo => "FIFO",
        }
    }
}

/// A pool and its place in the tree. A pool with children has one more child without a name, for its own jobs, with weight 1 and no limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolNode {
    /// Index of the pool that contains it, smaller than its own; none: a pool at the top.
    pub(crate) parent: Option<usize>,
    pub(crate) settings: PoolSettings,
}

/// A pool, the one that contains it, and so on.
pub(crate) fn with_ancestors(pools: &[PoolNode], pool: usize) -> impl Iterator<Item = usize> {
    let parent = |pool: &usize| pools.get(*pool)?.parent.filter(|parent| parent < pool);
    std::iter::successors(Some(pool).filter(|pool| *pool < pools.len()), parent)
}
