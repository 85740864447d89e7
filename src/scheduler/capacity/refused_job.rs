//! Why a queue does not accept a job, in the original's words, which the submitting client prints.

use super::StageCounts;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedJob {
    /// It could never be initialised.
    #[error(
        "Job '{job}' from user '{user}' rejected since it has {tasks} tasks which exceeds the limit of {limit} tasks \
         per-user which can be initialized for queue '{queue}'"
    )]
    TooManyTasks {
        job: String,
        user: String,
        /// Its maps and reduces.
        tasks: u64,
        /// Active tasks of one user.
        limit: i64,
        queue: String,
    },
    /// The queue has accepted all it may.
    #[error(
        "Job '{job}' from user '{user}' rejected since queue '{queue}' already has {counts} - Exceeds limit of {limit} \
         jobs to accept"
    )]
    QueueFull {
        job: String,
        user: String,
        queue: String,
        counts: StageCounts,
        /// Jobs that it accepts.
        limit: u64,
    },
    /// The queue has accepted all it may of this user.
    #[error(
        "Job '{job}' rejected since user '{user}' already has {counts} -  Exceeds limit of {limit} jobs to accept in \
         queue '{queue}' per user"
    )]
    UserFull {
        job: String,
        user: String,
        /// Jobs of the user in the queue.
        counts: StageCounts,
        /// Jobs that it accepts of one user.
        limit: u64,
        queue: String,
    },
}
