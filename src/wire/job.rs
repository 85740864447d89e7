//! Jobs, queues and the cluster as clients see them.

mod codec;

use crate::model::{JobId, Priority, RunState};

use super::Text;

/// `*`, or `user,user group,group` (1.2.1 `AccessControlList`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessControlList(pub Text);

/// The operations that a job's own access lists name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobAcl {
    /// `VIEW_JOB`
    ViewJob,
    /// `MODIFY_JOB`
    ModifyJob,
}

/// The constant part of a job (1.2.1 `JobProfile`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProfile {
    /// The job.
    pub id: JobId,
    /// The submitted job.xml.
    pub job_file: Text,
    /// Its page.
    pub url: Text,
    /// Its owner.
    pub user: Text,
    /// Its name.
    pub name: Text,
    /// Its queue.
    pub queue: Text,
}

/// The variable part of a job (1.2.1 `JobStatus`).
#[derive(Clone, Debug, PartialEq)]
pub struct JobStatus {
    /// The job.
    pub id: JobId,
    /// 0 to 1.
    pub setup_progress: f32,
    /// 0 to 1.
    pub map_progress: f32,
    /// 0 to 1.
    pub reduce_progress: f32,
    /// 0 to 1.
    pub cleanup_progress: f32,
    /// Its state.
    pub run_state: RunState,
    /// When it was submitted, epoch ms.
    pub start_ms: i64,
    /// Its owner.
    pub user: Text,
    /// Its priority.
    pub priority: Priority,
    /// Scheduling information; `NA` for none.
    pub scheduling_info: Text,
    /// Present when access lists are enabled, `MODIFY_JOB` first.
    pub acls: Vec<(JobAcl, AccessControlList)>,
    /// Why it failed; `NA` when it did not.
    pub failure_info: Text,
}

/// Trackers in one state: their number, and in the detailed form their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackersOfState {
    /// How many.
    pub count: i32,
    /// Their names, in the detailed form only.
    pub names: Vec<Text>,
}

/// The state of the JobTracker (1.2.1 `JobTracker.State`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobTrackerState {
    /// Not serving yet.
    Initializing,
    /// Serving.
    Running,
}

/// The cluster (1.2.1 `ClusterStatus`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStatus {
    /// Trackers that take work.
    pub active: TrackersOfState,
    /// Unhealthy trackers.
    pub blacklisted: TrackersOfState,
    /// Trackers on which attempts of many jobs failed.
    pub graylisted: TrackersOfState,
    /// Hosts excluded by the administrator.
    pub excluded_nodes: i32,
    /// Time without heartbeats after which a tracker is lost, ms.
    pub tracker_expiry_interval_ms: i64,
    /// Map attempts running.
    pub running_maps: i32,
    /// Reduce attempts running.
    pub running_reduces: i32,
    /// Map slots.
    pub max_map_slots: i32,
    /// Reduce slots.
    pub max_reduce_slots: i32,
    /// Bytes the daemon uses.
    pub used_memory_bytes: i64,
    /// Bytes the daemon may use.
    pub max_memory_bytes: i64,
    /// State of the JobTracker.
    pub state: JobTrackerState,
}

/// A queue as clients see it (1.2.1 `JobQueueInfo`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobQueueInfo {
    /// Its name.
    pub name: Text,
    /// `running` or `stopped`.
    pub state: Text,
    /// Scheduling information; `N/A` for none.
    pub scheduling_info: Text,
}

/// The caller's permitted operations in a queue (1.2.1 `QueueAclsInfo`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueAclsInfo {
    pub(crate) queue: Text,
    /// `acl-submit-job`, `acl-administer-jobs`.
    pub(crate) operations: Vec<String>,
}
