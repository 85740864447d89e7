//! What pages show of jobs, from the views and from the database: none of it is an event for the owner, but where access lists
//! are on, the question who may see a job.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::api::{JobDetail, LiveAttempt};
use crate::engine::{Caller, JobSnapshot, Refusal};
use crate::model::{JobId, Kind};
use crate::views::{JobView, Views, ViewsReader};
use crate::web::{JobFilter, Owner as _, OwnerGone};

use super::end_notification::FailedNotifications;
use super::handle::OwnerHandle;

/// Most attempts of a job that a page is made of.
pub(super) const MOST_ATTEMPTS: usize = 20_000;
/// Most attempts that hold slots, on a page.
pub(super) const MOST_LIVE: usize = 50_000;

impl OwnerHandle {
    /// Says whether access lists are on.
    #[must_use]
    pub(crate) fn with_acls(mut self, are_acls_on: bool) -> Self {
        self.are_acls_on = are_acls_on;
        self
    }

    /// Adds why owners of jobs were called in vain at their ends.
    #[must_use]
    pub(crate) fn with_failed_notifications(mut self, failed: FailedNotifications) -> Self {
        self.failed_notifications = failed;
        self
    }

    /// What facts have made, as it was published last.
    pub(super) fn shown_views(&self) -> Option<Views> {
        self.views.as_ref().map(ViewsReader::views)
    }

    /// A job down to its attempts; none of an unknown one.
    pub(super) async fn read_detail(
        &self,
        job: JobId,
        viewer: Caller,
    ) -> Result<Result<Option<JobDetail>, Refusal>, OwnerGone> {
        let views = self.views.as_ref().ok_or(OwnerGone)?.views();
        if self.are_acls_on && !viewer.has_admin_role {
            // Who may see the logs of an attempt may see the job.
            let attempt = job.task(Kind::Map, 0).attempt(0);
            match self.check_view_logs(attempt, viewer.user).await? {
                Ok(()) => {}
                Err(refusal @ Refusal::AccessDenied(_)) => return Ok(Err(refusal)),
                // Memory does not know the job, nor its list.
                Err(_) => return Ok(Ok(None)),
            }
        }
        let known = views.job(job).cloned();
        if let Some(known) = known.filter(|known| known.finish_ms().is_none()) {
            return detail_of(known, false).await.map(|detail| Ok(Some(detail)));
        }
        match self.job_sources.finished(job).await {
            Some(stored) => detail_of(Arc::new(JobView::of_stored(&stored)), true).await.map(|detail| Ok(Some(detail))),
            None => Ok(Ok(None)),
        }
    }

    /// The newest jobs that pass a filter, at most so many, and how many more there are.
    pub(super) async fn read_jobs(&self, filter: JobFilter, most: usize) -> Result<(Vec<JobSnapshot>, u64), OwnerGone> {
        let views = self.views.as_ref().ok_or(OwnerGone)?.clone();
        let read = spawn_blocking(move || views.jobs(|job| filter.passes(job), most));
        read.await.map_err(|_| OwnerGone)
    }

    /// What holds slots now.
    pub(super) async fn read_live_attempts(&self) -> Result<Vec<LiveAttempt>, OwnerGone> {
        let views = self.views.as_ref().ok_or(OwnerGone)?.views();
        spawn_blocking(move || views.live_attempts(MOST_LIVE)).await.map_err(|_| OwnerGone)
    }
}

async fn detail_of(job: Arc<JobView>, is_over: bool) -> Result<JobDetail, OwnerGone> {
    spawn_blocking(move || job.detail(is_over, MOST_ATTEMPTS)).await.map_err(|_| OwnerGone)
}
