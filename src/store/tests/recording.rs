//! Recordings that plays made, read back and played again.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::engine::{EngineConfig, Fact, FairConfig, PolicyConfig};
use crate::mapreduce::{JobSpec, SplitTable};
use crate::model::{Credits, Decimal, Identifier, RunState};
use crate::scheduler::FifoOptions;
use crate::scheduler::capacity::{CapacityConfig, WrittenConfig, WrittenQueue};
use crate::scheduler::constraint::{ConstraintConfig, DeadlineSpec, Due, KeySpread, StatedCost};
use crate::scheduler::fair::options::FairOptions;
use crate::sim::what_if::{Play, PlayOptions, Played, RecordedMarket};
use crate::store::loaded_state::recorded;

const START_MS: i64 = 1_700_000_000_000;

#[derive(Clone, Debug, Default)]
struct Drawn {
    after_ms: i64,
    user: usize,
    maps: Vec<(u32, u32)>,
    reduces: Vec<(u32, u32)>,
    fails: bool,
    /// Killed so long after its submission, ms.
    killed_ms: Option<i64>,
}

fn drawn_job() -> impl Strategy<Value = Drawn> {
    let tasks = |most| proptest::collection::vec((0_u32..3_000, 1_u32..40_000), 0..most);
    let killed_ms = proptest::option::weighted(0.3, 0_i64..40_000);
    (0_i64..60_000, 0_usize..2, tasks(9), tasks(4), any::<bool>(), killed_ms).prop_map(
        |(after_ms, user, maps, reduces, fails, killed_ms)| Drawn { after_ms, user, maps, reduces, fails, killed_ms },
    )
}

fn recording(drawn: &[Drawn], trackers: &[(u32, u32, i64)]) -> Recording {
    let mut submit_ms = START_MS + 1;
    let jobs = drawn.iter().enumerate().map(|(place, job)| {
        submit_ms += if place == 0 { job.after_ms / 20 } else { job.after_ms };
        let user = ["ann", "bob"][job.user];
        let mut splits = SplitTable::builder();
        for map in 0..job.maps.len() {
            splits.push(7, 100, [format!("h{}", map % 3).as_str()]);
        }
        let times = |tasks: &[(u32, u32)]| {
            let times =
                |&(delay_ms, first_ms): &(u32, u32)| TaskTimes { delay_ms, first_ms, rest_ms: 0, output_bytes: 9 };
            tasks.iter().map(times).map(Some).collect::<Vec<_>>()
        };
        let failed = TaskTimes { delay_ms: 5, first_ms: 900, rest_ms: 0, output_bytes: -1 };
        let failures = if job.fails && !job.maps.is_empty() {
            BTreeMap::from([((Kind::Map, 0), vec![failed])])
        } else {
            BTreeMap::new()
        };
        RecordedJob {
            id: JobId {
                identifier: Identifier::from_number(202_611_230_900),
                number: i32::try_from(place).unwrap() + 1,
            },
            spec: Arc::new(JobSpec {
                speculative: PerKind::new(false, false),
                ..JobSpec::with_defaults(user, user, job.maps.len() as u32, job.reduces.len() as u32)
            }),
            splits: Arc::new(splits.build(|_| "/rack".to_owned())),
            deadline_changes: Vec::new(),
            submit_ms,
            ending_ms: job.killed_ms.map(|after_ms| submit_ms + after_ms),
            finish_ms: submit_ms + 600_000,
            deadline_ms: None,
            state: if job.killed_ms.is_some() { RunState::Killed } else { RunState::Succeeded },
            times: RecordedTimes {
                tasks: PerKind::new(times(&job.maps), times(&job.reduces)),
                failures,
                cut: BTreeMap::new(),
                setup: TaskTimes { first_ms: 40, ..TaskTimes::default() },
                cleanup: TaskTimes { first_ms: 70, ..TaskTimes::default() },
            },
        }
    });
    let jobs = jobs.collect();
    let trackers = trackers.iter().enumerate().map(|(place, (maps, reduces, from_ms))| RecordedTracker {
        name: format!("tracker_h{place}:localhost/127.0.0.1:{}", 40_000 + place).into(),
        host: format!("h{place}").into(),
        slots: PerKind::new(*maps, *reduces),
        from_ms: START_MS + 1 + from_ms,
        until_ms: None,
    });
    let mut trackers: Vec<RecordedTracker> = trackers.collect();
    trackers.sort_by_key(|tracker| (tracker.from_ms, tracker.name.clone()));
    let account = |queue: &str, rate: i128| {
        (queue.parse().unwrap(), (Credits::from_units(10_i128.pow(18)), Credits::from_units(rate)))
    };
    let accounts = BTreeMap::from([account("ann", 10_i128.pow(12)), account("bob", 3 * 10_i128.pow(12))]);
    let market = Some(RecordedMarket { accounts, changes: Vec::new() });
    Recording { jobs, trackers, market, start_ms: START_MS, unfinished: 0 }
}

