//! `TaskUmbilicalProtocol` 19: calls of a task's process to its TaskTracker. A JobTracker does not serve it.

use crate::model::{AttemptId, JobId};
use crate::wire::object::{Object, ObjectError, decode_instance, encode_class};
use crate::wire::{Encode, JvmContext, Reader, RecordRange, TaskStatus, Writer};

use super::table::protocol;

/// A job id declared as the class of the newer API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewApiJobId(pub(crate) JobId);

protocol! {
    /// Calls of task processes; each but the last names the calling process.
    TaskUmbilicalCall {
        /// Requests a task to run.
        GetTask = "getTask" {
            /// The calling process.
            context: JvmContext,
        } -> JvmTask;
        /// Reports progress; false orders the process to exit.
        StatusUpdate = "statusUpdate" {
            /// The attempt.
            attempt: AttemptId,
            /// Its status.
            status: Box<TaskStatus>,
            /// The calling process.
            context: JvmContext,
        } -> Boolean;
        /// Adds to the attempt's diagnostics.
        ReportDiagnosticInfo = "reportDiagnosticInfo" {
            /// The attempt.
            attempt: AttemptId,
            /// The text.
            text: Option<String>,
            /// The calling process.
            context: JvmContext,
        } -> Void;
        /// Reports which records come next, for skipping bad ones.
        ReportNextRecordRange = "reportNextRecordRange" {
            /// The attempt.
            attempt: AttemptId,
            /// The records.
            range: RecordRange,
            /// The calling process.
            context: JvmContext,
        } -> Void;
        /// Reports that the attempt is alive; false orders the process to exit.
        Ping = "ping" {
            /// The attempt.
            attempt: AttemptId,
            /// The calling process.
            context: JvmContext,
        } -> Boolean;
        /// Reports that the attempt has succeeded.
        Done = "done" {
            /// The attempt.
            attempt: AttemptId,
            /// The calling process.
            context: JvmContext,
        } -> Void;
        /// Reports that the attempt waits for permission to commit.
        CommitPending = "commitPending" {
            /// The attempt.
            attempt: AttemptId,
            /// Its status.
            status: Box<TaskStatus>,
            /// The calling process.
            context: JvmContext,
        } -> Void;
        /// Requests permission to commit.
        CanCommit = "canCommit" {
            /// The attempt.
            attempt: AttemptId,
            /// The calling process.
            context: JvmContext,
        } -> Boolean;
        /// Reports that the shuffle failed.
        ShuffleError = "shuffleError" {
            /// The attempt.
            attempt: AttemptId,
            /// What happened.
            message: Option<String>,
            /// The calling process.
            context: JvmContext,
        } -> Void;
        /// Reports that a local file system failed.
        FileSystemError = "fsError" {
            /// The attempt.
            attempt: AttemptId,
            /// What happened.
            message: Option<String>,
            /// The calling process.
            context: JvmContext,
        } -> Void;
        /// Reports that the process cannot continue.
        FatalError = "fatalError" {
            /// The attempt.
            attempt: AttemptId,
            /// What happened.
            message: Option<String>,
            /// The calling process.
            context: JvmContext,
        } -> Void;
        /// Requests completion events of maps.
        GetMapCompletionEvents = "getMapCompletionEvents" {
            /// The job.
            job: JobId,
            /// The first event wanted.
            from: i32,
            /// Most events.
            max: i32,
            /// The calling reduce.
            attempt: AttemptId,
            /// The calling process.
            context: JvmContext,
        } -> MapEventsUpdate;
        /// Reports the sizes of the job's private distributed cache files.
        UpdatePrivateDistributedCacheSizes = "updatePrivateDistributedCacheSizes" {
            /// The job.
            job: NewApiJobId,
            /// Bytes of each file.
            sizes: Vec<i64>,
        } -> Void;
    }
}

impl Object for NewApiJobId {
    const CLASS: &'static str = "org.apache.hadoop.mapreduce.JobID";

    fn decode_known(reader: &mut Reader<'_>) -> Result<Option<Self>, ObjectError> {
        decode_instance(reader, Self::CLASS)?;
        Ok(JobId::decode_known(reader)?.map(Self))
    }

    fn encode_object(&self, writer: &mut Writer<'_>) {
        encode_class(Self::CLASS, writer);
        self.0.encode(writer);
    }
}
