//! Laws of the Capacity scheduler, against limits that are computed from a count of all tasks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::model::{Decimal, Kind, PerKind};
use crate::scheduler::capacity::{
    CapacityConfig, JobRank, SlotShare, SlotVerdict, UserLimit, WrittenConfig, WrittenQueue,
};
use crate::scheduler::{AppId, GroupId, Level, Scheduler};

use super::cluster::{Beat, Cluster, Jobs, Stage};
use super::step::{Step, end_all, kinds_with_free_slots, steps, take_step};

pub(super) const QUEUES: usize = 4;
pub(super) const MOST_SLOTS: u32 = 3;

/// Jobs with the reservations that count with them, and the users who are active.
struct Usage<'a> {
    jobs: &'a Jobs,
    reserved_nodes: &'a BTreeMap<AppId, PerKind<u32>>,
    active: BTreeSet<(GroupId, &'a str)>,
    kind: Kind,
    cluster_slots: u64,
    config: &'a CapacityConfig,
    groups: &'a [GroupId],
}

impl<'a> Usage<'a> {
    /// `jobs` in the middle of a heartbeat, at whose beginning they were `before`: users stay active until its end.
    fn new(laws: &'a Laws, beat: &'a Beat<'_>, jobs: &'a Jobs, kind: Kind) -> Self {
        let waits = |(id, _): &(AppId, _)| beat.before.waiting(*id, kind) > 0;
        let active = beat.before.live().filter(waits).map(|(_, job)| (job.spec.group, &*job.spec.user)).collect();
        let cluster_slots = beat.before.nodes.values().map(|node| u64::from(node.slots[kind])).sum();
        let Laws { config, groups, .. } = laws;
        Self { jobs, reserved_nodes: &beat.reserved_nodes, active, kind, cluster_slots, config, groups }
    }

    fn share(&self, queue: GroupId) -> SlotShare {
        let index = self.groups.iter().position(|group| *group == queue).unwrap();
        self.config.queues()[index].slot_share(self.cluster_slots)
    }

    fn slots_per_task(&self, app: AppId) -> u32 {
        self.jobs.jobs[&app].spec.slots_per_task[self.kind].get()
    }

    fn of_job(&self, app: AppId) -> u32 {
        let held = self.jobs.held(|task, _| task.app == app && task.kind == self.kind);
        held + self.reserved_nodes[&app][self.kind] * self.slots_per_task(app)
    }

    fn of_queue(&self, queue: GroupId) -> u32 {
        self.jobs.live().filter(|(_, job)| job.spec.group == queue).map(|(id, _)| self.of_job(id)).sum()
    }

    /// The fraction by which queues are sorted: what it holds, of its percentage of the slots.
    fn fill(&self, queue: GroupId) -> (u128, u128) {
        let index = self.groups.iter().position(|group| *group == queue).unwrap();
        let percent_millionths = u128::from(self.config.queues()[index].capacity().times(1_000_000));
        match percent_millionths * u128::from(self.cluster_slots) {
            0 => (1, 1),
            whole => (u128::from(self.of_queue(queue)) * 100_000_000, whole),
        }
    }

    fn is_below_capacity(&self, queue: GroupId) -> bool {
        let (part, whole) = self.fill(queue);
        part < whole
    }

    fn verdict(&self, app: AppId) -> SlotVerdict {
        let spec = &self.jobs.jobs[&app].spec;
        let index = self.groups.iter().position(|group| *group == spec.group).unwrap();
        let queue = &self.config.queues()[index];
        let of_user = self.jobs.live().filter(|(_, job)| job.spec.group == spec.group && job.spec.user == spec.user);
        let by_user = of_user.map(|(id, _)| self.of_job(id)).sum();
        let limit = UserLimit {
            share: self.share(spec.group),
            occupied: self.of_queue(spec.group),
            active_users: self.active.iter().filter(|(group, _)| *group == spec.group).count() as u32,
            minimum_percent: queue.minimum_user_limit_percent(),
            factor: queue.user_limit_factor(),
        };
        limit.verdict(by_user, self.slots_per_task(app))
    }

