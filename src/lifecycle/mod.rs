//! Process lifecycle: start, sessions, hand-over to a successor, ports, signals, supervisor, reload.
//!
//! Exactly one process owns the state store. A session lasts from opening it to closing it.

mod acl_watch;
mod daemon;
mod handover;
mod host_name;
mod ports;
mod process;
mod reload;
mod session;
mod signals;
mod start;
mod supervisor;
mod web_thread;

pub use crate::store::Precedence;
pub use daemon::{Daemon, DaemonParts, RunError};
pub use handover::{ControlError, Predecessor, UpgradeOutcome, request_upgrade};
pub use host_name::as_others_name;
pub use signals::{StopRequest, stop_signal};
pub use start::{ServeError, ServeOptions, Serving, serve};
