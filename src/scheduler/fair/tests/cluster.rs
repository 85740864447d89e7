//! Trackers of two map and two reduce slots, jobs of numbered tasks, and a clock that tests advance.

use std::collections::BTreeMap;

use crate::model::{Kind, Now, PerKind, TrackerId};
use crate::scheduler::fair::allocation_file::AllocationFile;
use crate::scheduler::fair::heartbeat_plan::HeartbeatCaps;
use crate::scheduler::fair::locality_wait::LocalityDelayRule;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::{
    AppId, AppSize, AppSpec, Distance, GrantResult, GrantSource, Hold, HostId, Level, NodeOffer, Scheduler, TaskOrigin,
};

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
    scheduler: Scheduler,
    jobs: Jobs,
    trackers: Vec<TrackerId>,
    now: Now,
}

#[derive(Default)]
struct Jobs {
    jobs: BTreeMap<AppId, Tasks>,
    racks: BTreeMap<TrackerId, (HostId, String)>,
    hosts: BTreeMap<HostId, String>,
    /// `m0/j1`, in order.
    given: Vec<String>,
}

#[derive(Default)]
struct Tasks {
    waiting: PerKind<Vec<u32>>,
    running: Vec<(Kind, u32, TrackerId)>,
    /// Hosts with the input of its maps.
    hosts: Vec<HostId>,
}

impl GrantSource for Jobs {
    fn take_task(&mut self, app: AppId, kind: Kind, node: TrackerId, distance: Distance) -> GrantResult {
        let level = self.level(app, kind, node);
        let Some(tasks) = self.jobs.get_mut(&app) else { return GrantResult::NoTask };
        if tasks.waiting[kind].is_empty() || level > distance.farthest {
            return GrantResult::NoTask;
        }
        let number = tasks.waiting[kind].remove(0);
        tasks.running.push((kind, number, node));
        let letter = if kind == Kind::Map { 'm' } else { 'r' };
        self.given.push(format!("{letter}{number}/j{}", app.get()));
        let hosts = if kind == Kind::Map { tasks.hosts.as_slice().into() } else { [].into() };
        GrantResult::Task { hosts, level, origin: TaskOrigin::Fresh, slots: 1 }
    }
}

impl Jobs {
    fn level(&self, app: AppId, kind: Kind, node: TrackerId) -> Level {
        let (host, rack) = &self.racks[&node];
        let hosts = &self.jobs[&app].hosts;
        match kind {
            Kind::Map if hosts.contains(host) => Level::Node,
            Kind::Map if hosts.iter().any(|other| self.hosts[other] == *rack) => Level::Rack,
            _ => Level::Any,
        }
    }
}

impl Cluster {
    /// Trackers on hosts of their own, in so many racks of equal size.
    pub(super) fn new(options: FairOptions, file: &str, trackers: usize, racks: usize) -> Self {
        let file = AllocationFile::parse(&format!("<allocations>{file}</allocations>")).unwrap();
        let mut scheduler = Scheduler::fair(options, file.allocations);
        let (mut jobs, mut ids) = (Jobs::default(), Vec::new());
        for number in 0..trackers {
            let rack = format!("/rack{}", number * racks / trackers + 1);
            let host = scheduler.topology_mut().intern_host(&format!("host{}", number + 1), &rack);
            let id = scheduler.add_node(host, PerKind::new(2, 2));
            jobs.racks.insert(id, (host, rack.clone()));
            jobs.hosts.insert(host, rack);
            ids.push(id);
        }
        Self { scheduler, jobs, trackers: ids, now: Now { mono_ms: 0, wall_ms: 0 } }
    }

    /// Two trackers in one rack, one task a heartbeat.
    pub(super) fn small(file: &str) -> Self {
        Self::new(single(), file, 2, 1)
    }

    pub(super) fn advance_ms(&mut self, ms: u64) {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms as i64;
    }

