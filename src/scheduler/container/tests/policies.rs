//! Containers under the policies with queues, pools, users and deadlines: what counts, and what limits.

use std::sync::Arc;

use proptest::prelude::*;

use super::stage::{GB, Row, Stage, request, rows};
use crate::model::{Capability, Decimal, Kind, Now, PerKind};
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use crate::scheduler::constraint::{AppDeadline, ConstraintConfig, JobPlan, JobWork, TimedWork};
use crate::scheduler::container::AskedRow;
use crate::scheduler::fair::allocation_file::AllocationFile;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::{AppId, AppSize, AppSpec, NewApp, Scheduler};

/// Nodes of 12 slots, of which 4 are for maps and 2 for reduces: 12 each, 6 of them beyond tasks.
const NODES: [(&str, &str, Capability); 3] =
    [("h0", "/r", GB.times(12)), ("h1", "/r", GB.times(12)), ("h2", "/r", GB.times(12))];
const SLOTS: u32 = 36;

pub(super) fn any(memory_mb: u32, count: u32) -> Vec<AskedRow> {
    rows(request(1, memory_mb), &[("*", count) as Row])
}

impl Stage {
    pub(super) fn add_app_of(&mut self, queue: &str, user: &str, number: u32) -> AppId {
        let (id, group) = (AppId::new(number), self.scheduler.open_group(queue));
        let user = Arc::from(user);
        self.scheduler.add_app(AppSpec { order: number.into(), user, ..AppSpec::plain(id, group) }).unwrap();
        self.scheduler.resume_app(id);
        id
    }

    pub(super) fn add_job_of(&mut self, queue: &str, user: &str, number: u32) -> AppId {
        let id = self.add_app_of(queue, user, number);
        self.scheduler.set_size(id, AppSize { tasks: PerKind::new(9, 9), ..AppSize::default() });
        id
    }

    pub(super) fn held(&self, app: AppId) -> u32 {
        self.scheduler.app_containers(app).held
    }

    pub(super) fn beat_all(&mut self) {
        NODES.iter().for_each(|(host, ..)| drop(self.beat(host)));
        self.grant();
    }
}

pub(super) fn queue(name: &str, capacity: i32, maximum: i32, minimum_user: i32, factor: i32) -> WrittenQueue {
    WrittenQueue {
        maximum_capacity: Decimal::whole(maximum),
        minimum_user_limit_percent: minimum_user,
        user_limit_factor: Decimal::whole(factor),
        ..WrittenQueue::with_defaults(name, Some(Decimal::whole(capacity)))
    }
}

pub(super) fn capacity(queues: Vec<WrittenQueue>) -> Stage {
    let names: Vec<String> = queues.iter().map(|queue| queue.name.clone()).collect();
    let config = CapacityConfig::new(&WrittenConfig { queues, ..WrittenConfig::default() }).unwrap();
    let mut scheduler = Scheduler::capacity(config, false);
    for name in &names {
        scheduler.open_group(name);
    }
    Stage::under(scheduler, &NODES)
}

#[test]
fn a_queue_may_hold_by_containers_what_maps_leave_of_its_part_of_all_slots() {
    let mut stage = capacity(vec![queue("a", 50, 50, 100, 9), queue("b", 50, -1, 100, 9)]);
    assert_eq!(stage.scheduler.totals().all_slots(), u64::from(SLOTS));
    let (job, app) = (stage.add_job_of("a", "u", 1), stage.add_app_of("a", "u", 2));
    stage.run_maps(job, "h0", 4);
    stage.set(app, &any(2_048, 20));
    stage.grant();
    assert_eq!(stage.held(app), 14, "half of 36 are 18, of which maps hold 4");
    assert!(stage.scheduler.is_container_limited(app, &request(1, 2_048)));
    // A map that ends makes room for one slot, not for a container of two.
    stage.scheduler.remove_running(job, Kind::Map, stage.nodes["h0"], 1);
    stage.beat_all();
    assert_eq!(stage.held(app), 14);
    stage.scheduler.remove_running(job, Kind::Map, stage.nodes["h0"], 1);
    stage.beat_all();
    assert_eq!(stage.held(app), 16);
}

