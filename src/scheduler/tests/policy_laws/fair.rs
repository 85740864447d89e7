//! Laws of the Fair scheduler, against demands and weights that are computed from a count of all tasks.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::prelude::*;

use crate::model::{Kind, PartsPerMillion, PerKind};
use crate::scheduler::fair::allocation_file::AllocationFile;
use crate::scheduler::fair::allocations::{Allocations, PoolSettings, SchedulingMode};
use crate::scheduler::fair::heartbeat_plan::{HeartbeatCaps, HeartbeatLoad};
use crate::scheduler::fair::load_cap::LoadCap;
use crate::scheduler::fair::locality_wait::LocalityDelayRule;
use crate::scheduler::fair::options::FairOptions;
use crate::scheduler::fair::weight::WeightRule;
use crate::scheduler::{AppId, GroupId, Scheduler};

use super::cluster::{Beat, Cluster, Job, Jobs, Node, Question, Stage, Submission};
use super::step::{Step, end_all, kinds_with_free_slots, steps, take_step};

/// The pools of jobs; `c` has jobs of its own beside the pools in it, and `z` is not declared.
const POOLS: [&str; 6] = ["a", "b", "c.d", "c.e", "c", "z"];

/// A pool on the path of a job: its name, its settings. The last one of `c` is the part for its own jobs.
type Place = (String, PoolSettings);

struct Laws {
    options: FairOptions,
    allocations: Allocations,
    groups: Vec<GroupId>,
}

/// What an update finds just before a heartbeat.
struct Found {
    admitted: BTreeSet<AppId>,
    demand: BTreeMap<(String, Kind), u32>,
}

impl Laws {
    /// From the pool at the top to the one with the job.
    fn path(&self, job: &Job) -> Vec<Place> {
        let name = POOLS[self.groups.iter().position(|group| *group == job.spec.group).unwrap()];
        let place = |name: &str| (name.to_owned(), self.allocations.settings(name));
        match name.split_once('.') {
            Some((parent, _)) => vec![place(parent), place(name)],
            None if name == "c" => vec![
                place(name),
                ("c.".to_owned(), PoolSettings { mode: place(name).1.mode, ..PoolSettings::default() }),
            ],
            None => vec![place(name)],
        }
    }

    fn find(&self, jobs: &Jobs) -> Found {
        let mut line: Vec<_> = jobs.live().collect();
        line.sort_by_key(|(_, job)| (job.spec.priority, job.spec.start_ms, job.spec.order));
        let (mut by_user, mut by_pool): (BTreeMap<&str, u32>, BTreeMap<String, u32>) = Default::default();
        let mut found = Found { admitted: BTreeSet::new(), demand: BTreeMap::new() };
        for (id, job) in line {
            let path = self.path(job);
            let is_below = |count: Option<&u32>, max: Option<u32>| max.is_none_or(|max| *count.unwrap_or(&0) < max);
            let user: &str = &job.spec.user;
            if !is_below(by_user.get(user), self.allocations.max_running_jobs_of_user(user))
                || path.iter().any(|(name, pool)| !is_below(by_pool.get(name), pool.max_running_jobs))
            {
                continue;
            }
            *by_user.entry(user).or_default() += 1;
            path.iter().for_each(|(name, _)| *by_pool.entry(name.clone()).or_default() += 1);
            found.admitted.insert(id);
        }
        for kind in Kind::ALL {
            let mut leaves: BTreeMap<Vec<String>, (Vec<Place>, u32)> = BTreeMap::new();
            for (id, job) in jobs.live() {
                let path = self.path(job);
                let names = path.iter().map(|(name, _)| name.clone()).collect();
                leaves.entry(names).or_insert((path, 0)).1 += found.of_job(jobs, id, kind);
            }
            for (path, demand) in leaves.into_values() {
                let (name, leaf) = path.last().unwrap();
                let demand = demand.min(leaf.max[kind].unwrap_or(u32::MAX));
                found.demand.insert((name.clone(), kind), demand);
                if let [(parent, _), _] = &path[..] {
                    *found.demand.entry((parent.clone(), kind)).or_default() += demand;
                }
            }
            let max = self.allocations.settings("c").max[kind].unwrap_or(u32::MAX);
            found.demand.entry(("c".to_owned(), kind)).and_modify(|demand| *demand = max.min(*demand));
        }
        found
    }

