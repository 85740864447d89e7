//! Invariants over the whole state, and the report of all that were found broken.
//!
//! Where a count, a balance or a state changes, that place checks the change, in every build. What needs a walk over all
//! jobs, trackers or accounts is checked here, in builds with debug assertions, once in a while.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::core::Engine;
use crate::mapreduce::Job;
use crate::model::{JobId, Kind, PerKind, TrackerId, Violations};

/// Steps between two walks over the whole state.
const STEPS_BETWEEN_WALKS: u32 = 64;

impl Engine {
    /// Reports the invariants that this step broke as effects.
    pub(super) fn report_invariants(&mut self) {
        if cfg!(debug_assertions) {
            self.outbox.steps_since_check += 1;
            if self.outbox.steps_since_check >= STEPS_BETWEEN_WALKS {
                self.outbox.steps_since_check = 0;
                self.check_whole_state();
            }
        }
        let violations = &mut self.outbox.violations;
        self.cluster.scheduler.report_violations(violations);
        self.submissions.report_violations(violations);
        self.applications.report_violations(violations);
        if let Some(market) = &mut self.market {
            market.accounts.report_violations(violations);
        }
        self.outbox.report_violations();
    }

    /// Compares every count with a recount.
    pub(in crate::engine) fn check_whole_state(&mut self) {
        let mut violations = std::mem::take(&mut self.outbox.violations);
        self.cluster.scheduler.check_sums(&mut violations);
        if let Some(market) = &self.market {
            market.accounts.check_accounts(&mut violations);
        }
        self.check_usage(&mut violations);
        self.check_flaky(&mut violations);
        self.jobs.check_live(&mut violations);
        self.applications.check_container_counts(&mut violations);
        self.applications.check_live_bytes(&mut violations);
        self.trackers.check_busy_slots(&mut violations);
        self.outbox.violations = violations;
    }

    /// What is listed of jobs with flaky hosts is what a walk over all jobs finds.
    fn check_flaky(&self, violations: &mut Violations) {
        let is_flaky = |job: &&Job| !job.is_over() && job.flaky_hosts().next().is_some();
        let found: BTreeSet<JobId> = self.jobs.iter().filter(is_flaky).map(|job| job.id).collect();
        let listed = &self.cluster.housekeeping.flaky;
        violations.check(found == *listed, || format!("jobs with flaky hosts: {found:?}, listed are {listed:?}"));
    }

    /// The scheduler counts for each app and each tracker what the attempts of jobs hold.
    fn check_usage(&self, violations: &mut Violations) {
        let mut on_trackers: BTreeMap<TrackerId, PerKind<u32>> = BTreeMap::new();
        for job in self.jobs.iter() {
            let (kept, counted) = (self.cluster.scheduler.app_running(job.app), job.running());
            violations.check(kept == counted, || {
                format!("{} runs {counted:?} attempts, the scheduler counts {kept:?}", job.id)
            });
            violations.check(!(job.is_over() && job.has_live_attempt()), || {
                format!("{} is over and has an attempt that is not", job.id)
            });
            let mut held: PerKind<u32> = PerKind::default();
            for kind in Kind::ALL {
                for attempt in job.running_attempts(kind) {
                    held[kind] += attempt.slots;
                    on_trackers.entry(attempt.tracker).or_default()[kind] += attempt.slots;
                }
            }
            let kept = self.cluster.scheduler.app_usage(job.app);
            violations
                .check(kept == held, || format!("{} holds {held:?} slots, the scheduler counts {kept:?}", job.id));
        }
        for (tracker, kept) in self.cluster.scheduler.held_by_node().collect::<BTreeMap<_, _>>() {
            let counted = on_trackers.get(&tracker).copied().unwrap_or_default();
            violations.check(kept == counted, || {
                format!("attempts hold {counted:?} slots of {tracker}, the scheduler counts {kept:?}")
            });
        }
    }
}
