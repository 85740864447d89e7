//! What the engine answers.

use std::sync::Arc;

use crate::market::{Answer, MarketError};
use crate::model::{FactNumber, JobId};
use crate::wire::{HeartbeatResponse, JobStatus};

use super::{Effect, Fact};

/// The outcome of one event.
#[derive(Debug)]
pub struct Step {
    /// What to answer.
    pub reply: Reply,
    /// The reply may leave only when this fact is durable; `FactNumber(0)` waits for nothing.
    pub wait_for: FactNumber,
    /// What the edges shall do, once `effects_wait_for` is durable.
    pub effects: Vec<Effect>,
    /// The fact that the effects wait for: what cannot be undone waits for all facts, a log line for none.
    pub effects_wait_for: FactNumber,
    /// What has happened, in order.
    pub facts: Vec<Fact>,
    /// The number of the first of `facts`; they count up from it.
    pub first_fact: FactNumber,
}

/// A value read from the engine, and the fact that must be durable before anyone may see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<T> {
    /// The value.
    pub value: T,
    /// The last fact it shows.
    pub wait_for: FactNumber,
}

/// An answer.
#[derive(Debug)]
pub enum Reply {
    /// Nothing to say: `void`.
    Done,
    /// A heartbeat's answer.
    Heartbeat(HeartbeatAnswer),
    /// A fresh job id.
    JobId(JobId),
    /// How a submission goes on.
    Submission(SubmissionReply),
    /// Whether something was done.
    Boolean(bool),
    /// An answer of the market.
    Market(Result<Answer, MarketError>),
    /// No, and why.
    Refused(Refusal),
}

/// The answer to a heartbeat.
#[derive(Debug)]
pub enum HeartbeatAnswer {
    /// To be encoded.
    Fresh(HeartbeatResponse),
    /// Encoded before, because it is a fact or a repetition of one.
    Encoded(Arc<[u8]>),
}

/// How a submission goes on.
#[derive(Debug)]
pub enum SubmissionReply {
    /// Read job.xml and job.splitmetainfo and send [`Event::SubmissionRead`](super::Event::SubmissionRead).
    ReadFiles,
    /// It is valid: write these files to the job's system directory and send
    /// [`Event::SystemDirWritten`](super::Event::SystemDirWritten).
    WriteSystemDir {
        /// Content of `job-info` without the submit directory's part known only to the edge.
        job: JobId,
        /// Content of `jobToken`. Secret.
        token_file: Arc<[u8]>,
    },
    /// The job is known: this is its status.
    Accepted(JobStatus),
}

/// A refusal: becomes a remote exception of the class that Hadoop's clients know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `org.apache.hadoop.security.AccessControlException`
    #[error("{0}")]
    AccessDenied(String),
    /// `java.io.IOException`
    #[error("{0}")]
    Invalid(String),
    /// `java.io.IOException` inside a `java.io.IOException`, as what 1.2.1 finds wrong with a job travels
    #[error("{0}")]
    InvalidJob(String),
    /// `java.lang.IllegalArgumentException`, which travels inside a `java.io.IOException`
    #[error("{0}")]
    IllegalArgument(String),
    /// `org.apache.hadoop.mapred.SafeModeException`
    #[error("{0}")]
    SafeMode(String),
    /// `org.apache.hadoop.mapred.DisallowedTaskTrackerException`: the only one a heartbeat may get
    #[error("{0}")]
    DisallowedTracker(String),
}
