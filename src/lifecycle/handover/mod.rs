//! Replaces a running daemon by a new process without closing a connection.
//!
//! The old process starts the new one and keeps serving until the new one has read its configuration and checked that it can read the
//! state. Then the old process pauses calls, closes the store, and hands listeners and connections over. It keeps copies of all
//! descriptors: until the new process reports that it serves, the old one can kill it, reopen the store and resume.
//!
//! Invariants: at most one of the two holds the store, since the new one opens it only after the old one has closed it, and the old one
//! reopens it only when the new one is dead; the new process reads nothing from a connection before it reports that it serves, so until
//! then the old one's copies are current; once the new process has received everything, it serves even if the old one dies.

mod control;
mod incoming;
mod message;
mod outgoing;
mod request_stop;

pub(super) use control::{Control, SchedulerCall, UpgradeRequest, name_of};
pub(crate) use control::{
    ControlError, SchedulerAnswer, SchedulerRequest, StopAnswer, UpgradeOutcome, request_scheduler, request_upgrade,
};
pub(crate) use incoming::Predecessor;
pub(super) use message::{HandoverState, Offer, Port};
pub(super) use outgoing::Successor;
pub(crate) use request_stop::request_stop;
