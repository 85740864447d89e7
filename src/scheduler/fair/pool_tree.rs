//! Pools in the order in which sums and shares are computed: each after the pool that contains it.

use super::allocations::PoolSettings;

/// A pool and its place in the tree. A pool with children has one more child without a name, for its own jobs, with
/// weight 1 and no limits.
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
