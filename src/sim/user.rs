//! The state of users: submissions in progress, and requests that may be replayed.

use std::sync::Arc;

use crate::mapreduce::JobSpec;
use crate::model::JobId;

use super::daemon_run::LateAnswer;
use super::laws::Intent;
use super::random::Random;

#[derive(Debug)]
pub(super) struct SimUser {
    pub(super) name: String,
    /// Chance of what the user does with jobs.
    pub(super) client: Random,
    /// Chance of what the user requests from the market.
    pub(super) bidder: Random,
    /// Chance of a player.
    pub(super) player: Random,
    /// Its jobs that may be live.
    pub(super) jobs: Vec<JobId>,
    /// Requests to the market that may be replayed.
    pub(super) sent: Vec<SentRequest>,
    /// The last timestamp and signature of a job.
    pub(super) job_signature: Option<(String, String)>,
}

/// A request as it went over the network: any sender may replay it.
#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    pub(super) query: String,
    pub(super) header: String,
    pub(super) intent: Intent,
}

#[derive(Debug)]
pub(super) struct SimSubmission {
    pub(super) user: usize,
    pub(super) id: JobId,
    pub(super) spec: Arc<JobSpec>,
    pub(super) phase: SubmissionPhase,
    pub(super) delayed_answer: Option<LateAnswer<ClientAnswer>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientAnswer {
    Continue(SubmissionPhase),
    Accepted,
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmissionPhase {
    Ask,
    Read,
    Write,
}
