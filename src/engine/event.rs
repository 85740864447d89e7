//! What happens to the engine.

use std::sync::Arc;

use crate::mapreduce::{JobSpec, SplitTable};
use crate::market::{JobSignature, ServletRequest};
use crate::model::{AttemptId, FactNumber, JobId};
use crate::wire::{Credentials, HeartbeatRequest};

use super::{CarriedSpeaker, FoundJob, HostLists, IdOwner, QueueConfig};

/// Who asks: the user of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Short user name.
    pub user: Arc<str>,
    /// Groups of the user as the daemon's machine knows them. Empty where no access list is asked.
    pub groups: Arc<[String]>,
}

// === impl Caller ===

impl Caller {
    /// A user of whom no group is known.
    pub fn named(user: impl Into<Arc<str>>) -> Self {
        Self { user: user.into(), groups: Arc::new([]) }
    }
}

/// A submission whose files have been read by the edge.
#[derive(Clone, Debug)]
pub struct ReadSubmission {
    /// The id the client was given.
    pub id: JobId,
    /// Who submits.
    pub caller: Caller,
    /// job.xml, typed.
    pub spec: Arc<JobSpec>,
    /// job.splitmetainfo, with the rack of each host.
    pub splits: Arc<SplitTable>,
    /// What the client sent along.
    pub credentials: Credentials,
    /// The verdict on the job's signature; `Missing` where the scheduler asks for none.
    pub signature: JobSignature,
    /// Random bytes: the password of the job token.
    pub token_secret: [u8; 20],
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A tracker's heartbeat. Answered by [`Reply::Heartbeat`](super::Reply::Heartbeat), never by a refusal other
    /// than `Disallowed`.
    Heartbeat {
        /// What it says.
        request: HeartbeatRequest,
        /// The connection it came on; numbers are never used twice.
        connection: u64,
    },
    /// A connection that heartbeats came on is closed.
    ConnectionClosed {
        /// Its number.
        connection: u64,
    },
    /// Connections of trackers were handed over by an earlier process.
    SpeakersCarried {
        /// The trackers that were heard on them.
        speakers: Vec<CarriedSpeaker>,
    },
    /// A tracker's own complaint.
    TrackerError {
        /// Its name.
        tracker: String,
        /// Class of its exception, if any.
        class: Option<String>,
        /// Text.
        message: String,
    },
    /// The rack of a host is known.
    RackResolved {
        /// The host.
        host: Arc<str>,
        /// Its rack, for example `/default-rack`.
        rack: String,
    },
    /// A client wants a job id. Answered by [`Reply::JobId`](super::Reply::JobId).
    NewJobId {
        /// Whose id it is from then on.
        owner: IdOwner,
    },
    /// The state store tells that an earlier incarnation gave out this id, or may have, and that no job has it.
    UnusedIdFound {
        /// The id.
        id: JobId,
        /// The caller that submits under it: nobody remembers who got it.
        owner: IdOwner,
    },
    /// Job ids were handed over by an earlier process.
    IdsCarried {
        /// Those that waited for their submission, with the users who got them.
        ids: Vec<(JobId, Arc<str>)>,
    },
    /// A client submits; its files are still to be read. Answered by [`Reply::Submission`](super::Reply::Submission).
    SubmitAsked {
        /// The id the client was given.
        id: JobId,
        /// Who submits.
        caller: Caller,
    },
    /// The files of a submission have been read. Answered by [`Reply::Submission`](super::Reply::Submission).
    SubmissionRead(Box<ReadSubmission>),
    /// The system directory of a validated submission is written: the job is taken in.
    SystemDirWritten {
        /// The job.
        id: JobId,
    },
    /// A submission cannot go on: its files could not be read, or its system directory not written.
    SubmissionAbandoned {
        /// The job.
        id: JobId,
    },
    /// The files of a job that another JobTracker had accepted have been read. Answered by
    /// [`Reply::Submission`](super::Reply::Submission), or refused.
    JobFound(Box<FoundJob>),
    /// Such a job cannot be read.
    JobNotFound {
        /// The job.
        id: JobId,
    },
    /// A client wants a job's end.
    KillJob {
        /// The job; unknown ones are ignored.
        id: JobId,
        /// Who asks.
        caller: Caller,
    },
    /// The same as the first call on its connection, not even its protocol's version asked before: a client program that has
    /// lost the connection it had. Held back for a while after a start when the job's own user asks for the end of
    /// a job of before: `jobtracker.restart.hold-client-kills-ms`.
    KillJobFirst {
        /// The job; unknown ones are ignored.
        id: JobId,
        /// Who asks.
        caller: Caller,
    },
    /// A client wants an attempt's end. Answered by [`Reply::Boolean`](super::Reply::Boolean).
    KillTask {
        /// The attempt.
        id: AttemptId,
        /// FAILED instead of KILLED.
        fail: bool,
        /// Who asks.
        caller: Caller,
    },
    /// A client changes a job's priority.
    SetJobPriority {
        /// The job; unknown ones are ignored.
        id: JobId,
        /// The name of the priority.
        priority: String,
        /// Who asks.
        caller: Caller,
    },
    /// An administrator turns safe mode on or off. Answered by [`Reply::Boolean`](super::Reply::Boolean): is it on.
    SetSafeMode {
        /// On or off.
        on: bool,
        /// Who asks.
        caller: Caller,
    },
    /// An administrator had the lists of hosts read anew.
    HostsRead {
        /// What stands in them.
        hosts: HostLists,
        /// Who asked.
        caller: Caller,
    },
    /// Somebody had the configuration of the queues read anew.
    QueuesRead {
        /// All of them.
        queues: Vec<QueueConfig>,
        /// Who asked.
        caller: Caller,
    },
    /// The operator of the daemon had its configuration read anew. Answered by [`Reply::Done`](super::Reply::Done), or
    /// refused as a whole.
    ConfigurationRead {
        /// All queues.
        queues: Vec<QueueConfig>,
        /// What stands in the lists of hosts.
        hosts: HostLists,
    },
    /// A request to `/scheduler`. Answered by [`Reply::Market`](super::Reply::Market).
    Market(Box<ServletRequest>),
    /// The moment named by [`Engine::next_timer_ms`](super::Engine::next_timer_ms) has come.
    Timer {
        /// The last fact that is durable: a tracker whose answer is held back until a later one is not silent by its own
        /// fault.
        durable: FactNumber,
    },
}
