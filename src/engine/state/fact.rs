//! Facts: numbered state changes that the store makes durable.

use std::sync::Arc;

use crate::mapreduce::JobFact;
use crate::market::MarketFact;
use crate::model::{EndNotification, Identifier, JobId};
use crate::scheduler::constraint::JobClass;

use super::applications::ApplicationChange;
use super::decision::Decision;
use super::delegation_tokens::DelegationChange;
use super::drains::Drain;
use super::job_costs::{ClassCosts, JobCost};
use super::pauses::{Pause, PauseTarget};
use super::presences::Presence;
use super::scheduler_choice::SchedulerChoice;

#[derive(Clone, Debug)]
pub enum Fact {
    /// A run of the daemon has started; all its job ids carry this identifier, which no other run has used.
    RunStarted {
        identifier: Identifier,
        /// When it started, epoch ms.
        start_ms: i64,
    },
    /// The exact answer that carries launches: only this answer may be resent, never a launch by itself.
    LaunchAnswer {
        tracker: Arc<str>,
        response_id: i16,
        answer: Arc<[u8]>,
    },
    /// A tracker is lost: its last answer with launches is void for a later tracker of the same name.
    TrackerForgotten {
        tracker: Arc<str>,
    },
    /// A tracker is there, with so many slots, from now on.
    TrackerCame {
        presence: Presence,
        /// Since when, epoch ms.
        at_ms: i64,
    },
    TrackerWent {
        tracker: Arc<str>,
        /// Time of its last heartbeat, epoch ms.
        at_ms: i64,
    },
    /// A worker gets no new tasks until it is resumed.
    WorkerDrained(Drain),
    WorkerResumed {
        /// Its name, as it was drained.
        worker: Arc<str>,
    },
    /// A job is held, or a queue paused, until it is released or resumed.
    Paused(Pause),
    Resumed(PauseTarget),
    /// The job is complete: these trackers must receive KILL_JOB.
    KillJobPending {
        job: JobId,
        trackers: Vec<Arc<str>>,
    },
    KillJobAcknowledged {
        job: JobId,
        tracker: Arc<str>,
    },
    /// From now on another scheduler rules, or the same by another choice, and these jobs are in other queues.
    SchedulerChosen {
        choice: SchedulerChoice,
        moved: Vec<(JobId, Arc<str>)>,
    },
    /// A job has shown what those of its class cost.
    CostsLearned(ClassCosts),
    CostsForgotten(Arc<JobClass>),
    /// The history of a job that is over is written.
    HistoryWritten {
        job: JobId,
        /// URI of its history file.
        path: String,
        /// When, epoch ms.
        at_ms: i64,
    },
    /// A job has ended whose owner is to be notified.
    EndNotificationPending {
        job: JobId,
        notification: EndNotification,
    },
    /// The owner of a job was notified of its end, or never will be.
    EndNotified {
        job: JobId,
    },
    /// What no other fact says: who decided it, and what both sides were due then.
    Decided(Box<Decision>),
    Market(MarketFact),
    /// Costs of jobs up to a tick that has just charged their queues.
    JobsCharged {
        tick: u64,
        /// The charged jobs, each with its total cost so far.
        jobs: Vec<JobCost>,
    },
    /// Changes of applications and their containers that one event made: durable together.
    Applications(Vec<ApplicationChange>),
    Delegation(DelegationChange),
    Job(JobFact),
}
