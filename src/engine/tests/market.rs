//! Jobs under the market: who may submit, who is served first, who pays what.

use crate::engine::{Caller, Effect, Event, Fact, PolicyConfig, QueueConfig, Refusal, Reply, SubmissionReply};
use crate::fake_tracker::Role;
use crate::market::{BudgetLine, JobSignature, MarketFact, Reason};
use crate::model::{AttemptState, Credits, FactNumber, JobId, Kind, QueueName, RunState};

use super::cluster::{Cluster, Fate, dynamic, spec};

pub(crate) fn credits(text: &str) -> Credits {
    text.parse().unwrap()
}

pub(crate) fn market(lines: &[(&str, &str, &str)]) -> Cluster {
    market_under(dynamic(), lines)
}

pub(crate) fn market_under(policy: PolicyConfig, lines: &[(&str, &str, &str)]) -> Cluster {
    seeded(Cluster::new(policy), lines)
}

/// The cluster, its market with these accounts.
pub(crate) fn seeded(mut cluster: Cluster, lines: &[(&str, &str, &str)]) -> Cluster {
    let line = |(queue, budget, rate): &(&str, &str, &str)| BudgetLine {
        queue: QueueName::new(queue).unwrap(),
        budget: credits(budget),
        rate: credits(rate),
        is_budget_rounded: false,
        is_rate_rounded: false,
    };
    cluster.engine.seed_budgets(lines.iter().map(line).collect(), cluster.now);
    let (_, facts) = cluster.engine.take_start_facts();
    cluster.facts.extend(facts);
    cluster
}

fn balance(cluster: &Cluster, queue: &str) -> Credits {
    cluster.engine.market().unwrap().account(queue).unwrap().balance()
}

#[test]
fn unsigned_foreign_and_replayed_submissions_are_refused_with_a_reason() {
    let mut cluster = market(&[("alice", "100", "1"), ("bob", "100", "1")]);
    cluster.pass_ms(1_000);
    let denied = |result: Result<_, Refusal>| match result {
        Err(Refusal::AccessDenied(text)) => {
            assert!(text.starts_with("ACCESS DENIED:"), "{text}");
            text
        }
        other => panic!("{other:?}"),
    };
    denied(cluster.submit_signed(spec("alice", "alice", 1, 0), JobSignature::Missing));
    let signature = cluster.signature("alice");
    denied(cluster.submit_signed(spec("alice", "bob", 1, 0), signature.clone()));
    assert!(cluster.submit_signed(spec("alice", "alice", 1, 0), signature.clone()).is_ok());
    denied(cluster.submit_signed(spec("alice", "alice", 1, 0), signature));
    let signature = cluster.signature("carol");
    assert_eq!(
        cluster.submit_signed(spec("carol", "carol", 1, 0), signature),
        Err(Refusal::InvalidJob("Queue \"carol\" does not exist".into()))
    );
    let is_log = |effect: &Effect| matches!(effect, Effect::Audit(_));
    assert!(cluster.effects.iter().all(is_log), "a refusal leaves nothing behind");
    assert_eq!(cluster.engine.all_jobs().value.len(), 1);
}

