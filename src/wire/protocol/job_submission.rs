//! `JobSubmissionProtocol` 28: calls of a job client to the JobTracker.

use crate::model::{AttemptId, JobId};
use crate::wire::{Credentials, Text, Token};

use super::table::protocol;

protocol! {
    /// Calls of job clients. An id is `None` for null and for a foreign id: both name no job.
    JobSubmissionCall {
        /// Allocates a job id.
        GetNewJobId = "getNewJobId" -> JobId;
        /// Submits a job whose files are in its staging directory. The status must not be null.
        SubmitJob = "submitJob" {
            /// Its allocated id.
            job: Option<JobId>,
            /// Its staging directory.
            directory: Option<String>,
            /// Its tokens and keys.
            credentials: Option<Credentials>,
        } -> JobStatus;
        /// The cluster in numbers.
        GetClusterStatus = "getClusterStatus" {
            /// Whether the names of the trackers are included.
            detailed: bool,
        } -> ClusterStatus;
        /// The users who may administer a queue's jobs.
        GetQueueAdmins = "getQueueAdmins" {
            /// The queue.
            queue: Option<String>,
        } -> AccessControlList;
        /// Kills a job; unknown ones are ignored.
        KillJob = "killJob" {
            /// The job.
            job: Option<JobId>,
        } -> Void;
        /// Sets the priority of a job; unknown jobs are ignored, unknown priorities are an error.
        SetJobPriority = "setJobPriority" {
            /// The job.
            job: Option<JobId>,
            /// The name of the priority.
            priority: Option<String>,
        } -> Void;
        /// Kills or fails an attempt: false when it is unknown or does not run.
        KillTask = "killTask" {
            /// The attempt.
            attempt: Option<AttemptId>,
            /// Whether it counts against the attempt limit.
            should_fail: bool,
        } -> Boolean;
        /// The constant part of a job; null when unknown.
        GetJobProfile = "getJobProfile" {
            /// The job.
            job: Option<JobId>,
        } -> JobProfile;
        /// The variable part of a job; null when unknown.
        GetJobStatus = "getJobStatus" {
            /// The job.
            job: Option<JobId>,
        } -> JobStatus;
        /// Counters of a job; null when unknown.
        GetJobCounters = "getJobCounters" {
            /// The job.
            job: Option<JobId>,
        } -> Counters;
        /// A report on each map.
        GetMapTaskReports = "getMapTaskReports" {
            /// The job.
            job: Option<JobId>,
        } -> TaskReports;
        /// A report on each reduce.
        GetReduceTaskReports = "getReduceTaskReports" {
            /// The job.
            job: Option<JobId>,
        } -> TaskReports;
        /// Reports on the job's cleanup, one for each kind of slot.
        GetCleanupTaskReports = "getCleanupTaskReports" {
            /// The job.
            job: Option<JobId>,
        } -> TaskReports;
        /// Reports on the job's setup, one for each kind of slot.
        GetSetupTaskReports = "getSetupTaskReports" {
            /// The job.
            job: Option<JobId>,
        } -> TaskReports;
        /// URI of the default file system.
        GetFilesystemName = "getFilesystemName" -> String;
        /// Jobs that are not over.
        JobsToComplete = "jobsToComplete" -> JobStatuses;
        /// All jobs that are known.
        GetAllJobs = "getAllJobs" -> JobStatuses;
        /// A part of a job's list of completion events.
        GetTaskCompletionEvents = "getTaskCompletionEvents" {
            /// The job.
            job: Option<JobId>,
            /// The first event wanted.
            from: i32,
            /// Most events.
            max: i32,
        } -> CompletionEvents;
        /// Diagnostics of an attempt.
        GetTaskDiagnostics = "getTaskDiagnostics" {
            /// The attempt.
            attempt: Option<AttemptId>,
        } -> Strings;
        /// URI of the system directory; null in safe mode.
        GetSystemDir = "getSystemDir" -> String;
        /// URI of the directory that holds the caller's staging directories.
        GetStagingAreaDir = "getStagingAreaDir" -> String;
        /// All queues.
        GetQueues = "getQueues" -> Queues;
        /// One queue; null when unknown.
        GetQueueInfo = "getQueueInfo" {
            /// The queue.
            queue: Option<String>,
        } -> QueueInfo;
        /// Jobs of a queue.
        GetJobsFromQueue = "getJobsFromQueue" {
            /// The queue.
            queue: Option<String>,
        } -> JobStatuses;
        /// Queues in which the caller has any permission, with the permitted operations.
        GetQueueAclsForCurrentUser = "getQueueAclsForCurrentUser" -> QueueAcls;
        /// Issues a token for the caller.
        GetDelegationToken = "getDelegationToken" {
            /// The user who may renew it.
            renewer: Option<Text>,
        } -> Token;
        /// Renews a token; returns its new expiry, epoch ms.
        RenewDelegationToken = "renewDelegationToken" {
            /// The token.
            token: Option<Token>,
        } -> Long;
        /// Cancels a token.
        CancelDelegationToken = "cancelDelegationToken" {
            /// The token.
            token: Option<Token>,
        } -> Void;
    }
}
