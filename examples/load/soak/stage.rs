//! What all who call share: which life of the daemon it is, what they saw, how long answers took.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::time::{Duration, Instant};

use super::register::Register;
use crate::bidding::load::Callers;
use crate::latencies::Latencies;

/// The stage.
#[derive(Debug)]
pub struct Stage {
    /// Those who sign.
    pub callers: Rc<Callers>,
    /// What was seen of jobs.
    pub register: RefCell<Register>,
    life: Cell<u32>,
    is_down: Cell<bool>,
    is_closed: Cell<bool>,
    heartbeats: RefCell<Heartbeats>,
    /// Calls of polling clients that were answered.
    pub polls: Cell<u64>,
}

/// Heartbeats of a life.
#[derive(Debug, Default)]
pub struct Heartbeats {
    /// How long each took.
    pub latencies: Latencies,
    /// When the first was answered.
    pub first: Option<Instant>,
}

// === impl Stage ===

impl Stage {
    /// One without a daemon.
    pub fn new(callers: Rc<Callers>) -> Self {
        Self {
            callers,
            register: RefCell::default(),
            life: Cell::new(0),
            is_down: Cell::new(true),
            is_closed: Cell::new(false),
            heartbeats: RefCell::default(),
            polls: Cell::new(0),
        }
    }

    /// The daemon's RPC address.
    pub fn rpc(&self) -> SocketAddr {
        self.callers.world.rpc
    }

    /// Which life of the daemon it is.
    pub fn life(&self) -> u32 {
        self.life.get()
    }

    /// The daemon is about to die.
    pub fn begin_outage(&self) {
        self.is_down.set(true);
        self.life.set(self.life.get() + 1);
    }

    /// The daemon is ready.
    pub fn end_outage(&self) {
        self.is_down.set(false);
    }

    /// Everybody goes home.
    pub fn close(&self) {
        self.is_closed.set(true);
    }

    /// Whether everybody goes home.
    pub fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Something that no daemon may do.
    pub fn wrong(&self, text: String) {
        self.register.borrow_mut().wrong.push(text);
    }

    /// A call failed on a connection of that life: right for a daemon that died since, or is away.
    pub fn excuse(&self, life: u32, tell: impl FnOnce() -> String) {
        if !self.is_down.get() && self.life() == life && !self.is_closed() {
            self.wrong(tell());
        }
    }

    /// A heartbeat was answered after so long.
    pub fn heartbeat_answered(&self, took: Duration) {
        let mut heartbeats = self.heartbeats.borrow_mut();
        heartbeats.latencies.add(took);
        heartbeats.first.get_or_insert_with(Instant::now);
    }

    /// The heartbeats since the last such question.
    pub fn heartbeats(&self) -> Heartbeats {
        self.heartbeats.take()
    }

    /// A polling client was answered.
    pub fn polled(&self) {
        self.polls.set(self.polls.get() + 1);
    }
}
