//! The pool of a job, from what its job.xml says (1.2.1 `PoolManager.getPoolName`).

use super::allocations::{Allocations, DEFAULT_POOL};

/// A job names a pool that the file does not declare, and only declared ones are allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Pool name: '{pool}' is invalid. Add pool name to the fair scheduler allocation file. Valid pools are: {valid}"
)]
pub(crate) struct UndeclaredPool {
    pub(crate) pool: String,
    /// The declared pools, sorted, separated by comma and blank.
    pub(crate) valid: String,
}

/// The pool of a job: the value of `mapred.fairscheduler.pool`, else of the property that
/// `mapred.fairscheduler.poolnameproperty` names, else `default`. Here also if that value is blank.
pub(crate) fn pool_of_job<'a>(explicit: Option<&'a str>, of_property: Option<&'a str>) -> &'a str {
    explicit.or(of_property).map(str::trim).filter(|pool| !pool.is_empty()).unwrap_or(DEFAULT_POOL)
}

/// Refuses a pool that is not declared (`mapred.fairscheduler.allow.undeclared.pools` is false). `default` counts as
/// declared only if the file declares it.
pub(crate) fn require_declared(pool: &str, allocations: &Allocations) -> Result<(), UndeclaredPool> {
    if allocations.pools.contains_key(pool) {
        return Ok(());
    }
    let valid: Vec<&str> = allocations.pools.keys().map(String::as_str).collect();
    Err(UndeclaredPool { pool: pool.to_owned(), valid: valid.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::fair::allocation_file::AllocationFile;

    #[test]
    fn row_30_the_explicit_pool_wins_over_the_property() {
        assert_eq!(pool_of_job(Some(" a "), Some("b")), "a");
        assert_eq!(pool_of_job(None, Some("b\n")), "b");
        assert_eq!((pool_of_job(None, None), pool_of_job(Some(" "), Some("b"))), ("default", "default"));
    }

    #[test]
    fn row_32_an_undeclared_pool_is_refused_by_name() {
        let text = "<allocations><pool name='poolC'/><pool name='poolA'/></allocations>";
        let allocations = AllocationFile::parse(text).unwrap().allocations;
        assert_eq!(require_declared("poolA", &allocations), Ok(()));
        for pool in ["poolB", "default"] {
            assert_eq!(
                require_declared(pool, &allocations).unwrap_err().to_string(),
                format!(
                    "Pool name: '{pool}' is invalid. Add pool name to the fair scheduler allocation file. Valid pools \
                     are: poolA, poolC"
                )
            );
        }
    }
}