    fn running_in(&self, jobs: &Jobs, pool: &str, kind: Kind) -> u32 {
        let is_in = |job: &Job| self.is_counted(job) && self.path(job).iter().any(|(name, _)| name == pool);
        jobs.jobs.iter().filter(|(_, job)| is_in(job)).map(|(id, _)| jobs.running(*id, kind)).sum()
    }

    /// Attempts of removed jobs still hold slots, which the original does not count.
    fn is_counted(&self, job: &Job) -> bool {
        !self.options.is_compatible || job.stage != Stage::Removed
    }

    fn has_room(&self, jobs: &Jobs, job: &Job, kind: Kind) -> bool {
        let has_room = |(name, pool): &Place| pool.max[kind].is_none_or(|max| self.running_in(jobs, name, kind) < max);
        self.path(job).iter().all(has_room)
    }

    fn is_permitted(&self, found: &Found, jobs: &Jobs, id: AppId, job: &Job, kind: Kind) -> bool {
        job.stage == Stage::SetUp && found.admitted.contains(&id) && self.has_room(jobs, job, kind)
    }

    fn check(&self, beat: &Beat<'_>) {
        let found = self.find(beat.before);
        beat.replay(|jobs, task, refusing, _| self.check_grant(&found, beat, jobs, task, refusing));
        if beat.questions.iter().all(|question| question.given.is_none()) {
            kinds_with_free_slots(beat.after, beat.node).for_each(|kind| self.check_idle_slots(&found, beat, kind));
        }
    }

    fn check_grant(
        &self,
        found: &Found,
        beat: &Beat<'_>,
        jobs: &Jobs,
        task: usize,
        refusing: &BTreeSet<(AppId, Kind)>,
    ) {
        let (app, kind) = (jobs.tasks[task].app, jobs.tasks[task].kind);
        let job = &jobs.jobs[&app];
        assert!(self.is_permitted(found, jobs, app, job, kind), "{app} gets a {kind:?} slot beyond a limit");
        for (other, other_job) in jobs.live().filter(|(other, _)| *other != app && !refusing.contains(&(*other, kind)))
        {
            let could_use = jobs.nearest(other, kind, beat.node).is_some()
                && self.is_permitted(found, jobs, other, other_job, kind);
            if could_use {
                let order = self.compare(found, jobs, kind, (app, job), (other, other_job), beat);
                assert_ne!(order, Ordering::Greater, "{app} gets a {kind:?} slot before {other}");
            }
        }
    }

    /// Which of two jobs is due a slot; equal: only names and ids say.
    fn compare(
        &self,
        found: &Found,
        jobs: &Jobs,
        kind: Kind,
        left: (AppId, &Job),
        right: (AppId, &Job),
        beat: &Beat<'_>,
    ) -> Ordering {
        let (of_left, of_right) = (self.path(left.1), self.path(right.1));
        for ((left, left_pool), (right, right_pool)) in of_left.iter().zip(&of_right) {
            if left != right {
                let due = |name: &str, pool: &PoolSettings| {
                    let demand = found.demand.get(&(name.to_owned(), kind)).copied().unwrap_or(0);
                    let running = self.running_in(jobs, name, kind);
                    (running, pool.min[kind].min(demand), pool.weight.0)
                };
                return compare_dues(due(left, left_pool), due(right, right_pool));
            }
        }
        if of_left.last().is_some_and(|(_, pool)| pool.mode == SchedulingMode::Fifo) {
            let line = |job: &Job| (job.spec.priority, job.spec.start_ms, job.spec.order);
            return line(left.1).cmp(&line(right.1));
        }
        let due = |(id, job): (AppId, &Job)| {
            let age_ms = u64::MAX;
            let demand = found.of_job(beat.before, id, kind);
            (jobs.running(id, kind), 0, self.options.weights.weight(demand, job.spec.priority, age_ms).0)
        };
        compare_dues(due(left), due(right))
    }

