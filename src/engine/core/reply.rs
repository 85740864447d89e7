//! Outputs of the engine: replies and steps.

use std::borrow::Cow;
use std::sync::Arc;

use crate::api::SwitchPlan;
use crate::engine::state::{ApplicationRefusal, Effect, Fact, Refusal};
use crate::market::{Answer, MarketError, TopUpAnswer};
use crate::model::{FactNumber, JobId};
use crate::wire::{Decode, HeartbeatResponse, JobStatus, Reader, Token, WireError};

use super::application_request::ApplicationAnswer;
use super::event::BeatReply;

#[derive(Debug)]
pub struct Step {
    pub reply: Reply,
    /// The reply may be sent once this fact is durable; `FactNumber(0)` waits for nothing.
    pub wait_for: FactNumber,
    /// Requests to the edges, to perform once `effects_wait_for` is durable.
    pub effects: Vec<Effect>,
    /// The fact that the effects wait for: irreversible ones wait for all facts, log lines for none.
    pub effects_wait_for: FactNumber,
    /// The new facts, in order.
    pub facts: Vec<Fact>,
    /// The number of the first of `facts`; the others follow it.
    pub first_fact: FactNumber,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Nothing,
    /// All facts so far.
    All,
    For(FactNumber),
}

/// What an event is answered, or why it is refused; a refusal waits for nothing.
pub(crate) type Handled = Result<(Reply, Wait), Refusal>;

/// A value read from the engine, and the fact that must be durable before it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<T> {
    pub value: T,
    /// The last fact that the value shows.
    pub wait_for: FactNumber,
}

#[derive(Debug)]
pub enum Reply {
    /// `void`.
    Done,
    Heartbeat(HeartbeatAnswer),
    JobId(JobId),
    Token(Token),
    /// A time, epoch ms.
    Time(i64),
    Submission(SubmissionReply),
    Boolean(bool),
    Market(Result<Answer, MarketError>),
    Refused(Refusal),
    /// What became of a wish for a scheduler.
    Switch(SwitchReply),
    Application(Result<Box<ApplicationAnswer>, ApplicationRefusal>),
    Beat(BeatReply),
    /// What became of top-ups that were found.
    TopUps(Vec<TopUpAnswer>),
}

/// What became of a wish for a scheduler.
#[derive(Debug)]
pub enum SwitchReply {
    /// It is in force.
    Done(Box<SwitchPlan>),
    /// It waits for the next tick of the market.
    Waits(Box<SwitchPlan>),
    /// Nothing has changed; the plan says why.
    Refused(Box<SwitchPlan>),
}

#[derive(Debug)]
pub enum HeartbeatAnswer {
    /// To be encoded.
    Fresh(HeartbeatResponse),
    /// Encoded already: it is a fact, or resent.
    Encoded(Arc<[u8]>),
}

impl HeartbeatAnswer {
    /// The answer as its tracker reads it.
    ///
    /// # Errors
    /// The encoded answer is not one.
    pub fn response(&self) -> Result<Cow<'_, HeartbeatResponse>, WireError> {
        match self {
            Self::Fresh(response) => Ok(Cow::Borrowed(response)),
            Self::Encoded(body) => HeartbeatResponse::decode(&mut Reader::new(body)).map(Cow::Owned),
        }
    }
}

#[derive(Debug)]
pub enum SubmissionReply {
    /// Read job.xml and job.splitmetainfo and send [`Event::SubmissionRead`](crate::engine::Event::SubmissionRead).
    ReadFiles,
    /// The submission is valid: write these files to the job's system directory and send
    /// [`Event::SystemDirWritten`](crate::engine::Event::SystemDirWritten).
    WriteSystemDir {
        /// Content of `job-info` without the submit directory's part known only to the edge.
        job: JobId,
        /// Content of `jobToken`. Secret.
        token_file: Arc<[u8]>,
    },
    Accepted(JobStatus),
}
