//! Hadoop 1.2.1 wire and file formats: bytes to values and back, no I/O. All integers are big endian. Decoding allocates no more than the
//! given bytes justify ([`MEMORY_PER_BYTE`]): a length is checked against the rest of the frame before memory is reserved for it.

#![warn(missing_docs)]

pub(crate) mod class;
mod counters;
pub(crate) mod error;
mod fields;
pub mod file;
pub mod frame;
pub mod hdfs;
mod heartbeat;
mod id;
mod job;
mod jvm;
pub(crate) mod limits;
mod object;
pub mod opening;
pub mod protocol;
mod reader;
mod report;
mod string;
mod task;
mod task_status;
mod token;
mod tracker;
mod writer;

pub use counters::{Counter, CounterGroup, Counters, ReportedCounters};
pub(crate) use error::{WireError, WireErrorKind};
pub use heartbeat::{Action, HeartbeatRequest, HeartbeatResponse};
pub(crate) use job::{
    AccessControlList, JobAcl, JobProfile, JobQueueInfo, JobTrackerState, QueueAclsInfo, TrackersOfState,
};
pub use job::{ClusterStatus, JobStatus};
pub(crate) use jvm::{JvmContext, JvmTask, MapEventsUpdate};
pub use reader::{Decode, MEMORY_BASE_BYTES, MEMORY_PER_BYTE, Reader};
pub use report::{CompletionStatus, TaskCompletionEvent, TaskReport, TipStatus};
pub(crate) use string::JavaUtf;
pub use string::{Text, WString};
pub(crate) use task::{CleanupOutcome, SplitIndex, TaskBody};
pub use task::{SkipRanges, Task};
pub use task_status::{Phase, RecordRange, ReduceProgress, TaskStatus};
pub use token::{Credentials, Token};
pub(crate) use token::{DELEGATION_KIND, DelegationIdentifier};
pub use tracker::{BEAT_DIGEST, ResourceStatus};
pub(crate) use tracker::{
    HealthStatus, LACKS, REPLACES, SIGNED_OFF, STREAMING_ONLY, TaskTrackerStatus, given_worker_name,
    runs_streaming_only, worker_name,
};
pub use writer::{Encode, Writer};
