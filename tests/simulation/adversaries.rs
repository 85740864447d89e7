//! Runs with tenants who play against the market.

use jobtracker::sim::{PolicyChoice, RunOptions, SimulatedRun, Tally, shrink};
use jobtracker::store::InMemoryStore;

use super::{CAPACITY, CONSTRAINT, DYNAMIC, FAIR, FIFO, MIXED, options};

/// Runs with containers that broke a law once.
const KEPT: [(u64, u64, &str); 7] = [
    (21, 2_000, "a round spared a container whose core another one needed beside those that only slots stand for"),
    (43, 3_500, "the same"),
    (29, 4_300, "an administrator cut a grace, and it was taken for a preemption"),
    (41, 5_000, "maps that ended let a reduce begin, and it was taken for one that was offered its slots in vain"),
    (44, 5_100, "the same"),
    (10, 4_000, "reduces whose maps had lost their output could not run, and were sold slots"),
    (300_345, 200, "a restart before the first tick forgot how long its interval had been open"),
];

fn with_adversaries(policy: PolicyChoice, has_containers: bool, seed: u64, events: u64) -> RunOptions {
    RunOptions { has_containers, has_adversaries: true, ..options(policy, seed, events) }
}

/// Plays a run that must break nothing else.
fn play(options: &RunOptions) -> Tally {
    let run = SimulatedRun::play(options, &mut InMemoryStore::default());
    if let Some(violation) = run.violation {
        let shrunk =
            shrink(options, violation, |options| SimulatedRun::play(options, &mut InMemoryStore::default()).violation);
        panic!("{}\njobtracker simulate --as-it-is {}", shrunk.violation, shrunk.options);
    }
    run.tally
}

/// Seeds from `first` on, with and without containers in turn, until there have been so many events.
fn play_many(policy: PolicyChoice, first: u64, events: u64) {
    let (mut seed, mut played) = (first, 0);
    while played < events {
        // Broken runs end early.
        played += play(&with_adversaries(policy, seed % 4 < 2, seed, 3_000)).events.max(1_000);
        seed += 1;
    }
}

#[test]
fn runs_that_broke_a_law_once_break_none_any_more() {
    for (seed, events, _) in KEPT {
        play(&with_adversaries(DYNAMIC, true, seed, events));
    }
    // After a policy that grants as the original does, slots of killed attempts stayed withheld.
    play(&with_adversaries(MIXED, true, 1, 3_500));
    // A restart did not know what attempts of a job that was over had held before it.
    play(&with_adversaries(MIXED, true, 2_004, 13_200));
}

#[test]
fn adversaries_break_no_law_under_the_market() {
    play_many(DYNAMIC, 5_000, 20_000);
}

#[test]
fn adversaries_break_no_law_while_schedulers_take_over_from_each_other() {
    play_many(MIXED, 5_000, 10_000);
}

#[test]
fn adversaries_break_no_law_under_the_other_schedulers() {
    for policy in [FIFO, CAPACITY, FAIR, CONSTRAINT] {
        play_many(policy, 5_000, 6_000);
    }
}