#[test]
fn slots_follow_bids_and_every_interval_is_paid_to_the_last_digit() {
    let mut cluster = market(&[("alice", "100", "0.5"), ("bob", "100", "1")]);
    cluster.add_tracker("h0", 6, 0);
    cluster.pass_ms(1_000);
    cluster.beat(0, |_| Fate::Succeed);
    for user in ["alice", "bob"] {
        let signature = cluster.signature(user);
        cluster.submit_signed(spec(user, user, 60, 0), signature).unwrap();
    }
    // Setups run; the first tick sees both waiting and gives 2 and 4 of the six slots.
    let hang =
        |task: &super::cluster::FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
    cluster.beat(0, hang);
    cluster.pass_ms(1_000);
    cluster.timer();
    for _ in 0..4 {
        cluster.beat(0, hang);
    }
    let running = |cluster: &Cluster, queue: &str| {
        let overview = cluster.engine.build_snapshot(cluster.now).value;
        overview.queues.iter().find(|found| found.name == queue).unwrap().running[Kind::Map]
    };
    assert_eq!((running(&cluster, "alice"), running(&cluster, "bob")), (2, 4));
    for interval in 1..=5_u64 {
        cluster.pass_ms(1_000);
        cluster.timer();
        let paid = |rate: &str, slots: u64| credits(rate).checked_mul(slots * interval).unwrap();
        assert_eq!(balance(&cluster, "alice"), credits("100").checked_sub(paid("0.5", 2)).unwrap());
        assert_eq!(balance(&cluster, "bob"), credits("100").checked_sub(paid("1", 4)).unwrap());
    }
    let ticks = cluster.facts.iter().filter_map(|fact| match fact {
        Fact::Market(MarketFact::Tick(tick)) => Some(tick),
        _ => None,
    });
    let charges = ticks.flat_map(|tick| tick.charges()).filter_map(|entry| match entry.reason {
        Reason::Charge { rate, interval_ms, slot_ms } => {
            let slot_ms = slot_ms.map + slot_ms.reduce + slot_ms.container;
            let units = rate.units() * i128::from(slot_ms) / i128::from(interval_ms);
            Some((entry.amount, Credits::from_units(units)))
        }
        _ => None,
    });
    let charges: Vec<_> = charges.collect();
    assert_eq!(charges.len(), 10);
    assert!(charges.iter().all(|(amount, product)| amount == product));
    assert!(cluster.effects.contains(&Effect::WriteBudgetImage));
}

#[test]
fn an_edited_budget_file_opens_and_closes_queues_and_is_written_again() {
    let mut cluster = market(&[("alice", "100", "1"), ("bob", "50", "2")]);
    let lines = crate::market::budget_file::parse("alice 120 1\ncarol 5 1\n", "budget").unwrap();
    assert_eq!(cluster.engine.apply_budget_file(lines, cluster.now).len(), 3);
    let (_, facts) = cluster.engine.take_start_facts();
    assert_eq!(facts.iter().filter(|fact| matches!(fact, Fact::Market(MarketFact::Ledger(_)))).count(), 3);
    cluster.facts.extend(facts);
    cluster.pass_ms(1_000);
    let submit = |cluster: &mut Cluster, user: &str| {
        let signature = cluster.signature(user);
        cluster.submit_signed(spec(user, user, 1, 0), signature)
    };
    assert!(submit(&mut cluster, "carol").is_ok());
    assert_eq!(submit(&mut cluster, "bob"), Err(Refusal::InvalidJob("Queue \"bob\" does not exist".into())));
    cluster.timer();
    assert!(cluster.effects.contains(&Effect::WriteBudgetImage), "at the first tick, when all of it is durable");
}

/// Intervals are measured by the clock that never goes back; only what rows show of the time goes back with the other.
#[test]
fn a_clock_set_back_an_hour_changes_no_charge() {
    let mut cluster = market(&[("alice", "100", "0.5")]);
    cluster.add_tracker("h0", 4, 0);
    cluster.pass_ms(1_000);
    cluster.beat(0, |_| Fate::Succeed);
    let signature = cluster.signature("alice");
    cluster.submit_signed(spec("alice", "alice", 9, 0), signature).unwrap();
    let hang =
        |task: &super::cluster::FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
    cluster.beat(0, hang);
    cluster.pass_ms(1_000);
    cluster.timer();
    (0..4).for_each(|_| drop(cluster.beat(0, hang)));
    let ticks = cluster.engine.market().unwrap().tick_number();
    for (interval, left) in ["98", "96", "94"].into_iter().enumerate() {
        if interval == 1 {
            cluster.now.wall_ms -= 3_600_000;
        }
        cluster.pass_ms(1_000);
        cluster.timer();
        assert_eq!(balance(&cluster, "alice"), credits(left), "interval {interval}");
    }
    assert_eq!(cluster.engine.market().unwrap().tick_number(), ticks + 3, "neither more ticks nor fewer");
}

#[test]
fn a_late_tick_is_one_tick_and_the_next_comes_one_interval_after_it() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.pass_ms(10_500);
    cluster.timer();
    assert_eq!(cluster.engine.market().unwrap().tick_number(), 1);
    assert_eq!(cluster.engine.next_timer_ms(), Some(1_000_000 + 11_500));
}

