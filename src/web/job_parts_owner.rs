//! The requests about parts of a job that `state.db` alone has.

use crate::api::{JobCounter, JobEvent};
use crate::model::JobId;

use super::owner_gone::LedgerUnreadable;

/// The way to them. It does not use the owner thread; who may see a job is asked before. Without methods of its own there are
/// none.
pub trait JobPartsOwner: Send + Sync + 'static {
    /// The counters of a job, by group and name, of one that runs as far as its attempts are done; none of an unknown job.
    ///
    /// # Errors
    /// [`LedgerUnreadable`] if the state cannot be read.
    fn job_counters(
        &self,
        _job: JobId,
    ) -> impl Future<Output = Result<Option<Vec<JobCounter>>, LedgerUnreadable>> + Send {
        std::future::ready(Ok(None))
    }

    /// The completion events of a job from a number on, at most so many.
    ///
    /// # Errors
    /// [`LedgerUnreadable`] if the state cannot be read.
    fn job_events(
        &self,
        _job: JobId,
        _first: usize,
        _most: usize,
    ) -> impl Future<Output = Result<Vec<JobEvent>, LedgerUnreadable>> + Send {
        std::future::ready(Ok(Vec::new()))
    }
}
