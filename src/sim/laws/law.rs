//! The laws, and their violations.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// Facts and answers are valid for edges and trackers; no step panics.
    Order,
    /// Credits are conserved; only buyers pay.
    Money,
    /// No slot stays free that a waiting task may use.
    Work,
    /// A queue below its quota gets its slots in time.
    Guarantee,
    /// Which queues lose slots, how many, and when.
    Preemption,
    /// Every job ends once slots are free for it.
    End,
    /// The same events give the same decisions.
    Replay,
    /// A charge is the rate times the time that slots were held, as books kept apart have it.
    Charges,
    /// No quota is above what could be placed.
    Wants,
    /// An honest queue has its share beside any other.
    Share,
    /// No slot within a quota is held for less than the rate times the time.
    Holding,
    /// No queue or pool holds more than its maximum.
    Limit,
    /// What containers and tasks of a node take is no more than it has.
    Room,
    /// No container is given that was not asked for, there, then.
    Requests,
    /// A container is named, launched and ended once, and nothing of that is lost.
    Lives,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub law: Law,
    /// The time, ms since the start of the run.
    pub at_ms: u64,
    /// The step, counted from 1.
    pub event: u64,
    /// The finding, with the job, attempt, queue or tracker.
    pub culprit: String,
}

impl Law {
    /// The number of the law in docs/testing.md; 0 for the order of facts.
    pub(crate) fn number(self) -> u8 {
        match self {
            Law::Order => 0,
            Law::Money => 1,
            Law::Work => 2,
            Law::Guarantee => 3,
            Law::Preemption => 4,
            Law::End => 5,
            Law::Replay => 7,
            Law::Charges => 8,
            Law::Wants => 9,
            Law::Share => 10,
            Law::Holding => 11,
            Law::Limit => 12,
            Law::Room => 13,
            Law::Requests => 14,
            Law::Lives => 15,
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Law::Order => "facts and answers are in order",
            Law::Money => "credits are conserved, and what is bought is paid",
            Law::Work => "no slot stays free that a waiting task may use",
            Law::Guarantee => "a queue below its quota gets its slots in time",
            Law::Preemption => "preemption takes from the right ones, and no more than helps",
            Law::End => "every job ends once slots are free for it",
            Law::Replay => "the same events give the same decisions",
            Law::Charges => "what is charged is the time of slots within quotas, and is laid on those that held them",
            Law::Wants => "no queue is sold what it could not use",
            Law::Share => "an honest queue has its share beside any other",
            Law::Holding => "no slot within a quota is held for less than the rate times the time",
            Law::Limit => "no queue or pool holds more than its maximum",
            Law::Room => "a node has room for all that it is given",
            Law::Requests => "each container was asked for",
            Law::Lives => "each container is known, launched and ended once",
        };
        write!(formatter, "law {}, {text}", self.number())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} is broken at {} ms, event {}: {}", self.law, self.at_ms, self.event, self.culprit)
    }
}
