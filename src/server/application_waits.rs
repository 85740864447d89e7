//! Requests about applications that wait for news. The engine takes a call in at once; while it has nothing to say, the
//! request is held here and asks again when the engine says so.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::engine::ApplicationWait;
use crate::model::ApplicationId;

/// What is ready within this time after the first news comes in the same answer.
pub(super) const TOGETHER: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(crate) struct ApplicationWaits {
    waiting: RefCell<BTreeMap<ApplicationId, Vec<Rc<HeldRequest>>>>,
    are_ended: Cell<bool>,
}

#[derive(Debug)]
pub(super) struct HeldRequest {
    wait: ApplicationWait,
    is_taken_over: Cell<bool>,
    changed: Notify,
}

/// Keeps a request among those that wait until dropped.
#[derive(Debug)]
pub(super) struct Waiting {
    waits: Rc<ApplicationWaits>,
    request: Rc<HeldRequest>,
}

impl ApplicationWaits {
    /// The engine has news of an application: its requests ask again.
    pub(crate) fn notify(&self, application: ApplicationId) {
        for request in self.waiting.borrow().get(&application).into_iter().flatten() {
            request.changed.notify_one();
        }
    }

    /// Has all requests answered, and from now on each at once: the server stops, or hands its connections over.
    pub(crate) fn end_all(&self) {
        self.are_ended.set(true);
        self.waiting.borrow().values().flatten().for_each(|request| request.changed.notify_one());
    }

    /// Lets requests wait again.
    pub(crate) fn resume(&self) {
        self.are_ended.set(false);
    }

    /// Whether requests are answered at once.
    pub(super) fn are_ended(&self) -> bool {
        self.are_ended.get()
    }

    /// Adds a request; none if it must be answered at once.
    pub(super) fn begin(self: &Rc<Self>, wait: ApplicationWait) -> Option<Waiting> {
        if self.are_ended.get() {
            return None;
        }
        let request = Rc::new(HeldRequest { wait, is_taken_over: Cell::new(false), changed: Notify::new() });
        self.waiting.borrow_mut().entry(application_of(wait)).or_default().push(request.clone());
        Some(Waiting { waits: self.clone(), request })
    }

    /// A call of an application was taken in or answered: it takes over the wait of an earlier one, or of itself.
    pub(super) fn take_over(&self, application: ApplicationId, newer_attempt: u32, newer_id: u64) {
        for request in self.waiting.borrow().get(&application).into_iter().flatten() {
            if let ApplicationWait::Allocate { attempt, response_id, .. } = request.wait
                && (attempt, response_id) <= (newer_attempt, newer_id)
            {
                request.is_taken_over.set(true);
                request.changed.notify_one();
            }
        }
    }

    fn remove(&self, request: &Rc<HeldRequest>) {
        let mut waiting = self.waiting.borrow_mut();
        let application = application_of(request.wait);
        if let Some(of_application) = waiting.get_mut(&application) {
            of_application.retain(|other| !Rc::ptr_eq(other, request));
            if of_application.is_empty() {
                waiting.remove(&application);
            }
        }
    }
}

/// The application whose news a request waits for.
pub(super) fn application_of(wait: ApplicationWait) -> ApplicationId {
    match wait {
        ApplicationWait::Allocate { application, .. } | ApplicationWait::Show { application, .. } => application,
    }
}

impl Waiting {
    /// Completes when the request should ask again, or was taken over.
    pub(super) async fn changed(&self) {
        self.request.changed.notified().await;
    }

    /// Whether a newer call has taken over this one's wait.
    pub(super) fn is_taken_over(&self) -> bool {
        self.request.is_taken_over.get()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.waits.remove(&self.request);
    }
}

/// Counts requests that wait. Cheap to clone, for any thread.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitingCalls(Arc<AtomicU64>);

/// Counts as one until dropped.
#[derive(Debug)]
pub(super) struct WaitingCall(WaitingCalls);

impl WaitingCalls {
    /// One more, if it may wait.
    pub(super) fn begin(&self, wait_ms: u64) -> Option<WaitingCall> {
        if wait_ms == 0 {
            return None;
        }
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(WaitingCall(self.clone()))
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u32, attempt: u32, response_id: u64) -> ApplicationWait {
        ApplicationWait::Allocate { application: ApplicationId::new(1, number), attempt, response_id }
    }

    #[test]
    fn a_newer_call_takes_over_and_an_older_one_does_not() {
        let waits = Rc::new(ApplicationWaits::default());
        let application = ApplicationId::new(1, 1);
        let shown = waits.begin(ApplicationWait::Show { application, known_version: 3 }).unwrap();
        let other = waits.begin(call(2, 1, 1)).unwrap();
        let held = waits.begin(call(1, 1, 5)).unwrap();
        waits.take_over(application, 1, 4);
        assert!(!held.is_taken_over(), "a repetition of the call before does not end it");
        waits.take_over(application, 1, 5);
        assert!(held.is_taken_over() && !shown.is_taken_over() && !other.is_taken_over());
        let held = waits.begin(call(1, 1, 6)).unwrap();
        waits.take_over(application, 2, 0);
        assert!(held.is_taken_over(), "a later attempt counts more than any id");
    }

    #[test]
    fn none_waits_at_the_end() {
        let waits = Rc::new(ApplicationWaits::default());
        let held = waits.begin(call(1, 1, 1)).unwrap();
        waits.end_all();
        drop(held);
        assert!(waits.begin(call(1, 1, 1)).is_none());
        assert!(waits.waiting.borrow().is_empty());
        waits.resume();
        assert!(waits.begin(call(1, 1, 1)).is_some());
    }

    #[tokio::test]
    async fn news_reaches_the_requests_of_its_application() {
        let waits = Rc::new(ApplicationWaits::default());
        let first = waits.begin(call(1, 1, 1)).unwrap();
        let second = waits.begin(call(2, 1, 1)).unwrap();
        waits.notify(ApplicationId::new(1, 1));
        // The news is kept for a request that does not listen at that moment.
        first.changed().await;
        tokio::select! {
            biased;
            () = second.changed() => panic!("the news was another application's"),
            () = std::future::ready(()) => {}
        }
        waits.end_all();
        second.changed().await;
    }
}
