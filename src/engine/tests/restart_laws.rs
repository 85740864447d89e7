//! Laws over random clusters that are cut off at any step: jobs are after the start what they were, every job ends, no
//! attempt id is given twice, no finished task runs again because of it, no slot and no demand leaks.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use proptest::prelude::*;

use crate::engine::{Caller, Event, Fact};
use crate::mapreduce::{AttemptRole, JobFact, JobSpec};
use crate::model::{AttemptId, PerKind, RunState, TaskId};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

const HOSTS: [&str; 5] = ["h0", "h1", "h2", "h3", "h4"];

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Beat(usize),
    LoseAnswer(usize),
    Restart(usize),
    Kill(usize),
    KillTask(usize, bool),
    Pass(u16),
    /// From now on maps of a job take so many slots each, until the next restart.
    Resize(usize, NonZeroU32),
    Crash(u16),
    /// Cut off before the facts of this heartbeat were durable: it was not answered.
    CrashWithin(usize),
}

pub(crate) fn operations(with_faults: bool) -> impl Strategy<Value = Vec<Operation>> {
    let faults = u32::from(with_faults);
    let operation = prop_oneof![
        20 => (0..HOSTS.len()).prop_map(Operation::Beat),
        2 => (0..HOSTS.len()).prop_map(Operation::LoseAnswer),
        faults => (0..HOSTS.len()).prop_map(Operation::Restart),
        faults => (0..3_usize).prop_map(Operation::Kill),
        2 * faults => (0..HOSTS.len(), any::<bool>()).prop_map(|(index, fail)| Operation::KillTask(index, fail)),
        3 => any::<u16>().prop_map(Operation::Pass),
        2 => (0..3_usize, 1..=2_u32)
            .prop_map(|(index, slots)| Operation::Resize(index, NonZeroU32::new(slots).unwrap())),
        3 => any::<u16>().prop_map(Operation::Crash),
        2 => (0..HOSTS.len()).prop_map(Operation::CrashWithin),
    ];
    prop::collection::vec(operation, 0..100)
}

/// Fails the first attempts of some tasks, in a way that depends on the ids alone.
pub(crate) fn faulty(task: &FakeTask) -> Fate {
    let salt = task.id.task.number * 7 + task.id.task.job.number * 3 + task.id.number;
    match salt % 6 {
        _ if task.id.number > 2 => Fate::Succeed,
        0 => Fate::Fail,
        1 => Fate::FailUnclean,
        _ => Fate::Succeed,
    }
}

pub(crate) fn play(operations: &[Operation], with_faults: bool, fate: fn(&FakeTask) -> Fate) -> Cluster {
    let mut cluster = Cluster::new(fifo());
    for host in HOSTS {
        cluster.add_tracker(host, 2, 1);
    }
    let mut submit = |maps, reduces, max_tracker_failures| {
        let speculative = PerKind::new(with_faults, with_faults);
        let spec = JobSpec { max_tracker_failures, speculative, ..spec("alice", "default", maps, reduces) };
        cluster.submit(spec).unwrap()
    };
    let jobs = [submit(3, 1, 1), submit(9, 2, 2), submit(1, 0, 4)];
    for operation in operations {
        match operation {
            Operation::Beat(index) => {
                cluster.beat(*index, fate);
            }
            // The answer to a registration that is lost takes its launches with it.
            Operation::LoseAnswer(index) | Operation::CrashWithin(index)
                if !with_faults && !cluster.trackers[*index].is_registered =>
            {
                cluster.beat(*index, fate);
            }
            Operation::LoseAnswer(index) => cluster.beat_unanswered(*index, fate),
            Operation::Restart(index) => cluster.restart(*index),
            Operation::Kill(index) => {
                cluster.step(Event::KillJob { id: jobs[*index], caller: Caller::named("alice") });
            }
            Operation::KillTask(index, fail) => {
                if let Some(id) = cluster.trackers[*index].attempts.first().map(|task| task.id) {
                    cluster.step(Event::KillTask { id, fail: *fail, caller: Caller::named("alice") });
                }
            }
            Operation::Pass(ms) => {
                cluster.pass_ms(u64::from(*ms));
                cluster.timer();
            }
            Operation::Resize(index, slots) => {
                cluster.set_slots_per_task(jobs[*index], PerKind::new(*slots, NonZeroU32::MIN))
            }
            Operation::Crash(ms) => cluster.crash(u64::from(*ms), fate),
            Operation::CrashWithin(index) => {
                let durable = cluster.facts.len();
                cluster.beat_unanswered(*index, fate);
                cluster.facts.truncate(durable);
                cluster.crash_to_durable(1_000, fate);
            }
        }
    }
    for id in jobs {
        let end = cluster.run(id, fate);
        assert!(matches!(end, RunState::Succeeded | RunState::Failed | RunState::Killed));
    }
    for _ in 0..4 {
        for index in 0..HOSTS.len() {
            cluster.beat(index, fate);
        }
    }
    cluster
}

/// Attempts launched, as the facts have it: none twice.
fn launched(cluster: &Cluster) -> BTreeSet<AttemptId> {
    let mut launched = BTreeSet::new();
    for fact in &cluster.facts {
        let Fact::Job(JobFact::AttemptLaunched { attempt, role, .. }) = fact else { continue };
        assert!(*role == AttemptRole::TaskCleanup || launched.insert(*attempt), "{attempt} was launched twice");
    }
    launched
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_job_ends_and_nothing_leaks(operations in operations(true)) {
        let cluster = play(&operations, true, faulty);
        launched(&cluster);
        let overview = cluster.engine.build_snapshot(cluster.now).value;
        prop_assert_eq!((overview.running.map, overview.running.reduce), (0, 0), "a slot leaked");
        prop_assert_eq!((overview.waiting.map, overview.waiting.reduce), (0, 0), "demand leaked");
    }

    #[test]
    fn where_nothing_but_the_daemon_fails_nothing_runs_twice(operations in operations(false)) {
        let cluster = play(&operations, false, |_| Fate::Succeed);
        let launched = launched(&cluster);
        let tasks: BTreeSet<TaskId> = launched.iter().map(|id| id.task).collect();
        prop_assert_eq!(tasks.len(), launched.len());
        // Three setups and cleanups, in one variant each.
        prop_assert_eq!(tasks.len(), 4 + 11 + 1 + 6);
    }
}
