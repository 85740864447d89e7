//! The owner's thread: the engine and its timer, the calls that reach it, and what its effects ask for.
//!
//! Everything that touches the engine runs on one thread (a current-thread runtime): a heartbeat is read, decoded,
//! stepped and answered without a hand-over. Nothing here waits while it holds the engine.

mod acl_file;
mod admission;
mod advertised;
mod dispatch;
mod effects;
mod end_notification;
mod engine_config;
mod groups;
mod handle;
mod held;
mod held_room;
mod owner;
mod program;
mod submission;
mod topology;
mod turns;

pub use acl_file::{AclFile, AclFileError};
pub use advertised::Advertised;
pub use dispatch::Dispatcher;
pub(crate) use effects::Edges;
pub(crate) use end_notification::{Notifier, Targets};
pub use engine_config::{HostsError, engine_config};
pub(crate) use engine_config::{host_lists, no_minute, queue_configs};
pub use handle::{OwnerHandle, Requests};
pub use held::HeldQueue;
pub use owner::{Owner, StoreGone};
pub use submission::{Asked, Leftovers, SubmissionError, Submissions, make_system_dir};
pub(crate) use submission::{SystemDirAtStart, make_staging_root};
pub use topology::Topology;
pub use turns::StuckTurns;
