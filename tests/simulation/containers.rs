//! Runs with containers: no law is broken under any scheduler, the seeds of bugs that were found stay good, and the books
//! notice what is forged.

use jobtracker::api::applications::{ContainerState, Locality};
use jobtracker::engine::{ApplicationChange, Container, Fact, Step};
use jobtracker::model::{ContainerExit, Credits};
use jobtracker::sim::{Law, PolicyChoice, RunOptions, SimulatedRun, Tally, Violation, shrink};
use jobtracker::store::InMemoryStore;

use super::{CAPACITY, CONSTRAINT, DYNAMIC, FAIR, FIFO, MIXED, options};

/// Runs that broke a law once.
const KEPT: [(PolicyChoice, u64, u64, &str); 15] = [
    (FIFO, 3, 3_000, "a row for any node with a launch parted the rows of its type, and those before it were lost"),
    (FIFO, 16, 3_000, "after a start tasks took the room of containers whose worker had not beaten yet"),
    (FIFO, 10_715, 2_500, "a worker that lacked a launch was given its kill alone, and had nothing to end"),
    (CONSTRAINT, 10_325, 2_500, "the same"),
    (FAIR, 10_005, 2_500, "the same"),
    (CAPACITY, 10_238, 2_500, "a container took the room of an attempt that its tracker had not ended yet"),
    (CAPACITY, 20_002, 2_500, "a user refused one slot by the factor was kept from more, which it would have allowed"),
    (CAPACITY, 110_091, 2_500, "a type that a limit refused on one node kept another one from the next"),
    (CAPACITY, 110_000, 2_500, "attempts of a job that was over left room below a limit, and nothing was woken"),
    (FAIR, 120_187, 2_500, "in a heartbeat room was kept for tasks that had had their turn"),
    (DYNAMIC, 2_009, 2_500, "a round looked at no application behind one that no node serves"),
    (DYNAMIC, 140_722, 2_500, "one that asked got room before those that stood before it"),
    (DYNAMIC, 160_259, 2_500, "a queue stood within its quota by a type of no use on the node, and got a larger one"),
    (DYNAMIC, 67_884, 1_500, "after a restart a law knew less of the open interval than the facts said"),
    (MIXED, 150_395, 2_500, "one that asked got room before those that stood before it"),
];

fn with_containers(policy: PolicyChoice, seed: u64, events: u64) -> RunOptions {
    RunOptions { has_containers: true, ..options(policy, seed, events) }
}

/// Plays a run that must break nothing.
fn play(policy: PolicyChoice, seed: u64, events: u64) -> Tally {
    let options = with_containers(policy, seed, events);
    let run = SimulatedRun::play(&options, &mut InMemoryStore::default());
    if let Some(violation) = run.violation {
        let shrunk =
            shrink(&options, violation, |options| SimulatedRun::play(options, &mut InMemoryStore::default()).violation);
        panic!("{}\njobtracker simulate --as-it-is {}", shrunk.violation, shrunk.options);
    }
    run.tally
}

/// Seeds from `first` on, until there have been so many events.
fn play_many(policy: PolicyChoice, first: u64, events: u64) {
    let (mut seed, mut played, mut containers, mut crashes) = (first, 0, 0, 0);
    while played < events {
        let tally = play(policy, seed, 4_000);
        played += tally.events;
        containers += tally.containers;
        crashes += tally.crashes;
        seed += 1;
    }
    assert!(crashes > 0, "no daemon has crashed");
    assert!(containers > events / 100, "{containers} containers are little work");
}

#[test]
fn containers_break_no_law_first_in_first_out() {
    play_many(FIFO, 2_000, 20_000);
}

#[test]
fn containers_break_no_law_under_queues_with_capacities() {
    play_many(CAPACITY, 2_000, 20_000);
}

#[test]
fn containers_break_no_law_under_pools_with_fair_shares() {
    play_many(FAIR, 2_000, 20_000);
}

#[test]
fn containers_break_no_law_beside_deadlines() {
    play_many(CONSTRAINT, 2_000, 20_000);
}

#[test]
fn containers_break_no_law_while_schedulers_take_over_from_each_other() {
    play_many(MIXED, 2_000, 20_000);
}

#[test]
fn containers_break_no_law_under_the_market() {
    play_many(DYNAMIC, 2_000, 20_000);
}

#[test]
fn seeds_of_bugs_with_containers_stay_good() {
    for (policy, seed, events, _) in KEPT {
        play(policy, seed, events);
    }
}

#[test]
fn the_same_seed_gives_the_same_run_with_containers() {
    let hash = |seed| play(FIFO, seed, 2_000).hash;
    assert_eq!(hash(7), hash(7));
    let without = SimulatedRun::play(&options(FIFO, 7, 2_000), &mut InMemoryStore::default());
    assert_ne!(without.tally.hash, hash(7));
}

/// The violation found in a run in which `forge` changes the first change of a kind.
fn violation_of(mut forge: impl FnMut(&mut ApplicationChange) -> bool) -> Violation {
    violation_of_step(|step| {
        step.facts.iter_mut().any(|fact| match fact {
            Fact::Applications(changes) => changes.iter_mut().any(&mut forge),
            _ => false,
        })
    })
}

