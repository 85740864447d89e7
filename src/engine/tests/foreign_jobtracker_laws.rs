//! Laws over random changes from one JobTracker to the other and back: no attempt id is given twice, nor one that the other
//! may have given; what it has given is dropped once; every job ends; no slot and no demand leaks.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::engine::{Effect, Fact, ForeignState};
use crate::fake_tracker::Role;
use crate::mapreduce::JobFact;
use crate::model::{AttemptId, JobId, Kind, RunState};

use super::cluster::{Cluster, FakeTask, Fate, fifo, spec};

const HOSTS: [&str; 3] = ["h0", "h1", "h2"];

/// What the other JobTracker does while it is there.
#[derive(Clone, Debug)]
struct Stay {
    /// Whether it ends each of our jobs.
    ends: [bool; 2],
    /// Whether the change reaches each tracker and reinitialises it.
    reaches: [bool; 3],
    /// Maps that it gives away: job (the last is its own), map, tracker.
    gives: Vec<(usize, i32, usize)>,
    /// Heartbeats before it comes, and whether a crash comes after it.
    before: Vec<usize>,
    crash: bool,
}

fn stays() -> impl Strategy<Value = Vec<Stay>> {
    let gives = prop::collection::vec((0..3_usize, 0..4_i32, 0..HOSTS.len()), 0..8);
    let before = prop::collection::vec(0..HOSTS.len(), 0..30);
    let ends = prop::array::uniform2(prop::bool::weighted(0.2));
    let stay = (ends, any::<[bool; 3]>(), gives, before, any::<bool>());
    let stay = stay.prop_map(|(ends, reaches, gives, before, crash)| Stay { ends, reaches, gives, before, crash });
    prop::collection::vec(stay, 1..4)
}

/// What they gave away hangs until it is dropped; of ours some fail.
fn fate(task: &FakeTask) -> Fate {
    match (task.id.number, task.id.task.number % 5) {
        (0..1_000, _) if task.role != Role::Housekeeping => Fate::Hang,
        (number, 0) if number % 1_000 == 0 => Fate::FailUnclean,
        _ => Fate::Succeed,
    }
}

fn play(stays: &[Stay]) -> (Cluster, Vec<JobId>, BTreeSet<AttemptId>) {
    let mut cluster = Cluster::new(fifo());
    for host in HOSTS {
        cluster.add_tracker(host, 2, 1);
    }
    let theirs: JobId = "job_202611210800_0001".parse().unwrap();
    let ours = [3, 4].map(|maps| cluster.submit(spec("alice", "default", maps, 1)).unwrap());
    let jobs = [ours[0], ours[1], theirs];
    let mut given = BTreeSet::new();
    for (visit, stay) in stays.iter().enumerate() {
        for index in &stay.before {
            cluster.pass_ms(100);
            cluster.beat(*index, fate);
        }
        let is_over = |cluster: &Cluster, id| cluster.engine.jobs.get(id).is_some_and(|job| job.is_over());
        let ends = [stay.ends[0], stay.ends[1], false];
        let kept = jobs.iter().zip(ends).filter(|(id, ends)| !ends && !is_over(&cluster, **id)).map(|(id, _)| *id);
        let kept: Vec<JobId> = kept.collect();
        for index in (0..HOSTS.len()).filter(|index| stay.reaches[*index]) {
            cluster.trackers[index].attempts.clear();
            cluster.trackers[index].outputs.clear();
            cluster.give_elsewhere(index, []);
        }
        for (job, map, index) in &stay.gives {
            // It numbers from 0 again, each time.
            let attempt = jobs[*job].task(Kind::Map, *map).attempt(0);
            let is_free = !cluster.trackers.iter().any(|t| t.attempts.iter().any(|task| task.id == attempt));
            if kept.contains(&jobs[*job]) && stay.reaches[*index] && is_free {
                cluster.give_elsewhere(*index, [attempt]);
                given.insert(attempt);
            }
        }
        let found: BTreeSet<JobId> = if visit == 0 { BTreeSet::from([theirs]) } else { BTreeSet::new() };
        let tokens: BTreeMap<_, _> = kept.iter().map(|job| (*job, None)).collect();
        cluster.restart_after(ForeignState { unfinished_jobs: Some(tokens), jobs: found, ..ForeignState::default() });
        if visit == 0 {
            cluster.find(theirs, spec("bob", "default", 4, 0)).unwrap();
        }
        if stay.crash {
            cluster.crash(1_000, fate);
        }
    }
    for id in jobs {
        cluster.run(id, fate);
    }
    for _ in 0..6 {
        for index in 0..HOSTS.len() {
            cluster.beat(index, fate);
        }
    }
    (cluster, jobs.to_vec(), given)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn jobs_end_and_no_attempt_is_given_twice(stays in stays()) {
        // A second launch of any attempt by either JobTracker panics.
        let (cluster, jobs, given) = play(&stays);
        for id in &jobs {
            prop_assert!(!matches!(cluster.state(*id), RunState::Prep | RunState::Running));
        }
        let launched = cluster.facts.iter().filter_map(|fact| match fact {
            Fact::Job(JobFact::AttemptLaunched { attempt, .. }) if attempt.number >= 1_000 => Some(*attempt),
            _ => None,
        });
        let first_run = stays[0].before.len();
        prop_assert!(first_run > 0 || launched.count() > 0);
        for tracker in &cluster.trackers {
            prop_assert!(!tracker.attempts.iter().any(|task| given.contains(&task.id)), "{:?} still runs", tracker.attempts);
        }
        let orders = |attempt: &AttemptId| {
            let words = format!("is ordered to drop {attempt},");
            cluster.effects.iter().filter(|effect| matches!(effect, Effect::Log { text, .. } if text.contains(&words))).count()
        };
        prop_assert!(given.iter().all(|attempt| orders(attempt) <= stays.len()), "more than one line for each");
        let overview = cluster.engine.build_snapshot(cluster.now).value;
        prop_assert_eq!((overview.running.map, overview.running.reduce), (0, 0), "a slot leaked");
        prop_assert_eq!((overview.waiting.map, overview.waiting.reduce), (0, 0), "demand leaked");
        prop_assert!(cluster.engine.trackers.iter().all(|tracker| tracker.unknown_attempts.is_empty()));
    }
}