    pub(super) fn update(&mut self) {
        self.scheduler.tick(self.now);
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
        let number = self.jobs.jobs.len() as u32 + 1;
        let (id, group) = (AppId::new(number), self.scheduler.open_group(pool));
        let spec = AppSpec {
            id,
            group,
            user: user.into(),
            priority,
            start_ms: self.now.wall_ms,
            order: number.into(),
            slots_per_task: AppSpec::ONE_SLOT,
        };
        self.scheduler.add_app(spec).unwrap();
        let count = PerKind::new(tasks.0, tasks.1);
        self.scheduler.set_size(id, AppSize { tasks: count, unfinished: count, left: count });
        let hosts: Vec<HostId> = hosts.iter().map(|tracker| self.jobs.racks[&self.trackers[tracker - 1]].0).collect();
        self.scheduler.request_slots(id, Kind::Map, &hosts, tasks.0);
        self.scheduler.request_slots(id, Kind::Reduce, &[], tasks.1);
        let waiting = PerKind::new((0..tasks.0).collect(), (0..tasks.1).collect());
        self.jobs.jobs.insert(id, Tasks { waiting, running: Vec::new(), hosts });
        number
    }

    pub(super) fn request_second_attempt(&mut self, job: u32) {
        self.scheduler.request_second_attempt(AppId::new(job), Kind::Map);
    }

    /// What each pool wants of a kind by preemption now, by name.
    pub(super) fn wanted(&self, kind: Kind) -> Vec<(String, u32)> {
        let claims = self.scheduler.pool_claims(kind, self.now);
        let mut wanted: Vec<_> = claims.pools.into_iter().map(|claim| (claim.name, claim.wanted.slots())).collect();
        wanted.sort();
        wanted
    }

    pub(super) fn set_heartbeat_interval_ms(&mut self, interval_ms: u64) {
        self.scheduler.set_heartbeat_interval_ms(interval_ms);
    }

    /// A job of the first user, of normal priority, whose maps may run anywhere.
    pub(super) fn submit(&mut self, pool: &str, maps: u32, reduces: u32) -> u32 {
        self.submit_at(pool, (maps, reduces), NORMAL, "user1", &[])
    }

    pub(super) fn begin(&mut self) -> Vec<u32> {
        self.scheduler.begin_apps(self.now).into_iter().map(AppId::get).collect()
    }

    /// A heartbeat of a tracker, from 1; returns what it was given.
    pub(super) fn beat(&mut self, tracker: usize) -> Vec<String> {
        let node = self.trackers[tracker - 1];
        let running = |kind: Kind| {
            let all = self.jobs.jobs.values().flat_map(|tasks| &tasks.running);
            all.filter(|(other, _, at)| *other == kind && *at == node).count() as u32
        };
        let free = PerKind::new(2 - running(Kind::Map), 2 - running(Kind::Reduce));
        let before = self.jobs.given.len();
        self.scheduler.assign_slots(NodeOffer { node, free, now: self.now }, &mut self.jobs);
        self.jobs.given[before..].to_vec()
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
        let id = AppId::new(job);
        for _ in 0..count {
            let running = &mut self.jobs.jobs.get_mut(&id).unwrap().running;
            let at = running.iter().position(|task| task.0 == kind).unwrap();
            let (_, _, node) = running.remove(at);
            self.scheduler.remove_running(id, kind, node, 1);
        }
    }

    /// Decides the end of a job; its attempts keep their slots.
    pub(super) fn remove(&mut self, job: u32) {
        self.scheduler.remove_app(AppId::new(job));
    }

    pub(super) fn end(&mut self, job: u32) {
        self.scheduler.end_app(AppId::new(job));
    }

    pub(super) fn running(&self, job: u32) -> PerKind<u32> {
        self.scheduler.app_running(AppId::new(job))
    }

    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    pub(super) fn holds(&self, job: u32) -> Vec<Hold> {
        self.scheduler.holds(AppId::new(job), self.now)
    }

    pub(super) fn set_priority(&mut self, job: u32, priority: u8) {
        self.scheduler.set_priority(AppId::new(job), priority);
    }
}

/// The jobs of what was given of a kind, in order.
pub(super) fn jobs_of(given: &[String], letter: char) -> Vec<u32> {
    let of_kind = given.iter().filter(|task| task.starts_with(letter));
    of_kind.map(|task| task.split_once("/j").unwrap().1.parse().unwrap()).collect()
}
