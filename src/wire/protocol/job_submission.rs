//! `JobSubmissionProtocol` 28: what a JobClient asks of the JobTracker.

use crate::model::{AttemptId, JobId};
use crate::wire::{Credentials, Text, Token};

use super::table::protocol;

protocol! {
    /// Calls of job clients. An id is `None` for null and for ids that no job here can have: both name no job.
    JobSubmissionCall {
        /// An id for a job to come.
        GetNewJobId = "getNewJobId" -> JobId;
        /// Hands over a job whose files are in its staging directory. The status must not be null.
        SubmitJob = "submitJob" {
            /// The id it was given.
            job: Option<JobId>,
            /// Its staging directory.
            directory: Option<String>,
            /// Tokens and keys it brings.
            credentials: Option<Credentials>,
        } -> JobStatus;
        /// The cluster in numbers.
        GetClusterStatus = "getClusterStatus" {
            /// With the names of the trackers.
            detailed: bool,
        } -> ClusterStatus;
        /// Who may administer a queue's jobs.
        GetQueueAdmins = "getQueueAdmins" {
            /// The queue.
            queue: Option<String>,
        } -> AccessControlList;
        /// Ends a job; unknown ones are passed over.
        KillJob = "killJob" {
            /// The job.
            job: Option<JobId>,
        } -> Void;
        /// Sets the priority of a job; unknown jobs are passed over, unknown priorities are an error.
        SetJobPriority = "setJobPriority" {
            /// The job.
            job: Option<JobId>,
            /// The name of the priority.
            priority: Option<String>,
        } -> Void;
        /// Ends an attempt: false when it is unknown or does not run.
        KillTask = "killTask" {
            /// The attempt.
            attempt: Option<AttemptId>,
            /// Whether it counts against the attempt limit.
            should_fail: bool,
        } -> Boolean;
        /// What stays the same of a job; null when unknown.
        GetJobProfile = "getJobProfile" {
            /// The job.
            job: Option<JobId>,
        } -> JobProfile;
        /// What changes of a job; null when unknown.
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
            /// At most so many.
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
        /// Queues in which the caller may do anything, and what.
        GetQueueAclsForCurrentUser = "getQueueAclsForCurrentUser" -> QueueAcls;
        /// A token that stands for the caller.
        GetDelegationToken = "getDelegationToken" {
            /// Who may renew it.
            renewer: Option<Text>,
        } -> Token;
        /// Lengthens the life of a token; returns its new end, epoch ms.
        RenewDelegationToken = "renewDelegationToken" {
            /// The token.
            token: Option<Token>,
        } -> Long;
        /// Ends the life of a token.
        CancelDelegationToken = "cancelDelegationToken" {
            /// The token.
            token: Option<Token>,
        } -> Void;
    }
}
