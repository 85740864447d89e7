//! The ends of the store that other threads hold: the owner's takes facts without ever waiting; others set values of `meta` through the
//! writer thread, the only one that writes, and read what the store counts of its work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::watch;

use crate::engine::Fact;
use crate::latency::LatencyCounts;
use crate::market::MarketFact;
use crate::model::FactNumber;

use super::durable::{Durable, WriterCounts};
use super::queue::Message;

/// Sends facts to the store. Cheap to clone, but facts have one order, so one thread appends.
#[derive(Clone, Debug)]
pub struct FactSender {
    receiver: Arc<dyn FactReceiver>,
    durable: watch::Receiver<Durable>,
    limit_facts: u64,
}

/// What a [`FactSender`] sends to: the store's writer thread, or what stands in front of it.
pub trait FactReceiver: fmt::Debug + Send + Sync {
    /// Takes facts, numbered upwards from `first`, without waiting. False: it is closed, and they are lost.
    fn receive(&self, first: FactNumber, facts: Vec<Fact>) -> bool;

    /// Weight of the facts received and not yet durable: one each, of a tick as much as the queues in it.
    fn waiting_facts(&self) -> u64;
}

/// The way to the writer thread.
#[derive(Debug)]
pub(super) struct ToWriter {
    pub(super) sender: mpsc::Sender<Message>,
    pub(super) backlog: Arc<Backlog>,
}

/// The backlog of facts against its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressure {
    /// Within the limit.
    Normal,
    /// Beyond the limit. The facts are kept, in order, but the owner should accept no new work.
    High,
    /// The store has been closed or its thread is gone: these facts will never be durable.
    Closed,
}

/// Weight of facts in the backlog: one each, of a tick as much as the queues in it.
pub(super) fn weight(facts: &[Fact]) -> u64 {
    let one = |fact: &Fact| match fact {
        Fact::Market(MarketFact::Tick(tick)) => 1 + tick.queue_ticks.len() as u64,
        Fact::JobsCharged { jobs, .. } => 1 + jobs.len() as u64,
        Fact::Applications(changes) => 1 + changes.len() as u64,
        _ => 1,
    };
    facts.iter().map(one).sum()
}

/// The weight of the facts sent and not yet durable.
#[derive(Debug, Default)]
pub(super) struct Backlog(AtomicU64);

impl FactSender {
    /// Sends to `receiver`, whose progress `durable` shows; more than `limit_facts` waiting are [`Pressure::High`].
    pub fn new(receiver: Arc<dyn FactReceiver>, durable: watch::Receiver<Durable>, limit_facts: u64) -> Self {
        Self { receiver, durable, limit_facts }
    }

    /// Sends facts, numbered upwards from `first`, which must follow the last fact sent (or loaded). Never waits. The
    /// facts of one call become durable together or not at all.
    pub fn append(&self, first: FactNumber, facts: Vec<Fact>) -> Pressure {
        if facts.is_empty() || self.receiver.receive(first, facts) { self.pressure() } else { Pressure::Closed }
    }

    /// How many facts are durable, and the store's health. The channel closes with the store's thread: then nothing more becomes durable.
    pub fn durable(&self) -> watch::Receiver<Durable> {
        self.durable.clone()
    }

    pub fn waiting_facts(&self) -> u64 {
        self.receiver.waiting_facts()
    }

    /// More facts than this are [`Pressure::High`].
    pub(crate) fn limit_facts(&self) -> u64 {
        self.limit_facts
    }

    pub fn pressure(&self) -> Pressure {
        if self.waiting_facts() > self.limit_facts { Pressure::High } else { Pressure::Normal }
    }
}

impl FactReceiver for ToWriter {
    fn receive(&self, first: FactNumber, facts: Vec<Fact>) -> bool {
        let count = weight(&facts);
        // Counted before it is sent: the writer may be quicker than this thread.
        self.backlog.add(count);
        let is_sent = self.sender.send(Message::Facts { first, facts }).is_ok();
        if !is_sent {
            self.backlog.remove(count);
        }
        is_sent
    }

    fn waiting_facts(&self) -> u64 {
        self.backlog.0.load(Ordering::Relaxed)
    }
}

impl Backlog {
    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, count: u64) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }
}

#[derive(Clone, Debug)]
pub struct StoreMeter {
    counts: Arc<WriterCounts>,
    facts: FactSender,
}

impl StoreMeter {
    pub(super) fn new(counts: Arc<WriterCounts>, facts: FactSender) -> Self {
        Self { counts, facts }
    }

    pub(crate) fn commit_times(&self) -> LatencyCounts {
        self.counts.read().commit_times
    }

    /// Facts that are not durable yet, and the most while new work is accepted.
    pub fn waiting_facts(&self) -> (u64, u64) {
        (self.facts.waiting_facts(), self.facts.limit_facts())
    }
}

/// How often a waiting caller checks the store's health.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(super) struct MetaWriter {
    sender: mpsc::Sender<Message>,
    facts: FactSender,
}

/// A value that has not become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum MetaWriteError {
    #[error("the store is closed")]
    Closed,
    /// The store cannot write, and the caller may not wait longer.
    #[error("the store cannot write")]
    Failing,
}

impl MetaWriter {
    pub(super) fn new(sender: mpsc::Sender<Message>, facts: FactSender) -> Self {
        Self { sender, facts }
    }

    /// Sets a value and waits until it is durable; while the store fails, only as long as `may_wait` returns true.
    pub(super) fn persist(
        &self,
        key: &'static str,
        value: &str,
        may_wait: impl Fn() -> bool,
    ) -> Result<(), MetaWriteError> {
        let (done, written) = mpsc::channel();
        let message = Message::Meta { key, value: value.to_owned(), can_wait: may_wait(), done };
        self.sender.send(message).map_err(|_| MetaWriteError::Closed)?;
        loop {
            match written.recv_timeout(CHECK_INTERVAL) {
                Ok(()) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(MetaWriteError::Closed),
                Err(RecvTimeoutError::Timeout) => {
                    let is_failing = !self.facts.durable().borrow().health.is_good();
                    if is_failing && !may_wait() {
                        return Err(MetaWriteError::Failing);
                    }
                }
            }
        }
    }
}
