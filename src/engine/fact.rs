//! What has happened and must survive: numbered facts that the store makes durable.

use std::sync::Arc;

use crate::mapreduce::JobFact;
use crate::market::MarketFact;
use crate::model::{Identifier, JobId};

use super::JobCost;

/// One thing that has happened.
#[derive(Clone, Debug)]
pub enum Fact {
    /// This incarnation makes job ids with this identifier; no other ever did.
    Incarnation {
        /// The identifier.
        identifier: Identifier,
        /// When it started, epoch ms.
        start_ms: i64,
    },
    /// The exact answer that carries launches: a launch may be repeated only by repeating it.
    LaunchAnswer {
        /// Name of the tracker.
        tracker: Arc<str>,
        /// Its id.
        response_id: i16,
        /// The encoded `HeartbeatResponse`.
        answer: Arc<[u8]>,
    },
    /// A tracker is lost: its last answer with launches means nothing to one that comes under its name.
    TrackerForgotten {
        /// Name of the tracker.
        tracker: Arc<str>,
    },
    /// These trackers must be told that the job is over.
    KillJobOwed {
        /// The job.
        job: JobId,
        /// Names of the trackers.
        trackers: Vec<Arc<str>>,
    },
    /// A tracker has received its KILL_JOB, or is gone.
    KillJobPaid {
        /// The job.
        job: JobId,
        /// Name of the tracker.
        tracker: Arc<str>,
    },
    /// Something of the market.
    Market(MarketFact),
    /// What jobs have cost, up to a tick that has just charged their queues.
    JobsCharged {
        /// The tick.
        tick: u64,
        /// The jobs that something of it was laid on, each with all that it has cost so far.
        jobs: Vec<JobCost>,
    },
    /// Something of a job.
    Job(JobFact),
}
