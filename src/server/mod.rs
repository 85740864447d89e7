//! The owner's thread: the engine, its clock and timer, the RPC server that feeds it, and what its effects ask for.
//!
//! Everything that touches the engine runs on one thread (a current-thread runtime): a heartbeat is read, decoded,
//! stepped and answered without a hand-over. Nothing here waits while it holds the engine.

mod acl_file;
mod acl_watch;
mod admission;
mod advertised;
mod clock;
mod daemon;
mod dispatch;
mod effects;
mod end_notification;
mod engine_config;
mod groups;
mod handle;
mod handover;
mod held;
mod held_room;
mod host_name;
mod log_rate;
mod office;
mod owner;
mod ports;
mod program;
mod reload;
pub mod rpc;
mod signals;
mod start;
mod submission;
mod supervisor;
mod term;
mod topology;
mod turns;
mod web_thread;

pub use crate::store::Precedence;
pub use acl_file::{AclFile, AclFileError};
pub use advertised::Advertised;
pub use clock::{Clock, wall_ms};
pub use daemon::{Daemon, Parts, RunError};
pub use dispatch::Dispatcher;
pub use engine_config::{HostsError, engine_config};
pub use handle::{OwnerHandle, Requests};
pub use handover::{AskError, Outcome, Predecessor, ask};
pub use held::HeldQueue;
pub use host_name::as_others_name;
pub use owner::{Owner, StoreGone};
pub use signals::{StopWord, stop_asked};
pub use start::{Launch, ServeError, Serving, serve};
pub use submission::{Asked, Leftovers, SubmissionError, Submissions, make_system_dir};
pub use topology::Topology;
pub use turns::StuckTurns;