    /// Nothing was given: no permitted task could use what is free.
    fn check_idle_slots(&self, found: &Found, beat: &Beat<'_>, kind: Kind) {
        let jobs = beat.after;
        let slots_of = |node: &Node| u64::from(node.slots[kind]);
        let counted = jobs.jobs.iter().filter(|(_, job)| self.is_counted(job));
        let top = ["a", "b", "c", "z"].iter().filter_map(|pool| found.demand.get(&((*pool).to_owned(), kind)));
        let load = HeartbeatLoad {
            free: jobs.free(beat.node)[kind],
            slots: jobs.nodes[&beat.node].slots[kind],
            running_here: jobs.held(|task, on| task.kind == kind && on == beat.node),
            total_slots: jobs.nodes.values().map(slots_of).sum(),
            runnable: top.copied().map(u64::from).sum(),
            running: counted.map(|(id, _)| u64::from(jobs.running(*id, kind))).sum(),
        };
        if self.options.heartbeat_caps.limit(kind, &self.options.load_cap, &load) == 0 {
            return;
        }
        for (app, job) in jobs.live() {
            let Some((_, nearest)) = jobs.nearest(app, kind, beat.node) else { continue };
            if !self.is_permitted(found, jobs, app, job, kind) {
                continue;
            }
            let is_it = |question: &&Question| question.app == app && question.kind == kind;
            let is_delayed =
                beat.questions.iter().find(is_it).is_some_and(|question| question.distance.farthest < nearest);
            assert!(is_delayed, "{} {kind:?} slots stay free that {app} could use: {load:?}", load.free);
        }
    }
}

impl Found {
    fn of_job(&self, jobs: &Jobs, id: AppId, kind: Kind) -> u32 {
        match jobs.jobs[&id].stage == Stage::SetUp && self.admitted.contains(&id) {
            true => jobs.running(id, kind) + jobs.waiting(id, kind),
            false => 0,
        }
    }
}

/// Running tasks, the minimum as far as it is demanded, and the weight.
fn compare_dues(left: (u32, u32, u64), right: (u32, u32, u64)) -> Ordering {
    let class = |(running, least, weight): (u32, u32, u64)| match (running < least, weight) {
        (true, _) => 0,
        (false, 1..) => 1,
        (false, 0) => 2,
    };
    let whole = |due: (u32, u32, u64)| match class(due) {
        0 => u128::from(due.1),
        1 => u128::from(due.2),
        _ => 1,
    };
    let ratios = (u128::from(left.0) * whole(right)).cmp(&(u128::from(right.0) * whole(left)));
    class(left).cmp(&class(right)).then(ratios)
}

fn allocations() -> impl Strategy<Value = Allocations> {
    let limit = |tag: &'static str, most: u32| {
        prop::option::weighted(0.3, 1..=most)
            .prop_map(move |limit| limit.map_or(String::new(), |limit| format!("<{tag}>{limit}</{tag}>")))
    };
    let weight = prop_oneof![3 => Just(""), 1 => Just("<weight>2.5</weight>"), 1 => Just("<weight>0</weight>")];
    let mode = prop_oneof![3 => Just(""), 1 => Just("<schedulingMode>fifo</schedulingMode>")];
    let mins = (limit("minMaps", 4), limit("minReduces", 3));
    let pool = (mins, limit("maxMaps", 5), limit("maxReduces", 4), limit("maxRunningJobs", 3), weight, mode).prop_map(
        |((min_maps, min_reduces), max_maps, max_reduces, jobs, weight, mode)| {
            format!("{min_maps}{min_reduces}{max_maps}{max_reduces}{jobs}{weight}{mode}")
        },
    );
    (prop::collection::vec(pool, 5), limit("userMaxJobsDefault", 3), limit("poolMaxJobsDefault", 4)).prop_map(
        |(pools, users, undeclared)| {
            let [a, b, c, d, e] = &pools[..] else { unreachable!() };
            let text = format!(
                "<allocations><pool name=\"a\">{a}</pool><pool name=\"b\">{b}</pool><pool name=\"c\">{c}\
                 <pool name=\"d\">{d}</pool><pool name=\"e\">{e}</pool></pool>{users}{undeclared}</allocations>"
            );
            AllocationFile::parse(&text).unwrap().allocations
        },
    )
}

fn options() -> impl Strategy<Value = FairOptions> {
    let cap = || prop::option::weighted(0.2, 1u32..3);
    let delay = || prop::option::of(0u64..3_000);
    let caps = (prop::bool::weighted(0.7), cap(), cap());
    (caps, 0u64..=1_000_000, any::<bool>(), delay(), delay(), any::<bool>()).prop_map(
        |((assigns_multiple, maps, reduces), max_diff, is_size_based, node_ms, rack_ms, is_compatible)| FairOptions {
            heartbeat_caps: HeartbeatCaps { assigns_multiple, max: PerKind::new(maps, reduces) },
            load_cap: LoadCap::new(PartsPerMillion(max_diff)),
            weights: WeightRule { is_size_based, new_job_boost: None },
            delays: LocalityDelayRule { node_ms, rack_ms },
            heartbeat_interval_ms: 1_000,
            update_interval_ms: 0,
            is_compatible,
            ..FairOptions::default()
        },
    )
}

