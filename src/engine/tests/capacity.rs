//! Jobs under the Capacity scheduler: which are accepted and begin, what a task takes, and what clients see.

use std::sync::Arc;

use crate::engine::{
    Caller, EngineConfig, Event, LongRead, PolicyConfig, QueueConfig, ReadProgress, Refusal, Reply, WantedJobs,
};
use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;
use crate::model::{Decimal, JobId, Kind, PerKind, RunState};
use crate::scheduler::capacity::{CapacityConfig, SlotMemory, WrittenConfig, WrittenQueue};
use crate::wire::protocol::{encode_array_start, encode_element};
use crate::wire::{Action, JobStatus};

use super::cluster::{Cluster, FakeTask, Fate, config, spec};

fn queue(name: &str, capacity: i32) -> WrittenQueue {
    WrittenQueue::with_defaults(name, Some(Decimal::whole(capacity)))
}

fn policy(written: &WrittenConfig, slot_mb: Option<PerKind<u64>>) -> PolicyConfig {
    let checked = CapacityConfig::new(written).unwrap().with_slot_memory(slot_mb.map(SlotMemory::new));
    PolicyConfig::Capacity { config: Arc::new(checked), is_compatible: true }
}

fn queues(written: &WrittenConfig) -> Vec<QueueConfig> {
    written.queues.iter().map(|queue| QueueConfig::open(&queue.name)).collect()
}

fn sized(written: &WrittenConfig, slot_mb: Option<PerKind<u64>>) -> Cluster {
    Cluster::of(EngineConfig { queues: queues(written), ..config(policy(written, slot_mb)) })
}

fn cluster(written: &WrittenConfig) -> Cluster {
    sized(written, None)
}

/// Two queues of a half each: `default`, whose users have four active tasks, and `q2`.
fn halves() -> WrittenConfig {
    let default = WrittenQueue {
        minimum_user_limit_percent: 25,
        supports_priority: true,
        maximum_active_tasks_per_user: 4,
        ..queue("default", 50)
    };
    WrittenConfig { queues: vec![default, queue("q2", 50)], ..WrittenConfig::default() }
}

fn job(user: &str, queue: &str, maps: u32, reduces: u32) -> JobSpec {
    JobSpec { slowstart_millionths: 0, ..spec(user, queue, maps, reduces) }
}

/// Each tracker calls; the clock moves by a second for each.
fn beat_all(cluster: &mut Cluster, fate: impl Fn(&FakeTask) -> Fate) {
    for tracker in 0..cluster.trackers.len() {
        cluster.pass_ms(1_000);
        cluster.beat(tracker, &fate);
    }
}

/// Setups and cleanups succeed, maps and reduces hang.
fn hang_work(task: &FakeTask) -> Fate {
    if task.role == Role::Work { Fate::Hang } else { Fate::Succeed }
}

fn info(cluster: &Cluster, queue: &str) -> String {
    cluster.engine.queue(queue).value.unwrap().scheduling_info.to_string()
}

fn info_of_job(cluster: &Cluster, id: JobId) -> String {
    cluster.engine.job_status(id).value.unwrap().scheduling_info.to_string()
}