    fn rank(&self, app: AppId) -> JobRank {
        let spec = &self.jobs.jobs[&app].spec;
        let index = self.groups.iter().position(|group| *group == spec.group).unwrap();
        JobRank::new(self.config.queues()[index].supports_priority(), spec.priority, spec.start_ms, spec.order)
    }
}

pub(super) struct Laws {
    config: CapacityConfig,
    groups: Vec<GroupId>,
    /// Apps that no node could run at some time: they have no place among those that have begun.
    were_stuck: RefCell<BTreeSet<AppId>>,
}

impl Laws {
    pub(super) fn new(config: &CapacityConfig, groups: &[GroupId]) -> Self {
        Self { config: config.clone(), groups: groups.to_vec(), were_stuck: RefCell::default() }
    }

    pub(super) fn check(&self, beat: &Beat<'_>) {
        self.check_reservations(beat);
        beat.replay(|jobs, task, refusing, is_reserved| {
            if !is_reserved {
                self.check_grant(beat, jobs, task, refusing);
            }
        });
        let nothing_changed = beat.questions.iter().all(|question| question.given.is_none())
            && Kind::ALL.into_iter().all(|kind| beat.reserved[kind] == beat.reserved_after(kind));
        if nothing_changed {
            kinds_with_free_slots(beat.after, beat.node).for_each(|kind| self.check_idle_slots(beat, kind));
        }
    }

    /// A reserved node goes to its job, and to no other until that can use it.
    fn check_reservations(&self, beat: &Beat<'_>) {
        let free = beat.before.free(beat.node);
        for kind in Kind::ALL {
            let Some(app) = beat.reserved[kind].filter(|_| free[kind] > 0) else { continue };
            let first = beat.questions.iter().find(|question| question.kind == kind);
            let needed = beat.before.jobs[&app].spec.slots_per_task[kind].get();
            if needed <= free[kind] {
                assert_eq!(first.map(|question| (question.app, question.distance.farthest)), Some((app, Level::Any)));
            } else {
                assert!(first.is_none(), "{kind:?} slots reserved for {app} are offered to {first:?}");
                assert_eq!(beat.reserved_after(kind), Some(app));
            }
        }
    }

    fn check_grant(&self, beat: &Beat<'_>, jobs: &Jobs, task: usize, refusing: &BTreeSet<(AppId, Kind)>) {
        let (app, kind) = (jobs.tasks[task].app, jobs.tasks[task].kind);
        let usage = Usage::new(self, beat, jobs, kind);
        assert_eq!(usage.verdict(app), SlotVerdict::Allowed, "{app} gets a {kind:?} slot beyond a limit");
        let queue = jobs.jobs[&app].spec.group;
        let (part, whole) = usage.fill(queue);
        let free = jobs.free(beat.node)[kind];
        for (other, job) in jobs.live().filter(|(other, _)| *other != app && !refusing.contains(&(*other, kind))) {
            let could_use = jobs.nearest(other, kind, beat.node).is_some()
                && usage.slots_per_task(other) <= free
                && usage.verdict(other) == SlotVerdict::Allowed;
            if !could_use {
                continue;
            }
            if job.spec.group == queue {
                assert!(usage.rank(app) < usage.rank(other), "{app} gets a {kind:?} slot before {other} of its queue");
                continue;
            }
            let (other_part, other_whole) = usage.fill(job.spec.group);
            assert!(
                part * other_whole <= other_part * whole,
                "{app} gets a {kind:?} slot, {other} has less of its queue"
            );
            assert!(
                usage.is_below_capacity(queue) || !usage.is_below_capacity(job.spec.group),
                "{app}, not below its capacity, gets a {kind:?} slot, which {other} could use"
            );
        }
    }

