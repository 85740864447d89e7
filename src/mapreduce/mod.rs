//! Jobs, tasks and attempts: turns jobs into request tables and grants into attempts. Pure.

mod fact;
mod job_spec;
mod split_table;

pub use fact::{AcceptedJob, AttemptRole, EndedAttempt, JobFact};
pub use job_spec::JobSpec;
pub use split_table::{Split, SplitHost, SplitTable, SplitTableBuilder};
