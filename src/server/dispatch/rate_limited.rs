//! Expensive work that any caller may request: one run serves all waiting callers, and one run starts per second.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::engine::Caller;
use crate::ipc::{Answer, PendingCall, RemoteError};
use crate::model::FactNumber;

use super::Dispatcher;

/// Minimum interval of two starts, ms.
const RUN_INTERVAL_MS: u64 = 1_000;

/// The callers that wait for the next run, by connection: one call each.
#[derive(Debug, Default)]
pub(super) struct RateLimited {
    waiting: RefCell<BTreeMap<u64, (Caller, PendingCall)>>,
    is_running: Cell<bool>,
    next_ms: Cell<u64>,
}

/// The result of a run.
pub(super) type Outcome = (Answer, FactNumber);

// === impl Dispatcher: rate_limited work ===

impl Dispatcher {
    /// Answers `pending` with the result of the next run of `work`, which runs on behalf of one waiting caller. A run
    /// that started before the call does not count: it may have read what has changed since.
    pub(super) fn run_rate_limited<F: Future<Output = Outcome> + 'static>(
        self: &Rc<Self>,
        rate_limited: fn(&Self) -> &RateLimited,
        (caller, pending): (Caller, PendingCall),
        work: impl Fn(Rc<Self>, Caller) -> F + 'static,
    ) {
        let waiting = &rate_limited(self).waiting;
        if waiting.borrow().contains_key(&pending.connection()) {
            return self.refuse(
                pending,
                RemoteError::io("an earlier call of this connection for the same refresh is in progress"),
            );
        }
        waiting.borrow_mut().insert(pending.connection(), (caller, pending));
        if !rate_limited(self).is_running.replace(true) {
            tokio::task::spawn_local(self.clone().run_while_waiting(rate_limited, work));
        }
    }

    async fn run_while_waiting<F: Future<Output = Outcome>>(
        self: Rc<Self>,
        rate_limited: fn(&Self) -> &RateLimited,
        work: impl Fn(Rc<Self>, Caller) -> F,
    ) {
        let clock = self.owner.clock();
        loop {
            tokio::time::sleep_until(clock.instant(rate_limited(&self).next_ms.get())).await;
            let waiting = rate_limited(&self).waiting.take();
            let Some((caller, _)) = waiting.values().next() else { break };
            rate_limited(&self).next_ms.set(clock.mono_ms() + RUN_INTERVAL_MS);
            let (answer, wait_for) = work(self.clone(), caller.clone()).await;
            for (_, pending) in waiting.into_values() {
                self.owner.answer(pending, answer.clone(), wait_for);
            }
        }
        rate_limited(&self).is_running.set(false);
    }
}
