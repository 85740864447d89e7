//! One run of the simulated daemon, from its start to its crash.

use crate::engine::{Fact, Step};
use crate::mapreduce::JobFact;
use crate::market::MarketFact;
use crate::model::{AttemptState, FactNumber, Identifier};

use super::laws::Judge;

/// The life of the simulated daemon.
#[derive(Debug)]
pub(super) struct DaemonRun {
    /// How many came before.
    pub(super) number: u64,
    /// What its clock that never goes back is ahead of the world's, ms; wraps.
    pub(super) ahead_ms: u64,
    pub(super) state: State,
    /// When it started, by the world's clock, ms.
    pub(super) start_mono_ms: u64,
    /// What is durable and has been handed to the journal.
    pub(super) recorded: FactNumber,
    /// What came after.
    pub(super) unrecorded: Vec<Fact>,
    pub(super) identifier: Identifier,
    /// The fact by which the identifier is known to have been used.
    pub(super) born: FactNumber,
}

/// How it fares.
#[derive(Debug)]
pub(super) enum State {
    Up,
    /// It falls at the next step of a kind.
    Aimed {
        aim: Aim,
        /// The step's own facts are lost.
        loses_step: bool,
        /// Steps after which any will do.
        patience: u32,
    },
    /// It works on, but a part of what it does will be gone.
    Falling(Box<Fall>),
    /// It is not there.
    Down,
}

/// The end of a run of the daemon.
#[derive(Debug)]
pub(super) struct Fall {
    /// What will survive.
    pub(super) durable: FactNumber,
    /// The judge as it was there.
    pub(super) judge: Judge,
    /// Nothing is sent any more.
    pub(super) is_mute: bool,
    pub(super) until_mono_ms: u64,
    /// Then something more becomes durable without an answer, and the daemon crashes after so long, ms.
    pub(super) then_ms: Option<u64>,
}

/// A kind of step that a crash is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    Tick,
    Launch,
    Commit,
    Terminal,
    Acceptance,
    Bid,
    Kill,
    JobEnd,
    Loss,
}

pub(super) const AIMS: [Aim; 9] =
    [Aim::Tick, Aim::Launch, Aim::Commit, Aim::Terminal, Aim::Acceptance, Aim::Bid, Aim::Kill, Aim::JobEnd, Aim::Loss];

/// An answer that waits for the store.
#[derive(Debug)]
pub(super) struct DelayedAnswer<T> {
    pub(super) wait_for: FactNumber,
    pub(super) answer: T,
}

// === impl DaemonRun ===

impl DaemonRun {
    pub(super) fn first(identifier: Identifier) -> Self {
        Self {
            number: 0,
            ahead_ms: 0,
            start_mono_ms: 0,
            state: State::Up,
            recorded: FactNumber(0),
            unrecorded: Vec::new(),
            identifier,
            born: FactNumber(1),
        }
    }

    pub(super) fn is_down(&self) -> bool {
        matches!(self.state, State::Down)
    }
}

// === impl Aim ===

impl Aim {
    pub(super) fn is_met(self, step: &Step) -> bool {
        let has = |is_one: fn(&Fact) -> bool| step.facts.iter().any(is_one);
        match self {
            Aim::Tick => has(|fact| matches!(fact, Fact::Market(MarketFact::Tick(_)))),
            Aim::Launch => has(|fact| matches!(fact, Fact::Job(JobFact::AttemptLaunched { .. }))),
            Aim::Commit => has(|fact| matches!(fact, Fact::Job(JobFact::CommitGranted { .. }))),
            Aim::Terminal => has(|fact| match fact {
                Fact::Job(JobFact::AttemptEnded(ended)) => ended.state == AttemptState::Succeeded,
                _ => false,
            }),
            Aim::Acceptance => has(|fact| matches!(fact, Fact::Job(JobFact::Accepted(_)))),
            Aim::Bid => has(|fact| matches!(fact, Fact::Market(MarketFact::Stamp(_)))),
            Aim::Kill => {
                has(|fact| matches!(fact, Fact::Job(JobFact::AttemptKillRequested { .. } | JobFact::Ending { .. })))
            }
            Aim::JobEnd => {
                has(|fact| matches!(fact, Fact::Job(JobFact::Ended { .. }) | Fact::KillJobAcknowledged { .. }))
            }
            Aim::Loss => has(|fact| match fact {
                Fact::Job(JobFact::AttemptEnded(ended)) => ended.state != AttemptState::Succeeded,
                Fact::TrackerForgotten { .. } => true,
                _ => false,
            }),
        }
    }
}
