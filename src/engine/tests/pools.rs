//! Pools of the Fair scheduler: which one a job is in, and what rounds of preemption take from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::{Caller, Event, FairConfig, PolicyConfig, Refusal, Reply};
use crate::mapreduce::{JobSpec, POOL_PROPERTY, PoolProperties};
use crate::model::{AttemptState, JobId, Kind, PerKind, RunState};
use crate::scheduler::fair::allocation_file::AllocationFile;
use crate::scheduler::fair::allocations::Allocations;
use crate::scheduler::fair::options::{EventLogConfig, FairOptions};

use super::cluster::{Cluster, Fate, spec};
use super::preemption::{attempts, hang, live};

fn allocations(file: &str) -> Arc<Allocations> {
    Arc::new(AllocationFile::parse(&format!("<allocations>{file}</allocations>")).unwrap().allocations)
}

pub(crate) fn fair_config(file: &str) -> FairConfig {
    FairConfig {
        options: FairOptions::default(),
        allocations: allocations(file),
        pool_name_property: "pool.name".to_owned(),
        allows_undeclared_pools: true,
        preemption_interval_ms: None,
        only_logs_preemption: false,
        event_log: None,
    }
}

fn cluster(file: &str) -> Cluster {
    Cluster::new(PolicyConfig::Fair(fair_config(file)))
}

pub(crate) fn in_pool(property: &str, pool: &str, maps: u32, reduces: u32) -> JobSpec {
    let pool_properties = PoolProperties(BTreeMap::from([(property.to_owned(), pool.to_owned())]));
    JobSpec { pool_properties, slowstart_millionths: 0, ..spec("ann", "default", maps, reduces) }
}

fn pool_of(cluster: &Cluster, job: JobId) -> Option<&str> {
    let scheduler = &cluster.engine.cluster.scheduler;
    scheduler.group_name(scheduler.group_of(cluster.engine.jobs.get(job)?.app)?)
}

pub(crate) fn set_pool(cluster: &mut Cluster, id: JobId, pool: &str) -> Reply {
    let caller = Caller::named("ann");
    cluster.step(Event::SetPool { id, pool: pool.to_owned(), caller }).0
}

#[test]
fn row_30_a_job_is_in_the_pool_that_it_or_the_configured_property_names() {
    let mut cluster = cluster("");
    let by_property = cluster.submit(in_pool("pool.name", "ads", 1, 0)).unwrap();
    let by_itself = cluster.submit(in_pool(POOL_PROPERTY, "own", 1, 0)).unwrap();
    let by_nothing = cluster.submit(in_pool("group.name", "staff", 1, 0)).unwrap();
    let pools = [by_property, by_itself, by_nothing].map(|job| pool_of(&cluster, job).map(str::to_owned));
    assert_eq!(pools.map(Option::unwrap), ["ads", "own", "default"]);
}

#[test]
fn row_30_a_job_that_is_moved_twice_is_in_its_last_pool_also_after_a_restart() {
    let mut cluster = cluster("");
    cluster.add_tracker("h0", 2, 1);
    let job = cluster.submit(in_pool("pool.name", "ads", 4, 0)).unwrap();
    for _ in 0..4 {
        cluster.pass_ms(500);
        cluster.timer();
        cluster.beat(0, hang);
    }
    let running = |cluster: &Cluster, pool: &str| {
        let scheduler = &cluster.engine.cluster.scheduler;
        scheduler.group(pool).map(|group| scheduler.usage(group).map)
    };
    assert_eq!(running(&cluster, "ads"), Some(2));
    for pool in ["books", " cars "] {
        assert!(matches!(set_pool(&mut cluster, job, pool), Reply::Done), "{pool}");
    }
    // Pools that no file declares close with their last job.
    assert_eq!(["ads", "books", "cars"].map(|pool| running(&cluster, pool)), [None, None, Some(2)]);
    cluster.crash(1_000, hang);
    assert_eq!(pool_of(&cluster, job), Some("cars"));
    assert_eq!(cluster.run(job, |_| Fate::Succeed), RunState::Succeeded);
}

