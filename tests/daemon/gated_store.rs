//! A gate in front of the store that holds facts back until a test releases them: nothing is durable before that, so a
//! test sees which replies wait for which facts.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use jobtracker::engine::Fact;
use jobtracker::model::FactNumber;
use jobtracker::store::{Durable, FactBatch, FactFeed, FactFollower, FactReceiver, FactSender, Health};

/// Facts above which the sender reports pressure.
const LIMIT_FACTS: u64 = 100_000;

/// The test's handle on a gate.
#[derive(Debug)]
pub struct GatedStore {
    gate: Arc<Gate>,
}

/// What the owner sends to in place of the store.
#[derive(Debug)]
struct Gate {
    state: Mutex<GateState>,
}

#[derive(Debug)]
struct GateState {
    open_through: FactNumber,
    held: VecDeque<(FactNumber, Fact)>,
    behind: Behind,
}

/// What is behind the gate.
#[derive(Debug)]
enum Behind {
    /// Nothing: what passes the gate counts as durable.
    Nothing(watch::Sender<Durable>, FactFeed, Option<FactFollower>),
    Store(FactSender),
}

// === impl GatedStore ===

impl GatedStore {
    /// A gate with nothing behind it: a fact is durable once it is released. `last` is the last durable fact so far.
    pub fn alone(last: FactNumber) -> (Self, FactSender) {
        let (sender, durable) = watch::channel(Durable { number: last, ..Durable::default() });
        let (feed, follower) = FactFeed::new();
        Self::assemble(Behind::Nothing(sender, feed, Some(follower)), durable)
    }

    /// A gate before a real store: a fact is durable once it is released and the store has written it.
    pub fn before(store: FactSender) -> (Self, FactSender) {
        let durable = store.durable();
        Self::assemble(Behind::Store(store), durable)
    }

    fn assemble(behind: Behind, durable: watch::Receiver<Durable>) -> (Self, FactSender) {
        let state = GateState { open_through: FactNumber(0), held: VecDeque::new(), behind };
        let gate = Arc::new(Gate { state: Mutex::new(state) });
        (Self { gate: gate.clone() }, FactSender::new(gate, durable, LIMIT_FACTS))
    }

    /// Releases all facts up to this one, those still to come included.
    pub fn release(&self, through: FactNumber) {
        let mut state = self.gate.lock();
        state.open_through = state.open_through.max(through);
        state.pass();
    }

    /// Releases all facts, for good.
    pub fn open(&self) {
        self.release(FactNumber(u64::MAX));
    }

    /// Releases what waits now and nothing that comes later. The number of the last fact released, if any waited.
    pub fn release_held(&self) -> Option<FactNumber> {
        let mut state = self.gate.lock();
        let last = state.held.back()?.0;
        state.open_through = state.open_through.max(last);
        state.pass();
        Some(last)
    }

    /// Follows what passes a gate with nothing behind it; once.
    pub fn follow(&self) -> FactFollower {
        let Behind::Nothing(_, _, follower) = &mut self.gate.lock().behind else { panic!("the store is followed") };
        let follower = follower.take().expect("followed once");
        follower.begin();
        follower
    }

    /// The facts that wait at the gate.
    pub fn held(&self) -> Vec<(FactNumber, Fact)> {
        self.gate.lock().held.iter().cloned().collect()
    }

    /// Makes a gate with nothing behind it report this health; a real store reports its own.
    pub fn set_health(&self, health: Health) {
        if let Behind::Nothing(sender, ..) = &self.gate.lock().behind {
            sender.send_modify(|durable| durable.health = health);
        }
    }
}

// === impl Gate ===

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FactReceiver for Gate {
    fn receive(&self, first: FactNumber, facts: Vec<Fact>) -> bool {
        let mut state = self.lock();
        state.held.extend((first.0..).map(FactNumber).zip(facts));
        state.pass();
        true
    }

    fn waiting_facts(&self) -> u64 {
        let state = self.lock();
        let behind = match &state.behind {
            Behind::Nothing(..) => 0,
            Behind::Store(store) => store.waiting_facts(),
        };
        state.held.len() as u64 + behind
    }
}

// === impl GateState ===

impl GateState {
    fn pass(&mut self) {
        let passing = self.held.partition_point(|(number, _)| *number <= self.open_through);
        let Some((first, _)) = self.held.front().filter(|_| passing > 0).cloned() else { return };
        let facts: Vec<Fact> = self.held.drain(..passing).map(|(_, fact)| fact).collect();
        match &self.behind {
            Behind::Nothing(sender, feed, _) => {
                let last = FactNumber(first.0 + passing as u64 - 1);
                sender.send_modify(|durable| durable.number = last);
                feed.forward([FactBatch { first, facts }].into());
            }
            Behind::Store(store) => {
                store.append(first, facts);
            }
        }
    }
}
