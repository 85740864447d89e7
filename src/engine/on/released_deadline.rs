//! A job that was held is released only where its deadline can be kept still: held, it was promised nothing.

use crate::engine::core::Engine;
use crate::engine::state::Refusal;
use crate::model::{JobId, Now};

impl Engine {
    /// Whether a job that was held can keep its deadline still, beside what was promised to others meanwhile.
    ///
    /// # Errors
    /// It cannot; what can be done.
    pub(super) fn check_released_deadline(&self, id: JobId, now: Now) -> Result<(), Refusal> {
        let (Some(job), Some(config)) = (self.jobs.get(id), self.config.policy.constraint()) else {
            return Ok(());
        };
        let Some(spec) = job.deadline() else { return Ok(()) };
        let estimate = self.estimate_now(&config.history, job);
        let planned = self.planned(spec, &job.spec, &job.splits, job.submit_ms, &estimate);
        let Some(planned) = planned else { return Ok(()) };
        let checked = self.cluster.scheduler.check_deadline(job.app, &job.id.to_string(), &planned, now);
        checked.map(drop).map_err(|refusal| {
            Refusal::Invalid(format!(
                "{refusal}; before it is released, give it another deadline or none: jobtracker job deadline {id}"
            ))
        })
    }
}
