//! Shares, demands and limits after an update: rows of the original's tests.

use super::*;
use crate::scheduler::fair::allocation_file::AllocationFile;

const NORMAL: u8 = 2;

/// A job of this many maps and reduces, none of which runs.
fn job(pool: &'static str, maps: u32, reduces: u32) -> (&'static str, JobFacts<'static>) {
    let facts = JobFacts {
        pool: 0,
        user: "user1",
        priority: NORMAL,
        age_ms: 0,
        is_running: true,
        is_stuck: false,
        is_paused: false,
        could_use: PerKind::new(maps, reduces),
        max: PerKind::default(),
    };
    (pool, facts)
}

fn of_user(user: &'static str, pool: &'static str) -> (&'static str, JobFacts<'static>) {
    let (_, facts) = job(pool, 10, 10);
    (pool, JobFacts { user, ..facts })
}

/// The update of a cluster with so many slots of each kind; pools of the file come before others.
fn update(file: &str, rule: &WeightRule, slots: u32, jobs: &[(&'static str, JobFacts<'static>)]) -> Update {
    let allocations = AllocationFile::parse(&format!("<allocations>{file}</allocations>")).unwrap().allocations;
    let mut names: Vec<&str> = allocations.pools.keys().map(String::as_str).collect();
    for &(pool, _) in jobs {
        if !names.contains(&pool) {
            names.push(pool);
        }
    }
    let index = |name: &str| names.iter().position(|other| *other == name);
    let node = |name: &&str| PoolNode {
        parent: allocations.pools.get(*name).and_then(|pool| index(pool.parent.as_deref()?)),
        settings: allocations.settings(name),
    };
    let nodes: Vec<PoolNode> = names.iter().map(node).collect();
    let jobs: Vec<_> = jobs.iter().map(|&(pool, facts)| JobFacts { pool: index(pool).unwrap(), ..facts }).collect();
    Update::compute(&allocations, &nodes, &jobs, rule, PerKind::new(slots, slots))
}

fn by_default(file: &str, slots: u32, jobs: &[(&'static str, JobFacts<'static>)]) -> Update {
    update(file, &WeightRule::default(), slots, jobs)
}

/// Shares in hundredths, rounded down.
fn shares(update: &Update, kind: Kind) -> Vec<u64> {
    update.jobs.iter().map(|job| job.share[kind].0 / 10_000).collect()
}

/// The numbers, from 1, of the jobs that may run.
fn admitted(update: &Update) -> Vec<usize> {
    (1..=update.jobs.len()).filter(|number| update.jobs[number - 1].is_admitted).collect()
}

#[test]
fn row_2_small_jobs_have_shares_up_to_their_demand() {
    let update = by_default("", 4, &[job("default", 2, 1), job("default", 1, 2)]);
    assert_eq!(shares(&update, Kind::Map), [200, 100]);
    assert_eq!(shares(&update, Kind::Reduce), [100, 200]);
}

#[test]
fn row_4_two_large_jobs_divide_what_one_has_alone() {
    assert_eq!(shares(&by_default("", 4, &[job("default", 10, 10)]), Kind::Map), [400]);
    let both = by_default("", 4, &[job("default", 10, 10), job("default", 8, 8)]);
    assert_eq!((shares(&both, Kind::Map), shares(&both, Kind::Reduce)), (vec![200, 200], vec![200, 200]));
    assert_eq!(both.jobs[1].demand, PerKind::new(8, 8));
}

#[test]
fn row_5_a_high_priority_counts_twice() {
    let (pool, facts) = job("default", 10, 10);
    let update = by_default("", 6, &[(pool, facts), (pool, JobFacts { priority: 1, ..facts })]);
    assert_eq!(shares(&update, Kind::Map), [200, 400]);
}

const MINIMUMS: &str = "<pool name='poolA'><minMaps>1</minMaps><minReduces>2</minReduces></pool>
    <pool name='poolB'><minMaps>2</minMaps><minReduces>1</minReduces></pool>";

#[test]
fn row_6_minimums_of_pools() {
    let update = by_default(MINIMUMS, 4, &[job("default", 10, 10), job("poolA", 10, 10), job("poolB", 10, 10)]);
    assert_eq!(shares(&update, Kind::Map), [100, 100, 200]);
    assert_eq!(shares(&update, Kind::Reduce), [100, 200, 100]);
}

