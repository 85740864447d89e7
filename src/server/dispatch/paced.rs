//! Work that any caller may ask for: done once for all who wait, one run at a time and one a second.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::engine::Caller;
use crate::ipc::{Answer, RemoteError, Ticket};
use crate::model::FactNumber;

use super::Dispatcher;

/// From the beginning of one run to that of the next, ms.
const PACE_MS: u64 = 1_000;

/// The callers that wait for the next run, by connection: one call each.
#[derive(Debug, Default)]
pub(super) struct Paced {
    waiting: RefCell<BTreeMap<u64, (Caller, Ticket)>>,
    is_running: Cell<bool>,
    next_ms: Cell<u64>,
}

/// What a run came to.
pub(super) type Outcome = (Answer, FactNumber);

// === impl Dispatcher: paced work ===

impl Dispatcher {
    /// Answers `ticket` with the outcome of the next run of `work`, which is done in the name of one of those who wait. A run
    /// that began before the call does not count: it may have read what has changed since.
    pub(super) fn at_its_pace<F: Future<Output = Outcome> + 'static>(
        self: &Rc<Self>,
        paced: fn(&Self) -> &Paced,
        (caller, ticket): (Caller, Ticket),
        work: impl Fn(Rc<Self>, Caller) -> F + 'static,
    ) {
        let waiting = &paced(self).waiting;
        if waiting.borrow().contains_key(&ticket.connection()) {
            return self
                .refuse(ticket, RemoteError::io("an earlier call of this connection for the same is under way"));
        }
        waiting.borrow_mut().insert(ticket.connection(), (caller, ticket));
        if !paced(self).is_running.replace(true) {
            tokio::task::spawn_local(self.clone().run_paced(paced, work));
        }
    }

    async fn run_paced<F: Future<Output = Outcome>>(
        self: Rc<Self>,
        paced: fn(&Self) -> &Paced,
        work: impl Fn(Rc<Self>, Caller) -> F,
    ) {
        let clock = self.owner.clock();
        loop {
            tokio::time::sleep_until(clock.instant(paced(&self).next_ms.get())).await;
            let waiting = paced(&self).waiting.take();
            let Some((caller, _)) = waiting.values().next() else { break };
            paced(&self).next_ms.set(clock.mono_ms() + PACE_MS);
            let (answer, wait_for) = work(self.clone(), caller.clone()).await;
            for (_, ticket) in waiting.into_values() {
                self.owner.answer(ticket, answer.clone(), wait_for);
            }
        }
        paced(&self).is_running.set(false);
    }
}