/// A queue with four map slots of its own that has bought them.
fn with_four_slots(tasks: u32) -> (Cluster, JobId) {
    let mut cluster = market(&[("alice", "100", "0.5")]);
    cluster.add_tracker("h0", 4, 0);
    cluster.pass_ms(1_000);
    cluster.beat(0, |_| Fate::Succeed);
    let signature = cluster.signature("alice");
    let id = cluster.submit_signed(spec("alice", "alice", tasks, 0), signature).unwrap();
    // The setup runs; the first tick sees the maps wait.
    (0..5).for_each(|_| drop(cluster.beat(0, hang)));
    cluster.pass_ms(1_000);
    cluster.timer();
    (cluster, id)
}

fn hang(task: &super::cluster::FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn running_maps(cluster: &Cluster) -> u32 {
    let group = cluster.engine.cluster.scheduler.group("alice").unwrap();
    cluster.engine.cluster.scheduler.usage(group).map
}

/// Seed 000, Accounting: "only charged for the fraction of the shares they actually use". A task between two ticks pays for
/// its time, whatever runs when the tick comes.
#[test]
fn what_runs_between_two_ticks_pays_for_its_time() {
    let (mut cluster, _) = with_four_slots(8);
    let held = running_maps(&cluster);
    assert_eq!(held, 4);
    cluster.pass_ms(300);
    let before = cluster.facts.len();
    // Four end, and four others get their slots, at one moment.
    cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(running_maps(&cluster), 4);
    let moments: Vec<_> = cluster.facts[before..]
        .iter()
        .filter_map(|fact| match fact {
            Fact::Market(MarketFact::Metered(metered)) => Some((metered.offset_ms, metered.changes.len())),
            _ => None,
        })
        .collect();
    assert_eq!(moments, [(300, 0)], "the moment is proven, nothing has changed");
    cluster.pass_ms(200);
    cluster.beat(0, |_| Fate::Succeed);
    cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(running_maps(&cluster), 0);
    cluster.pass_ms(500);
    cluster.timer();
    // Four slots for half the interval; nothing runs when the tick comes.
    assert_eq!(balance(&cluster, "alice"), credits("99"));
}

/// An interval of a second with tasks of ten milliseconds.
#[test]
fn tasks_of_ten_milliseconds_pay_for_their_time_to_the_last_digit() {
    let (mut cluster, _) = with_four_slots(400);
    for _ in 0..50 {
        cluster.pass_ms(10);
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert_eq!(running_maps(&cluster), 4);
    cluster.pass_ms(500);
    cluster.timer();
    assert_eq!(balance(&cluster, "alice"), credits("98"), "four slots were in use all the time");
}

/// What lies beyond an interval that is closed ten intervals late is free.
#[test]
fn a_tick_ten_intervals_late_charges_one_interval() {
    let (mut cluster, _) = with_four_slots(9);
    cluster.pass_ms(11_000);
    cluster.timer();
    assert_eq!(balance(&cluster, "alice"), credits("98"));
    cluster.pass_ms(999);
    cluster.timer();
    assert_eq!(balance(&cluster, "alice"), credits("98"), "the next comes one interval after it");
    cluster.pass_ms(1);
    cluster.timer();
    assert_eq!(balance(&cluster, "alice"), credits("96"));
}

/// Clocks that jump around a tick, in both directions.
#[test]
fn a_wall_clock_that_jumps_within_an_interval_mints_and_loses_nothing() {
    for step_ms in [-86_400_000_i64, -500, 500, 86_400_000] {
        let (mut cluster, _) = with_four_slots(9);
        cluster.pass_ms(400);
        cluster.now.wall_ms += step_ms;
        cluster.beat(0, hang);
        cluster.pass_ms(599);
        cluster.now.wall_ms -= step_ms;
        cluster.pass_ms(1);
        cluster.timer();
        cluster.now.wall_ms += step_ms;
        assert_eq!(balance(&cluster, "alice"), credits("98"), "{step_ms}");
    }
}

/// What was accrued before a crash is taken over as far as facts prove it; the time while the daemon was down is free, and
/// no moment is charged twice.
#[test]
fn a_crash_amid_an_interval_charges_what_facts_prove_and_nothing_twice() {
    let (mut cluster, _) = with_four_slots(4);
    cluster.pass_ms(250);
    // One of four is done at 250 ms.
    let one_ends = |task: &super::cluster::FakeTask| if task.id.task.number == 0 { Fate::Succeed } else { hang(task) };
    (0..2).for_each(|_| drop(cluster.beat(0, one_ends)));
    assert_eq!(running_maps(&cluster), 3);
    cluster.pass_ms(150);
    // Nothing proves these.
    cluster.crash(5_000, hang);
    let slots = running_maps(&cluster);
    cluster.beat(0, hang);
    cluster.pass_ms(750);
    cluster.timer();
    let paid = credits("100").units() - balance(&cluster, "alice").units();
    // Four slots up to 250 ms, and from the restart on up to a whole interval in all.
    let expected = credits("0.5").units() * i128::from(4 * 250 + slots * 750) / 1_000;
    assert_eq!(paid, expected, "the tick comes where the interval ends, without the time in between");
}

/// Nothing can be sold while no tracker has come again: then the tick waits, for one whole interval at most.
#[test]
fn after_a_restart_the_tick_waits_for_the_trackers_of_the_last_run() {
    for (beats_after_ms, tick_after_ms) in [(900, 900), (1_500, 1_000)] {
        let (mut cluster, _) = with_four_slots(4);
        cluster.pass_ms(250);
        let one_ends =
            |task: &super::cluster::FakeTask| if task.id.task.number == 0 { Fate::Succeed } else { hang(task) };
        (0..2).for_each(|_| drop(cluster.beat(0, one_ends)));
        cluster.crash(5_000, hang);
        let start_ms = cluster.now.mono_ms;
        let ticks = |cluster: &Cluster| cluster.engine.market().unwrap().tick_number();
        let before = ticks(&cluster);
        let mut has_beaten = false;
        while ticks(&cluster) == before {
            if cluster.now.mono_ms - start_ms >= beats_after_ms && !std::mem::replace(&mut has_beaten, true) {
                cluster.beat(0, hang);
            }
            cluster.timer();
            if ticks(&cluster) == before {
                cluster.pass_ms(50);
            }
        }
        assert_eq!(cluster.now.mono_ms - start_ms, tick_after_ms);
    }
}

/// A setup or cleanup is free for ten seconds; one that lasts longer counts as a map from then on, and is wanted as such at
/// the next tick.
#[test]
fn a_setup_that_lasts_counts_as_a_map_after_ten_seconds() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.add_tracker("h0", 2, 0);
    cluster.pass_ms(1_000);
    let signature = cluster.signature("alice");
    cluster.submit_signed(spec("alice", "alice", 1, 0), signature).unwrap();
    cluster.timer();
    cluster.pass_ms(300);
    let all_hang = |_: &super::cluster::FakeTask| Fate::Hang;
    cluster.beat(0, all_hang);
    let launched_ms = cluster.now.mono_ms;
    let until = |cluster: &mut Cluster, mono_ms: u64| {
        while cluster.now.mono_ms < mono_ms {
            let next_ms = cluster.engine.rounds.update.due_mono_ms().min(mono_ms);
            cluster.pass_ms(next_ms - cluster.now.mono_ms);
            cluster.beat(0, all_hang);
            cluster.timer();
        }
    };
    until(&mut cluster, launched_ms + 9_900);
    assert_eq!(balance(&cluster, "alice"), credits("100"));
    until(&mut cluster, launched_ms + 10_000);
    let due_ms = cluster.engine.rounds.update.due_mono_ms();
    assert_eq!(due_ms - launched_ms, 10_700);
    until(&mut cluster, due_ms);
    assert_eq!(balance(&cluster, "alice"), credits("100"), "until then it was no map, and no slot was bought for it");
    until(&mut cluster, due_ms + 1_000);
    cluster.beat(0, |_| Fate::Succeed);
    assert_eq!(balance(&cluster, "alice"), credits("99"));
}

#[test]
fn a_job_without_money_runs_on_unpaid_slots() {
    let mut cluster = market(&[("alice", "0", "0")]);
    cluster.add_tracker("h0", 2, 1);
    cluster.pass_ms(1_000);
    let signature = cluster.signature("alice");
    let id = cluster.submit_signed(spec("alice", "alice", 3, 1), signature).unwrap();
    for _ in 0..30 {
        cluster.pass_ms(500);
        cluster.timer();
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert_eq!(cluster.state(id), RunState::Succeeded);
    assert_eq!(balance(&cluster, "alice"), Credits::ZERO);
}

#[test]
fn a_submission_is_answered_once_its_signature_is_durably_used() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.pass_ms(1_000);
    let id = cluster.new_job_id("alice");
    let caller = Caller::named("alice");
    cluster.step(Event::SubmissionRequested { id, caller });
    let read = cluster.read_submission(id, spec("alice", "alice", 1, 0), cluster.signature("alice"));
    let (reply, wait_for) = cluster.step(Event::SubmissionRead(Box::new(read)));
    assert!(matches!(reply, Reply::Submission(SubmissionReply::WriteSystemDir { .. })));
    assert!(matches!(cluster.facts.last(), Some(Fact::Market(MarketFact::Stamp(_)))));
    assert_eq!(wait_for, FactNumber(cluster.facts.len() as u64));
}

#[test]
fn a_queue_is_not_removed_while_it_has_slots_to_pay_for() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.add_tracker("h0", 3, 0);
    cluster.pass_ms(1_000);
    let signature = cluster.signature("alice");
    let id = cluster.submit_signed(spec("alice", "alice", 2, 0), signature).unwrap();
    let hang =
        |task: &super::cluster::FakeTask| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang };
    (0..5).for_each(|_| drop(cluster.beat(0, hang)));
    // The job ends, while its tracker is slow to kill what runs.
    cluster.step(Event::KillJob { id, caller: Caller::named("alice") });
    for _ in 0..5 {
        for task in cluster.trackers[0].attempts.iter_mut().filter(|task| task.role != Role::Housekeeping) {
            task.state = AttemptState::Running;
        }
        cluster.beat(0, hang);
        if cluster.state(id) == RunState::Killed {
            break;
        }
    }
    assert_eq!(cluster.state(id), RunState::Killed);
    let remove = |cluster: &mut Cluster| {
        cluster.pass_ms(1);
        cluster.admin_asks("removeQueue=alice")
    };
    assert!(remove(&mut cluster).is_err(), "its attempts still hold slots");
    (0..3).for_each(|_| drop(cluster.beat(0, hang)));
    assert!(remove(&mut cluster).is_ok(), "nothing was bought: the slots were free");
    let signature = cluster.signature("alice");
    assert_eq!(
        cluster.submit_signed(spec("alice", "alice", 1, 0), signature),
        Err(Refusal::InvalidJob("Queue \"alice\" does not exist".into()))
    );
}

