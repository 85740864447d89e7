//! Runs of the simulator: a quarter of a million events over many seeds break no law, the seeds of bugs that were found stay good, the
//! same seed gives the same run, and the law checker notices what is forged.
//!
//! A failure prints the command that shows it again. `tests/full.sh` runs many more events.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod adversaries;
mod containers;

use jobtracker::engine::{Effect, Fact, Restored, Step};
use jobtracker::mapreduce::{AttemptRole, JobFact, KillRequest};
use jobtracker::market::{Charge, MarketFact, Reason, Tick};
use jobtracker::model::{AttemptState, Credits, FactNumber};
use jobtracker::sim::{Cuts, Journal, Law, PolicyChoice, RunOptions, RunPart, SimulatedRun, Violation, shrink};
use jobtracker::store::InMemoryStore;

const FIFO: PolicyChoice = PolicyChoice::Fifo;
const CAPACITY: PolicyChoice = PolicyChoice::Capacity;
const FAIR: PolicyChoice = PolicyChoice::Fair;
const CONSTRAINT: PolicyChoice = PolicyChoice::Constraint;
const DYNAMIC: PolicyChoice = PolicyChoice::Dynamic;
const MIXED: PolicyChoice = PolicyChoice::Mixed;

/// Runs that broke a law once.
const KEPT: [(PolicyChoice, u64, u64, &str); 8] = [
    (FIFO, 10, 5_000, "a reduce that failed on all hosts with reduce slots waited for one of the others, for ever"),
    (DYNAMIC, 2_581, 5_000, "jobs that could not use a node hid from preemption the one behind them that could"),
    (DYNAMIC, 859, 3_000, "a lost tracker was awaited after a restart for output that nobody read, and went on"),
    (FIFO, 321, 3_000, "the same: what it ran waited for leave to commit for ever, and no job got its slots"),
    (
        FIFO,
        3_215,
        3_000,
        "a lost tracker was told to start anew before its loss was durable, and a crash undid the loss",
    ),
    (FIFO, 3_681, 3_000, "the same, of a tracker that was silent for too long"),
    (
        DYNAMIC,
        148,
        2_500,
        "the law's books let a queue wait up to a second longer than an allowance's period after a start",
    ),
    (MIXED, 33, 6_000, "the same, while schedulers take over from each other"),
];

fn options(policy: PolicyChoice, seed: u64, events: u64) -> RunOptions {
    RunOptions { seed, events, policy, has_containers: false, has_adversaries: false, cuts: Cuts::default() }
}

/// Plays a run that must break nothing.
fn play(policy: PolicyChoice, seed: u64, events: u64) -> SimulatedRun {
    let options = options(policy, seed, events);
    let run = SimulatedRun::play(&options, &mut InMemoryStore::default());
    if let Some(violation) = run.violation {
        let shrunk =
            shrink(&options, violation, |options| SimulatedRun::play(options, &mut InMemoryStore::default()).violation);
        panic!("{}\njobtracker simulate --as-it-is {}", shrunk.violation, shrunk.options);
    }
    run
}

/// Every other seed from `first` on, until there have been so many events.
fn play_many(policy: PolicyChoice, first: u64, events: u64) {
    const EVENTS_OF_SEED: u64 = 5_000;
    let (mut seed, mut played, mut preempted, mut attempts, mut crashes) = (first, 0, 0, 0, 0);
    while played < events {
        let run = play(policy, seed, EVENTS_OF_SEED);
        played += run.tally.events;
        preempted += run.tally.preempted;
        attempts += run.tally.attempts;
        crashes += run.tally.crashes;
        seed += 2;
    }
    assert!(crashes > 0, "no daemon has crashed");
    assert!(attempts > events / 20, "{attempts} attempts are little work");
    let preempts = policy == DYNAMIC && first % 2 == 1;
    assert_eq!(preempted > 0, preempts, "only odd seeds have preemption, and only under the market");
}

#[test]
fn no_law_is_broken_under_the_market_with_preemption() {
    play_many(DYNAMIC, 1_001, 40_000);
}

#[test]
fn no_law_is_broken_under_the_market_without_preemption() {
    play_many(DYNAMIC, 1_000, 20_000);
}