/// `follows_each_change`: whether demands and limits are brought up to date before each heartbeat.
fn run(options: FairOptions, allocations: &Allocations, steps: &[Step], follows_each_change: bool) -> Jobs {
    let mut cluster = Cluster::new(Scheduler::fair(options, allocations.clone()));
    let parent = cluster.scheduler.open_group("c");
    let open = |name: &&str| match name.starts_with("c.") {
        true => cluster.scheduler.open_group_under(parent, name).unwrap(),
        false => cluster.scheduler.open_group(name),
    };
    cluster.groups = POOLS.iter().map(open).collect();
    let laws = Laws { options, allocations: allocations.clone(), groups: cluster.groups.clone() };
    let mut check = |beat: &Beat<'_>| {
        if follows_each_change {
            laws.check(beat);
        }
    };
    for step in steps {
        if follows_each_change {
            cluster.scheduler.tick(cluster.now);
        }
        take_step(&mut cluster, step, &mut check);
        cluster.begin();
        cluster.check_sums();
    }
    end_all(&mut cluster, &mut check);
    cluster.jobs
}

/// Pools of these weights (tenths) with more maps to run than there are slots, which come free one by one.
fn fill_pools(weights: &[u32], slots: u32, is_one_by_one: bool) -> (Jobs, Vec<GroupId>) {
    let pool = |(number, weight): (usize, &u32)| {
        format!("<pool name=\"q{number}\"><weight>{}.{}</weight></pool>", weight / 10, weight % 10)
    };
    let pools: String = weights.iter().enumerate().map(pool).collect();
    let file = AllocationFile::parse(&format!("<allocations>{pools}</allocations>")).unwrap();
    let options = FairOptions { load_cap: LoadCap::new(PartsPerMillion::ONE), ..FairOptions::default() };
    let mut cluster = Cluster::new(Scheduler::fair(options, file.allocations));
    cluster.groups = (0..weights.len()).map(|number| cluster.scheduler.open_group(&format!("q{number}"))).collect();
    let slots_per_task = PerKind::new(NonZeroU32::MIN, NonZeroU32::MIN);
    for group in 0..weights.len() {
        let maps = vec![(Vec::new(), None); slots as usize + 1];
        let job = Submission { group, user: group, priority: 2, slots_per_task, maps, reduces: 0 };
        cluster.submit(&job);
    }
    for job in cluster.begin() {
        cluster.set_up(job);
    }
    cluster.scheduler.tick(cluster.now);
    let (nodes, of_node) = if is_one_by_one { (slots, 1) } else { (1, slots) };
    for host in 0..nodes {
        let node = cluster.node(host as usize, PerKind::new(of_node, 0));
        cluster.beat(node, 100, |_| {});
    }
    (cluster.jobs, cluster.groups)
}

proptest! {
    #[test]
    fn weighted_usage_of_busy_pools_differs_by_at_most_one_grant(
        weights in prop::collection::vec(1u32..80, 2..6), slots in 1u32..30, is_one_by_one in any::<bool>()
    ) {
        let (jobs, groups) = fill_pools(&weights, slots, is_one_by_one);
        let running = |group: &GroupId| {
            jobs.live().filter(|(_, job)| job.spec.group == *group).map(|(id, _)| jobs.running(id, Kind::Map)).sum()
        };
        let running: Vec<u32> = groups.iter().map(running).collect();
        prop_assert_eq!(running.iter().sum::<u32>(), slots);
        for (one, weight) in running.iter().zip(&weights) {
            for (other, other_weight) in running.iter().zip(&weights) {
                prop_assert!(
                    one.saturating_sub(1) * other_weight <= other * weight,
                    "{running:?} run at weights {weights:?}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn pools_are_served_by_what_they_are_due_and_no_permitted_slot_idles(
        options in options(), allocations in allocations(), steps in steps(POOLS.len(), 1, 100)
    ) {
        run(options, &allocations, &steps, true);
    }

    /// Between two updates, demands and limits are those of the last one.
    #[test]
    fn every_job_begins_and_ends_between_seldom_updates(
        options in options(), allocations in allocations(), steps in steps(POOLS.len(), 1, 100)
    ) {
        run(options, &allocations, &steps, false);
    }
}
