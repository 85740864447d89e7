//! Invariants over the whole state, and the report of all that were found broken.
//!
//! Where a count, a balance or a state changes, that place checks the change, in every build. What needs a walk over all
//! jobs, nodes or accounts is checked here, in builds with debug assertions, once in a while.

use std::collections::BTreeMap;

use crate::model::{Kind, PerKind, Violations};
use crate::scheduler::NodeId;

use super::Effect;
use super::engine::Engine;
use super::limits::Limits;

/// Steps between two walks over the whole state.
const STEPS_BETWEEN_WALKS: u32 = 64;

/// Invariants found broken since the last step.
#[derive(Debug, Default)]
pub(super) struct Invariants {
    pub(super) violations: Violations,
    steps_since_walk: u32,
}

// === impl Engine: invariants ===

impl Engine {
    /// Reports the invariants that this step broke as effects.
    pub(super) fn check_invariants(&mut self) {
        if cfg!(debug_assertions) {
            self.invariants.steps_since_walk += 1;
            if self.invariants.steps_since_walk >= STEPS_BETWEEN_WALKS {
                self.invariants.steps_since_walk = 0;
                self.check_whole_state();
            }
        }
        let violations = &mut self.invariants.violations;
        self.scheduler.report_violations(violations);
        violations.append(&mut self.reserved_ids.violations);
        if let Some(market) = &mut self.market {
            market.report_violations(violations);
        }
        if !violations.is_empty() {
            self.effects.extend(violations.take().into_iter().map(Effect::ReportBrokenInvariant));
        }
    }

    /// Compares every count with a recount.
    pub(super) fn check_whole_state(&mut self) {
        let mut violations = std::mem::take(&mut self.invariants.violations);
        self.scheduler.check_sums(&mut violations);
        if let Some(market) = &self.market {
            market.check_accounts(&mut violations);
        }
        self.check_usage(&mut violations);
        self.check_live_jobs(&mut violations);
        self.check_busy_slots(&mut violations);
        self.invariants.violations = violations;
    }

    /// The scheduler counts for each app and each node what the attempts of jobs hold.
    fn check_usage(&self, violations: &mut Violations) {
        let mut on_nodes: BTreeMap<NodeId, PerKind<u32>> = BTreeMap::new();
        for job in self.jobs.iter() {
            let (kept, counted) = (self.scheduler.app_running(job.app), job.running());
            violations.check(kept == counted, || {
                format!("{} holds {counted:?} slots, the scheduler counts {kept:?}", job.id)
            });
            for kind in Kind::ALL {
                for attempt in job.running_attempts(kind) {
                    on_nodes.entry(attempt.node).or_default()[kind] += 1;
                }
            }
        }
        for (node, kept) in self.scheduler.running_by_node() {
            let counted = on_nodes.get(&node).copied().unwrap_or_default();
            violations.check(kept == counted, || {
                format!("{counted:?} attempts run on {node}, the scheduler counts {kept:?}")
            });
        }
    }

    fn check_live_jobs(&self, violations: &mut Violations) {
        let live = || self.jobs.iter().filter(|job| !job.is_over());
        let (kept, counted) = (self.live_job_count, live().count() as u64);
        violations.check(kept == counted, || format!("{counted} jobs are unfinished, {kept} are counted"));
        let listed: usize = self.live_jobs.values().map(|jobs| jobs.len()).sum();
        violations.check(listed as u64 == counted, || format!("{counted} jobs are unfinished, {listed} are in queues"));
        let tasks: u64 = live().map(|job| Limits::weight(&job.spec)).sum();
        violations.check(self.live_tasks == tasks, || {
            format!("unfinished jobs have {tasks} tasks, {} are counted", self.live_tasks)
        });
        for id in &self.running_jobs {
            let is_live = self.jobs.get(*id).is_some_and(|job| !job.is_over());
            violations.check(is_live, || format!("{id} counts as running and is not unfinished"));
        }
    }

    fn check_busy_slots(&self, violations: &mut Violations) {
        for kind in Kind::ALL {
            let counted: u64 = self.trackers.values().map(|tracker| u64::from(tracker.busy[kind])).sum();
            let kept = self.busy_slots[kind];
            violations
                .check(kept == counted, || format!("trackers report {counted} busy {kind:?} slots, the sum is {kept}"));
        }
    }
}