fn options(is_market: bool) -> PlayOptions {
    let policy = match is_market {
        true => PolicyConfig::Dynamic { alloc_interval_ms: 5_000, kill_interval_ms: None },
        false => PolicyConfig::Fifo(FifoOptions::default()),
    };
    let mut config = EngineConfig::with_defaults(Identifier::from_number(202_611_230_900), policy);
    config.queues = ["ann", "bob"].map(crate::engine::QueueConfig::open).into();
    PlayOptions { config, with_orders: true, admits_all: false }
}

/// Each policy, with one queue.
fn policies() -> [(&'static str, PolicyConfig); 5] {
    let queue = WrittenQueue::with_defaults("default", Some(Decimal::whole(100)));
    let written = WrittenConfig { queues: vec![queue], ..WrittenConfig::default() };
    let fair = FairConfig {
        options: FairOptions::default(),
        allocations: Arc::default(),
        pool_name_property: "user.name".to_owned(),
        allows_undeclared_pools: true,
        preemption_interval_ms: None,
        only_logs_preemption: false,
        event_log: None,
    };
    let capacity = Arc::new(CapacityConfig::new(&written).unwrap());
    [
        ("fifo", PolicyConfig::Fifo(FifoOptions::default())),
        ("capacity", PolicyConfig::Capacity { config: capacity, is_compatible: false }),
        ("fair", PolicyConfig::Fair(fair)),
        ("constraint", PolicyConfig::Constraint(ConstraintConfig::default())),
        ("dynamic", PolicyConfig::Dynamic { alloc_interval_ms: 5_000, kill_interval_ms: None }),
    ]
}

fn play_under(recording: &Recording, policy: &PolicyConfig) -> (Played, Vec<Fact>) {
    let mut config = EngineConfig::with_defaults(Identifier::from_number(202_611_230_900), policy.clone());
    config.queues = vec![crate::engine::QueueConfig::open("default")];
    let mut facts = Vec::new();
    let options = PlayOptions { config, with_orders: true, admits_all: false };
    (Play::run_with(recording, options, &mut |new| facts.extend_from_slice(new)), facts)
}

#[test]
fn every_policy_plays_the_jobs_of_every_other_under_their_ids() {
    let job = |user: usize| Drawn {
        after_ms: 500,
        user,
        maps: vec![(0, 900); 4],
        reduces: vec![(0, 500)],
        ..Drawn::default()
    };
    for (name, policy) in policies() {
        let mut first = recording(&[job(0), job(1), job(0)], &[(2, 1, 0), (2, 1, 0)]);
        for (place, job) in first.jobs.iter_mut().enumerate() {
            // With gaps, as where others were refused.
            job.id.number = 3 * i32::try_from(place).unwrap() + 2;
            let spec = Arc::make_mut(&mut job.spec);
            if !policy.is_market() {
                spec.queue = "default".to_owned();
            }
            if matches!(policy, PolicyConfig::Constraint(_)) {
                spec.deadline = Some(hour());
            }
        }
        if !policy.is_market() {
            first.market = None;
        }
        let ids: Vec<JobId> = first.jobs.iter().map(|job| job.id).collect();
        let (played, facts) = play_under(&first, &policy);
        assert!(played.jobs.iter().all(|job| job.end.is_some()), "{name}: {:?}", played.jobs);
        let recorded = read_back(&facts);
        assert_eq!(recorded.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), ids, "{name}");
        for (other, policy) in policies() {
            let (played, _) = play_under(&recorded, &policy);
            let refused: Vec<_> = played.jobs.iter().filter_map(|job| job.refusal.as_ref()).collect();
            assert!(refused.is_empty(), "{name} under {other}: {refused:?}");
            assert!(played.jobs.iter().all(|job| job.end.is_some()), "{name} under {other}: {:?}", played.jobs);
        }
    }
}

fn hour() -> DeadlineSpec {
    let task = Some(StatedCost::TaskMs(2_000));
    DeadlineSpec {
        due: Due::AfterMs(3_600_000),
        map: task,
        reduce: task,
        copy_us_per_mb: None,
        filter_millionths: None,
        keys: KeySpread::Uniform,
    }
}

fn play(recording: &Recording, is_market: bool) -> (Played, Vec<Fact>) {
    let mut facts = Vec::new();
    let played = Play::run_with(recording, options(is_market), &mut |new| facts.extend_from_slice(new));
    (played, facts)
}

fn read_back(facts: &[Fact]) -> Recording {
    load(&recorded(facts), RecordedSpan { since_ms: i64::MIN, until_ms: i64::MAX }).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A recording that a play made, played under the same settings, ends as it ended, to the ms and the unit.
    #[test]
    fn what_was_played_is_played_again_alike(
        drawn in proptest::collection::vec(drawn_job(), 1..6),
        trackers in proptest::collection::vec((1_u32..4, 1_u32..3, 0_i64..2_000), 1..5),
        is_market in any::<bool>(),
    ) {
        let (first, facts) = play(&recording(&drawn, &trackers), is_market);
        prop_assert!(first.jobs.iter().all(|job| job.end.is_some()), "{:?}", first.jobs);
        let again = read_back(&facts);
        prop_assert_eq!(again.start_ms, START_MS);
        let (second, _) = play(&again, is_market);
        prop_assert_eq!(first.jobs, second.jobs);
        prop_assert_eq!(first.events, second.events);
    }
}