fn violation_of_step(forge: impl FnMut(&mut Step) -> bool) -> Violation {
    violation_under(FIFO, forge)
}

fn violation_under(policy: PolicyChoice, mut forge: impl FnMut(&mut Step) -> bool) -> Violation {
    let mut is_forged = false;
    for seed in 1..60 {
        let run =
            SimulatedRun::play_tampered(&with_containers(policy, seed, 3_000), &mut InMemoryStore::default(), |step| {
                is_forged |= !is_forged && forge(step);
            });
        if is_forged {
            return run.violation.unwrap_or_else(|| panic!("seed {seed}: nobody notices"));
        }
        assert_eq!(run.violation, None);
    }
    panic!("there was nothing to forge");
}

fn container(change: &mut ApplicationChange) -> Option<&mut Container> {
    match change {
        ApplicationChange::Container(container) => Some(container),
        _ => None,
    }
}

#[test]
fn a_container_that_is_larger_than_what_was_asked_is_noticed() {
    let violation = violation_of(|change| {
        let granted = container(change).filter(|container| container.state == ContainerState::Allocated);
        granted.map(|container| container.request.capability.memory_mb += 512).is_some()
    });
    assert_eq!(violation.law, Law::Requests, "{violation}");
}

#[test]
fn a_container_that_is_said_to_be_nearer_than_it_is_is_noticed() {
    let violation = violation_of(|change| {
        let far = container(change).filter(|container| container.locality == Locality::OffSwitch);
        far.map(|container| container.locality = Locality::NodeLocal).is_some()
    });
    assert_eq!(violation.law, Law::Requests, "{violation}");
}

#[test]
fn a_number_of_wanted_containers_that_changes_by_itself_is_noticed() {
    // The last one of its step: what earlier ones say is replaced.
    let violation = violation_of_step(|step| {
        step.facts.iter_mut().any(|fact| {
            let Fact::Applications(changes) = fact else { return false };
            if changes.iter().any(|change| matches!(change, ApplicationChange::TypeDropped { .. })) {
                return false;
            }
            let last = changes.iter_mut().rev().find_map(|change| match change {
                ApplicationChange::RowSet { count, .. } => Some(count),
                _ => None,
            });
            last.map(|count| *count += 1).is_some()
        })
    });
    assert_eq!(violation.law, Law::Requests, "{violation}");
}

#[test]
fn a_container_that_is_launched_twice_is_noticed() {
    let violation = violation_of(|change| {
        let running = container(change).filter(|container| container.state == ContainerState::Running);
        running.and_then(|container| container.launch.as_mut()).map(|launch| launch.context += 1).is_some()
    });
    assert_eq!(violation.law, Law::Lives, "{violation}");
}

#[test]
fn an_end_that_is_said_twice_is_noticed() {
    let violation = violation_of(|change| match change {
        ApplicationChange::Answered { statuses, .. } if !statuses.is_empty() => {
            statuses.push(statuses[0]);
            true
        }
        _ => false,
    });
    assert_eq!(violation.law, Law::Lives, "{violation}");
}

#[test]
fn a_container_that_never_ends_is_noticed() {
    let violation = violation_of_step(|step| {
        let is_end = |change: &ApplicationChange| match change {
            ApplicationChange::Container(container) => !container.is_live(),
            _ => false,
        };
        step.facts.iter_mut().any(|fact| match fact {
            Fact::Applications(changes) => {
                let before = changes.len();
                changes.retain(|change| !is_end(change));
                changes.len() < before
            }
            _ => false,
        })
    });
    assert!([Law::Room, Law::Order, Law::Lives, Law::Requests].contains(&violation.law), "{violation}");
}

/// The violation under the market where `forge` changes the first change of a kind.
fn violation_of_money(mut forge: impl FnMut(&mut ApplicationChange) -> bool) -> Violation {
    violation_under(DYNAMIC, |step| {
        step.facts.iter_mut().any(|fact| match fact {
            Fact::Applications(changes) => changes.iter_mut().any(&mut forge),
            _ => false,
        })
    })
}

#[test]
fn a_cost_of_an_application_that_is_not_its_part_of_the_charge_is_noticed() {
    let violation = violation_of_money(|change| match change {
        ApplicationChange::Charged { cost, .. } => {
            cost.cost = Credits::from_units(cost.cost.units() + 1);
            true
        }
        _ => false,
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
}

#[test]
fn a_charge_that_is_laid_on_no_application_is_noticed() {
    let violation = violation_under(DYNAMIC, |step| {
        step.facts.iter_mut().any(|fact| {
            let Fact::Applications(changes) = fact else { return false };
            let before = changes.len();
            changes.retain(|change| !matches!(change, ApplicationChange::Charged { .. }));
            changes.len() < before
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
}

#[test]
fn a_container_that_leaves_without_need_is_noticed() {
    let violation = violation_of_money(|change| {
        let kept = container(change).filter(|container| container.is_live());
        let killed = kept.and_then(|container| container.kill.as_mut());
        killed.map(|kill| kill.exit = ContainerExit::PREEMPTED).is_some()
    });
    assert_eq!(violation.law, Law::Preemption, "{violation}");
}