#[test]
fn refreshed_queues_open_no_queue_beside_the_accounts() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.pass_ms(1_000);
    let queue = |name: &str| QueueConfig {
        name: name.into(),
        running: true,
        submit_acl: "*".into(),
        administer_acl: "chief".into(),
    };
    let queues = vec![queue("default"), queue("alice"), queue("added")];
    let event = Event::QueuesRead { queues, policy: None, caller: Caller::named("boss") };
    assert!(matches!(cluster.step(event).0, Reply::Done));
    let names: Vec<_> = cluster.engine.queues().value.iter().map(|queue| queue.name.to_string()).collect();
    assert_eq!(names, ["alice"]);
    let signature = cluster.signature("added");
    let refused = cluster.submit_signed(spec("added", "added", 1, 0), signature);
    assert_eq!(refused, Err(Refusal::InvalidJob("Queue \"added\" does not exist".into())));
    // The list of a queue that has an account is taken over.
    cluster.engine.config.acls_enabled = true;
    let signature = cluster.signature("alice");
    let id = cluster.submit_signed(spec("alice", "alice", 1, 0), signature).unwrap();
    assert!(cluster.engine.check_view_details(id, &Caller::named("chief")).is_ok());
    assert!(cluster.engine.check_view_details(id, &Caller::named("bob")).is_err());
}