#[test]
fn users_of_a_queue_share_it_and_one_that_wants_no_more_leaves_its_part() {
    let mut stage = capacity(vec![queue("a", 100, -1, 50, 1)]);
    let (one, other) = (stage.add_app_of("a", "u1", 1), stage.add_app_of("a", "u2", 2));
    stage.set(one, &any(1_024, 99));
    stage.set(other, &any(1_024, 30));
    stage.grant();
    assert_eq!((stage.held(one), stage.held(other)), (18, 18));
    let last = stage.last();
    stage.scheduler.withdraw_rows(other);
    stage.end(&last);
    stage.grant();
    assert!(stage.held(one) >= 19, "the limit of the other does not hold where only one wants more");
}

#[test]
fn a_user_at_the_limit_has_more_as_soon_as_another_one_wants_none() {
    let mut stage = capacity(vec![queue("a", 100, -1, 50, 1)]);
    let (one, other) = (stage.add_app_of("a", "u1", 1), stage.add_app_of("a", "u2", 2));
    // No node is as large as that.
    stage.set(other, &any(13 * 1_024, 1));
    stage.set(one, &any(1_024, 99));
    stage.beat_all();
    assert_eq!((stage.held(one), stage.held(other)), (18, 0));
    stage.scheduler.withdraw_rows(other);
    stage.beat_all();
    assert_eq!(stage.held(one), SLOTS);
}

#[test]
fn the_emptier_queue_is_served_first_by_all_that_it_holds() {
    let mut stage = capacity(vec![queue("a", 50, -1, 100, 9), queue("b", 50, -1, 100, 9)]);
    NODES.iter().for_each(|(host, ..)| stage.scheduler.set_takes_containers(stage.nodes[*host], false));
    let (job, first, second) =
        (stage.add_job_of("a", "u", 1), stage.add_app_of("a", "u", 2), stage.add_app_of("b", "u", 3));
    stage.run_maps(job, "h0", 4);
    stage.set(first, &any(1_024, 9));
    stage.set(second, &any(1_024, 9));
    stage.scheduler.set_takes_containers(stage.nodes["h0"], true);
    stage.beat("h0");
    // 8 are left: the first four make up for the maps.
    assert_eq!((stage.held(first), stage.held(second)), (2, 6));
}

#[derive(Clone, Debug)]
enum Step {
    Ask(usize, u32),
    End(usize),
    Maps(usize, usize, bool),
    Beat(usize),
    Take(usize, bool),
}

const APPS: [(&str, &str, u32); 6] =
    [("a", "u1", 1), ("a", "u2", 2), ("a", "u1", 3), ("b", "u1", 1), ("b", "u2", 4), ("b", "u3", 1)];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..APPS.len(), 0_u32..30).prop_map(|(app, count)| Step::Ask(app, count)),
        3 => (0_usize..40).prop_map(Step::End),
        2 => (0..NODES.len(), 0..4_usize, proptest::bool::ANY).prop_map(|(node, job, more)| Step::Maps(node, job, more)),
        4 => (0..NODES.len()).prop_map(Step::Beat),
        1 => (0..NODES.len(), proptest::bool::ANY).prop_map(|(node, takes)| Step::Take(node, takes)),
    ]
}

/// The rules once more, from what lives.
struct Naive<'a> {
    stage: &'a Stage,
    apps: &'a [AppId],
    maps: &'a [(&'static str, &'static str)],
}

