//! Expensive work that any caller may request: one run serves all waiting callers, and one run starts per second.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::engine::Caller;
use crate::ipc::{CallAnswer, PendingCall, RemoteError};
use crate::model::FactNumber;
use crate::server::owner::Owner;

/// Minimum interval of two starts, ms.
const RUN_INTERVAL_MS: u64 = 1_000;

/// The callers that wait for the next run, by connection: one call each.
#[derive(Debug, Default)]
pub(super) struct RateLimited {
    waiting: RefCell<BTreeMap<u64, (Caller, PendingCall)>>,
    is_running: Cell<bool>,
    next_ms: Cell<u64>,
}

/// The refreshes that callers may request.
#[derive(Debug, Default)]
pub(super) struct Refreshes {
    pub(super) queues: Rc<RateLimited>,
    pub(super) nodes: Rc<RateLimited>,
    pub(super) groups: Rc<RateLimited>,
    pub(super) proxy_users: Rc<RateLimited>,
    pub(super) service_policy: Rc<RateLimited>,
}

pub(super) type RefreshOutcome = (CallAnswer, FactNumber);

impl RateLimited {
    /// Answers `pending` with the result of the next run of `work`, which runs on behalf of one waiting caller. A run
    /// that started before the call does not count: it may have read what has changed since.
    pub(super) fn run<F: Future<Output = RefreshOutcome> + 'static>(
        self: &Rc<Self>,
        owner: &Rc<Owner>,
        (caller, pending): (Caller, PendingCall),
        work: impl Fn(Caller) -> F + 'static,
    ) {
        if self.waiting.borrow().contains_key(&pending.connection()) {
            let text = "an earlier call of this connection for the same refresh is in progress";
            return owner.answer(pending, CallAnswer::Error(RemoteError::io(text)), FactNumber::default());
        }
        self.waiting.borrow_mut().insert(pending.connection(), (caller, pending));
        if !self.is_running.replace(true) {
            tokio::task::spawn_local(self.clone().run_while_waiting(owner.clone(), work));
        }
    }

    async fn run_while_waiting<F: Future<Output = RefreshOutcome>>(
        self: Rc<Self>,
        owner: Rc<Owner>,
        work: impl Fn(Caller) -> F,
    ) {
        let clock = owner.clock();
        loop {
            tokio::time::sleep_until(clock.instant(self.next_ms.get())).await;
            let waiting = self.waiting.take();
            let Some((caller, _)) = waiting.values().next() else { break };
            self.next_ms.set(clock.mono_ms() + RUN_INTERVAL_MS);
            let (answer, wait_for) = work(caller.clone()).await;
            for (_, pending) in waiting.into_values() {
                owner.answer(pending, answer.clone(), wait_for);
            }
        }
        self.is_running.set(false);
    }
}