    /// Nothing was given, and nothing has changed: no permitted task could use what is free.
    fn check_idle_slots(&self, beat: &Beat<'_>, kind: Kind) {
        if beat.reserved_after(kind).is_some() {
            return;
        }
        let (jobs, free) = (beat.after, beat.after.free(beat.node)[kind]);
        let usage = Usage::new(self, beat, jobs, kind);
        for (app, job) in jobs.live() {
            if jobs.waiting(app, kind) == 0 || usage.verdict(app) != SlotVerdict::Allowed {
                continue;
            }
            let needed = usage.slots_per_task(app);
            if needed > free {
                let nodes = usage.reserved_nodes[&app][kind];
                let should_reserve = needed <= jobs.nodes[&beat.node].slots[kind] && nodes < jobs.waiting(app, kind);
                assert!(!should_reserve, "{free} {kind:?} slots are free and not reserved for {app}");
                continue;
            }
            let Some((_, nearest)) = jobs.nearest(app, kind, beat.node) else { continue };
            let delay = |question: &&super::cluster::Question| question.app == app && question.kind == kind;
            let is_delayed =
                beat.questions.iter().find(delay).is_some_and(|question| question.distance.farthest < nearest);
            assert!(is_delayed, "{free} {kind:?} slots stay free that {app} of {} could use", job.spec.user);
        }
    }

    /// Queues print what a count of all tasks gives.
    pub(super) fn check_reports(&self, cluster: &Cluster) {
        for (queue, &group) in self.config.queues().iter().zip(&self.groups) {
            let report = cluster.scheduler.group_report(group).unwrap();
            let jobs: Vec<_> = cluster.jobs.live().filter(|(_, job)| job.spec.group == group).collect();
            let parts: Vec<&str> = report.split("-------------\n").collect();
            for (kind, part) in [(Kind::Map, parts[1]), (Kind::Reduce, parts[2])] {
                let slots = |id: AppId, job: &super::cluster::Job| {
                    let reserved = cluster.scheduler.reserved_nodes(id)[kind] * job.spec.slots_per_task[kind].get();
                    cluster.scheduler.app_usage(id)[kind] + reserved
                };
                let occupied: u32 = jobs.iter().map(|(id, job)| slots(*id, job)).sum();
                let running: u32 = jobs.iter().map(|(id, _)| cluster.jobs.running(*id, kind)).sum();
                let text = format!("{}: {report}", queue.name());
                assert!(part.contains(&format!("\nUsed capacity: {occupied} (")), "{occupied} occupied in {text}");
                assert!(part.contains(&format!("\nRunning tasks: {running}\n")), "{running} running in {text}");
                let users: BTreeSet<&str> = jobs.iter().map(|(_, job)| &*job.spec.user).collect();
                for user in users {
                    let of_user = jobs.iter().filter(|(_, job)| &*job.spec.user == user);
                    let slots: u32 = of_user.map(|(id, job)| slots(*id, job)).sum();
                    let is_there = part.contains(&format!("\nUser '{user}': {slots} ("));
                    assert!(is_there || slots == 0, "{user} holds {slots} in {text}");
                }
            }
            let count = |stage| jobs.iter().filter(|(_, job)| job.stage == stage).count();
            let lines = [
                format!("Number of Waiting Jobs: {}\n", count(Stage::Submitted)),
                format!("Number of Initializing Jobs: {}\n", count(Stage::Begun)),
            ];
            lines.iter().for_each(|line| assert!(parts[3].contains(line), "{line} in {}: {report}", queue.name()));
        }
    }

