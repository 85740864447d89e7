//! All jobs the daemon knows, and how grants of the scheduler become their attempts.

use rustc_hash::FxHashMap;

use crate::model::{JobId, Kind, Now, TrackerId, Violations};
use crate::scheduler::{AppId, Distance, GrantResult, GrantSource};

use super::{Job, Launch, NodeRegistry};

#[derive(Debug, Default)]
pub(crate) struct Jobs {
    // Looked up, never iterated.
    by_app: FxHashMap<AppId, Box<Job>>,
    by_id: std::collections::BTreeMap<JobId, AppId>,
    last_app: u32,
}

/// The jobs during an assignment of one tracker's slots; collects the launches.
pub(crate) struct JobGrants<'a> {
    jobs: &'a mut Jobs,
    nodes: &'a NodeRegistry,
    now: Now,
    violations: &'a mut Violations,
    pub(crate) launches: Vec<(AppId, Launch)>,
}

impl Jobs {
    pub(crate) fn next_app_id(&mut self) -> AppId {
        self.last_app = self.last_app.wrapping_add(1);
        AppId::new(self.last_app)
    }

    pub(crate) fn insert(&mut self, job: Job) {
        self.by_id.insert(job.id, job.app);
        self.by_app.insert(job.app, Box::new(job));
    }

    pub(crate) fn remove(&mut self, id: JobId) -> Option<Box<Job>> {
        let app = self.by_id.remove(&id)?;
        self.by_app.remove(&app)
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.by_app.get(self.by_id.get(&id)?).map(|job| &**job)
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> Option<&mut Job> {
        self.by_app.get_mut(self.by_id.get(&id)?).map(|job| &mut **job)
    }

    pub(crate) fn by_app(&self, app: AppId) -> Option<&Job> {
        self.by_app.get(&app).map(|job| &**job)
    }

    pub(crate) fn by_app_mut(&mut self, app: AppId) -> Option<&mut Job> {
        self.by_app.get_mut(&app).map(|job| &mut **job)
    }

    /// All jobs, by id. For queries, never for a heartbeat.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Job> {
        self.by_id.values().filter_map(|app| self.by_app.get(app).map(|job| &**job))
    }

    /// Jobs with a greater id, or all, by id. For queries, never for a heartbeat.
    pub(crate) fn iter_after(&self, id: Option<JobId>) -> impl Iterator<Item = &Job> {
        use std::ops::Bound::{Excluded, Unbounded};
        let range = self.by_id.range((id.map_or(Unbounded, Excluded), Unbounded));
        range.filter_map(|(_, app)| self.by_app.get(app).map(|job| &**job))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn grant_source<'a>(
        &'a mut self,
        nodes: &'a NodeRegistry,
        now: Now,
        violations: &'a mut Violations,
    ) -> JobGrants<'a> {
        JobGrants { jobs: self, nodes, now, violations, launches: Vec::new() }
    }
}

impl JobGrants<'_> {
    pub(crate) fn job(&self, app: AppId) -> Option<JobId> {
        self.jobs.by_app(app).map(|job| job.id)
    }
}

impl GrantSource for JobGrants<'_> {
    fn take_task(&mut self, app: AppId, kind: Kind, tracker: TrackerId, distance: Distance) -> GrantResult {
        let Some(job) = self.jobs.by_app.get_mut(&app) else { return GrantResult::NoTask };
        let Some((number, hosts)) = job.take_task(kind, tracker, distance, self.nodes) else {
            return GrantResult::NoTask;
        };
        let level = job.task_level(kind, number, tracker, self.nodes);
        let (launch, origin) = job.launch_task(kind, number, tracker, self.nodes, self.now, self.violations);
        self.launches.push((app, launch));
        GrantResult::Task { hosts, level, origin, slots: launch.slots }
    }
}
