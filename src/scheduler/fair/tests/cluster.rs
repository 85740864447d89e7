//! Trackers of two map and two reduce slots, jobs of numbered tasks, and a clock that tests advance.

use std::collections::BTreeSet;

use crate::model::{Kind, Now, PerKind, TrackerId};
use crate::scheduler::fair::allocation_file::AllocationFile;
use crate::scheduler::fair::heartbeat_plan::HeartbeatCaps;
use crate::scheduler::fair::locality_wait::LocalityDelayRule;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::tests::kit;
use crate::scheduler::{AppId, AppSize, AppSpec, Hold, Scheduler};

/// `VERY_HIGH` is 0.
pub(super) const HIGH: u8 = 1;
pub(super) const NORMAL: u8 = 2;

const NODE_DELAY_MS: u64 = 5_000;
const RACK_DELAY_MS: u64 = 10_000;

pub(super) fn single() -> FairOptions {
    FairOptions { heartbeat_caps: HeartbeatCaps { assigns_multiple: false, max: PerKind::default() }, ..multiple() }
}

pub(super) fn multiple() -> FairOptions {
    FairOptions {
        delays: LocalityDelayRule { node_ms: Some(NODE_DELAY_MS), rack_ms: Some(RACK_DELAY_MS) },
        update_interval_ms: 0,
        ..FairOptions::default()
    }
}

pub(super) struct Cluster {
    kit: kit::Cluster,
    trackers: Vec<TrackerId>,
}

impl Cluster {
    /// Trackers on hosts of their own, in so many racks of equal size.
    pub(super) fn new(options: FairOptions, file: &str, trackers: usize, racks: usize) -> Self {
        let file = AllocationFile::parse(&format!("<allocations>{file}</allocations>")).unwrap();
        let now = Now { mono_ms: 0, wall_ms: 0 };
        let mut kit = kit::Cluster { now, ..kit::Cluster::new(Scheduler::fair(options, file.allocations)) };
        let tracker = |number: usize| {
            let rack = format!("/rack{}", number * racks / trackers + 1);
            let host = kit.host_in(&format!("host{}", number + 1), &rack);
            kit.add_node(host, PerKind::new(2, 2))
        };
        let trackers = (0..trackers).map(tracker).collect();
        Self { kit, trackers }
    }

    /// Two trackers in one rack, one task a heartbeat.
    pub(super) fn small(file: &str) -> Self {
        Self::new(single(), file, 2, 1)
    }

    pub(super) fn advance_ms(&mut self, ms: u64) {
        self.kit.advance_ms(ms);
    }

    pub(super) fn update(&mut self) {
        self.kit.scheduler.tick(self.kit.now);
    }

    /// Submits the next job, `j1` first, a hundred milliseconds after the one before; its maps have their input on the
    /// hosts of these trackers, from 1.
    pub(super) fn submit_at(
        &mut self,
        pool: &str,
        tasks: (u32, u32),
        priority: u8,
        user: &str,
        hosts: &[usize],
    ) -> u32 {
        self.advance_ms(100);
        let number = self.kit.jobs.jobs.len() as u32 + 1;
        let plain = AppSpec::plain(AppId::new(number), self.kit.scheduler.open_group(pool));
        let (start_ms, order) = (self.kit.now.wall_ms, number.into());
        let id = self.kit.add_job(AppSpec { user: user.into(), priority, start_ms, order, ..plain });
        let count = PerKind::new(tasks.0, tasks.1);
        self.kit.scheduler.set_size(id, AppSize { tasks: count, unfinished: count, left: count });
        let hosts: Vec<_> = hosts.iter().map(|tracker| self.kit.jobs.nodes[&self.trackers[tracker - 1]].host).collect();
        self.kit.add_tasks(id, Kind::Map, &hosts, tasks.0, &BTreeSet::new());
        self.kit.add_tasks(id, Kind::Reduce, &[], tasks.1, &BTreeSet::new());
        number
    }

