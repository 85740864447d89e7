//! What a replay of the past costs: ten thousand jobs of a hundred tasks on 250 trackers, played once under FIFO and once
//! under the market. Prints what each took; there is nothing to repeat.

#![allow(clippy::unwrap_used, missing_docs)]
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark measures time")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jobtracker::engine::{EngineConfig, PolicyConfig, QueueConfig};
use jobtracker::mapreduce::{JobSpec, SplitTable};
use jobtracker::model::{Credits, Identifier, JobId, PerKind, RunState};
use jobtracker::scheduler::FifoOptions;
use jobtracker::sim::what_if::{
    Play, PlayOptions, RecordedJob, RecordedMarket, RecordedTimes, RecordedTracker, Recording, TaskTimes,
};

const JOBS: i32 = 10_000;
const MAPS: usize = 95;
const REDUCES: usize = 5;
const TRACKERS: i64 = 250;
const START_MS: i64 = 1_700_000_000_000;
/// One job in so many ms: the maps fill 95 % of the slots.
const PAUSE_MS: i64 = 3_000;

fn recording() -> Recording {
    let identifier = Identifier::from_number(202_611_230_900);
    let times = |count: usize, first_ms: u32| {
        let times = |task: usize| TaskTimes {
            first_ms: first_ms + 37 * task as u32,
            output_bytes: 1_000,
            ..TaskTimes::default()
        };
        (0..count).map(|task| Some(times(task))).collect::<Vec<_>>()
    };
    let mut splits = SplitTable::builder();
    for map in 0..MAPS as i64 {
        splits.push(
            7,
            64 << 20,
            [0, 1, 2].map(|copy| format!("h{}", (map * 7 + copy) % TRACKERS)).iter().map(String::as_str),
        );
    }
    let splits = Arc::new(splits.build(|host| format!("/rack{}", host.len())));
    let jobs = (0..JOBS).map(|number| {
        let user = ["ann", "bob", "cyd"][number as usize % 3];
        RecordedJob {
            id: JobId { identifier, number: number + 1 },
            spec: Arc::new(JobSpec::with_defaults(user, user, MAPS as u32, REDUCES as u32)),
            splits: Arc::clone(&splits),
            deadline_changes: Vec::new(),
            submit_ms: START_MS + 10 + i64::from(number) * PAUSE_MS,
            finish_ms: START_MS + i64::from(JOBS) * PAUSE_MS,
            ending_ms: None,
            deadline_ms: None,
            state: RunState::Succeeded,
            times: RecordedTimes {
                tasks: PerKind::new(times(MAPS, 28_000), times(REDUCES, 9_000)),
                failures: BTreeMap::new(),
                cut: BTreeMap::new(),
                setup: TaskTimes { first_ms: 300, ..TaskTimes::default() },
                cleanup: TaskTimes { first_ms: 300, ..TaskTimes::default() },
            },
        }
    });
    let trackers = (0..TRACKERS).map(|place| RecordedTracker {
        name: format!("tracker_h{place}:localhost/127.0.0.1:50060").into(),
        host: format!("h{place}").into(),
        slots: PerKind::new(4, 2),
        from_ms: START_MS,
        until_ms: None,
    });
    let account = |queue: &str| (queue.parse().unwrap(), (Credits::MAX, Credits::from_units(1_000_000_000_000)));
    let accounts = ["ann", "bob", "cyd"].into_iter().map(account).collect();
    Recording {
        jobs: jobs.collect(),
        trackers: trackers.collect(),
        market: Some(RecordedMarket { accounts, changes: Vec::new() }),
        start_ms: START_MS,
        unfinished: 0,
    }
}

fn main() {
    let recording = recording();
    let policies = [
        ("fifo", PolicyConfig::Fifo(FifoOptions::default())),
        ("dynamic", PolicyConfig::Dynamic { alloc_interval_ms: 20_000, kill_interval_ms: None }),
    ];
    for (name, policy) in policies {
        let config = EngineConfig {
            queues: ["ann", "bob", "cyd"].map(QueueConfig::open).into(),
            ..EngineConfig::with_defaults(Identifier::from_number(202_611_230_900), policy)
        };
        let begun = Instant::now();
        let played = Play::run(&recording, PlayOptions { config, with_orders: true, admits_all: false });
        let ended = played.jobs.iter().filter(|job| job.end.is_some()).count();
        println!(
            "{name}: {ended} jobs of {} tasks, {} events, {:.1} s",
            MAPS + REDUCES,
            played.events,
            begun.elapsed().as_secs_f64()
        );
    }
}
