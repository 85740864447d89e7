//! `TaskUmbilicalProtocol` 19: what a task's process tells and asks its TaskTracker. A JobTracker does not serve it.

use crate::model::{AttemptId, JobId};
use crate::wire::object::{Object, ObjectError, decode_instance, encode_class};
use crate::wire::{Encode, JvmContext, Reader, RecordRange, TaskStatus, Writer};

use super::table::protocol;

/// A job id declared as the class of the newer API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewApiJobId(pub JobId);

protocol! {
    /// Calls of task processes; each but the last says which process calls.
    TaskUmbilicalCall {
        /// Asks for something to run.
        GetTask = "getTask" {
            /// Who calls.
            context: JvmContext,
        } -> JvmTask;
        /// Reports progress; false tells the process to exit.
        StatusUpdate = "statusUpdate" {
            /// The attempt.
            attempt: AttemptId,
            /// How it is.
            status: Box<TaskStatus>,
            /// Who calls.
            context: JvmContext,
        } -> Boolean;
        /// Adds to the attempt's diagnostics.
        ReportDiagnosticInfo = "reportDiagnosticInfo" {
            /// The attempt.
            attempt: AttemptId,
            /// The text.
            text: Option<String>,
            /// Who calls.
            context: JvmContext,
        } -> Void;
        /// Tells which records come next, for skipping bad ones.
        ReportNextRecordRange = "reportNextRecordRange" {
            /// The attempt.
            attempt: AttemptId,
            /// The records.
            range: RecordRange,
            /// Who calls.
            context: JvmContext,
        } -> Void;
        /// Says that the attempt lives; false tells the process to exit.
        Ping = "ping" {
            /// The attempt.
            attempt: AttemptId,
            /// Who calls.
            context: JvmContext,
        } -> Boolean;
        /// Says that the attempt has succeeded.
        Done = "done" {
            /// The attempt.
            attempt: AttemptId,
            /// Who calls.
            context: JvmContext,
        } -> Void;
        /// Says that the attempt waits for leave to commit.
        CommitPending = "commitPending" {
            /// The attempt.
            attempt: AttemptId,
            /// How it is.
            status: Box<TaskStatus>,
            /// Who calls.
            context: JvmContext,
        } -> Void;
        /// Asks for leave to commit.
        CanCommit = "canCommit" {
            /// The attempt.
            attempt: AttemptId,
            /// Who calls.
            context: JvmContext,
        } -> Boolean;
        /// Says that the shuffle failed.
        ShuffleError = "shuffleError" {
            /// The attempt.
            attempt: AttemptId,
            /// What happened.
            message: Option<String>,
            /// Who calls.
            context: JvmContext,
        } -> Void;
        /// Says that a local file system failed.
        FileSystemError = "fsError" {
            /// The attempt.
            attempt: AttemptId,
            /// What happened.
            message: Option<String>,
            /// Who calls.
            context: JvmContext,
        } -> Void;
        /// Says that the process cannot go on.
        FatalError = "fatalError" {
            /// The attempt.
            attempt: AttemptId,
            /// What happened.
            message: Option<String>,
            /// Who calls.
            context: JvmContext,
        } -> Void;
        /// Asks which map outputs are ready.
        GetMapCompletionEvents = "getMapCompletionEvents" {
            /// The job.
            job: JobId,
            /// The first event wanted.
            from: i32,
            /// At most so many.
            max: i32,
            /// The reduce that asks.
            attempt: AttemptId,
            /// Who calls.
            context: JvmContext,
        } -> MapEventsUpdate;
        /// Tells the sizes of the job's private distributed cache files.
        UpdatePrivateDistributedCacheSizes = "updatePrivateDistributedCacheSizes" {
            /// The job.
            job: NewApiJobId,
            /// Bytes of each file.
            sizes: Vec<i64>,
        } -> Void;
    }
}

// === impl NewApiJobId ===

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
