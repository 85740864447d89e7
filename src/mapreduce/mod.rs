//! Jobs, tasks and attempts: turns jobs into request tables and grants into attempts. Pure.

mod attempt;
mod counter_limits;
mod counters;
mod diagnostics;
mod ending;
mod fact;
mod fetch_failures;
mod finished;
mod flaky_hosts;
mod job;
mod job_spec;
mod jobs;
mod launch;
mod node_book;
mod node_use;
mod output_estimate;
mod pending_tasks;
mod preemption;
mod report;
mod restore;
mod scene;
mod skipping;
mod speculation;
mod split_table;
mod stored;
mod task;
#[cfg(test)]
mod tests;
mod view;

pub use attempt::{Attempt, KillAsked, Verdict};
pub use counter_limits::{CounterLimits, CountersExceeded};
pub use counters::{CounterInterner, CounterSchema, CounterSum, CounterTotal, CounterValues};
pub use diagnostics::Diagnostics;
pub use fact::{AcceptedJob, AttemptRole, EndedAttempt, JobFact};
pub use job::{Ending, Job, JobState, Outcome, TaskKey};
pub use job_spec::{EndNotification, JobSpec};
pub use jobs::Jobs;
pub use launch::Launch;
pub use node_book::{NodeBook, NodeFace};
pub use node_use::NodeUse;
pub use report::{Order, Reported};
pub use restore::{Trackers, Whereabouts};
pub use scene::{Scene, Wants};
pub use split_table::{Split, SplitHost, SplitTable, SplitTableBuilder};
pub use stored::{FinishedJob, StoredAttempt, StoredEvent, StoredJob};
pub use task::{Task, TaskState};