    /// Limits on jobs that are set up at once.
    fn check_begun(&self, cluster: &Cluster) {
        let mut were_stuck = self.were_stuck.borrow_mut();
        were_stuck.extend(cluster.scheduler.apps.iter().filter(|(_, app)| app.is_stuck).map(|(id, _)| *id));
        for (queue, &group) in self.config.queues().iter().zip(&self.groups) {
            let limits = queue.job_limits();
            let has_begun = |stage| matches!(stage, Stage::Begun | Stage::SetUp);
            let jobs = || cluster.jobs.live().filter(|(_, job)| job.spec.group == group && has_begun(job.stage));
            let has_place = |(id, _): &(AppId, _)| !were_stuck.contains(id);
            assert!(jobs().filter(has_place).count() as u64 <= limits.initialized);
            let tasks = |id: AppId| cluster.jobs.tasks.iter().filter(|task| task.app == id).count() as i64;
            assert!(jobs().filter(has_place).map(|(id, _)| tasks(id)).sum::<i64>() <= limits.active_tasks);
            for user in jobs().map(|(_, job)| &job.spec.user) {
                let of_user = || jobs().filter(|(_, job)| job.spec.user == *user);
                assert!(of_user().filter(has_place).count() as u64 <= limits.initialized_per_user);
                assert!(
                    of_user().filter(has_place).map(|(id, _)| tasks(id)).sum::<i64>() <= limits.active_tasks_per_user
                );
            }
        }
    }
}

pub(super) fn config() -> impl Strategy<Value = CapacityConfig> {
    let cuts = prop::array::uniform3(1i32..=60);
    let queue = || (prop::option::of(0i32..=100), 1i32..=100, 4i32..=12, any::<bool>(), 8i32..40, 0i32..40);
    let queues = prop::collection::vec(queue(), QUEUES);
    (cuts, queues, 1i32..=20, 0i32..3, prop::option::of(1i32..4)).prop_map(|(cuts, queues, jobs, after, most)| {
        // Four capacities of at least ten percent.
        let total: i32 = cuts.iter().sum::<i32>() + 60;
        let mut capacities: Vec<i32> = cuts.iter().map(|cut| 10 + 60 * cut / total).collect();
        capacities.push(100 - capacities.iter().sum::<i32>());
        let written = |(number, ((maximum, minimum, factor, priority, tasks, more), capacity)): (usize, (_, i32))| {
            let queue = WrittenQueue::with_defaults(&format!("q{number}"), Some(Decimal::whole(capacity)));
            let maximum: Option<i32> = maximum;
            let maximum_capacity =
                maximum.map_or(Decimal::whole(-1), |more| Decimal::whole((capacity + more).min(100)));
            WrittenQueue {
                maximum_capacity,
                minimum_user_limit_percent: minimum,
                user_limit_factor: Decimal::parse(&format!("{}.{}", factor / 4, factor % 4 * 25)).unwrap(),
                supports_priority: priority,
                maximum_active_tasks: tasks + more,
                maximum_active_tasks_per_user: tasks,
                ..queue
            }
        };
        let queues = queues.into_iter().zip(capacities).enumerate().map(written).collect();
        CapacityConfig::new(&WrittenConfig {
            maximum_system_jobs: jobs,
            maximum_tasks_after_off_switch: after,
            maximum_tasks_per_heartbeat: most.unwrap_or(i32::from(i16::MAX)),
            queues,
            ..WrittenConfig::default()
        })
        .unwrap()
    })
}

fn run(config: &CapacityConfig, steps: &[Step]) -> Jobs {
    let mut cluster = Cluster::new(Scheduler::capacity(config.clone(), false));
    cluster.groups = config.queues().iter().map(|queue| cluster.scheduler.open_group(queue.name())).collect();
    let laws = Laws::new(config, &cluster.groups);
    let mut check = |beat: &Beat<'_>| laws.check(beat);
    for step in steps {
        take_step(&mut cluster, step, &mut check);
        cluster.begin();
        laws.check_begun(&cluster);
        laws.check_reports(&cluster);
        cluster.check_sums();
    }
    end_all(&mut cluster, &mut check);
    cluster.jobs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn queues_and_users_keep_their_limits_and_no_permitted_slot_idles(
        config in config(), steps in steps(QUEUES, MOST_SLOTS, 100)
    ) {
        run(&config, &steps);
    }
}
