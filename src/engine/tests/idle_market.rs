//! A market that keeps accounts while another scheduler rules: jobs, queues and slots are as without it.

use crate::engine::{Caller, Effect, Event, Fact, Refusal};
use crate::market::{Answer, MarketError, MarketFact};
use crate::model::{Credits, RunState};

use super::cluster::{Cluster, Fate, dynamic, fifo, spec};
use super::market::{credits, market, seeded};

/// Under FIFO, with accounts.
fn idle(lines: &[(&str, &str, &str)]) -> Cluster {
    let mut cluster = seeded(Cluster::with_market(fifo()), lines);
    cluster.pass_ms(1_000);
    cluster
}

fn ticks(cluster: &Cluster) -> usize {
    cluster.facts.iter().filter(|fact| matches!(fact, Fact::Market(MarketFact::Tick(_)))).count()
}

fn balance(cluster: &Cluster, queue: &str) -> Credits {
    cluster.engine.market().unwrap().account(queue).unwrap().balance()
}

/// An operation of the administrator, a millisecond after the last.
fn ask(cluster: &mut Cluster, operation: &str) -> Result<Answer, MarketError> {
    cluster.pass_ms(1);
    cluster.admin_asks(operation)
}

#[test]
fn queues_are_the_configured_ones_and_jobs_need_no_signature() {
    let mut cluster = idle(&[("alice", "100", "1")]);
    let names: Vec<_> = cluster.engine.queues().value.iter().map(|queue| queue.name.to_string()).collect();
    assert_eq!(names, ["default"]);
    let id = cluster.submit(spec("carol", "default", 1, 0)).unwrap();
    assert_eq!(cluster.state(id), RunState::Prep);
    let refused = cluster.submit(spec("alice", "alice", 1, 0));
    assert_eq!(refused, Err(Refusal::InvalidJob("Queue \"alice\" does not exist".into())));
    ask(&mut cluster, "addQueue=bob").unwrap();
    let refused = cluster.submit(spec("bob", "bob", 1, 0));
    assert_eq!(refused, Err(Refusal::InvalidJob("Queue \"bob\" does not exist".into())), "an account is no queue");
}

#[test]
fn jobs_run_and_nothing_is_charged_or_shown() {
    let mut cluster = idle(&[("alice", "100", "1"), ("default", "100", "1")]);
    cluster.add_tracker("h0", 2, 1);
    let id = cluster.submit(spec("alice", "default", 3, 1)).unwrap();
    for _ in 0..30 {
        cluster.pass_ms(500);
        cluster.timer();
        cluster.beat(0, |_| Fate::Succeed);
    }
    assert_eq!(cluster.state(id), RunState::Succeeded);
    assert_eq!((ticks(&cluster), balance(&cluster, "default")), (0, credits("100")));
    let explained = cluster.engine.explain(id, true, cluster.now).value.unwrap().finish();
    assert_eq!((explained.market, explained.cost, explained.preemption), (None, None, None));
    let snapshot = cluster.engine.build_snapshot(cluster.now).value;
    assert_eq!((snapshot.price, snapshot.jobs[0].cost.clone(), snapshot.queues[0].share.clone()), (None, None, None));
    let statuses = cluster
        .ask(crate::market::ParsedQuery::parse_queue_status("queues&user=root&timestamp=1795252016001").unwrap(), true);
    let Ok(Answer::QueueStatuses(statuses)) = statuses else { panic!("{statuses:?}") };
    assert_eq!(
        statuses.iter().map(|status| (status.budget, status.pending)).collect::<Vec<_>>(),
        [(credits("100"), 0); 2]
    );
}

#[test]
fn each_movement_of_money_writes_the_budget_file() {
    let mut cluster = idle(&[("alice", "100", "1")]);
    let is_written = |cluster: &mut Cluster| {
        let effects = std::mem::take(&mut cluster.effects);
        effects.iter().any(|effect| matches!(effect, Effect::WriteBudgetImage))
    };
    assert!(ask(&mut cluster, "addBudget=5&queue=alice").is_ok() && is_written(&mut cluster));
    assert!(ask(&mut cluster, "setSpending=2&queue=alice").is_ok() && is_written(&mut cluster));
    assert!(ask(&mut cluster, "infos").is_ok() && !is_written(&mut cluster));
    assert_eq!(balance(&cluster, "alice"), credits("105"));
}

