//! What is believed of jobs' costs where they state nothing.

use crate::engine::core::{Engine, PolicyConfig};
use crate::engine::state::Fact;
use crate::mapreduce::{Job, JobFact, JobSpec};
use crate::model::JobId;
use crate::scheduler::constraint::{HistoryConfig, JobClass, JobEstimate};

impl Engine {
    /// What is believed of a new job; nothing of one without a deadline.
    pub(super) fn estimate(&self, spec: &JobSpec) -> JobEstimate {
        match (&spec.deadline, &self.config.policy) {
            (Some(_), PolicyConfig::Constraint(config)) => self.estimate_by(&config.history, spec),
            _ => JobEstimate::default(),
        }
    }

    fn estimate_by(&self, config: &HistoryConfig, spec: &JobSpec) -> JobEstimate {
        JobEstimate { history: self.jobs.cost_histories.learned(&job_class(spec), config), ..JobEstimate::default() }
    }

    /// What is believed of an accepted job; if nothing was, what would be now.
    pub(super) fn estimate_now(&self, config: &HistoryConfig, job: &Job) -> JobEstimate {
        if job.estimate == JobEstimate::default() { self.estimate_by(config, &job.spec) } else { job.estimate }
    }

    /// Estimates the jobs that were accepted while nothing was believed.
    pub(super) fn estimate_all(&mut self) {
        let PolicyConfig::Constraint(config) = &self.config.policy else { return };
        let jobs = self.jobs.iter().filter(|job| !job.is_over() && job.deadline().is_some());
        let estimates: Vec<_> = jobs.map(|job| (job.id, self.estimate_now(&config.history, job))).collect();
        for (id, estimate) in estimates {
            self.set_estimate(id, estimate);
        }
    }

    /// Believes something else of a job.
    pub(super) fn set_estimate(&mut self, id: JobId, estimate: JobEstimate) {
        let Some(job) = self.jobs.get_mut(id).filter(|job| job.estimate != estimate) else { return };
        job.estimate = estimate;
        job.last_fact = self.outbox.record(Fact::Job(JobFact::Estimated { job: id, estimate }));
    }
}

/// The jobs whose costs are like those of the job.
pub(super) fn job_class(spec: &JobSpec) -> JobClass {
    JobClass::new(&spec.user, &spec.name, &spec.code)
}