impl Naive<'_> {
    fn used(&self, queue: &str, user: Option<&str>) -> u32 {
        let is_of = |of: &str, by: &str| of == queue && user.is_none_or(|user| user == by);
        let apps = APPS.iter().zip(self.apps).filter(|((of, by, _), _)| is_of(of, by));
        let maps = self.maps.iter().filter(|(of, by)| is_of(of, by)).count() as u32;
        apps.map(|(_, app)| self.stage.held(*app)).sum::<u32>() + maps
    }

    fn all(&self) -> u32 {
        let takes = |host: &str| self.stage.scheduler.takes_containers(self.stage.nodes[host]);
        NODES.iter().map(|(host, ..)| if takes(host) { 12 } else { 6 }).sum()
    }

    fn maximum(&self, queue: &str) -> u32 {
        if queue == "a" { self.all() * 60 / 100 } else { u32::MAX }
    }

    fn capacity(&self, queue: &str) -> u32 {
        self.all() * if queue == "a" { 40 } else { 60 } / 100
    }

    fn waits(&self, app: usize) -> bool {
        self.stage.scheduler.app_containers(self.apps[app]).waiting > 0
    }

    fn allows(&self, number: usize) -> bool {
        let (queue, user, slots) = APPS[number];
        let used = self.used(queue, None);
        let users = (1..=3).map(|user| format!("u{user}"));
        let active = users
            .filter(|user| (0..APPS.len()).any(|app| APPS[app].0 == queue && APPS[app].1 == user && self.waits(app)))
            .count() as u32;
        let capacity = self.capacity(queue).max(slots);
        let current = capacity.max(used + slots);
        let part = current.div_ceil(active.max(1)).max((current * 25).div_ceil(100));
        let limit = part.min(2 * capacity);
        used + slots <= self.maximum(queue) && self.used(queue, Some(user)) + slots <= limit
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn under_capacity_limits_hold_and_leave_no_room_that_they_allow(steps in prop::collection::vec(step(), 1..50)) {
        let mut stage = capacity(vec![queue("a", 40, 60, 25, 2), queue("b", 60, -1, 25, 2)]);
        let apps: Vec<AppId> =
            APPS.iter().zip(1..).map(|((queue, user, _), number)| stage.add_app_of(queue, user, number)).collect();
        let jobs: Vec<AppId> =
            (0..4).map(|job| stage.add_job_of(APPS[job].0, APPS[job].1, 50 + job as u32)).collect();
        let mut on_nodes: Vec<Vec<usize>> = vec![vec![]; NODES.len()];
        for step in steps {
            match step {
                Step::Ask(app, count) => stage.set(apps[app], &any(APPS[app].2 * 1_024, count)),
                Step::End(number) => {
                    if let Some(number) = number.checked_rem(stage.source.grants.len()) {
                        let grant = stage.source.grants.remove(number);
                        stage.end(&grant);
                    }
                }
                Step::Maps(node, job, true) => {
                    let (host, has_slot) = (NODES[node].0, on_nodes[node].len() < 4);
                    if has_slot && stage.scheduler.slot_room(stage.nodes[host]) > Some(0) {
                        stage.run_maps(jobs[job], host, 1);
                        on_nodes[node].push(job);
                    }
                }
                Step::Maps(node, _, false) => {
                    if let Some(job) = on_nodes[node].pop() {
                        stage.scheduler.remove_running(jobs[job], Kind::Map, stage.nodes[NODES[node].0], 1);
                    }
                }
                Step::Beat(node) => {
                    let maps: Vec<_> = on_nodes.iter().flatten().map(|job| (APPS[*job].0, APPS[*job].1)).collect();
                    let before: Vec<u32> = {
                        let naive = Naive { stage: &stage, apps: &apps, maps: &maps };
                        ["a", "b"].map(|queue| naive.used(queue, None)).to_vec()
                    };
                    stage.beat(NODES[node].0);
                    let naive = Naive { stage: &stage, apps: &apps, maps: &maps };
                    for (queue, before) in ["a", "b"].into_iter().zip(before) {
                        prop_assert!(naive.used(queue, None) <= naive.maximum(queue).max(before));
                    }
                    let id = stage.nodes[NODES[node].0];
                    let is_open = stage.scheduler.takes_containers(id) && stage.scheduler.reservation_on(id).is_none();
                    for app in (0..APPS.len()).filter(|app| is_open && naive.waits(*app)) {
                        let room = stage.scheduler.room_on(id).unwrap();
                        // The capability of its first type; an application has asked for one size only.
                        let fits = Capability::new(APPS[app].2 * 1_024, 1).fits(room);
                        prop_assert!(!fits || !naive.allows(app), "{} waits beside {}", app, room);
                    }
                }
                Step::Take(node, takes) => stage.scheduler.set_takes_containers(stage.nodes[NODES[node].0], takes),
            }
            stage.check();
        }
    }
}

fn fair(file: &str) -> Stage {
    let file = AllocationFile::parse(&format!("<allocations>{file}</allocations>")).unwrap();
    Stage::under(Scheduler::fair(FairOptions::default(), file.allocations), &NODES)
}

