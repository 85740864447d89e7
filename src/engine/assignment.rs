//! Assignment of tasks to a tracker: cleanups and setups first, then the scheduler's grants (1.2.1
//! `JobTracker.getSetupAndCleanupTasks`, `TaskScheduler.assignTasks`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::mapreduce::{Job, JobFact, Launch};
use crate::model::{AttemptId, JobId, Kind, Now};
use crate::scheduler::{AppId, NodeId, NodeOffer};
use crate::wire::Task;

use super::engine::{Engine, job_context};

/// Most jobs that are checked for a setup or cleanup on one node.
const MAX_CANDIDATES: usize = 100;

// === impl Engine: assignment ===

impl Engine {
    /// Fills the free slots of a tracker; keeps the launches for [`Self::launch_facts`].
    pub(super) fn assign_tasks(&mut self, name: &Arc<str>, node: NodeId, now: Now) -> Vec<Task> {
        let Some(tracker) = self.trackers.get(name) else { return Vec::new() };
        let mut free = tracker.free();
        let compatible = self.config.policy.is_compatible();
        self.launches.clear();
        'kinds: for kind in Kind::ALL {
            while free[kind] > 0 {
                let Some((app, launch)) = self.assign_housekeeping(kind, node, now) else { break };
                self.launches.push((app, launch));
                free[kind] -= 1;
                if compatible {
                    // 1.2.1 assigns one such task a heartbeat, and no other task with it.
                    break 'kinds;
                }
            }
        }
        if (!compatible || self.launches.is_empty()) && (free.map > 0 || free.reduce > 0) {
            let mut granting = self.jobs.grant_source(&self.nodes, now, &mut self.invariants.violations);
            self.scheduler.assign_slots(NodeOffer { node, free }, &mut granting);
            self.launches.extend(granting.launches);
        }
        self.tallies.launched += self.launches.len() as u64;
        let mut tasks = Vec::with_capacity(self.launches.len());
        for (app, launch) in &self.launches {
            let Some(job) = self.jobs.by_app(*app) else { continue };
            self.scheduler.set_pending(*app, job.pending());
            tasks.push(job.wire_task(launch));
        }
        tasks
    }

    /// Looks for stragglers in jobs whose check is due.
    pub(super) fn check_stragglers_when_due(&mut self, now: Now) {
        while let Some(check) =
            self.housekeeping.straggler_checks.first().copied().filter(|(due, _)| *due <= now.mono_ms)
        {
            self.housekeeping.straggler_checks.remove(&check);
            if let Some(job) = self.jobs.get_mut(check.1) {
                job.check_stragglers(&mut job_context!(self, now));
            }
        }
    }

    /// Launches a task outside of the scheduler's grants: a job's cleanup, a task-cleanup or a job's setup; jobs by id.
    fn assign_housekeeping(&mut self, kind: Kind, node: NodeId, now: Now) -> Option<(AppId, Launch)> {
        if let Some(id) =
            self.first_suitable(&self.housekeeping.cleanup, |job| job.can_clean_up_on(kind, node, &self.nodes))
        {
            let job = self.jobs.get_mut(id)?;
            return Some((job.app, job.launch_cleanup(kind, node, &mut job_context!(self, now))));
        }
        if let Some(id) =
            self.first_suitable(&self.housekeeping.task_cleanup[kind], |job| !job.avoids(kind, node, &self.nodes))
        {
            let job = self.jobs.get_mut(id)?;
            return Some((job.app, job.launch_task_cleanup(kind, node, &mut job_context!(self, now))?));
        }
        let id = self.first_suitable(&self.housekeeping.setup, |job| job.can_set_up_on(kind, node, &self.nodes))?;
        let job = self.jobs.get_mut(id)?;
        Some((job.app, job.launch_setup(kind, node, &mut job_context!(self, now))))
    }

    /// The first suitable job of the first `MAX_CANDIDATES`; jobs behind them are left to other nodes.
    fn first_suitable(&self, candidates: &BTreeSet<JobId>, is_suitable: impl Fn(&Job) -> bool) -> Option<JobId> {
        let mut candidates = candidates.iter().take(MAX_CANDIDATES).copied();
        candidates.find(|id| self.jobs.get(*id).is_some_and(&is_suitable))
    }

    /// The facts of the launches just assigned to a tracker.
    pub(super) fn launch_facts(&mut self, name: &Arc<str>, response_id: i16, now: Now) -> Vec<(JobFact, AttemptId)> {
        let launches = std::mem::take(&mut self.launches);
        let facts = launches.iter().filter_map(|(app, launch)| {
            let job = self.jobs.by_app(*app)?;
            Some((job.launch_fact(launch, name.clone(), response_id, now.wall_ms), launch.attempt))
        });
        facts.collect()
    }
}