#[test]
fn no_law_is_broken_first_in_first_out() {
    play_many(FIFO, 1_000, 20_000);
}

#[test]
fn no_law_is_broken_under_queues_with_capacities() {
    play_many(CAPACITY, 1_000, 20_000);
}

#[test]
fn no_law_is_broken_under_pools_with_fair_shares() {
    play_many(FAIR, 1_000, 20_000);
}

#[test]
fn no_law_is_broken_by_deadlines() {
    play_many(CONSTRAINT, 1_000, 20_000);
}

#[test]
fn no_law_is_broken_while_schedulers_take_over_from_each_other() {
    play_many(MIXED, 1_000, 20_000);
}

#[test]
fn seeds_of_bugs_stay_good() {
    for (policy, seed, events, _) in KEPT {
        play(policy, seed, events);
    }
}

/// The hash of a run in which `forge` changes what no law looks at; it says whether it has found something to change.
fn forged_hash(mut forge: impl FnMut(&mut Step) -> bool) -> u64 {
    let mut is_forged = false;
    let run = SimulatedRun::play_tampered(&options(DYNAMIC, 2, 1_000), &mut InMemoryStore::default(), |step| {
        is_forged |= !is_forged && forge(step);
    });
    assert_eq!((run.violation, is_forged), (None, true));
    run.tally.hash
}

#[test]
fn an_effect_that_is_missing_or_waits_for_less_gives_another_hash() {
    let hash = play(DYNAMIC, 2, 1_000).tally.hash;
    let without_effect = forged_hash(|step| {
        let before = step.effects.len();
        step.effects.retain(|effect| !matches!(effect, Effect::WriteBudgetImage));
        step.effects.len() < before
    });
    let without_wait = forged_hash(|step| std::mem::take(&mut step.effects_wait_for) > FactNumber(0));
    assert_ne!(hash, without_effect);
    assert_ne!(hash, without_wait);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let hash = |seed| play(DYNAMIC, seed, 3_000).tally.hash;
    let first: Vec<u64> = (1..4).map(hash).collect();
    assert_eq!(first, (1..4).map(hash).collect::<Vec<_>>());
    assert!(first[0] != first[1] && first[1] != first[2]);
}

/// Whether everything that may be left out can be.
#[test]
fn runs_with_something_left_out_are_runs_too() {
    for part in RunPart::kinds().chain([RunPart::Tracker(1), RunPart::User(0), RunPart::Stretch(3)]) {
        let cuts = Cuts { without: [part].into(), until_ms: Some(60_000) };
        let options = RunOptions { cuts, ..options(DYNAMIC, 3, 1_000) };
        assert_eq!(SimulatedRun::play(&options, &mut InMemoryStore::default()).violation, None, "without {part}");
    }
}

/// The violation found in a run in which `forge` changes facts, and returns whether it did.
fn violation_of(policy: PolicyChoice, mut forge: impl FnMut(&mut Step) -> bool) -> Violation {
    let mut forged = 0;
    for seed in (1..60).step_by(2) {
        let run = SimulatedRun::play_tampered(&options(policy, seed, 5_000), &mut InMemoryStore::default(), |step| {
            if forged == 0 && forge(step) {
                forged += 1;
            }
        });
        if forged > 0 {
            return run.violation.unwrap_or_else(|| panic!("seed {seed}: nobody notices"));
        }
        assert_eq!(run.violation, None);
    }
    panic!("there was nothing to forge");
}

/// Changes the first fact of a kind.
fn forge_fact(step: &mut Step, mut forge: impl FnMut(&mut Fact) -> bool) -> bool {
    step.facts.iter_mut().any(&mut forge)
}

fn more(amount: Credits, units: i128) -> Credits {
    Credits::from_units(amount.units() + units)
}

/// Changes the first charge.
fn forge_charge(step: &mut Step, mut forge: impl FnMut(&mut Tick, usize)) -> bool {
    forge_fact(step, |fact| {
        let Fact::Market(MarketFact::Tick(tick)) = fact else { return false };
        let place = tick.queue_ticks.iter().position(|queue_tick| queue_tick.charge.amount() > Credits::ZERO);
        place.is_some_and(|place| {
            forge(tick, place);
            true
        })
    })
}