    pub(super) fn request_second_attempt(&mut self, job: u32) {
        self.kit.scheduler.request_second_attempt(AppId::new(job), Kind::Map);
    }

    /// What each pool wants of a kind by preemption now, by name.
    pub(super) fn wanted(&self, kind: Kind) -> Vec<(String, u32)> {
        let claims = self.kit.scheduler.pool_claims(kind, self.kit.now);
        let mut wanted: Vec<_> = claims.pools.into_iter().map(|claim| (claim.name, claim.wanted.slots())).collect();
        wanted.sort();
        wanted
    }

    pub(super) fn set_heartbeat_interval_ms(&mut self, interval_ms: u64) {
        self.kit.scheduler.set_heartbeat_interval_ms(interval_ms);
    }

    /// A job of the first user, of normal priority, whose maps may run anywhere.
    pub(super) fn submit(&mut self, pool: &str, maps: u32, reduces: u32) -> u32 {
        self.submit_at(pool, (maps, reduces), NORMAL, "user1", &[])
    }

    pub(super) fn begin(&mut self) -> Vec<u32> {
        self.kit.scheduler.begin_apps(self.kit.now).into_iter().map(AppId::get).collect()
    }

    /// A heartbeat of a tracker, from 1; returns what it was given.
    pub(super) fn beat(&mut self, tracker: usize) -> Vec<String> {
        let (_, questions) = self.kit.offer(self.trackers[tracker - 1]);
        let given = questions.into_iter().filter_map(|question| question.given);
        given.map(|task| self.name_of(task)).collect()
    }

    /// Such as `m0/j1` of the first map of the first job.
    fn name_of(&self, task: usize) -> String {
        let (tasks, kit::Task { app, kind, .. }) = (&self.kit.jobs.tasks, &self.kit.jobs.tasks[task]);
        let number = tasks[..task].iter().filter(|other| (other.app, other.kind) == (*app, *kind)).count();
        let letter = if *kind == Kind::Map { 'm' } else { 'r' };
        format!("{letter}{number}/j{}", app.get())
    }

    pub(super) fn fill(&mut self, tracker: usize) -> Vec<String> {
        let mut given = Vec::new();
        loop {
            let more = self.beat(tracker);
            if more.is_empty() {
                return given;
            }
            given.extend(more);
        }
    }

    pub(super) fn finish(&mut self, job: u32, kind: Kind, count: usize) {
        let is_it = |task: &kit::Task| task.app == AppId::new(job) && task.kind == kind;
        let running = self.kit.jobs.tasks_in(|state| matches!(state, kit::State::Running(_)));
        let ended: Vec<usize> =
            running.into_iter().filter(|&task| is_it(&self.kit.jobs.tasks[task])).take(count).collect();
        assert_eq!(ended.len(), count);
        ended.into_iter().for_each(|task| assert!(self.kit.stop(task)));
    }

    /// Decides the end of a job; its attempts keep their slots.
    pub(super) fn remove(&mut self, job: u32) {
        self.kit.scheduler.remove_app(AppId::new(job));
    }

    pub(super) fn end(&mut self, job: u32) {
        self.kit.scheduler.end_app(AppId::new(job));
    }

    pub(super) fn running(&self, job: u32) -> PerKind<u32> {
        self.kit.scheduler.app_running(AppId::new(job))
    }

    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.kit.scheduler
    }

    pub(super) fn holds(&self, job: u32) -> Vec<Hold> {
        self.kit.scheduler.holds(AppId::new(job), self.kit.now)
    }

    pub(super) fn set_priority(&mut self, job: u32, priority: u8) {
        self.kit.scheduler.set_priority(AppId::new(job), priority);
    }
}

/// The jobs of what was given of a kind, in order.
pub(super) fn jobs_of(given: &[String], letter: char) -> Vec<u32> {
    let of_kind = given.iter().filter(|task| task.starts_with(letter));
    of_kind.map(|task| task.split_once("/j").unwrap().1.parse().unwrap()).collect()
}
