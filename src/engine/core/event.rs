//! Events: the inputs of the engine.

use core::net::IpAddr;
use std::sync::Arc;

use crate::api::{BeatAnswer, WorkerBeat};
use crate::engine::state::{
    Caller, DELEGATION_KEY_BYTES, ForeignJob, IdOwner, InheritedTrackerConnection, PauseTarget,
};
use crate::mapreduce::{JobSpec, SplitTable};
use crate::market::{BudgetLine, JobSignature, ServletRequest, TopUp};
use crate::model::{AttemptId, FactNumber, JobId, QueueConfig};
use crate::scheduler::constraint::DeadlineChange;
use crate::scheduler::fair::allocations::Allocations;
use crate::wire::{Credentials, HeartbeatRequest, Token};

use super::application_request::ApplicationRequest;
use super::config::HostLists;
use super::policy::PolicyConfig;

/// A submission whose files the edge has read.
#[derive(Clone, Debug)]
pub struct ReadSubmission {
    /// The id the client was given.
    pub id: JobId,
    pub caller: Caller,
    /// job.xml, typed.
    pub spec: Arc<JobSpec>,
    /// job.splitmetainfo, with the rack of each host.
    pub splits: Arc<SplitTable>,
    pub credentials: Credentials,
    /// The verified signature of the job; not used unless a market rules.
    pub signature: JobSignature,
    /// Random bytes: the password of the job token.
    pub token_secret: [u8; 20],
    /// job.xml, deflated.
    pub job_xml: Arc<[u8]>,
}

