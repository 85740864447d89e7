//! Long answers come in slices of bounded size, and are together what was asked for.

use crate::engine::{
    Engine, LongRead, PolicyConfig, ReadProgress, Reply, SLICE_BYTES, SLICE_ITEMS, SLICE_LOOKS, TaskReportKind,
    WantedJobs,
};
use crate::fake_tracker::Role;
use crate::mapreduce::Job;
use crate::model::{JobId, Kind};
use crate::wire::protocol::{CallOutcome, ReturnType, Value, decode_response, encode_response_start, encode_value};
use crate::wire::{TaskReport, TipStatus};

use super::cluster::{Cluster, Fate, fifo, spec};
use super::pools::{fair_config, in_pool, set_pool};

const MAPS: TaskReportKind = TaskReportKind::Work(Kind::Map);
/// What one item may add to a slice that is nearly full.
const ITEM_BYTES: usize = 4 << 10;

/// All slices one after the other, with what happens between two of them; returns their number.
fn read(
    cluster: &mut Cluster,
    mut read: LongRead,
    mut between: impl FnMut(&mut Cluster),
) -> (Vec<u8>, usize, ReadProgress) {
    let mut bytes = Vec::new();
    for slices in 1..100_000 {
        let before = bytes.len();
        let slice = read.next(&cluster.engine, &mut bytes);
        // No answer to a detailed question about the cluster is that long here.
        assert!(bytes.len() - before < SLICE_BYTES + ITEM_BYTES, "a slice of {} bytes", bytes.len() - before);
        assert!(slice.wait_for.0 <= cluster.facts.len() as u64);
        if matches!(slice.progress, ReadProgress::Done | ReadProgress::JobForgotten) {
            return (bytes, slices, slice.progress);
        }
        between(cluster);
    }
    panic!("no end");
}

fn value(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_value(value, &mut bytes);
    bytes
}

fn decoded(returns: ReturnType, value: &[u8]) -> Value {
    let mut response = Vec::new();
    encode_response_start(&mut response, 1);
    response.extend_from_slice(value);
    let (decoded, used) = decode_response(returns, &response).unwrap().unwrap();
    assert_eq!(used, response.len());
    match decoded.outcome {
        CallOutcome::Value(value) => value,
        other => panic!("{other:?}"),
    }
}

fn reports(bytes: &[u8]) -> Vec<TaskReport> {
    match decoded(ReturnType::TaskReports, bytes) {
        Value::TaskReports(reports) => reports,
        other => panic!("{other:?}"),
    }
}

/// A job some of whose maps are done, and some at work.
fn half_done(maps: u32) -> (Cluster, JobId) {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 50, 1);
    let id = cluster.submit(spec("alice", "default", maps, 3)).unwrap();
    for beat in 0..8 {
        cluster.beat(0, |task| {
            if task.role == Role::Housekeeping || (task.id.task.number + beat) % 3 > 0 {
                Fate::Succeed
            } else {
                Fate::Hang
            }
        });
    }
    (cluster, id)
}

fn job(engine: &Engine, id: JobId) -> &Job {
    engine.jobs.get(id).unwrap()
}

/// Before, all of it was one step: nothing else had its turn until the last report was written.
#[test]
fn reports_on_many_tasks_come_in_many_slices_and_are_the_same_bytes() {
    let maps = 6_000;
    let (mut cluster, id) = half_done(maps);
    let done = job(&cluster.engine, id).finished().map;
    assert!(done > 20 && done < maps / 2, "{done} are done");
    let (bytes, slices, then) = read(&mut cluster, LongRead::task_reports(id, MAPS), |_| {});
    assert_eq!(then, ReadProgress::Done);
    assert!(
        bytes == value(&Value::TaskReports(cluster.engine.task_reports(id, MAPS).value)),
        "other bytes than at once"
    );
    let least = maps / SLICE_ITEMS + maps / SLICE_LOOKS;
    assert!(slices >= least as usize, "{slices} slices for {maps} tasks");
    let reports = reports(&bytes);
    let first_others = reports.iter().position(|report| !matches!(report.status, TipStatus::Complete(_)));
    assert_eq!((reports.len(), first_others), (maps as usize, Some(done as usize)), "the done ones come first");
}

#[test]
fn a_small_job_takes_one_slice() {
    let (mut cluster, id) = half_done(40);
    for kind in [MAPS, TaskReportKind::Work(Kind::Reduce), TaskReportKind::Setup, TaskReportKind::Cleanup] {
        let (bytes, slices, _) = read(&mut cluster, LongRead::task_reports(id, kind), |_| {});
        let whole = value(&Value::TaskReports(cluster.engine.task_reports(id, kind).value));
        assert_eq!((bytes == whole, slices), (true, 1), "{kind:?}");
    }
    let unknown = LongRead::task_reports(JobId::new(id.identifier, 99), MAPS);
    assert_eq!(read(&mut cluster, unknown, |_| {}).0, value(&Value::TaskReports(Vec::new())));
}

