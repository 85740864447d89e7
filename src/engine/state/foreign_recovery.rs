//! State of other JobTrackers, and of the recovery after them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::mapreduce::{JobSpec, SplitTable};
use crate::model::JobId;

/// State of other JobTrackers that the edge found at start.
#[derive(Clone, Debug, Default)]
pub struct ForeignState {
    /// Set if another JobTracker has used the system directory since our last run: those of our jobs that it has not
    /// ended, each with the current content of its `jobToken`, if any. Secret.
    pub(crate) unfinished_jobs: Option<BTreeMap<JobId, Option<Arc<[u8]>>>>,
    /// Its jobs. For each of them the edge sends [`Event::ForeignJobFound`](crate::engine::Event::ForeignJobFound) or
    /// [`Event::ForeignJobNotFound`](crate::engine::Event::ForeignJobNotFound).
    pub(crate) jobs: BTreeSet<JobId>,
    /// The state was restored from a backup: trackers may run attempts that it does not contain.
    pub(crate) is_copy: bool,
    /// Jobs of such a backup whose files are gone, since they ended after it was made, each with what is known of its output.
    pub(crate) ended_since_copy: BTreeMap<JobId, String>,
}

#[derive(Clone, Debug)]
pub struct ForeignJob {
    pub(crate) id: JobId,
    /// job.xml, typed. Its user is the submitter.
    pub(crate) spec: Arc<JobSpec>,
    /// job.splitmetainfo, with the rack of each host.
    pub(crate) splits: Arc<SplitTable>,
    /// Content of its `jobToken`, of which trackers may have a copy. Secret.
    pub(crate) token_file: Arc<[u8]>,
    /// job.xml, deflated.
    pub(crate) job_xml: Arc<[u8]>,
}

#[derive(Debug, Default)]
pub(crate) struct ForeignRecovery {
    /// Until then unknown trackers are accepted without reinitialisation, ms of the monotonic clock.
    pub(crate) accepts_until_mono_ms: u64,
    /// Trackers lost since the start: they are reinitialised.
    pub(crate) lost: BTreeSet<Arc<str>>,
    /// Jobs that the edge has not yet submitted or reported as unreadable.
    pub(crate) expected: BTreeSet<JobId>,
    /// Restarted jobs: trackers must reread their completion events from the first.
    pub(crate) restarted: BTreeSet<JobId>,
}