#[test]
fn another_policy_changes_ends_and_a_job_that_never_can_is_left() {
    let job = |after_ms, user| Drawn {
        after_ms,
        user,
        maps: vec![(0, 20_000); 8],
        reduces: vec![(0, 5_000)],
        ..Drawn::default()
    };
    let recording = recording(&[job(0, 0), job(1_000, 1)], &[(2, 1, 0)]);
    let (fifo, _) = play(&recording, false);
    let (market, _) = play(&recording, true);
    let ends = |played: &Played| played.jobs.iter().map(|job| job.end.unwrap().1).collect::<Vec<_>>();
    assert_ne!(ends(&fifo), ends(&market));
    let without = Recording { trackers: Vec::new(), ..recording };
    let (played, _) = play(&without, false);
    assert!(played.jobs.iter().all(|job| job.end.is_none()));
}

/// Plays a recording under the constraint scheduler with three slots; what came of it, and what was recorded.
fn play_deadlines(recording: &Recording, admits_all: bool) -> (Played, Vec<Fact>) {
    let policy = PolicyConfig::Constraint(ConstraintConfig::default());
    let mut config = EngineConfig::with_defaults(Identifier::from_number(202_611_230_900), policy);
    config.queues = vec![crate::engine::QueueConfig::open("default")];
    let mut facts = Vec::new();
    let options = PlayOptions { config, with_orders: true, admits_all };
    (Play::run_with(recording, options, &mut |new| facts.extend_from_slice(new)), facts)
}

fn due_after(ms: u64) -> DeadlineSpec {
    DeadlineSpec { due: Due::AfterMs(ms), ..hour() }
}

/// Two jobs of four maps, 10 s each, on three slots.
fn two_jobs_with_deadlines() -> Recording {
    let job = |after_ms| Drawn { after_ms, maps: vec![(0, 10_000); 4], ..Drawn::default() };
    let mut recording = recording(&[job(0), job(2_000)], &[(3, 1, 0)]);
    recording.market = None;
    for job in &mut recording.jobs {
        let spec = Arc::make_mut(&mut job.spec);
        spec.queue = "default".to_owned();
        spec.deadline = Some(DeadlineSpec { map: Some(StatedCost::TaskMs(10_000)), ..due_after(120_000) });
    }
    recording
}

#[test]
fn deadlines_are_played_as_they_were_at_the_time() {
    let mut first = two_jobs_with_deadlines();
    // Far away when it was submitted, so that the other one was admitted beside it; at once a little later.
    let at_ms = first.jobs[1].submit_ms + 1_000;
    let sooner = DeadlineSpec { due: Due::AtMs(at_ms + 60_000), ..due_after(0) };
    first.jobs[0].deadline_changes = vec![(at_ms, Some(sooner)), (at_ms + 5_000, None)];
    let (played, facts) = play_deadlines(&first, false);
    assert!(played.jobs.iter().all(|job| job.refusal.is_none() && job.end.is_some()), "{:?}", played.jobs);
    let recorded = read_back(&facts);
    let of_first = &recorded.jobs[0];
    assert_eq!(of_first.spec.deadline, first.jobs[0].spec.deadline, "as it was submitted");
    let changes = &of_first.deadline_changes;
    assert_eq!(changes.iter().map(|(at_ms, _)| *at_ms).collect::<Vec<_>>(), [at_ms, at_ms + 5_000]);
    assert_eq!(changes[0].1.as_ref().map(|deadline| deadline.due), Some(Due::AtMs(at_ms + 60_000)));
    assert_eq!((&changes[1].1, of_first.deadline_ms), (&None, None));
    let (again, _) = play_deadlines(&recorded, false);
    assert_eq!(again.jobs, played.jobs);
}

#[test]
fn a_worker_that_left_after_the_last_job_is_there_to_the_end_of_a_play() {
    let mut first = two_jobs_with_deadlines();
    let (played, facts) = play_deadlines(&first, false);
    let end_ms = |played: &Played| played.jobs.iter().filter_map(|job| Some(job.end?.1)).max().unwrap();
    let mut recorded = read_back(&facts);
    // All maps take a little longer under other settings, and the only worker was stopped once all was over.
    recorded.trackers[0].until_ms = Some(end_ms(&played) + 1);
    recorded
        .jobs
        .iter_mut()
        .flat_map(|job| job.times.tasks.map.iter_mut().flatten())
        .for_each(|times| times.first_ms += 500);
    let (longer, _) = play_deadlines(&recorded, true);
    assert!(longer.jobs.iter().all(|job| job.end.is_some()), "{:?}", longer.jobs);
    assert!(end_ms(&longer) > end_ms(&played));
    first.trackers[0].until_ms = Some(first.jobs[1].submit_ms);
    let (lost, _) = play_deadlines(&Recording { jobs: recorded.jobs.clone(), ..first }, true);
    assert!(lost.jobs.iter().any(|job| job.end.is_none()), "one that left before is gone");
}