#[test]
fn row_7_jobs_of_a_pool_divide_its_minimum() {
    let file = "<pool name='poolA'><minMaps>2</minMaps><minReduces>2</minReduces></pool>";
    let update = by_default(file, 4, &[job("default", 10, 10), job("poolA", 10, 10), job("poolA", 10, 10)]);
    assert_eq!(shares(&update, Kind::Map), [200, 100, 100]);
    assert_eq!(shares(&update, Kind::Reduce), [200, 100, 100]);
}

#[test]
fn row_8_a_minimum_above_the_demand_is_left_to_others() {
    let file = "<pool name='poolA'><minMaps>4</minMaps><minReduces>4</minReduces></pool>";
    let update = by_default(file, 4, &[job("default", 10, 10), job("poolA", 1, 1)]);
    assert_eq!(shares(&update, Kind::Map), [300, 100]);
    assert_eq!(shares(&update, Kind::Reduce), [300, 100]);
}

#[test]
fn row_9_a_pool_runs_as_many_jobs_as_its_limit() {
    let file = "<pool name='default'><maxRunningJobs>2</maxRunningJobs></pool>";
    let update = by_default(file, 4, &[job("default", 10, 10); 4]);
    assert_eq!((admitted(&update), shares(&update, Kind::Map)), (vec![1, 2], vec![200, 200, 0, 0]));
    assert_eq!((update.jobs[2].demand, update.jobs[2].weight.map), (PerKind::default(), PartsPerMillion::ONE));
}

#[test]
fn row_10_a_user_runs_as_many_jobs_as_the_limit() {
    let file = "<user name='user1'><maxRunningJobs>1</maxRunningJobs></user>";
    let jobs = ["user1", "user1", "user2", "user2"].map(|user| of_user(user, "default"));
    let update = by_default(file, 4, &jobs);
    assert_eq!((admitted(&update), shares(&update, Kind::Map)), (vec![1, 3, 4], vec![133, 0, 133, 133]));
}

#[test]
fn row_11_limits_of_users_and_pools_together() {
    let file = "<pool name='poolA'><maxRunningJobs>1</maxRunningJobs></pool>
        <user name='user1'><maxRunningJobs>1</maxRunningJobs></user>
        <user name='user2'><maxRunningJobs>10</maxRunningJobs></user>
        <userMaxJobsDefault>2</userMaxJobsDefault>";
    let users = ["user1", "user1", "user2", "user2", "user2", "user3", "user3", "user3"];
    let mut jobs: Vec<_> = users.iter().map(|user| of_user(user, "default")).collect();
    jobs.extend([of_user("user4", "poolA"); 2]);
    let update = by_default(file, 4, &jobs);
    assert_eq!(admitted(&update), [1, 3, 4, 5, 6, 7, 9]);
    assert_eq!(shares(&update, Kind::Map), [33, 0, 33, 33, 33, 33, 33, 0, 200, 0]);
}

#[test]
fn row_12_a_larger_job_has_a_larger_share() {
    let rule = WeightRule { is_size_based: true, new_job_boost: None };
    let update = update("", &rule, 4, &[job("default", 2, 10), job("default", 20, 1)]);
    let [first, second] = update.jobs.as_slice() else { panic!("{update:?}") };
    assert!(second.share.map > first.share.map && first.share.reduce > second.share.reduce, "{update:?}");
}

#[test]
fn row_13_weights_of_pools() {
    let file = "<pool name='poolA'><weight>2.0</weight></pool><pool name='poolB'><weight>0.5</weight></pool>";
    let one_each = [job("default", 10, 10), job("poolA", 10, 10), job("poolB", 10, 10)];
    assert_eq!(shares(&by_default(file, 4, &one_each), Kind::Map), [114, 228, 57]);
    let two_in_b = [one_each[0], one_each[1], one_each[2], one_each[2]];
    assert_eq!(shares(&by_default(file, 4, &two_in_b), Kind::Map), [114, 228, 28, 28]);
}