#[test]
fn a_move_is_refused_without_a_name_and_ignored_for_an_unknown_job() {
    let mut cluster = cluster("");
    let job = cluster.submit(in_pool("pool.name", "ads", 1, 0)).unwrap();
    assert!(matches!(set_pool(&mut cluster, job, " "), Reply::Refused(Refusal::IllegalArgument(_))));
    assert!(matches!(set_pool(&mut cluster, "job_202001010000_0007".parse().unwrap(), "x"), Reply::Done));
    assert_eq!(pool_of(&cluster, job), Some("ads"));
    let mut cluster = Cluster::new(super::cluster::fifo());
    let job = cluster.submit(spec("ann", "default", 1, 0)).unwrap();
    assert!(matches!(set_pool(&mut cluster, job, "ads"), Reply::Refused(Refusal::Invalid(_))));
}

#[test]
fn row_32_an_undeclared_pool_is_refused_where_only_declared_ones_are_allowed() {
    let config = FairConfig { allows_undeclared_pools: false, ..fair_config("<pool name='poolA'/>") };
    let mut cluster = Cluster::new(PolicyConfig::Fair(config));
    for spec in [spec("ann", "default", 1, 0), in_pool(POOL_PROPERTY, "poolB", 1, 0)] {
        let refusal = cluster.submit(spec).unwrap_err();
        assert!(matches!(refusal, Refusal::UndeclaredPool(_)), "{refusal:?}");
        assert!(refusal.to_string().contains("Add pool name to the fair scheduler allocation file"), "{refusal}");
    }
    let job = cluster.submit(in_pool(POOL_PROPERTY, "poolA", 1, 0)).unwrap();
    assert!(matches!(set_pool(&mut cluster, job, "poolB"), Reply::Refused(Refusal::UndeclaredPool(_))));
    assert_eq!(pool_of(&cluster, job), Some("poolA"));
}

#[test]
fn an_edited_allocation_file_counts_for_jobs_that_run_and_wait() {
    let mut cluster = cluster("<pool name='ads'><maxRunningJobs>1</maxRunningJobs></pool><pool name='gone'/>");
    cluster.add_tracker("h0", 2, 1);
    let jobs = [(); 2].map(|()| cluster.submit(in_pool("pool.name", "ads", 1, 0)).unwrap());
    let begun = |cluster: &Cluster| jobs.map(|job| cluster.engine.cluster.housekeeping.setup.contains(&job));
    assert_eq!(begun(&cluster), [true, false]);
    cluster.step(Event::AllocationsRead { allocations: allocations("<pool name='ads'><pool name='in'/></pool>") });
    assert_eq!(begun(&cluster), [true, true]);
    let scheduler = &cluster.engine.cluster.scheduler;
    assert_eq!(["ads", "ads.in", "gone"].map(|pool| scheduler.group(pool).is_some()), [true, true, false]);
    for job in jobs {
        assert_eq!(cluster.run(job, |_| Fate::Succeed), RunState::Succeeded);
    }
}

#[test]
fn a_job_runs_no_more_tasks_at_a_time_than_it_wants() {
    let mut cluster = cluster("");
    cluster.add_tracker("h0", 3, 3);
    let capped = JobSpec { max_running: PerKind::new(Some(2), Some(1)), ..in_pool(POOL_PROPERTY, "ads", 9, 9) };
    let jobs = [capped, in_pool(POOL_PROPERTY, "books", 1, 0)].map(|spec| cluster.submit(spec).unwrap());
    live(&mut cluster, 10_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(2, 1), PerKind::new(1, 0)]);
}

