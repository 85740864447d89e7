//! The deadline of a job: what it stated, or what that was changed to.

use crate::scheduler::constraint::DeadlineSpec;

use super::Job;

// === impl Job: deadline ===

impl Job {
    /// Its deadline as it is now.
    pub fn deadline(&self) -> Option<&DeadlineSpec> {
        match &self.changed_deadline {
            Some(changed) => changed.spec.as_ref(),
            None => self.spec.deadline.as_ref(),
        }
    }
}
