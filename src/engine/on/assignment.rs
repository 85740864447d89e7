//! Assignment of tasks to a tracker: cleanups and setups first, then the scheduler's grants (1.2.1
//! `JobTracker.getSetupAndCleanupTasks`, `TaskScheduler.assignTasks`).

use std::collections::BTreeSet;

use crate::engine::core::Engine;
use crate::engine::state::Outbox;
use crate::mapreduce::{Job, Launch};
use crate::model::{JobId, Kind, Now, TrackerId};
use crate::scheduler::{AppId, LaunchRules, NodeOffer};
use crate::wire::Task;

use super::logged_grants::LoggedGrants;

/// Most jobs that are checked for a setup or cleanup on one tracker.
const MAX_CANDIDATES: usize = 100;

#[derive(Default)]
pub(super) struct Assignment {
    pub(super) launches: Vec<(AppId, Launch)>,
    /// The launches in the wire type.
    pub(super) tasks: Vec<Task>,
}

impl Engine {
    pub(super) fn assign_tasks(&mut self, id: TrackerId, now: Now) -> Assignment {
        let Some(tracker) = self.trackers.get(id) else { return Assignment::default() };
        let (mut free, name) = (tracker.offered(), tracker.name.clone());
        let LaunchRules { is_housekeeping_alone, offers_full_nodes, .. } = self.cluster.scheduler.launch_rules();
        let mut launches = Vec::new();
        'kinds: for kind in Kind::ALL {
            // Containers may have taken the room of its slots.
            while free[kind] > 0 && self.cluster.scheduler.slot_room(id).is_none_or(|room| room > 0) {
                let Some(launch) = self.assign_housekeeping(kind, id, now) else { break };
                launches.push(launch);
                free[kind] -= 1;
                if is_housekeeping_alone {
                    break 'kinds;
                }
            }
        }
        if (!is_housekeeping_alone || launches.is_empty()) && (free.map > 0 || free.reduce > 0 || offers_full_nodes) {
            self.log_heartbeat(&name);
            let Outbox { violations, event_lines: lines, .. } = &mut self.outbox;
            let grants = self.jobs.grant_source(&self.cluster.nodes, now, violations);
            let mut granting = LoggedGrants { grants, lines, tracker: &name };
            let report = self.cluster.scheduler.assign_slots(NodeOffer { node: id, free, now }, &mut granting);
            launches.append(&mut granting.grants.launches);
            if let Some(market) = self.market.as_mut().filter(|_| report.leaves_maps_free) {
                market.accounts.note_free_maps();
            }
        }
        self.tallies.launched += launches.len() as u64;
        let mut tasks = Vec::with_capacity(launches.len());
        for (app, launch) in &launches {
            let Some(job) = self.jobs.by_app(*app) else { continue };
            self.cluster.scheduler.set_pending(*app, job.hadoop_pending());
            tasks.push(job.wire_task(launch));
        }
        Assignment { launches, tasks }
    }

    /// Looks for stragglers in jobs whose check is due.
    pub(super) fn check_stragglers_when_due(&mut self, now: Now) {
        while let Some(check) =
            self.cluster.housekeeping.straggler_checks.first().copied().filter(|(due, _)| *due <= now.mono_ms)
        {
            self.cluster.housekeeping.straggler_checks.remove(&check);
            if let Some(job) = self.jobs.get_mut(check.1) {
                job.check_stragglers(&mut self.cluster.job_context(&mut self.outbox, now));
            }
        }
    }

    /// Launches a task outside of the scheduler's grants: a job's cleanup, a task-cleanup or a job's setup; jobs by id.
    fn assign_housekeeping(&mut self, kind: Kind, tracker: TrackerId, now: Now) -> Option<(AppId, Launch)> {
        if let Some(id) = self.first_suitable(&self.cluster.housekeeping.cleanup, |job| {
            job.can_clean_up_on(kind, tracker, &self.cluster.nodes)
        }) {
            let job = self.jobs.get_mut(id)?;
            return Some((
                job.app,
                job.launch_cleanup(kind, tracker, &mut self.cluster.job_context(&mut self.outbox, now)),
            ));
        }
        if let Some(id) = self.first_suitable(&self.cluster.housekeeping.task_cleanup[kind], |job| {
            !job.avoids(kind, tracker, &self.cluster.nodes)
        }) {
            let job = self.jobs.get_mut(id)?;
            return Some((
                job.app,
                job.launch_task_cleanup(kind, tracker, &mut self.cluster.job_context(&mut self.outbox, now))?,
            ));
        }
        let id = self.first_suitable(&self.cluster.housekeeping.setup, |job| {
            job.can_set_up_on(kind, tracker, &self.cluster.nodes)
        })?;
        let job = self.jobs.get_mut(id)?;
        Some((job.app, job.launch_setup(kind, tracker, &mut self.cluster.job_context(&mut self.outbox, now))))
    }

    /// The first suitable job of the first `MAX_CANDIDATES`; jobs behind them are left to other trackers.
    fn first_suitable(&self, candidates: &BTreeSet<JobId>, is_suitable: impl Fn(&Job) -> bool) -> Option<JobId> {
        let mut candidates = candidates.iter().take(MAX_CANDIDATES).copied();
        candidates.find(|id| self.jobs.get(*id).is_some_and(&is_suitable))
    }
}
