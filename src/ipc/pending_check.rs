//! Whether a connection is admitted, where that becomes known after it has opened.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

/// Nothing is due unless [`PendingCheck::begin`] was called.
#[derive(Debug, Default)]
pub(super) struct PendingCheck {
    is_due: Cell<bool>,
    refusal: RefCell<Option<String>>,
}

impl PendingCheck {
    /// No call is taken until [`Self::decide`].
    pub(super) fn begin(&self) {
        self.is_due.set(true);
    }

    /// Calls may be taken, or the connection is to be closed with this reason.
    pub(super) fn decide(&self, decided: Result<(), String>) {
        *self.refusal.borrow_mut() = decided.err();
        self.is_due.set(false);
    }

    /// Whether [`Self::decide`] is due.
    pub(super) fn is_due(&self) -> bool {
        self.is_due.get()
    }

    /// Why it is not admitted, once.
    pub(super) fn take_refusal(&self) -> Option<String> {
        self.refusal.take()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Introduced {
    pub(crate) user: Arc<str>,
    /// The calling user, if it is another.
    pub(crate) real_user: Option<Arc<str>>,
    pub(crate) protocol: Arc<str>,
    pub(crate) address: IpAddr,
}

pub(crate) enum ConnectionCheck {
    Passed,
    /// It becomes known later, and no call is read until then; the text of a refusal.
    Pending(Pin<Box<dyn Future<Output = Result<(), String>>>>),
}
