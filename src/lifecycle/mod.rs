//! Process lifecycle: start, sessions, hand-over to a successor, ports, signals, notifications to the service manager, reload.
//!
//! Exactly one process owns the state store. A session lasts from opening it to closing it.

mod acl_watch;
mod build_engine;
mod check_files;
mod check_start;
mod daemon;
mod handover;
mod play_desk;
mod ports;
mod process;
mod reload;
mod ruling_scheduler;
mod scheduler_control;
mod serve_error;
mod service_notifier;
mod session;
mod session_end;
mod signals;
mod start;
mod state_pages;
mod stock_settings;
mod web_socket;
mod web_thread;
mod what_if;

pub(crate) use crate::server::retiring_path;
pub(crate) use crate::store::Precedence;
pub(crate) use check_files::{FileFindings, check_market_files};
pub(crate) use check_start::{check_files, check_start, check_start_connected};
pub use daemon::{Daemon, DaemonParts};
pub(crate) use handover::{
    ControlError, Predecessor, SchedulerAnswer, SchedulerRequest, StopAnswer, UpgradeOutcome, request_scheduler,
    request_stop, request_upgrade,
};
pub(crate) use ports::as_others_name;
pub(crate) use serve_error::ServeError;
pub(crate) use session::Serving;
pub(crate) use signals::worker_stop_signal;
pub(crate) use start::{ServeOptions, serve};
pub(crate) use state_pages::{StatePages, StatePagesError};
pub(crate) use what_if::{PlayFailure, PlayQuestion, play_past};