fn refusal(outcome: Result<JobId, Refusal>) -> String {
    match outcome {
        Err(Refusal::Invalid(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// Waiting and initialising jobs of a queue, as its text counts them.
fn waiting_and_initializing(cluster: &Cluster, queue: &str) -> (u32, u32) {
    let info = info(cluster, queue);
    let count = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(&format!("Number of {name} Jobs: ")));
        line.unwrap().parse().unwrap()
    };
    (count("Waiting"), count("Initializing"))
}

// Submission.

#[test]
fn a_job_of_more_tasks_than_a_user_may_have_active_is_refused() {
    let mut cluster = cluster(&halves());
    let text = refusal(cluster.submit(job("alice", "default", 3, 2)));
    assert_eq!(
        text,
        "Job 'job_202611210913_0001' from user 'alice' rejected since it has 5 tasks which exceeds the limit of 4 tasks \
         per-user which can be initialized for queue 'default'"
    );
    assert!(cluster.submit(job("alice", "q2", 3, 2)).is_ok());
}

#[test]
fn a_queue_and_a_user_accept_so_many_jobs() {
    let default = WrittenQueue { minimum_user_limit_percent: 50, init_accept_jobs_factor: 1, ..queue("default", 50) };
    let written =
        WrittenConfig { maximum_system_jobs: 4, queues: vec![default, queue("q2", 50)], ..WrittenConfig::default() };
    let mut cluster = cluster(&written);
    let first = cluster.submit(job("alice", "default", 1, 0)).unwrap();
    assert_eq!(
        refusal(cluster.submit(job("alice", "default", 1, 0))),
        "Job 'job_202611210913_0002' rejected since user 'alice' already has 0 waiting jobs, 1 initializing jobs and 0 \
         running jobs -  Exceeds limit of 1 jobs to accept in queue 'default' per user"
    );
    cluster.submit(job("bob", "default", 1, 0)).unwrap();
    assert_eq!(
        refusal(cluster.submit(job("carol", "default", 1, 0))),
        "Job 'job_202611210913_0004' from user 'carol' rejected since queue 'default' already has 0 waiting jobs, 2 \
         initializing jobs and 0 running jobs - Exceeds limit of 2 jobs to accept"
    );
    cluster.step(Event::KillJob { id: first, caller: Caller::named("alice") });
    assert!(cluster.submit(job("carol", "default", 1, 0)).is_ok());
}

#[test]
fn of_two_submissions_at_once_the_one_beyond_a_limit_is_refused_when_it_is_accepted() {
    let written = WrittenConfig {
        maximum_system_jobs: 1,
        queues: vec![WrittenQueue { init_accept_jobs_factor: 1, ..queue("default", 100) }],
        ..WrittenConfig::default()
    };
    let mut cluster = cluster(&written);
    let ids = [cluster.new_job_id("alice"), cluster.new_job_id("alice")];
    for id in ids {
        cluster.step(Event::SubmissionRequested { id, caller: Caller::named("alice") });
        let read = cluster.read_submission(id, job("alice", "default", 1, 0), crate::market::JobSignature::Missing);
        assert!(matches!(cluster.step(Event::SubmissionRead(Box::new(read))).0, Reply::Submission(_)));
    }
    let replies = ids.map(|id| cluster.step(Event::SystemDirWritten { id }).0);
    assert!(matches!(replies, [Reply::Submission(_), Reply::Refused(Refusal::Invalid(_))]), "{replies:?}");
}

// What clients see.

#[test]
fn row_23_texts_follow_the_jobs_of_a_queue() {
    let mut cluster = cluster(&halves());
    cluster.add_tracker("h0", 1, 1);
    cluster.add_tracker("h1", 1, 1);
    beat_all(&mut cluster, |_| Fate::Succeed);
    assert_eq!(info(&cluster, "default").lines().count(), 19);
    let ids: Vec<JobId> = (0..5).map(|_| cluster.submit(job("u1", "default", 1, 1)).unwrap()).collect();
    // Two jobs of two tasks are four active tasks; without a poll they begin at once.
    assert_eq!(waiting_and_initializing(&cluster, "default"), (3, 2));
    assert_eq!(info_of_job(&cluster, ids[0]), "NA");
    for _ in 0..3 {
        beat_all(&mut cluster, hang_work);
    }
    assert_eq!(
        info(&cluster, "default"),
        "Queue configuration\n\
         Capacity Percentage: 50.0%\n\
         User Limit: 25%\n\
         Priority Supported: YES\n\
         -------------\n\
         Map tasks\n\
         Capacity: 1 slots\n\
         Used capacity: 1 (100.0% of Capacity)\n\
         Running tasks: 1\n\
         Active users:\n\
         User 'u1': 1 (100.0% of used capacity)\n\
         -------------\n\
         Reduce tasks\n\
         Capacity: 1 slots\n\
         Used capacity: 1 (100.0% of Capacity)\n\
         Running tasks: 1\n\
         Active users:\n\
         User 'u1': 1 (100.0% of used capacity)\n\
         -------------\n\
         Job info\n\
         Number of Waiting Jobs: 3\n\
         Number of Initializing Jobs: 0\n\
         Number of users who have submitted jobs: 1\n"
    );
    assert_eq!(
        info_of_job(&cluster, ids[0]),
        "1 running map tasks using 1 map slots. 0 additional slots reserved. 1 running reduce tasks using 1 reduce \
         slots. 0 additional slots reserved."
    );
    // One ends well, one is killed: two more begin.
    cluster.step(Event::KillJob { id: ids[1], caller: Caller::named("u1") });
    for _ in 0..8 {
        let is_first = |task: &FakeTask| task.id.task.job == ids[0] || task.id.task.job == ids[1];
        let setups_hang = |task: &FakeTask| if is_first(task) { Fate::Succeed } else { Fate::Hang };
        beat_all(&mut cluster, setups_hang);
    }
    assert_eq!([0, 1].map(|job| cluster.state(ids[job])), [RunState::Succeeded, RunState::Killed]);
    assert_eq!(waiting_and_initializing(&cluster, "default"), (1, 2));
    assert_eq!(info(&cluster, "default").lines().count(), 19);
}

/// The answer to a client that asks for the jobs of a queue.
fn listed(cluster: &Cluster, queue: &str) -> Vec<u8> {
    let (mut read, mut out) = (LongRead::jobs(WantedJobs::OfQueue(queue.to_owned())), Vec::new());
    while read.next(&cluster.engine, &mut out).progress != ReadProgress::Done {}
    out
}

/// An answer with these jobs, counted from 1.
fn answer_with(cluster: &Cluster, numbers: &[i32]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_array_start::<JobStatus>(numbers.len(), &mut out);
    for number in numbers {
        let id = JobId::new("202611210913".parse().unwrap(), *number);
        encode_element(&cluster.engine.job_status(id).value.unwrap(), &mut out);
    }
    out
}

#[test]
fn the_jobs_of_a_queue_are_listed_by_stage_and_then_in_their_order() {
    let mut cluster = cluster(&halves());
    cluster.add_tracker("h0", 1, 1);
    let ids: Vec<JobId> = (0..4).map(|_| cluster.submit(job("u1", "default", 1, 1)).unwrap()).collect();
    cluster.submit(job("u1", "q2", 1, 1)).unwrap();
    let priority = |id, priority: &str| {
        let caller = Caller::named("u1");
        Event::SetJobPriority { id, priority: priority.to_owned(), caller }
    };
    cluster.step(priority(ids[3], "HIGH"));
    assert_eq!(listed(&cluster, "default"), answer_with(&cluster, &[1, 2, 4, 3]));
    let only_first = |task: &FakeTask| if task.id.task.job == ids[0] { hang_work(task) } else { Fate::Hang };
    (0..3).for_each(|_| beat_all(&mut cluster, only_first));
    assert_eq!(cluster.state(ids[0]), RunState::Running);
    assert_eq!(listed(&cluster, "default"), answer_with(&cluster, &[2, 1, 4, 3]), "initialising, running, waiting");
    assert_eq!(listed(&cluster, "q2"), answer_with(&cluster, &[5]));
}

#[test]
fn row_28_the_page_has_every_queue_with_its_share() {
    let cluster = cluster(&halves());
    let report = cluster.engine.build_snapshot(cluster.now).value.report;
    let queues =
        report.groups.iter().map(|group| (group.name.as_str(), group.capacity.as_ref().unwrap().percent.as_str()));
    assert_eq!(queues.collect::<Vec<_>>(), [("default", "50.0"), ("q2", "50.0")]);
}

// Jobs that begin.

#[test]
fn after_a_restart_jobs_that_had_begun_continue_and_the_others_wait_for_their_limits() {
    let mut cluster = cluster(&halves());
    cluster.add_tracker("h0", 1, 1);
    let ids: Vec<JobId> = (0..4).map(|_| cluster.submit(job("u1", "default", 1, 1)).unwrap()).collect();
    (0..6).for_each(|_| beat_all(&mut cluster, hang_work));
    assert_eq!(waiting_and_initializing(&cluster, "default"), (2, 0));
    cluster.crash_to_durable(1_000, hang_work);
    assert_eq!(waiting_and_initializing(&cluster, "default"), (2, 0));
    for id in ids {
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    }
}

#[test]
fn a_job_of_a_queue_that_is_no_longer_configured_is_completed() {
    let mut cluster = cluster(&halves());
    cluster.add_tracker("h0", 2, 1);
    let ids = ["q2", "q2", "default"].map(|queue| cluster.submit(job("u1", queue, 2, 1)).unwrap());
    let written = WrittenConfig { queues: vec![queue("default", 100)], ..WrittenConfig::default() };
    cluster.config.queues = queues(&written);
    cluster.config.policy = policy(&written, None);
    cluster.crash_to_durable(1_000, hang_work);
    for id in ids {
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    }
}

// Slots.

#[test]
fn a_task_takes_slots_by_its_memory_before_and_after_a_restart() {
    let written = WrittenConfig { queues: vec![queue("default", 100)], ..WrittenConfig::default() };
    let mut cluster = sized(&written, Some(PerKind::new(512, 512)));
    cluster.add_tracker("h0", 6, 6);
    let memory = JobSpec { map_memory_mb: Some(1025), reduce_memory_mb: Some(1024), ..job("alice", "default", 3, 2) };
    let id = cluster.submit(memory).unwrap();
    let mut launched = Vec::new();
    let mut beat = |cluster: &mut Cluster| {
        for action in cluster.beat(0, hang_work).0.actions {
            if let Action::LaunchTask(task) = action {
                launched.push((task.body.kind(), task.job_setup, task.num_slots));
            }
        }
    };
    (0..3).for_each(|_| beat(&mut cluster));
    cluster.crash_to_durable(1_000, hang_work);
    let of = |cluster: &Cluster| cluster.engine.cluster.scheduler.app_usage(cluster.engine.jobs.get(id).unwrap().app);
    assert_eq!(of(&cluster), PerKind::new(6, 2));
    (0..3).for_each(|_| drop(cluster.beat(0, hang_work)));
    assert_eq!(of(&cluster), PerKind::new(6, 4), "the second reduce takes two slots as well");
    let map = (Kind::Map, false, 3);
    assert_eq!(launched, [(Kind::Map, true, 1), map, map, (Kind::Reduce, false, 2)]);
}

#[test]
fn slots_kept_for_a_job_are_charged_to_its_counters() {
    let written = WrittenConfig { queues: vec![queue("default", 100)], ..WrittenConfig::default() };
    let mut cluster = sized(&written, Some(PerKind::new(512, 512)));
    cluster.add_tracker("h0", 3, 0);
    let of = |mb| JobSpec { map_memory_mb: Some(mb), reduce_memory_mb: Some(512), ..job("alice", "default", 1, 0) };
    let small = cluster.submit(of(512)).unwrap();
    let is_small = |task: &FakeTask| task.id.task.job == small;
    (0..3).for_each(|_| drop(cluster.beat(0, hang_work)));
    let large = cluster.submit(JobSpec { user: "bob".to_owned(), ..of(1536) }).unwrap();
    let kept = "0 running map tasks using 0 map slots. 3 additional slots reserved. ";
    // Once it runs, the two free slots are kept for it.
    let begun = (0..5).find(|_| {
        cluster.beat(0, hang_work);
        info_of_job(&cluster, large).starts_with(kept)
    });
    assert!(begun.is_some(), "{}", info_of_job(&cluster, large));
    cluster.pass_ms(7_000);
    cluster.beat(0, |task| if is_small(task) { Fate::Succeed } else { hang_work(task) });
    // The cleanup of the small job takes a slot first.
    let ended = (0..6).find(|_| {
        cluster.beat(0, hang_work);
        info_of_job(&cluster, large).starts_with("1 running map tasks using 3 map slots. 0 additional slots")
    });
    assert!(ended.is_some(), "{}", info_of_job(&cluster, large));
    assert_eq!(cluster.run(large, |_| Fate::Succeed), RunState::Succeeded);
    let counters = cluster.engine.job_counters(large).value.unwrap().unwrap();
    let all = counters.groups.iter().flat_map(|group| &group.counters);
    let fallow = all.clone().find(|counter| &*counter.name == "FALLOW_SLOTS_MILLIS_MAPS").unwrap();
    assert_eq!(fallow.value, 14_000, "two slots for seven seconds");
}

// Reload.

fn read_again(written: &WrittenConfig) -> Event {
    let policy = Some(policy(written, None));
    Event::QueuesRead { queues: queues(written), policy, caller: Caller::named("mapred") }
}

#[test]
fn raised_limits_are_in_force_at_once_after_a_reload() {
    let mut cluster = cluster(&halves());
    for _ in 0..3 {
        cluster.submit(job("u1", "default", 1, 1)).unwrap();
    }
    assert_eq!(waiting_and_initializing(&cluster, "default"), (1, 2));
    let mut written = halves();
    written.queues[0].maximum_active_tasks_per_user = 6;
    written.queues[0].capacity = Some(Decimal::whole(40));
    written.queues[0].supports_priority = false;
    written.queues.push(queue("q3", 10));
    assert!(matches!(cluster.step(read_again(&written)).0, Reply::Done));
    assert_eq!(waiting_and_initializing(&cluster, "default"), (0, 3));
    let info = info(&cluster, "default");
    assert!(info.contains("Capacity Percentage: 40.0%\n") && info.contains("Priority Supported: YES\n"), "{info}");
    assert!(cluster.submit(job("u1", "q3", 1, 1)).is_ok());
}

#[test]
fn a_reload_that_lacks_a_queue_changes_nothing() {
    let mut cluster = cluster(&halves());
    let without = WrittenConfig { queues: vec![queue("default", 100)], ..WrittenConfig::default() };
    let text = "Couldn't find queue 'q2' during refresh!";
    let refused = |reply| matches!(reply, Reply::Refused(Refusal::IllegalArgument(said)) if said == text);
    assert!(refused(cluster.step(read_again(&without)).0));
    // The queues alone would do.
    let (queues, policy) = (queues(&halves()), Some(policy(&without, None)));
    assert!(refused(cluster.step(Event::QueuesRead { queues, policy, caller: Caller::named("mapred") }).0));
    assert!(info(&cluster, "default").contains("Capacity Percentage: 50.0%\n"));
}

#[test]
fn a_lifted_maximum_lets_waiting_tasks_run() {
    let mut limited = halves();
    limited.queues[0].maximum_capacity = Decimal::whole(50);
    limited.queues[0].user_limit_factor = Decimal::whole(2);
    let mut cluster = cluster(&limited);
    cluster.add_tracker("h0", 4, 0);
    let id = cluster.submit(job("u1", "default", 4, 0)).unwrap();
    let running = |cluster: &Cluster| cluster.engine.jobs.get(id).unwrap().running().map;
    (0..6).for_each(|_| beat_all(&mut cluster, hang_work));
    assert_eq!(running(&cluster), 2);
    let mut lifted = limited;
    lifted.queues[0].maximum_capacity = Decimal::whole(-1);
    assert!(matches!(cluster.step(read_again(&lifted)).0, Reply::Done));
    (0..2).for_each(|_| beat_all(&mut cluster, hang_work));
    assert_eq!(running(&cluster), 4);
}
