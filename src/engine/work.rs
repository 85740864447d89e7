//! Which work a tracker gets: cleanups and setups first, then what the scheduler grants (1.2.1
//! `JobTracker.getSetupAndCleanupTasks`, `TaskScheduler.assignTasks`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::mapreduce::{Job, JobFact, Launch};
use crate::model::{AttemptId, JobId, Kind, Now};
use crate::scheduler::{AppId, NodeId, NodeOffer};
use crate::wire::Task;

use super::engine::{Engine, job_context};

/// How many jobs are asked whether their setup or cleanup may run on a node.
const MAX_ASKED: usize = 100;

// === impl Engine: work ===

impl Engine {
    /// Fills the free slots of a tracker; the launches are kept for [`Self::launch_facts`].
    pub(super) fn give_work(&mut self, name: &Arc<str>, node: NodeId, now: Now) -> Vec<Task> {
        let Some(tracker) = self.trackers.get(name) else { return Vec::new() };
        let mut free = tracker.free();
        let compatible = self.config.policy.is_compatible();
        self.launches.clear();
        'kinds: for kind in Kind::ALL {
            while free[kind] > 0 {
                let Some((app, launch)) = self.launch_aside(kind, node, now) else { break };
                self.launches.push((app, launch));
                free[kind] -= 1;
                if compatible {
                    // The original gives one such task a heartbeat, and nothing else with it.
                    break 'kinds;
                }
            }
        }
        if (!compatible || self.launches.is_empty()) && (free.map > 0 || free.reduce > 0) {
            let mut granting = self.jobs.grant_source(&self.nodes, now);
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

    /// Jobs whose first minute has passed may have tasks that lag.
    pub(super) fn look_for_stragglers_when_due(&mut self, now: Now) {
        while let Some(check) =
            self.housekeeping.straggler_checks.first().copied().filter(|(due, _)| *due <= now.mono_ms)
        {
            self.housekeeping.straggler_checks.remove(&check);
            if let Some(job) = self.jobs.get_mut(check.1) {
                job.check_stragglers(&mut job_context!(self, now));
            }
        }
    }

    /// A task that the scheduler does not give out: a job's cleanup, a task-cleanup, a job's setup; jobs by id.
    fn launch_aside(&mut self, kind: Kind, node: NodeId, now: Now) -> Option<(AppId, Launch)> {
        if let Some(id) =
            self.first_that(&self.housekeeping.cleanup, |job| job.can_clean_up_on(kind, node, &self.nodes))
        {
            let job = self.jobs.get_mut(id)?;
            return Some((job.app, job.launch_cleanup(kind, node, &mut job_context!(self, now))));
        }
        if let Some(id) =
            self.first_that(&self.housekeeping.task_cleanup[kind], |job| !job.avoids(kind, node, &self.nodes))
        {
            let job = self.jobs.get_mut(id)?;
            return Some((job.app, job.launch_task_cleanup(kind, node, &mut job_context!(self, now))?));
        }
        let id = self.first_that(&self.housekeeping.setup, |job| job.can_set_up_on(kind, node, &self.nodes))?;
        let job = self.jobs.get_mut(id)?;
        Some((job.app, job.launch_setup(kind, node, &mut job_context!(self, now))))
    }

    /// The first of the jobs that suits; those far behind many that do not are left to other nodes.
    fn first_that(&self, wanting: &BTreeSet<JobId>, suits: impl Fn(&Job) -> bool) -> Option<JobId> {
        let mut asked = wanting.iter().take(MAX_ASKED).copied();
        asked.find(|id| self.jobs.get(*id).is_some_and(&suits))
    }

    /// The facts of the launches just given to a tracker.
    pub(super) fn launch_facts(&mut self, name: &Arc<str>, response_id: i16, now: Now) -> Vec<(JobFact, AttemptId)> {
        let launches = std::mem::take(&mut self.launches);
        let facts = launches.iter().filter_map(|(app, launch)| {
            let job = self.jobs.by_app(*app)?;
            Some((job.launch_fact(launch, name.clone(), response_id, now.wall_ms), launch.attempt))
        });
        facts.collect()
    }
}
