//! A want is what could run: what no connected worker could run buys nothing, takes no place, and is said where people
//! look.

use std::sync::Arc;

use crate::api::QueueStatus;
use crate::api::applications::AskRow;
use crate::engine::tests::cluster::{Cluster, FakeTask, Fate, spec};
use crate::engine::tests::market::market;
use crate::engine::tests::pools::in_pool;
use crate::engine::tests::scheduler_report::{fair, why};
use crate::engine::{ApplicationAnswer, ApplicationQuestion, PolicyConfig};
use crate::fake_tracker::Role;
use crate::mapreduce::{JobSpec, POOL_PROPERTY};
use crate::market::{Answer, ParsedQuery};
use crate::model::{Capability, Decimal, JobId, PerKind, PerPool, RunState};
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};

use super::bench::{Bench, items_row, run_as};

const JAVA: &str = "mapred.mapper.class is \"a.B\"";

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn tick(cluster: &mut Cluster) {
    cluster.pass_ms(1_000);
    cluster.now.mono_ms = cluster.now.mono_ms.max(cluster.engine.rounds.update.due_mono_ms());
    cluster.timer();
}

fn submit(cluster: &mut Cluster, spec: JobSpec) -> JobId {
    cluster.pass_ms(1);
    let signature = cluster.signature(&spec.user);
    cluster.submit_signed(spec, signature).unwrap()
}

/// What a queue has bought; none: no interval is open for it.
fn quota(cluster: &Cluster, queue: &str) -> Option<PerPool<u32>> {
    cluster.engine.market().unwrap().account(queue).unwrap().interval().map(|interval| interval.quota)
}

fn status(cluster: &mut Cluster, queue: &str) -> QueueStatus {
    cluster.pass_ms(1);
    let query = format!("queues={queue}&user=root&timestamp={}", cluster.now.wall_ms);
    match cluster.ask(ParsedQuery::parse_queue_status(&query).unwrap(), true) {
        Ok(Answer::QueueStatuses(mut queues)) => queues.remove(0),
        other => panic!("{other:?}"),
    }
}

/// A worker of sixteen slots, four of them for maps and two for reduces; alice and bob bid for it.
fn stage() -> Bench {
    let cluster = market(&[("alice", "1000", "10"), ("bob", "1000", "90")]);
    let mut bench = Bench::of(cluster, &[(Capability::new(16_384, 16), PerKind::new(4, 2))]);
    submit(&mut bench.cluster, spec("alice", "alice", 40, 0));
    for _ in 0..3 {
        bench.heartbeat(0);
        bench.advance(0, hang);
    }
    bench
}

/// One container as large as no node bought every slot, and held none of them.
#[test]
fn containers_that_fit_no_node_buy_nothing() {
    let mut bench = stage();
    let too_large = AskRow { capability: Capability::new(921_600, 1), ..items_row("1", |_| {}) };
    let phantom = run_as(&mut bench, "bob", vec![too_large]);
    tick(&mut bench.cluster);
    assert_eq!((quota(&bench.cluster, "bob"), quota(&bench.cluster, "alice")), (None, Some(PerPool::new(4, 0, 0))));
    assert_eq!(bench.cluster.engine.market().unwrap().price().to_string(), "10.0");
    let because = "nothing it asks for fits a node: 921,600 MB; the largest has 16,384 MB and 16 cores";
    assert_eq!(status(&mut bench.cluster, "bob").cannot_run.as_deref(), Some(because));
    assert_eq!(status(&mut bench.cluster, "alice").cannot_run, None);
    let ApplicationAnswer::Application(report) =
        bench.ask_as("bob", ApplicationQuestion::Show { application: phantom, known_version: None }).unwrap()
    else {
        panic!("no report");
    };
    assert_eq!(report.cannot_run, Some(format!("the only connected worker cannot run it: {because}")));
    // What fits beside it is bought as ever.
    run_as(&mut bench, "bob", vec![items_row("1-3", |_| {})]);
    tick(&mut bench.cluster);
    assert_eq!(quota(&bench.cluster, "bob"), Some(PerPool::new(0, 0, 3)));
    assert_eq!(status(&mut bench.cluster, "bob").cannot_run, None);
}

/// A job that only a stock TaskTracker can run wants what such trackers have.
#[test]
fn jobs_that_no_tracker_can_run_buy_nothing_and_say_so() {
    let mut bench = stage();
    let cluster = &mut bench.cluster;
    let job = submit(cluster, JobSpec { only_stock: Some(JAVA.to_owned()), ..spec("bob", "bob", 400, 0) });
    tick(cluster);
    assert_eq!((quota(cluster, "bob"), quota(cluster, "alice").unwrap().map), (None, 4));
    let sentence = format!("the only connected worker cannot run it: {JAVA}");
    assert_eq!(why(cluster, job), [sentence.as_str()]);
    assert_eq!(cluster.engine.job_status(job).value.unwrap().scheduling_info.to_string(), sentence);
    assert_eq!(status(cluster, "bob").cannot_run.as_deref(), Some(JAVA));
    let stock = cluster.add_tracker("stock", 2, 1);
    cluster.beat(stock, hang);
    tick(cluster);
    assert_eq!(quota(cluster, "bob").unwrap().map, 2, "its slots and no more");
    assert!(!why(cluster, job).contains(&sentence));
    assert_ne!(cluster.engine.job_status(job).value.unwrap().scheduling_info.to_string(), sentence);
}

/// A pool of one running job, whose first job can never run.
#[test]
fn a_job_that_cannot_run_takes_no_place_in_a_pool() {
    let mut cluster = Cluster::new(fair("<pool name='ads'><maxRunningJobs>1</maxRunningJobs></pool>"));
    cluster.add_tracker("h0", 2, 1);
    cluster.trackers[0].name = "tracker_h0:streaming_only/127.0.0.1:50060".to_owned();
    cluster.beat(0, hang);
    let in_ads = |maps| in_pool(POOL_PROPERTY, "ads", maps, 0);
    let stuck = cluster.submit(JobSpec { only_stock: Some(JAVA.to_owned()), ..in_ads(1) }).unwrap();
    let good = cluster.submit(in_ads(2)).unwrap();
    for _ in 0..20 {
        cluster.pass_ms(500);
        cluster.timer();
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert_eq!(cluster.state(good), RunState::Succeeded);
    assert!(why(&cluster, stuck)[0].starts_with("the only connected worker cannot run it: "));
}

/// A queue that lets one job of a user begin, whose first job can never run.
#[test]
fn a_job_that_cannot_run_takes_no_place_in_a_queue() {
    let queues = vec![WrittenQueue::with_defaults("default", Some(Decimal::whole(100)))];
    let config = CapacityConfig::new(&WrittenConfig { queues, maximum_system_jobs: 1, ..WrittenConfig::default() });
    let config = Arc::new(config.unwrap());
    let mut cluster = Cluster::new(PolicyConfig::Capacity { config, is_compatible: false });
    cluster.add_tracker("h0", 2, 1);
    cluster.trackers[0].name = "tracker_h0:streaming_only/127.0.0.1:50060".to_owned();
    cluster.beat(0, hang);
    let stuck = cluster.submit(JobSpec { only_stock: Some(JAVA.to_owned()), ..spec("ann", "default", 1, 0) }).unwrap();
    cluster.pass_ms(1);
    let good = cluster.submit(spec("ann", "default", 2, 0)).unwrap();
    for _ in 0..20 {
        cluster.pass_ms(500);
        cluster.timer();
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert_eq!(cluster.state(good), RunState::Succeeded);
    assert_eq!(cluster.state(stuck), RunState::Prep);
}