#[derive(Debug)]
pub enum Event {
    /// A tracker's heartbeat. Answered by [`Reply::Heartbeat`](crate::engine::Reply::Heartbeat), never by a refusal other
    /// than `Disallowed`.
    Heartbeat {
        request: HeartbeatRequest,
        /// The connection it came on; numbers are unique.
        connection: u64,
        /// The address of its sender; none where it is unknown.
        address: Option<IpAddr>,
    },
    /// A connection on which heartbeats came is closed.
    ConnectionClosed {
        connection: u64,
    },
    /// The previous process handed over connections of trackers.
    ConnectionsInherited {
        connections: Vec<InheritedTrackerConnection>,
    },
    /// A tracker reports an error (1.2.1 `reportTaskTrackerError`).
    TrackerError {
        tracker: String,
        /// Class of its exception, if any.
        class: Option<String>,
        message: String,
    },
    /// This run is about to end: what is held up to now is recorded, so that the next run charges it.
    RunEnds,
    RackResolved {
        host: Arc<str>,
        /// Its rack, for example `/default-rack`.
        rack: String,
    },
    /// A client requests a job id. Answered by [`Reply::JobId`](crate::engine::Reply::JobId).
    NewJobId {
        owner: IdOwner,
    },
    /// By the state store, an earlier run issued this id or may have, and no job has it.
    UnusedIdFound {
        id: JobId,
        /// The caller that submits under it: the original owner is not stored.
        owner: IdOwner,
    },
    /// The previous process handed over job ids.
    JobIdsInherited {
        /// Reserved ids with their users.
        ids: Vec<(JobId, Arc<str>)>,
    },
    /// A client submits a job; the edge has not read its files. Answered by
    /// [`Reply::Submission`](crate::engine::Reply::Submission).
    SubmissionRequested {
        id: JobId,
        caller: Caller,
    },
    /// The edge has read the files of a submission. Answered by [`Reply::Submission`](crate::engine::Reply::Submission).
    SubmissionRead(Box<ReadSubmission>),
    /// The edge has written the system directory of a validated submission: the job is accepted.
    SystemDirWritten {
        id: JobId,
    },
    /// A submission failed: its files could not be read, or its system directory not written.
    SubmissionAbandoned {
        id: JobId,
    },
    /// The edge has read the files of a job that another JobTracker accepted. Answered by
    /// [`Reply::Submission`](crate::engine::Reply::Submission) or a refusal.
    ForeignJobFound(Box<ForeignJob>),
    /// The files of a job that another JobTracker accepted cannot be read.
    ForeignJobNotFound {
        id: JobId,
    },
    /// The edge has written the history of a job that is over.
    HistoryWritten {
        id: JobId,
        /// URI of its history file.
        path: String,
    },
    /// The user's copy of the history of a job that is over is written, or never will be: its end may be reported.
    UserCopySettled {
        id: JobId,
    },
    /// The owner of a job was notified of its end, or never will be.
    EndNotified {
        id: JobId,
    },
    KillJob {
        /// The job; unknown ones are ignored.
        id: JobId,
        caller: Caller,
    },
    /// A `killJob` that is the first call of its connection, without a protocol version check before it, as of a client
    /// that lost its connection. Ignored for `jobtracker.restart.hold-client-kills-ms` after a start, when the caller
    /// owns the job and the job is of an earlier run.
    KillJobAsFirstCall {
        /// The job; unknown ones are ignored.
        id: JobId,
        caller: Caller,
    },
    /// A client kills or fails an attempt. Answered by [`Reply::Boolean`](crate::engine::Reply::Boolean).
    KillTask {
        id: AttemptId,
        /// End as FAILED instead of KILLED.
        fail: bool,
        caller: Caller,
    },
    SetJobPriority {
        /// The job; unknown ones are ignored.
        id: JobId,
        priority: String,
        caller: Caller,
    },
    /// A caller moves a job to another pool of the Fair scheduler. Answered by [`Reply::Done`](crate::engine::Reply::Done),
    /// or refused: another policy rules, access, a name without text, a pool that is not declared.
    SetPool {
        /// The job; unknown ones are ignored.
        id: JobId,
        /// The pool; it opens if need be.
        pool: String,
        caller: Caller,
    },
    /// A caller changes a job's deadline. Answered by [`Reply::Done`](crate::engine::Reply::Done), or refused: another
    /// policy than the constraint scheduler rules, access, an unknown job or one that is over, a deadline that cannot be
    /// kept.
    SetDeadline {
        id: JobId,
        change: DeadlineChange,
        caller: Caller,
    },
    /// A change of a job that needs a signature and has none. Answered by a refusal.
    UnsignedChange {
        /// The subcommand of `job` that signs it.
        verb: &'static str,
        job: JobId,
        /// The caller, by its own word.
        caller: Caller,
    },
    /// These top-ups were made outside, in a database of budgets. Answered by
    /// [`Reply::TopUps`](crate::engine::Reply::TopUps).
    TopUpsFound {
        top_ups: Vec<TopUp>,
    },
    /// The allocation file of the Fair scheduler was edited. Ignored under another policy.
    AllocationsRead {
        allocations: Arc<Allocations>,
    },
    /// The watch over the file system of the system directory has seen whether it can be used
    /// (1.2.1 `JobTracker.HDFSMonitorThread`).
    FileSystemWatched {
        /// It cannot.
        is_away: bool,
    },
    /// A call about a delegation token. Answered by [`Reply::Token`](crate::engine::Reply::Token),
    /// [`Reply::Time`](crate::engine::Reply::Time), [`Reply::Done`](crate::engine::Reply::Done), or refused.
    Delegation(Box<DelegationRequest>),
    /// An administrator turns safe mode on or off. Answered by [`Reply::Boolean`](crate::engine::Reply::Boolean):
    /// whether it is on.
    SetSafeMode {
        on: bool,
        caller: Caller,
    },
    /// An administrator drains a worker, or ends that. Answered by [`Reply::Market`](crate::engine::Reply::Market), or refused.
    DrainWorker {
        worker: String,
        is_on: bool,
        caller: Caller,
    },
    /// A job is held or released by its owner or an administrator, or an administrator pauses or resumes a queue. Answered by
    /// [`Reply::Done`](crate::engine::Reply::Done), or refused.
    Pause {
        target: PauseTarget,
        is_on: bool,
        caller: Caller,
    },
    HostsRead {
        hosts: HostLists,
        caller: Caller,
    },
    QueuesRead {
        queues: Vec<QueueConfig>,
        /// The ruling policy with its files read again; none: it stays as it is.
        policy: Option<PolicyConfig>,
        caller: Caller,
    },
    /// The operator reloaded the daemon's configuration. Answered by [`Reply::Done`](crate::engine::Reply::Done), or refused as
    /// a whole.
    ConfigurationRead {
        queues: Vec<QueueConfig>,
        /// The ruling policy with its files read again; none: it stays as it is.
        policy: Option<PolicyConfig>,
        hosts: HostLists,
        /// The operator; none: unknown, since a signal has no sender.
        by: Option<Arc<str>>,
    },
    /// The operator wants another scheduler, or the ruling one with its files read again. Answered by
    /// [`Reply::Switch`](crate::engine::Reply::Switch).
    SchedulerWished(Box<SchedulerWish>),
    /// The operator no longer waits for the switch that waits for the market's next tick.
    WishWithdrawn,
    /// A request to `/scheduler`. Answered by [`Reply::Market`](crate::engine::Reply::Market).
    Market(Box<ServletRequest>),
    /// A request to `/scheduler` about a job. Answered by [`Reply::Market`](crate::engine::Reply::Market).
    JobRequest {
        request: Box<ServletRequest>,
        /// Groups of the signer on the daemon's machine. Empty where no access list needs them.
        groups: Arc<[String]>,
    },
    /// A request about applications. Answered by [`Reply::Application`](crate::engine::Reply::Application).
    Application(Box<ApplicationRequest>),
    /// A beat of a worker about its containers. Answered by [`Reply::Beat`](crate::engine::Reply::Beat).
    WorkerBeat(WorkerBeatEvent),
    /// The time of [`Engine::next_timer_ms`](crate::engine::Engine::next_timer_ms) has come.
    Timer {
        /// The last durable fact: a tracker whose answer waits for a later one does not expire.
        durable: FactNumber,
    },
}