/// Two trackers of two maps and two reduces, filled by a job in the default pool. Another one was set up beside it and
/// then moved to `poolA`.
pub(crate) fn starving(only_logs: bool, event_log: Option<EventLogConfig>) -> (Cluster, [JobId; 2]) {
    let file = "<pool name='default'><schedulingMode>fifo</schedulingMode></pool>
        <pool name='poolA'><minMaps>2</minMaps><minReduces>1</minReduces>
        <minSharePreemptionTimeout>60</minSharePreemptionTimeout></pool>";
    let mut config = fair_config(file);
    config.options.preempts = true;
    config.preemption_interval_ms = Some(1_000);
    config.only_logs_preemption = only_logs;
    config.event_log = event_log;
    let mut cluster = Cluster::new(PolicyConfig::Fair(config));
    cluster.add_tracker("h0", 2, 2);
    cluster.add_tracker("h1", 2, 2);
    let jobs = [(); 2].map(|()| cluster.submit(in_pool(POOL_PROPERTY, "default", 10, 10)).unwrap());
    live(&mut cluster, 10_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(4, 4), PerKind::default()]);
    assert!(matches!(set_pool(&mut cluster, jobs[1], "poolA"), Reply::Done));
    (cluster, jobs)
}

pub(crate) fn running(cluster: &Cluster, jobs: [JobId; 2]) -> [PerKind<u32>; 2] {
    jobs.map(|job| cluster.engine.cluster.scheduler.app_running(cluster.engine.jobs.get(job).unwrap().app))
}

#[test]
fn row_16_a_pool_gets_its_minimum_once_its_timeout_has_passed() {
    let (mut cluster, jobs) = starving(false, None);
    live(&mut cluster, 58_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(4, 4), PerKind::default()]);
    live(&mut cluster, 8_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(2, 3), PerKind::new(2, 1)]);
    let killed = attempts(&cluster).into_iter().filter(|(.., attempt)| attempt.state == AttemptState::Killed);
    assert_eq!(killed.map(|(_, id, _)| id.task.kind).collect::<Vec<_>>(), [Kind::Map, Kind::Map, Kind::Reduce]);
}

/// The settings of the cluster, changed, are read again.
fn refresh(cluster: &mut Cluster, change: impl FnOnce(&mut FairConfig)) -> Reply {
    let PolicyConfig::Fair(mut fair) = cluster.engine.policy().clone() else { panic!("another scheduler rules") };
    change(&mut fair);
    let (queues, caller) = (cluster.config.queues.clone(), Caller::named("mapred"));
    cluster.step(Event::QueuesRead { queues, policy: Some(PolicyConfig::Fair(fair)), caller }).0
}

#[test]
fn settings_that_are_read_again_let_starvation_go_on() {
    let (mut cluster, jobs) = starving(false, None);
    live(&mut cluster, 58_000, hang);
    let raised = "<pool name='default'><schedulingMode>fifo</schedulingMode></pool>
        <pool name='poolA'><minMaps>3</minMaps><minReduces>1</minReduces>
        <minSharePreemptionTimeout>60</minSharePreemptionTimeout></pool>";
    assert!(matches!(refresh(&mut cluster, |fair| fair.allocations = allocations(raised)), Reply::Done));
    live(&mut cluster, 8_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(1, 3), PerKind::new(3, 1)]);
}

#[test]
fn settings_that_forbid_the_pools_of_jobs_are_refused() {
    let (mut cluster, _) = starving(false, None);
    let other = |fair: &mut FairConfig| {
        fair.allows_undeclared_pools = false;
        fair.allocations = allocations("<pool name='default'/>");
    };
    let Reply::Refused(Refusal::IllegalArgument(why)) = refresh(&mut cluster, other) else { panic!("taken over") };
    assert!(why.contains("in pool poolA, which the allocation file does not declare"), "{why}");
    let PolicyConfig::Fair(fair) = cluster.engine.policy() else { panic!("another scheduler rules") };
    assert!(fair.allows_undeclared_pools, "nothing has changed");
}

#[test]
fn row_21_where_preemption_is_only_logged_nothing_dies() {
    let (mut cluster, jobs) = starving(true, None);
    live(&mut cluster, 70_000, hang);
    assert_eq!(running(&cluster, jobs), [PerKind::new(4, 4), PerKind::default()]);
    let logged = cluster
        .effects
        .iter()
        .any(|effect| format!("{effect:?}").contains("Should preempt 2 MAP tasks for pool poolA"));
    assert!(logged);
}