#[test]
fn row_14_a_pool_without_maps_leaves_its_map_share() {
    let file = "<pool name='poolA'><weight>2.0</weight></pool>";
    let update = by_default(file, 4, &[job("poolA", 0, 10), job("poolA", 0, 10), job("poolB", 10, 10)]);
    assert_eq!(shares(&update, Kind::Map), [0, 0, 400]);
    assert_eq!(shares(&update, Kind::Reduce), [133, 133, 133]);
}

#[test]
fn row_15_a_pool_demands_no_more_than_its_maximum() {
    let file = "<pool name='limited'><maxMaps>2</maxMaps><maxReduces>1</maxReduces></pool>";
    let update = by_default(file, 5, &[job("limited", 10, 5), job("default", 10, 5)]);
    assert_eq!(update.pools[0].demand, PerKind::new(2, 1));
    assert_eq!((shares(&update, Kind::Map), shares(&update, Kind::Reduce)), (vec![200, 300], vec![100, 400]));
    // Defect: the original would leave the demand of later jobs of such a pool as it was.
    let two = by_default(file, 5, &[job("limited", 10, 5); 2]);
    assert_eq!(two.jobs[1].demand, PerKind::new(10, 5));
}

#[test]
fn row_27_jobs_of_a_fifo_pool_have_no_shares() {
    let file = "<pool name='default'><schedulingMode>fifo</schedulingMode></pool>";
    let update = by_default(file, 4, &[job("default", 3, 3), job("default", 3, 3)]);
    assert_eq!((shares(&update, Kind::Map), update.pools[0].share.map), (vec![0, 0], FairShare::of_slots(4)));
}

#[test]
fn a_job_that_waits_for_its_setup_counts_but_demands_nothing() {
    let (pool, facts) = job("default", 10, 10);
    let file = "<poolMaxJobsDefault>1</poolMaxJobsDefault>";
    let update = by_default(file, 4, &[(pool, JobFacts { is_running: false, ..facts }), (pool, facts)]);
    assert_eq!((admitted(&update), shares(&update, Kind::Map)), (vec![1], vec![0, 0]));
}

#[test]
fn a_job_over_its_users_limit_leaves_its_place_in_the_pool() {
    let file = "<poolMaxJobsDefault>2</poolMaxJobsDefault><userMaxJobsDefault>1</userMaxJobsDefault>";
    let jobs = ["u1", "u1", "u2", "u3"].map(|user| of_user(user, "a"));
    assert_eq!(admitted(&by_default(file, 4, &jobs)), [1, 3]);
}

#[test]
fn a_limit_of_zero_runs_nothing() {
    assert_eq!(admitted(&by_default("<poolMaxJobsDefault>0</poolMaxJobsDefault>", 4, &[job("a", 1, 1)])), [0; 0]);
}

#[test]
fn a_job_may_cap_its_own_slots() {
    let (pool, facts) = job("default", 10, 10);
    let capped = JobFacts { max: PerKind::new(Some(1), None), ..facts };
    let update = by_default("", 4, &[(pool, capped), (pool, facts)]);
    assert_eq!((shares(&update, Kind::Map), shares(&update, Kind::Reduce)), (vec![100, 300], vec![200, 200]));
}

const NESTED: &str = "<pool name='a'><maxRunningJobs>3</maxRunningJobs><maxReduces>6</maxReduces><weight>2</weight>
    <pool name='b'><maxRunningJobs>2</maxRunningJobs><minMaps>5</minMaps></pool><pool name='c'/></pool>";

#[test]
fn limits_on_running_jobs_hold_at_every_ancestor() {
    let pools = ["a.b", "a.b", "a.b", "a.c", "a.c", "d"];
    let update = by_default(NESTED, 9, &pools.map(|pool| job(pool, 10, 10)));
    assert_eq!(admitted(&update), [1, 2, 4, 6]);
}

#[test]
fn shares_are_divided_level_by_level() {
    let update = by_default(NESTED, 9, &[job("a.b", 10, 10), job("a.c", 10, 10), job("d", 10, 10)]);
    assert_eq!(shares(&update, Kind::Map), [500, 100, 300]);
    assert_eq!(shares(&update, Kind::Reduce), [300, 300, 300]);
    assert_eq!(update.pools.iter().map(|pool| pool.demand.reduce).collect::<Vec<_>>(), [6, 10, 10, 10]);
}
