//! The deadline of an app.

use super::{JobPlan, JobWork};

/// A deadline, with what is to be done until then. Kept with the app: another policy may rule meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppDeadline {
    /// When it is due, epoch microseconds.
    pub due_us: i64,
    /// All of its work, also what is done.
    pub work: JobWork,
    /// What was promised when it was tested last; none: nothing was, or the test is to come.
    pub plan: Option<JobPlan>,
}
