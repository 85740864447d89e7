//! The heartbeat and its response (1.2.1 `InterTrackerProtocol.heartbeat`).

use crate::model::{AttemptId, JobId};

use super::error::{WireErrorKind, excerpt};
use super::fields::fields;
use super::{BEAT_DIGEST, Decode, Encode, REPLACES, Reader, SIGNED_OFF, Task, TaskTrackerStatus, WireError, Writer};

/// The parameters of a heartbeat.
#[derive(Clone, Debug, PartialEq)]
pub struct HeartbeatRequest {
    /// The tracker and its attempts.
    pub status: TaskTrackerStatus,
    /// Whether this is the first heartbeat of the tracker's process.
    pub restarted: bool,
    /// Whether this is the first heartbeat after a start or a reinit.
    pub initial_contact: bool,
    /// False = launch nothing on it.
    pub accept_new_tasks: bool,
    /// The id of the last response it received; -1 in a new process.
    pub response_id: i16,
}

/// The response.
#[derive(Clone, Debug, PartialEq)]
pub struct HeartbeatResponse {
    /// The request's id + 1, wrapping; a reinit repeats the request's own.
    pub response_id: i16,
    /// Pause until the next heartbeat, ms.
    pub interval_ms: i32,
    /// Actions to take, in this order.
    pub actions: Vec<Action>,
    /// Jobs whose completion events the tracker must read again from the start.
    pub recovered_jobs: Vec<JobId>,
}

/// An action for a tracker (1.2.1 `TaskTrackerAction`).
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Start a task.
    LaunchTask(Box<Task>),
    /// Kill an attempt, or drop it and delete its files. Never for a successful map: its output would be deleted.
    KillTask(AttemptId),
    /// Remove everything of a job.
    KillJob(JobId),
    /// Kill all attempts, drop all state, register again.
    ReinitTracker,
    /// Permission to commit; resent until the attempt leaves COMMIT_PENDING.
    CommitTask(AttemptId),
}

impl HeartbeatRequest {
    /// Whether it is the last heartbeat of a tracker that has ended all its attempts. To a Java JobTracker it is that of an
    /// unhealthy tracker without slots.
    pub(crate) fn signs_off(&self) -> bool {
        let status = &self.status;
        !status.health.healthy
            && &*status.health.report == SIGNED_OFF
            && (status.max_map_slots, status.max_reduce_slots) == (0, 0)
            && status.tasks.iter().all(|report| report.state.is_over())
    }
}

impl HeartbeatRequest {
    /// The trackers of which its first heartbeat says that it has cleared up after them: nothing of theirs is left.
    pub(crate) fn replaced_trackers(&self) -> impl Iterator<Item = &str> {
        let health = &self.status.health;
        let report = Some(&*health.report).filter(|_| self.initial_contact && health.healthy);
        let words = report.and_then(|report| report.strip_prefix(REPLACES)).into_iter();
        words.flat_map(str::split_ascii_whitespace).filter(|word| !word.starts_with(BEAT_DIGEST))
    }
}

impl HeartbeatResponse {
    /// The fields of the response without the class names before them: the server stores them for a repeated response.
    pub fn encode_body(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(64);
        self.encode(&mut Writer::new(&mut body));
        body
    }
}

fields! {
    HeartbeatResponse, 11;
    response_id: i16 "response id",
    interval_ms: i32 "heartbeat interval",
    actions: &vint_list "number of actions",
    recovered_jobs: &list "number of recovered jobs",
}

impl Decode for Action {
    const MIN_BYTES: usize = 13;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let start = reader.clone();
        Ok(match reader.vint_bytes("action")? {
            b"LAUNCH_TASK" => Self::LaunchTask(Box::new(Task::decode(reader)?)),
            b"KILL_TASK" => Self::KillTask(AttemptId::decode(reader)?),
            b"KILL_JOB" => Self::KillJob(JobId::decode(reader)?),
            b"REINIT_TRACKER" => Self::ReinitTracker,
            b"COMMIT_TASK" => Self::CommitTask(AttemptId::decode(reader)?),
            other => return Err(start.error(WireErrorKind::UnknownName(excerpt(other)), "action")),
        })
    }
}

impl Encode for Action {
    fn encode(&self, writer: &mut Writer<'_>) {
        match self {
            Self::LaunchTask(task) => {
                writer.text("LAUNCH_TASK");
                task.encode(writer);
            }
            Self::KillTask(attempt) => {
                writer.text("KILL_TASK");
                attempt.encode(writer);
            }
            Self::KillJob(job) => {
                writer.text("KILL_JOB");
                job.encode(writer);
            }
            Self::ReinitTracker => writer.text("REINIT_TRACKER"),
            Self::CommitTask(attempt) => {
                writer.text("COMMIT_TASK");
                attempt.encode(writer);
            }
        }
    }
}