/// A wish for another scheduler, or for the ruling one with its files read again. The edge has read the files.
#[derive(Clone, Debug)]
pub struct SchedulerWish {
    pub(crate) class: String,
    /// The class that the configuration names now.
    pub(crate) configured: String,
    pub(crate) by: String,
    pub(crate) policy: PolicyConfig,
    pub(crate) queues: Vec<QueueConfig>,
    /// Jobs whose queue is not among these move to this one.
    pub(crate) move_to: Option<String>,
    /// The budgets of a market that would begin, for a plan; none: there is one, or none is needed.
    pub(crate) first_budgets: Option<Vec<BudgetLine>>,
}

/// A call about a delegation token, and who calls.
#[derive(Debug)]
pub struct DelegationRequest {
    pub(crate) call: DelegationCall,
    /// The user of the connection.
    pub(crate) user: Arc<str>,
    /// The user that acts for `user`, if another does.
    pub(crate) real_user: Option<Arc<str>>,
    /// A number for the caller's host.
    pub(crate) origin: u128,
}

#[derive(Debug)]
pub(crate) enum DelegationCall {
    /// A token of the caller.
    Get {
        /// Who may renew it; empty: no user.
        renewer: String,
        /// Random bytes: the secret of a new key, if one is due.
        secret: [u8; DELEGATION_KEY_BYTES],
    },
    /// A later end of a token.
    Renew(Token),
    Cancel(Token),
}

/// A beat, or one that waits and asks again.
#[derive(Clone, Debug)]
pub enum WorkerBeatEvent {
    Came {
        beat: Box<WorkerBeat>,
        /// The address that it came from; none where it is unknown.
        address: Option<IpAddr>,
    },
    /// A beat that was answered by [`BeatReply::Waits`] asks again.
    Waited {
        tracker: String,
        incarnation: u64,
        /// Whether it is to be answered now, with whatever there is.
        is_over: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeatReply {
    Answer(BeatAnswer),
    /// Nothing yet: it waits until [`Effect::WorkerHasNews`](crate::engine::Effect::WorkerHasNews), or until a newer beat of
    /// the worker or the end of its time.
    Waits,
    /// The worker is not believed; it should register, or is not what it says.
    Refused(BeatRefusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeatRefusal {
    /// No tracker of that name is registered.
    #[error("no TaskTracker of that name is registered")]
    NotRegistered,
    /// The tracker is not one of this program's workers.
    #[error("the TaskTracker of that name is no built-in worker")]
    NotBuiltIn,
    /// The beat comes from another address than the tracker's heartbeats.
    #[error("the TaskTracker of that name has another address")]
    WrongAddress,
    /// The tracker's heartbeats carry the digest of another secret.
    #[error("the secret is not that of the TaskTracker of that name")]
    WrongSecret,
    /// A newer process beats under that name, or none has sent a whole list of its containers.
    #[error("the first beat of a worker lists all that it has")]
    NoFirstBeat,
    /// Containers are switched off (`jobtracker.containers.enabled`).
    #[error("containers are switched off")]
    SwitchedOff,
}