#[test]
fn pools_are_served_by_all_that_they_hold_to_their_weights_whatever_their_maximum_of_maps() {
    let mut stage = fair(r#"<pool name="a"><weight>2.0</weight><maxMaps>1</maxMaps></pool>"#);
    NODES.iter().for_each(|(host, ..)| stage.scheduler.set_takes_containers(stage.nodes[*host], false));
    let (heavy, light) = (stage.add_app_of("a", "u", 1), stage.add_app_of("b", "u", 2));
    let job = stage.add_job_of("b", "u", 3);
    stage.run_maps(job, "h0", 2);
    stage.set(heavy, &any(1_024, 20));
    stage.set(light, &any(1_024, 20));
    stage.scheduler.set_takes_containers(stage.nodes["h0"], true);
    stage.beat("h0");
    // Two of the light pool's four are maps.
    assert_eq!((stage.held(heavy), stage.held(light)), (8, 2));
}

#[test]
fn a_limit_on_running_jobs_counts_applications_and_lets_the_next_have_containers_when_one_ends() {
    let mut stage = fair(r#"<pool name="a"><maxRunningJobs>1</maxRunningJobs></pool>"#);
    let (first, second) = (stage.add_app_of("a", "u", 1), stage.add_app_of("a", "u", 2));
    stage.set(second, &any(1_024, 3));
    stage.set(first, &any(1_024, 3));
    stage.beat_all();
    assert_eq!((stage.held(first), stage.held(second)), (3, 0));
    let is_limited = |app| stage.scheduler.is_container_limited(app, &request(1, 1_024));
    assert!(is_limited(second) && !is_limited(first));
    for grant in std::mem::take(&mut stage.source.grants) {
        stage.end(&grant);
    }
    stage.scheduler.remove_app(first);
    stage.scheduler.end_app(first);
    stage.scheduler.tick(Now { mono_ms: 500, wall_ms: 500 });
    stage.beat_all();
    assert_eq!(stage.held(second), 3);
}

/// So many maps of an hour each.
fn work(maps: u32) -> JobWork {
    let map_us = 3_600_000_000;
    JobWork { maps, map_us: u64::from(maps) * map_us, longest_map_us: map_us, ..JobWork::default() }
}

/// A job that needs so many maps at a time until its deadline in an hour.
fn with_deadline(stage: &mut Stage, number: u32, maps: u32) -> AppId {
    let id = stage.add_app_of("default", "u", number);
    let plan = Some(JobPlan { maps, start_us: 0, latest_reduce_start_us: 3_600_000_000 });
    stage.scheduler.set_deadline(id, Some(AppDeadline { due_us: 3_600_000_000, work: work(maps), plan }));
    let tasks = PerKind::new(maps, 0);
    stage.scheduler.set_size(id, AppSize { tasks, unfinished: tasks, left: tasks });
    id
}

#[test]
fn containers_take_no_room_from_slots_that_deadlines_are_promised() {
    let mut stage = Stage::under(Scheduler::constraint(ConstraintConfig::default()), &NODES);
    with_deadline(&mut stage, 1, 10);
    let app = stage.add_app_of("default", "u", 2);
    stage.set(app, &any(1_024, 99));
    stage.grant();
    // 18 slots are beyond tasks. Of 12 map slots 10 are promised, so two tasks may lose their room.
    assert_eq!((stage.held(app), stage.scheduler.totals().bags.blocked), (20, 2));
    stage.scheduler.remove_app(AppId::new(1));
    stage.beat_all();
    assert_eq!(stage.held(app), 36, "nothing is promised any more");
}

#[test]
fn a_deadline_cannot_count_on_slots_without_room() {
    let hour_us = 3_600_000_000_i64;
    let is_taken = |containers: u32| {
        let mut stage = Stage::under(Scheduler::constraint(ConstraintConfig::default()), &NODES);
        let app = stage.add_app_of("default", "u", 1);
        stage.set(app, &any(1_024, containers));
        stage.grant();
        assert_eq!(stage.held(app), containers);
        let group = stage.scheduler.open_group("default");
        let deadline = Some(TimedWork { work: work(10), arrival_us: 0, now_us: 0, deadline_us: hour_us });
        stage.scheduler.check_new_app(&NewApp { name: "job", group, user: "u", tasks: 10, deadline }).is_ok()
    };
    // Ten maps at a time need ten of the twelve slots; the first node has room for six containers beside its tasks.
    assert_eq!([6, 8, 9].map(is_taken), [true, true, false]);
}