/// Under every scheduler: allowances are paid by the engine's timer, which is due in time.
#[test]
fn allowances_are_paid_and_said() {
    let mut cluster = idle(&[("alice", "100", "1")]);
    assert!(ask(&mut cluster, "allowance=2.5&queue=alice&every=60&cap=104").is_ok());
    cluster.effects.clear();
    let due_ms = cluster.now.mono_ms + 60_000;
    let (mut timers, mut lines, mut writes) = (0, Vec::new(), 0);
    while balance(&cluster, "alice") < credits("104") {
        let next_ms = cluster.engine.next_timer_ms().unwrap();
        cluster.pass_ms(next_ms.saturating_sub(cluster.now.mono_ms));
        // Clocks that are set on the way change nothing.
        cluster.now.wall_ms += [86_400_000, -90_000_000][timers % 2];
        cluster.timer();
        timers += 1;
        for effect in std::mem::take(&mut cluster.effects) {
            match effect {
                Effect::Audit(entry) => lines.push((cluster.now.mono_ms - due_ms, entry.to_string())),
                Effect::WriteBudgetImage => writes += 1,
                _ => {}
            }
        }
    }
    let paid = |amount: &str, number: u32| {
        format!("allowance-paid user=root queue=alice amount={amount} note=\"allowance {number}\"")
    };
    assert_eq!((lines, writes), (vec![(0, paid("2.5", 1)), (60_000, paid("1.5", 2))], 2));
    assert!(timers < 20, "{timers} timers in two minutes");
    let query = "queues=alice&user=root&timestamp=1795252016009";
    let query = query.replace("1795252016009", &(cluster.now.wall_ms + 1).to_string());
    let Ok(Answer::QueueStatuses(statuses)) =
        cluster.ask(crate::market::ParsedQuery::parse_queue_status(&query).unwrap(), true)
    else {
        panic!("no status");
    };
    let allowance = statuses[0].allowance.as_ref().unwrap();
    assert_eq!((allowance.next_s, allowance.every_s, allowance.cap), (60, 60, Some(credits("104"))));
}

#[test]
fn an_account_is_removed_beside_a_busy_queue_of_its_name() {
    let mut cluster = idle(&[("default", "100", "1")]);
    cluster.submit(spec("alice", "default", 1, 0)).unwrap();
    assert!(ask(&mut cluster, "removeQueue=default").is_ok());
    assert!(cluster.engine.market().unwrap().account("default").is_none());
    cluster.submit(spec("alice", "default", 1, 0)).unwrap();
}

/// The daemon is restarted with another scheduler, and then with the market again.
#[test]
fn a_restart_under_another_scheduler_ends_what_was_sold_without_a_charge() {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.add_tracker("h0", 2, 0);
    cluster.pass_ms(1_000);
    cluster.beat(0, |_| Fate::Succeed);
    let signature = cluster.signature("alice");
    let id = cluster.submit_signed(spec("alice", "alice", 4, 0), signature).unwrap();
    cluster.pass_ms(1_000);
    cluster.timer();
    assert_eq!(cluster.engine.market().unwrap().price(), credits("1"));
    let sold = ticks(&cluster);

    cluster.config.policy = fifo();
    cluster.crash(0, |_| Fate::Hang);
    let accounts = cluster.engine.market().unwrap();
    assert_eq!((accounts.price(), accounts.account("alice").unwrap().interval()), (Credits::ZERO, None));
    assert_eq!((ticks(&cluster), balance(&cluster, "alice")), (sold + 1, credits("100")));
    // Its job needs no account to continue, and the ticks have ended.
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    assert_eq!((ticks(&cluster), balance(&cluster, "alice")), (sold + 1, credits("100")));
    cluster.crash(0, |_| Fate::Hang);
    assert_eq!(ticks(&cluster), sold + 1, "nothing is left to end");

    cluster.config.policy = dynamic();
    cluster.crash(0, |_| Fate::Hang);
    let names: Vec<_> = cluster.engine.queues().value.iter().map(|queue| queue.name.to_string()).collect();
    assert_eq!(names, ["alice"]);
    assert!(cluster.submit(spec("alice", "alice", 1, 0)).is_err(), "unsigned");
    cluster.step(Event::KillJob { id, caller: Caller::named("alice") });
}
