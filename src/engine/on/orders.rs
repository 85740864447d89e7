//! Orders to a tracker in one heartbeat.

use std::collections::BTreeSet;

use crate::model::{AttemptId, JobId};

/// Orders to a tracker that follow from the reports of one heartbeat, in the order of 1.2.1.
#[derive(Debug, Default)]
pub(super) struct Orders {
    pub(super) kill_tasks: Vec<AttemptId>,
    /// Unknown jobs: the tracker gets KILL_JOB for them.
    pub(super) forget_jobs: BTreeSet<JobId>,
    pub(super) commits: Vec<AttemptId>,
    /// The tracker forgets reports once it is answered: the answer waits for all facts.
    pub(super) must_be_durable: bool,
}

/// Attempts in one heartbeat that this JobTracker has not launched.
#[derive(Debug)]
pub(super) struct UnknownAttempts {
    /// Most attempts that the tracker is ordered to drop.
    pub(super) allowed: usize,
    /// The first attempt to drop, and the reason.
    pub(super) first: Option<(AttemptId, &'static str)>,
    pub(super) dropped: usize,
    /// Number of further unknown attempts.
    pub(super) skipped: usize,
}

impl UnknownAttempts {
    pub(super) fn new(allowed: usize) -> Self {
        Self { allowed, first: None, dropped: 0, skipped: 0 }
    }

    /// The log line about all of them; none without any.
    pub(super) fn log_text(&self, name: &str) -> Option<String> {
        let (first, why) = self.first?;
        let mut line = format!("{name} is ordered to drop {first}, {why}");
        if self.dropped > 1 {
            line += &format!("; and {} more", self.dropped - 1);
        }
        if self.skipped > 0 {
            line += &format!("; {} more exceed what it can run and are ignored", self.skipped);
        }
        Some(line)
    }
}