#[test]
fn changes_between_slices_omit_and_repeat_no_task() {
    let (mut cluster, id) = half_done(1_000);
    let before = job(&cluster.engine, id).finished().map;
    let (bytes, slices, _) = read(&mut cluster, LongRead::task_reports(id, MAPS), |cluster| {
        cluster.beat(0, |_| Fate::Succeed);
    });
    assert!(slices > 10 && job(&cluster.engine, id).finished().map > before + 100);
    let mut numbers: Vec<i32> = reports(&bytes).iter().map(|report| report.task.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
}

#[test]
fn a_job_that_is_forgotten_meanwhile_ends_the_read() {
    let (mut cluster, id) = half_done(1_000);
    let mut left = 3;
    let (_, _, then) = read(&mut cluster, LongRead::task_reports(id, MAPS), |cluster| {
        left -= 1;
        if left == 0 {
            cluster.engine.jobs.remove(id);
        }
    });
    assert_eq!(then, ReadProgress::JobForgotten);
}

#[test]
fn lists_of_jobs_come_in_slices_with_their_count() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 1);
    let jobs = 3 * SLICE_ITEMS as usize / 2;
    let ids: Vec<JobId> = (0..jobs).map(|_| cluster.submit(spec("alice", "default", 1, 0)).unwrap()).collect();
    cluster.run(ids[7], |_| Fate::Succeed);
    let status = |engine: &Engine, wanted: &dyn Fn(&JobId) -> bool| {
        let wanted = ids.iter().filter(|id| wanted(id));
        value(&Value::JobStatuses(wanted.map(|id| engine.job_status(*id).value.unwrap()).collect()))
    };
    let unfinished: Vec<JobId> = cluster.engine.jobs_to_complete().value.iter().map(|status| status.id).collect();
    let to_complete = status(&cluster.engine, &|id| unfinished.contains(id));
    for (wanted, whole) in [
        (WantedJobs::All, status(&cluster.engine, &|_| true)),
        (WantedJobs::ToComplete, to_complete.clone()),
        (WantedJobs::OfQueue("default".into()), to_complete),
        (WantedJobs::OfQueue("nowhere".into()), status(&cluster.engine, &|_| false)),
    ] {
        let (bytes, slices, _) = read(&mut cluster, LongRead::jobs(wanted.clone()), |_| {});
        assert!(bytes == whole && slices <= 3, "{wanted:?}: {slices} slices");
    }
    // A job that goes, and one that comes, before it is their turn.
    let mut gone = ids.clone();
    let (bytes, slices, _) = read(&mut cluster, LongRead::jobs(WantedJobs::All), |cluster| {
        if let Some(last) = gone.pop() {
            cluster.engine.jobs.remove(last);
            cluster.submit(spec("alice", "default", 1, 0)).unwrap();
        }
    });
    let Value::JobStatuses(statuses) = decoded(ReturnType::JobStatuses, &bytes) else { panic!("other values") };
    assert_eq!((statuses.len(), slices), (jobs, 2));
}

#[test]
fn the_fair_scheduler_lists_the_jobs_of_a_pool() {
    let mut cluster = Cluster::new(PolicyConfig::Fair(fair_config("<pool name='A'/><pool name='B'/>")));
    let ids: Vec<JobId> = ["B", "A", "default", "A"]
        .map(|pool| cluster.submit(in_pool("pool.name", pool, 1, 0)).unwrap())
        .into_iter()
        .collect();
    let listed = |cluster: &mut Cluster, pool: &str| {
        let (bytes, ..) = read(cluster, LongRead::jobs(WantedJobs::OfQueue(pool.into())), |_| {});
        let Value::JobStatuses(statuses) = decoded(ReturnType::JobStatuses, &bytes) else { panic!("other values") };
        statuses.iter().map(|status| ids.iter().position(|id| *id == status.id).unwrap() + 1).collect::<Vec<_>>()
    };
    // All are in the queue `default`; a client that names none asks for that of an empty name.
    let lists = ["A", "B", "default", "nowhere", ""].map(|pool| listed(&mut cluster, pool));
    assert_eq!(lists, [vec![2, 4], vec![1], vec![3], vec![], vec![]]);
    assert!(cluster.engine.cluster.scheduler.group("nowhere").is_none(), "a question opens no pool");
    assert!(matches!(set_pool(&mut cluster, ids[0], "A"), Reply::Done));
    assert!(matches!(set_pool(&mut cluster, ids[1], "C"), Reply::Done));
    let lists = ["A", "B", "C"].map(|pool| listed(&mut cluster, pool));
    assert_eq!(lists, [vec![1, 4], vec![], vec![2]]);
    cluster.crash(1_000, |_| Fate::Hang);
    assert_eq!(["A", "C"].map(|pool| listed(&mut cluster, pool)), [vec![1, 4], vec![2]], "after a restart");
}

#[test]
fn the_names_of_trackers_come_in_slices() {
    let mut cluster = Cluster::new(fifo());
    for number in 0..600 {
        let index = cluster.add_tracker(&format!("h{number}"), 1, 1);
        cluster.beat(index, |_| Fate::Succeed);
    }
    let mut detailed = LongRead::cluster();
    let mut bytes = Vec::new();
    let slices = (1..).find(|_| detailed.next(&cluster.engine, &mut bytes).progress == ReadProgress::Done).unwrap();
    assert_eq!(slices, 3, "256 at a time");
    assert!(bytes == value(&Value::ClusterStatus(cluster.engine.cluster_status(true).value)));
}
