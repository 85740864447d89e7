//! The owner's end of the store: takes facts without ever waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use tokio::sync::watch;

use crate::engine::Fact;
use crate::market::MarketFact;
use crate::model::FactNumber;

use super::durable::Durable;
use super::gate::Gate;
use super::queue::Message;

/// Where facts are handed in. Cheap to clone, but facts have one order, so one thread appends.
#[derive(Clone, Debug)]
pub struct FactSink {
    route: Route,
    durable: watch::Receiver<Durable>,
    backlog: Arc<Backlog>,
}

#[derive(Clone, Debug)]
enum Route {
    Writer(mpsc::Sender<Message>),
    Gate(Arc<Gate>),
}

/// How the backlog of facts stands after an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressure {
    /// Within the limit.
    Normal,
    /// More facts wait than the limit. They are kept, in order, but the owner should take in no new work.
    High,
    /// The store has been closed or its thread is gone: these facts will never be durable.
    Closed,
}

/// What facts weigh in the backlog: one each, but a tick as much as the queues in it.
pub(super) fn weight(facts: &[Fact]) -> u64 {
    let one = |fact: &Fact| match fact {
        Fact::Market(MarketFact::Tick(tick)) => 1 + tick.queue_ticks.len() as u64,
        Fact::JobsCharged { jobs, .. } => 1 + jobs.len() as u64,
        _ => 1,
    };
    facts.iter().map(one).sum()
}

/// The facts that are handed in and not yet durable, against the limit on them.
#[derive(Debug)]
pub(super) struct Backlog {
    waiting: AtomicU64,
    limit: u64,
}

// === impl FactSink ===

impl FactSink {
    pub(super) fn to_writer(
        sender: mpsc::Sender<Message>,
        durable: watch::Receiver<Durable>,
        backlog: Arc<Backlog>,
    ) -> Self {
        Self { route: Route::Writer(sender), durable, backlog }
    }

    pub(super) fn to_gate(gate: Arc<Gate>, durable: watch::Receiver<Durable>, backlog: Arc<Backlog>) -> Self {
        Self { route: Route::Gate(gate), durable, backlog }
    }

    /// Hands in facts, numbered upwards from `first`, which must follow the last fact handed in (or loaded). Never
    /// waits. The facts of one call become durable together or not at all.
    pub fn append(&self, first: FactNumber, facts: Vec<Fact>) -> Pressure {
        let count = weight(&facts);
        if count == 0 {
            return self.pressure();
        }
        match &self.route {
            Route::Writer(sender) => {
                // Counted before it is sent: the writer may be quicker than this thread.
                self.backlog.add(count);
                if sender.send(Message::Facts { first, facts }).is_err() {
                    self.backlog.remove(count);
                    return Pressure::Closed;
                }
            }
            Route::Gate(gate) => gate.append(first, facts),
        }
        self.pressure()
    }

    /// How far the store has come. The sender side lives as long as the store's thread does: a receiver that finds it
    /// gone knows that nothing more will become durable.
    pub fn durable(&self) -> watch::Receiver<Durable> {
        self.durable.clone()
    }

    /// Facts handed in that are not yet durable.
    pub fn waiting_facts(&self) -> u64 {
        self.backlog.waiting.load(Ordering::Relaxed)
    }

    /// How the backlog stands.
    pub fn pressure(&self) -> Pressure {
        if self.waiting_facts() > self.backlog.limit { Pressure::High } else { Pressure::Normal }
    }

    pub(super) fn backlog(&self) -> &Arc<Backlog> {
        &self.backlog
    }
}

// === impl Backlog ===

impl Backlog {
    pub(super) fn new(limit: u64) -> Self {
        Self { waiting: AtomicU64::new(0), limit }
    }

    pub(super) fn add(&self, count: u64) {
        self.waiting.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, count: u64) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
    }
}