#[test]
fn a_charge_for_too_many_slots_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_charge(step, |tick, place| tick.queue_ticks[place].charge.slot_ms.map += 60_000)
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
    assert!(violation.culprit.contains("by the ledger"), "{violation}");
}

#[test]
fn a_charge_at_another_rate_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_charge(step, |tick, place| {
            let rate = &mut tick.queue_ticks[place].charge.rate;
            *rate = more(*rate, 1);
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
}

#[test]
fn a_balance_that_the_charge_does_not_explain_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_charge(step, |tick, place| {
            let balance = &mut tick.queue_ticks[place].balance;
            *balance = more(*balance, 1);
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
    assert!(violation.culprit.contains("by the ledger"), "{violation}");
}

/// Takes back a charge of this step.
fn leave_unpaid(step: &mut Step) -> bool {
    forge_charge(step, |tick, place| {
        let queue_tick = &mut tick.queue_ticks[place];
        queue_tick.balance = more(queue_tick.balance, queue_tick.charge.amount().units());
        queue_tick.charge = Charge::default();
        tick.ledger.rows -= 1;
    })
}

#[test]
fn an_interval_that_nobody_pays_is_noticed() {
    let violation = violation_of(DYNAMIC, leave_unpaid);
    assert_eq!(violation.law, Law::Holding, "{violation}");
    assert!(violation.culprit.contains("pays 0.0"), "{violation}");
}

fn as_tick(fact: &Fact) -> Option<&Tick> {
    match fact {
        Fact::Market(MarketFact::Tick(tick)) => Some(tick),
        _ => None,
    }
}

/// Whether another scheduler takes over in this step.
fn is_switch(step: &Step) -> bool {
    step.facts.iter().any(|fact| matches!(fact, Fact::SchedulerChosen { .. }))
}

#[test]
fn an_interval_that_a_switch_leaves_unpaid_is_noticed() {
    let violation = violation_of(MIXED, |step| is_switch(step) && leave_unpaid(step));
    assert_eq!(violation.law, Law::Holding, "{violation}");
}

#[test]
fn a_tick_while_another_scheduler_rules_is_noticed() {
    let mut last = None;
    let violation = violation_of(MIXED, |step| {
        if is_switch(step) {
            // The market's last tick charges; one more, without queues, ends its rule.
            let ticks: Vec<_> = step.facts.iter().filter(|fact| as_tick(fact).is_some()).collect();
            let end = ticks.get(1).filter(|fact| as_tick(fact).is_some_and(|tick| tick.queue_ticks.is_empty()));
            last = end.map(|fact| Fact::clone(fact));
            return false;
        }
        let tick = last.take();
        let is_there = tick.is_some();
        step.facts.extend(tick);
        is_there
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
    assert!(violation.culprit.contains("another scheduler rules"), "{violation}");
}

#[test]
fn a_cost_that_is_laid_on_no_job_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_fact(step, |fact| match fact {
            Fact::JobsCharged { jobs, .. } => jobs.pop().is_some(),
            _ => false,
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
    assert!(violation.culprit.contains("and nothing says so"), "{violation}");
}

#[test]
fn minted_money_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_fact(step, |fact| match fact {
            Fact::Market(MarketFact::Ledger(entry)) if entry.reason == Reason::TopUp => {
                entry.amount = more(entry.amount, 1_000_000_000_000);
                true
            }
            _ => false,
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
}

#[test]
fn an_allowance_that_pays_a_unit_more_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_fact(step, |fact| match fact {
            Fact::Market(MarketFact::Ledger(entry)) if entry.reason == Reason::Allowance => {
                entry.amount = more(entry.amount, 1);
                true
            }
            _ => false,
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
    assert!(violation.culprit.contains("reason: Allowance"), "{violation}");
}

#[test]
fn a_period_that_passes_too_early_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_fact(step, |fact| match fact {
            Fact::Market(MarketFact::AllowanceSet { allowance, .. }) if allowance.periods > 0 => {
                allowance.periods += 1;
                true
            }
            _ => false,
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
    assert!(violation.culprit.contains("periods of"), "{violation}");
}

#[test]
fn a_bid_that_nobody_made_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        let is_top_up = |fact: &Fact| match fact {
            Fact::Market(MarketFact::Ledger(entry)) => entry.reason == Reason::TopUp,
            _ => false,
        };
        step.facts.iter().any(is_top_up)
            && forge_fact(step, |fact| match fact {
                Fact::Market(MarketFact::Account { rate, .. }) => {
                    *rate = more(*rate, 1);
                    true
                }
                _ => false,
            })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
    assert!(violation.culprit.contains("Spending"), "{violation}");
}

#[test]
fn a_rate_that_no_order_may_bid_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_fact(step, |fact| {
            let Fact::Market(MarketFact::Tick(tick)) = fact else { return false };
            let mut intervals = tick.queue_ticks.iter_mut().filter_map(|queue_tick| queue_tick.interval.as_mut());
            intervals.find_map(|interval| interval.by_order.take()).is_some()
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
    assert!(violation.culprit.contains(" bids "), "{violation}");
}

#[test]
fn a_stamp_of_long_ago_is_noticed() {
    let mut seen = 0;
    let violation = violation_of(DYNAMIC, |step| {
        forge_fact(step, |fact| match fact {
            Fact::Market(MarketFact::Stamp(stamp)) if stamp.user == "root" => {
                seen += 1;
                stamp.timestamp_ms -= i64::from(seen == 2) * 1_000_000;
                seen == 2
            }
            _ => false,
        })
    });
    assert_eq!(violation.law, Law::Money, "{violation}");
}

#[test]
fn an_attempt_that_is_launched_twice_is_noticed() {
    let mut before = None;
    let violation = violation_of(FIFO, |step| {
        forge_fact(step, |fact| {
            let Fact::Job(JobFact::AttemptLaunched { role: AttemptRole::Work, attempt, .. }) = fact else {
                return false;
            };
            match before {
                None => {
                    before = Some(*attempt);
                    false
                }
                Some(before) => {
                    *attempt = before;
                    true
                }
            }
        })
    });
    assert_eq!(violation.law, Law::Order, "{violation}");
    assert!(violation.culprit.contains("launched"), "{violation}");
}

#[test]
fn a_slot_that_leaks_is_noticed() {
    let mut at_work = std::collections::BTreeSet::new();
    let violation = violation_of(FIFO, |step| {
        forge_fact(step, |fact| match fact {
            Fact::Job(JobFact::AttemptLaunched { role: AttemptRole::Work, attempt, .. }) => {
                at_work.insert(*attempt);
                false
            }
            Fact::Job(JobFact::AttemptEnded(ended)) if at_work.contains(&ended.attempt) => {
                ended.attempt.number += 900;
                true
            }
            _ => false,
        })
    });
    assert_eq!(violation.law, Law::Order, "{violation}");
}

#[test]
fn a_kill_for_another_queue_that_no_round_decided_is_noticed() {
    let violation = violation_of(DYNAMIC, |step| {
        forge_fact(step, |fact| match fact {
            Fact::Job(JobFact::AttemptKillRequested { request, attempt }) if *request == KillRequest::Preempt => {
                attempt.number += 1;
                true
            }
            _ => false,
        })
    });
    assert_eq!(violation.law, Law::Preemption, "{violation}");
}

/// Loses one fact of a kind, as if it had never been durable.
struct Forgetful<'a> {
    journal: InMemoryStore,
    is_meant: &'a dyn Fn(&Fact) -> bool,
    has_forgotten: bool,
}

impl Journal for Forgetful<'_> {
    fn record(&mut self, first: FactNumber, facts: &[Fact]) -> Result<(), String> {
        let mut facts = facts.to_vec();
        // What is still of use when the next daemon starts.
        let place = facts.iter().rposition(|fact| (self.is_meant)(fact)).filter(|_| !self.has_forgotten);
        if let Some(place) = place {
            facts[place] = Fact::TrackerForgotten { tracker: "nobody".into() };
            self.has_forgotten = true;
        }
        // What follows finds no row, and is told; here the laws are to notice.
        let recorded = self.journal.record(first, &facts);
        if self.has_forgotten { Ok(()) } else { recorded }
    }

    fn reopen(&mut self) -> Result<Restored, String> {
        self.journal.reopen()
    }
}

/// The violation found in the first run whose restart misses a fact of a kind.
fn violation_without(is_meant: &dyn Fn(&Fact) -> bool) -> Violation {
    for seed in 1..60 {
        let mut journal = Forgetful { journal: InMemoryStore::default(), is_meant, has_forgotten: false };
        let violation = SimulatedRun::play(&options(FIFO, seed, 3_000), &mut journal).violation;
        if journal.has_forgotten {
            return violation.unwrap_or_else(|| panic!("seed {seed}: nobody notices"));
        }
        assert_eq!(violation, None);
    }
    panic!("nothing was forgotten");
}

#[test]
fn an_acknowledged_submission_that_a_restart_loses_is_noticed() {
    let violation = violation_without(&|fact| matches!(fact, Fact::Job(JobFact::Accepted(_))));
    assert_eq!(violation.law, Law::End, "{violation}");
    assert!(violation.culprit.contains("lost"), "{violation}");
}

#[test]
fn a_launch_that_a_restart_loses_is_noticed() {
    let violation =
        violation_without(&|fact| matches!(fact, Fact::Job(JobFact::AttemptLaunched { role: AttemptRole::Work, .. })));
    assert!(matches!(violation.law, Law::Order | Law::End), "{violation}");
}

#[test]
fn a_finished_attempt_that_a_restart_loses_is_noticed() {
    let violation = violation_without(&|fact| match fact {
        Fact::Job(JobFact::AttemptEnded(ended)) => ended.state == AttemptState::Succeeded,
        _ => false,
    });
    assert!(matches!(violation.law, Law::Order | Law::End), "{violation}");
}

#[test]
fn a_finished_task_that_runs_again_is_noticed() {
    let mut done = std::collections::BTreeMap::new();
    let violation = violation_of(FIFO, |step| {
        forge_fact(step, |fact| match fact {
            Fact::Job(JobFact::AttemptEnded(ended)) if ended.state == AttemptState::Succeeded => {
                done.insert(ended.attempt.task.job, ended.attempt);
                false
            }
            Fact::Job(JobFact::AttemptLaunched { role: AttemptRole::Work, attempt, .. }) => {
                let Some(done) = done.get(&attempt.task.job) else { return false };
                *attempt = done.task.attempt(done.number + 1);
                true
            }
            _ => false,
        })
    });
    assert_eq!(violation.law, Law::Order, "{violation}");
    assert!(violation.culprit.contains("has done its task"), "{violation}");
}

/// A failure is planted: facts are out of order once a job of one user has ended. What is left is that user, with hardly
/// anything else, and fails when it is played again.
#[test]
fn a_failing_run_is_made_small() {
    let mut users = std::collections::BTreeMap::new();
    let mut plant = |options: &RunOptions| {
        let run = SimulatedRun::play_tampered(options, &mut InMemoryStore::default(), |step| {
            for fact in &step.facts {
                match fact {
                    Fact::Job(JobFact::Accepted(job)) => drop(users.insert(job.id, job.spec.user.clone())),
                    Fact::Job(JobFact::Ended { job, .. }) if users.get(job).is_some_and(|user| user == "bob") => {
                        step.first_fact.0 += 1;
                        break;
                    }
                    _ => {}
                }
            }
        });
        run.violation
    };
    let seed = 4;
    let first = plant(&options(DYNAMIC, seed, 3_000)).unwrap();
    let shrunk = shrink(&options(DYNAMIC, seed, 3_000), first.clone(), &mut plant);
    assert_eq!(plant(&shrunk.options).as_ref(), Some(&shrunk.violation));
    assert_eq!(shrunk.violation.law, first.law);
    assert!(shrunk.violation.event <= first.event);
    let cuts = &shrunk.options.cuts;
    assert!(cuts.has(RunPart::User(1)) && !cuts.has(RunPart::User(0)) && !cuts.has(RunPart::Bidders), "{cuts}");
    assert!(cuts.until_ms.is_some_and(|until_ms| until_ms <= first.at_ms + 1), "{cuts}");
}
