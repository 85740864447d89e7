//! The owner's thread: the engine with its timer, the calls that reach it, and the effects it emits.
//!
//! Everything that touches the engine runs on one thread (a current-thread runtime): a heartbeat is read, decoded,
//! stepped and answered without a thread switch. Nothing here waits while it borrows the engine.

mod accounts;
mod acl_file;
mod admission;
mod advertised;
mod allocation_watch;
mod answer;
mod answer_memory;
mod application_requests;
mod application_users;
mod application_waits;
mod applications_of_web;
mod applications_on_disk;
mod audit_log;
mod believed_hosts;
mod broken_invariants;
mod connection_policy;
mod containers_on_disk;
mod dispatch;
mod durability_queue;
mod effects;
mod end_notification;
mod engine_config;
mod event_log;
mod fair_pool;
mod groups;
mod hadoop_audit;
mod handle;
mod history;
mod host_addresses;
mod job_files_of_web;
mod job_requests;
mod owner;
mod page_loops;
mod paged_reads;
mod quarantine;
mod rack_resolver;
mod scheduler_files;
mod shared_presence;
mod shown_snapshot;
mod submission;
mod switch_waiter;
mod waiting_calls;

pub use acl_file::{AclFile, AclFileError, read_all_users, retiring_path};
pub use advertised::Advertised;
pub(crate) use allocation_watch::AllocationWatch;
pub(crate) use application_users::ApplicationUsers;
pub(crate) use application_waits::ApplicationWaits;
pub(crate) use applications_on_disk::ApplicationsOnDisk;
pub(crate) use audit_log::write_audit_line;
pub use broken_invariants::BrokenInvariants;
pub(crate) use containers_on_disk::ContainersOnDisk;
pub use dispatch::Dispatcher;
pub use durability_queue::DurabilityQueue;
pub(crate) use effects::EffectHandler;
pub(crate) use end_notification::{Notifier, Targets};
pub use engine_config::{HostsError, engine_config};
pub(crate) use engine_config::{host_lists, no_minute, queue_configs, reread_policy, scheduler_class};
pub(crate) use event_log::EventLog;
pub use fair_pool::StuckThreads;
pub use handle::{OwnerHandle, Requests};
pub use history::HistoryCounts;
pub(crate) use history::HistoryWriter;
pub use owner::{Owner, StoreGone};
pub use quarantine::{Quarantine, RefusedSenders};
pub use rack_resolver::RackResolver;
pub(crate) use scheduler_files::{ReadWish, read_wish};
pub use shared_presence::{SharedPresence, presence_of};
pub use submission::{
    JobFileSender, Leftovers, MapInputs, SubmissionError, SubmissionRequest, Submissions, Uploads, make_system_dir,
};
pub(crate) use submission::{SystemDirAtStart, make_staging_root};
pub use switch_waiter::SwitchWaiter;
