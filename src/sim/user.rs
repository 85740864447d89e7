//! What users have under way: submissions, and requests that may be made once more.

use std::sync::Arc;

use crate::mapreduce::JobSpec;
use crate::model::JobId;

use super::daemon_run::DelayedAnswer;
use super::laws::Intent;
use super::random::Random;

/// A user, as client and as bidder.
#[derive(Debug)]
pub(super) struct User {
    pub(super) name: String,
    /// What the user does with jobs.
    pub(super) client: Random,
    /// What the user asks of the market.
    pub(super) bidder: Random,
    /// Requests to the market that may be made once more.
    pub(super) sent: Vec<SentRequest>,
    /// The last timestamp and signature of a job.
    pub(super) job_signature: Option<(String, String)>,
}

/// A request as it went over the network: anybody may send it once more.
#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    pub(super) query: String,
    pub(super) header: String,
    pub(super) intent: Intent,
}

/// A submission under way.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) user: usize,
    pub(super) id: JobId,
    pub(super) spec: Arc<JobSpec>,
    pub(super) phase: Phase,
    /// An answer that waits for the store.
    pub(super) held: Option<DelayedAnswer<Answered>>,
}

/// What a client is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    Goes(Phase),
    Accepted,
    Refused,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Ask,
    Read,
    Write,
}
