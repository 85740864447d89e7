//! The deadline of a job: what it stated, or what that was changed to.

use crate::scheduler::constraint::{DeadlineSpec, Seconds};

use super::Job;

impl Job {
    /// Its deadline as it is now.
    pub(crate) fn deadline(&self) -> Option<&DeadlineSpec> {
        match &self.changed_deadline {
            Some(changed) => changed.spec.as_ref(),
            None => self.spec.deadline.as_ref(),
        }
    }

    /// Of a job that ended after its deadline: how late, as schedulers report on jobs that run.
    pub(crate) fn report_late_end(&self) -> Option<String> {
        let us = |ms: i64| ms.saturating_mul(1_000);
        let due_us = self.deadline().filter(|_| self.is_over())?.due_us(self.submit_ms);
        let late_us = us(self.finish_ms).saturating_sub(due_us);
        let seconds = |us: i64| Seconds { us };
        (late_us > 0).then(|| {
            let after = seconds(due_us.saturating_sub(us(self.submit_ms)));
            format!("Deadline {after} s (left {} s, LATE). Ended after its deadline.", seconds(-late_us))
        })
    }
}
