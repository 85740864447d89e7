//! Jobs that wait until the policy lets them begin: accepted, PREP for clients, without tasks (1.2.1
//! `EagerTaskInitializationListener`, `JobInitializationPoller`).

use std::collections::BTreeSet;

use crate::engine::core::Engine;
use crate::mapreduce::{Job, StoredJob};
use crate::model::Now;
use crate::scheduler::AppId;

impl Engine {
    /// Begins the jobs that the policy lets begin now. Called after each event, since any may make room.
    pub(super) fn begin_jobs(&mut self, now: Now) {
        for app in self.cluster.scheduler.begin_apps(now) {
            let Some(splits) = self.jobs.by_app(app).map(|job| job.splits.clone()) else { continue };
            self.learn_racks(&splits, now);
            if let Some(job) = self.jobs.by_app_mut(app) {
                job.begin(self.cluster.scheduler.topology_mut(), &mut self.cluster.housekeeping);
            }
        }
    }

    /// Begins jobs of an earlier run that had begun, and those that the policy lets begin now; the others wait.
    pub(super) fn begin_restored_jobs(&mut self, jobs: &mut [(Job, StoredJob)], now: Now) {
        for (job, _) in jobs.iter().filter(|(_, stored)| stored.has_begun()) {
            self.cluster.scheduler.resume_app(job.app);
        }
        let beginners: BTreeSet<AppId> = self.cluster.scheduler.begin_apps(now).into_iter().collect();
        for (job, stored) in jobs {
            if stored.has_begun() || beginners.contains(&job.app) {
                self.learn_racks(&job.splits, now);
                job.begin(self.cluster.scheduler.topology_mut(), &mut self.cluster.housekeeping);
            }
        }
    }
}
