//! One run of the simulated daemon, from its start to its crash.

use crate::engine::{ApplicationChange, Fact, Step};
use crate::mapreduce::JobFact;
use crate::market::MarketFact;
use crate::model::{AttemptState, FactNumber, Identifier};

use super::laws::LawChecker;

#[derive(Debug)]
pub(super) struct DaemonRun {
    /// Number of runs before.
    pub(super) number: u64,
    /// Its monotonic clock less the world's, ms; wraps.
    pub(super) clock_offset_ms: u64,
    pub(super) state: ProcessState,
    /// When it started, by the world's clock, ms.
    pub(super) start_mono_ms: u64,
    pub(super) recorded: FactNumber,
    /// The facts after it.
    pub(super) unrecorded: Vec<Fact>,
    pub(super) identifier: Identifier,
    /// The first fact of this run: once it is durable the identifier is used up.
    pub(super) identifier_fact: FactNumber,
}

#[derive(Debug)]
pub(super) enum ProcessState {
    Up,
    /// It crashes at the next step of a kind.
    Armed {
        trigger: CrashTrigger,
        /// The step's own facts are lost.
        loses_step: bool,
        /// Steps after which any step triggers the crash.
        steps_left: u32,
    },
    /// It still works, but later facts will be lost.
    Crashing(Box<PendingCrash>),
    Down,
}

#[derive(Debug)]
pub(super) struct PendingCrash {
    /// The last fact that will survive.
    pub(super) durable: FactNumber,
    /// The law checker at that fact.
    pub(super) checker: LawChecker,
    pub(super) drops_answers: bool,
    pub(super) until_mono_ms: u64,
    /// If set, more facts become durable then, without answers, and the daemon crashes after so long, ms.
    pub(super) crash_delay_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CrashTrigger {
    Tick,
    Launch,
    Commit,
    Terminal,
    Acceptance,
    Bid,
    Kill,
    JobEnd,
    Loss,
    ContainerGranted,
    ContainerEnded,
    CallTakenIn,
    CallAnswered,
}

pub(super) const CRASH_TRIGGERS: [CrashTrigger; 9] = [
    CrashTrigger::Tick,
    CrashTrigger::Launch,
    CrashTrigger::Commit,
    CrashTrigger::Terminal,
    CrashTrigger::Acceptance,
    CrashTrigger::Bid,
    CrashTrigger::Kill,
    CrashTrigger::JobEnd,
    CrashTrigger::Loss,
];

/// Those that are drawn as well where there are containers.
pub(super) const CONTAINER_TRIGGERS: [CrashTrigger; 4] = [
    CrashTrigger::ContainerGranted,
    CrashTrigger::ContainerEnded,
    CrashTrigger::CallTakenIn,
    CrashTrigger::CallAnswered,
];

/// An answer that waits for the store.
#[derive(Debug)]
pub(super) struct LateAnswer<T> {
    pub(super) wait_for: FactNumber,
    pub(super) answer: T,
}

impl DaemonRun {
    pub(super) fn first(identifier: Identifier) -> Self {
        Self {
            number: 0,
            clock_offset_ms: 0,
            start_mono_ms: 0,
            state: ProcessState::Up,
            recorded: FactNumber(0),
            unrecorded: Vec::new(),
            identifier,
            identifier_fact: FactNumber(1),
        }
    }

    pub(super) fn is_down(&self) -> bool {
        matches!(self.state, ProcessState::Down)
    }
}

impl CrashTrigger {
    pub(super) fn is_matched_by(self, step: &Step) -> bool {
        let has = |is_one: fn(&Fact) -> bool| step.facts.iter().any(is_one);
        let changes = |is_one: fn(&ApplicationChange) -> bool| {
            step.facts.iter().any(|fact| matches!(fact, Fact::Applications(changes) if changes.iter().any(is_one)))
        };
        match self {
            CrashTrigger::Tick => has(|fact| matches!(fact, Fact::Market(MarketFact::Tick(_)))),
            CrashTrigger::Launch => has(|fact| matches!(fact, Fact::Job(JobFact::AttemptLaunched { .. }))),
            CrashTrigger::Commit => has(|fact| matches!(fact, Fact::Job(JobFact::CommitGranted { .. }))),
            CrashTrigger::Terminal => has(|fact| match fact {
                Fact::Job(JobFact::AttemptEnded(ended)) => ended.state == AttemptState::Succeeded,
                _ => false,
            }),
            CrashTrigger::Acceptance => has(|fact| matches!(fact, Fact::Job(JobFact::Accepted(_)))),
            // Also amid allowances: a trigger of their own would change what is drawn for all others.
            CrashTrigger::Bid => has(|fact| {
                matches!(
                    fact,
                    Fact::Market(
                        MarketFact::Stamp(_) | MarketFact::StampsForgotten(_) | MarketFact::AllowanceSet { .. }
                    )
                )
            }),
            CrashTrigger::Kill => {
                has(|fact| matches!(fact, Fact::Job(JobFact::AttemptKillRequested { .. } | JobFact::Ending { .. })))
            }
            CrashTrigger::JobEnd => {
                has(|fact| matches!(fact, Fact::Job(JobFact::Ended { .. }) | Fact::KillJobAcknowledged { .. }))
            }
            CrashTrigger::ContainerGranted => changes(
                |change| matches!(change, ApplicationChange::Container(container) if container.started_ms.is_none()),
            ),
            CrashTrigger::ContainerEnded => {
                changes(|change| matches!(change, ApplicationChange::Container(container) if !container.is_live()))
            }
            CrashTrigger::CallTakenIn => changes(
                |change| matches!(change, ApplicationChange::Stands { standing, .. } if standing.taken_in.is_some()),
            ),
            CrashTrigger::CallAnswered => changes(|change| matches!(change, ApplicationChange::Answered { .. })),
            CrashTrigger::Loss => has(|fact| match fact {
                Fact::Job(JobFact::AttemptEnded(ended)) => ended.state != AttemptState::Succeeded,
                Fact::TrackerForgotten { .. } => true,
                _ => false,
            }),
        }
    }
}
