//! For tests: a gate in front of the store that holds facts back until it is told to let them through.
//!
//! So a test can see which replies wait for which facts: nothing is durable before the test says so.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::engine::Fact;
use crate::model::FactNumber;

use super::durable::{Durable, Health};
use super::sink::{Backlog, FactSink, weight};

/// Facts that a gate alone lets wait before it reports pressure.
const LIMIT_FACTS: u64 = 100_000;

/// The test's handle on a gate.
#[derive(Debug)]
pub struct GatedStore {
    gate: Arc<Gate>,
}

/// What stands between the owner's sink and the store.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<GateState>,
    backlog: Arc<Backlog>,
}

#[derive(Debug)]
struct GateState {
    open_through: FactNumber,
    held: VecDeque<(FactNumber, Fact)>,
    behind: Behind,
}

/// What lies behind the gate.
#[derive(Debug)]
enum Behind {
    /// Nothing: what passes the gate counts as durable.
    Nothing(watch::Sender<Durable>),
    /// A store, or another gate.
    Store(FactSink),
}

// === impl GatedStore ===

impl GatedStore {
    /// A gate with nothing behind it: a fact is durable once it is let through. `last` is the last durable fact so
    /// far.
    pub fn alone(last: FactNumber) -> (Self, FactSink) {
        let (sender, durable) = watch::channel(Durable { number: last, ..Durable::default() });
        Self::assemble(Behind::Nothing(sender), durable, Arc::new(Backlog::new(LIMIT_FACTS)))
    }

    /// A gate before a real store: a fact is durable once it is let through and the store has written it.
    pub fn before(store: FactSink) -> (Self, FactSink) {
        let durable = store.durable();
        let backlog = Arc::clone(store.backlog());
        Self::assemble(Behind::Store(store), durable, backlog)
    }

    fn assemble(behind: Behind, durable: watch::Receiver<Durable>, backlog: Arc<Backlog>) -> (Self, FactSink) {
        let state = GateState { open_through: FactNumber(0), held: VecDeque::new(), behind };
        let gate = Arc::new(Gate { state: Mutex::new(state), backlog: Arc::clone(&backlog) });
        (Self { gate: Arc::clone(&gate) }, FactSink::to_gate(gate, durable, backlog))
    }

    /// Lets through all facts up to and with this one, those still to come included.
    pub fn release(&self, through: FactNumber) {
        let mut state = self.gate.lock();
        state.open_through = state.open_through.max(through);
        self.gate.pass(&mut state);
    }

    /// Lets through all facts, for good.
    pub fn open(&self) {
        self.release(FactNumber(u64::MAX));
    }

    /// Lets through what waits now and nothing that comes later. Gives the number of the last fact let through, if
    /// any waited.
    pub fn release_held(&self) -> Option<FactNumber> {
        let mut state = self.gate.lock();
        let last = state.held.back()?.0;
        state.open_through = state.open_through.max(last);
        self.gate.pass(&mut state);
        Some(last)
    }

    /// The facts that wait at the gate.
    pub fn held(&self) -> Vec<(FactNumber, Fact)> {
        self.gate.lock().held.iter().cloned().collect()
    }

    /// Makes a gate with nothing behind it report this health; a real store tells its own.
    pub fn set_health(&self, health: Health) {
        if let Behind::Nothing(sender) = &self.gate.lock().behind {
            sender.send_modify(|durable| durable.health = health);
        }
    }
}

// === impl Gate ===

impl Gate {
    pub(super) fn append(&self, first: FactNumber, facts: Vec<Fact>) {
        let mut state = self.lock();
        self.backlog.add(weight(&facts));
        state.held.extend((first.0..).map(FactNumber).zip(facts));
        self.pass(&mut state);
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, state: &mut GateState) {
        let open_through = state.open_through;
        let passing = state.held.partition_point(|(number, _)| *number <= open_through);
        let Some((first, _)) = state.held.front().filter(|_| passing > 0).cloned() else { return };
        let facts: Vec<Fact> = state.held.drain(..passing).map(|(_, fact)| fact).collect();
        self.backlog.remove(weight(&facts));
        match &state.behind {
            Behind::Nothing(sender) => {
                let last = FactNumber(first.0 + passing as u64 - 1);
                sender.send_modify(|durable| durable.number = last);
            }
            Behind::Store(sink) => {
                sink.append(first, facts);
            }
        }
    }
}
