//! Codecs of jobs, queues and the cluster.

use crate::model::{Priority, RunState, names};
use crate::wire::class::encoded_by_name;
use crate::wire::error::WireErrorKind;
use crate::wire::fields::fields;
use crate::wire::{Decode, Encode, Reader, WString, WireError, Writer};

use super::{
    AccessControlList, ClusterStatus, JobAcl, JobProfile, JobQueueInfo, JobStatus, JobTrackerState, QueueAclsInfo,
    TrackersOfState,
};

encoded_by_name!(Priority, "priority");

names!(JobAcl {
    ViewJob = "VIEW_JOB",
    ModifyJob = "MODIFY_JOB",
});
encoded_by_name!(JobAcl, "access list of a job");

names!(JobTrackerState {
    Initializing = "INITIALIZING",
    Running = "RUNNING",
});
encoded_by_name!(JobTrackerState, "state of the JobTracker");

impl RunState {
    /// All states, by their numbers.
    pub(crate) const ALL: [Self; 5] = [Self::Running, Self::Succeeded, Self::Failed, Self::Prep, Self::Killed];

    /// The state of that number.
    pub(crate) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state as i32 == number)
    }
}

impl Decode for RunState {
    const MIN_BYTES: usize = 4;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let start = reader.clone();
        let number = reader.i32("state of a job")?;
        let unknown = || start.error(WireErrorKind::UnknownNumber(i64::from(number)), "state of a job");
        Self::from_number(number).ok_or_else(unknown)
    }
}

impl Encode for RunState {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.i32(*self as i32);
    }
}

fields! {
    AccessControlList, 1;
    0: &text "access control list",
}

fields! {
    JobProfile, 10;
    id,
    job_file: &text "job file",
    url: &text "page of the job",
    user: &text "owner of the job",
    name: &text "name of the job",
    queue: &text "queue of the job",
}

fields! {
    JobStatus, 42;
    id,
    setup_progress: f32 "setup progress",
    map_progress: f32 "map progress",
    reduce_progress: f32 "reduce progress",
    cleanup_progress: f32 "cleanup progress",
    run_state,
    start_ms: i64 "start of the job",
    user: &text "owner of the job",
    priority,
    scheduling_info: &text "scheduling information",
    acls: &list "number of access lists",
    failure_info: &text "failure information",
}

fields! {
    TrackersOfState, 8;
    count: i32 "number of trackers",
    names: &list "number of tracker names",
}

fields! {
    ClusterStatus, 70;
    active,
    blacklisted,
    graylisted,
    excluded_nodes: i32 "number of excluded nodes",
    tracker_expiry_interval_ms: i64 "expiry interval",
    running_maps: i32 "running maps",
    running_reduces: i32 "running reduces",
    max_map_slots: i32 "map slots",
    max_reduce_slots: i32 "reduce slots",
    used_memory_bytes: i64 "used memory",
    max_memory_bytes: i64 "memory limit",
    state,
}

fields! {
    JobQueueInfo, 3;
    name: &text "name of a queue",
    state: &text "state of a queue",
    scheduling_info: &text "scheduling information of a queue",
}

impl Decode for QueueAclsInfo {
    const MIN_BYTES: usize = 5;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let queue = reader.text("name of a queue")?;
        let count = reader.i32("number of operations")?;
        let count = reader.count(count, WString::MIN_BYTES, "number of operations")?;
        let mut operations = Vec::with_capacity(count);
        for _ in 0..count {
            let start = reader.clone();
            let operation = WString::decode(reader)?;
            operations.push(operation.0.ok_or_else(|| start.error(WireErrorKind::Null, "operation"))?);
        }
        Ok(Self { queue, operations })
    }
}

impl Encode for QueueAclsInfo {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.text(&self.queue);
        writer.count(self.operations.len());
        for operation in &self.operations {
            writer.count(operation.len());
            writer.bytes(operation.as_bytes());
        }
    }
}
