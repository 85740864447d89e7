//! Jobs that have run elsewhere: under another JobTracker, or in a time that the state has forgotten. Numbers of attempts
//! that may have been used there are never used again.

use crate::model::AttemptId;

use super::job::Job;
use super::{JobFact, StoredJob, Wants, next_thousand};

// === impl Job: elsewhere ===

impl Job {
    /// Whether others than us may have launched attempts of it.
    pub fn has_run_elsewhere(&self) -> bool {
        self.first_attempt > 0
    }

    /// Attempts of it that trackers run and nobody here has launched.
    pub fn strays(&self) -> u32 {
        self.strays
    }

    /// Says how many of them there are. While there are any the job does not begin: one that cleans up after the job
    /// would remove what the new ones write.
    pub fn set_strays(&mut self, strays: u32, wants: &mut Wants) {
        self.strays = strays;
        self.refresh_wants(wants);
    }

    /// Sees to it that the attempts to come are numbered above one that is not known here; the fact, if that is new.
    pub fn number_above(&mut self, stray: AttemptId) -> Option<JobFact> {
        let key = self.key_of(stray.task)?;
        if stray.number < self.first_attempt.max(self.task(key).next_number()) {
            return None;
        }
        self.first_attempt = next_thousand(stray.number);
        Some(JobFact::NumberedFrom { job: self.id, first_attempt: self.first_attempt })
    }
}

// === impl StoredJob: elsewhere ===

impl StoredJob {
    /// Nothing of what was done counts; only a decided end does.
    pub fn begin_anew(&mut self) {
        self.number_on();
        self.is_running = false;
        self.attempts.clear();
        self.events.clear();
    }

    /// The attempts to come are numbered above all that may have been launched.
    pub fn number_on(&mut self) {
        let highest = self.attempts.iter().map(|attempt| attempt.id.number).max().unwrap_or(0);
        self.accepted.first_attempt = next_thousand(highest.max(self.accepted.first_attempt));
    }
}
