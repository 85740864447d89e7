//! Containers under the market, through events and restarts: what they cost, to the last digit, and who pays.

use std::collections::BTreeMap;

use crate::api::applications::{AllocateCall, AskRow, Submission};
use crate::engine::tests::cluster::{Cluster, FakeTask, Fate, dynamic, fifo, spec};
use crate::engine::tests::market::{credits, market, seeded};
use crate::engine::tests::scheduler_report::report;
use crate::engine::tests::scheduler_switch::{done, wish};
use crate::engine::{ApplicationAnswer, ApplicationQuestion, ApplicationRefusal, Fact};
use crate::fake_tracker::Role;
use crate::market::{Answer, LedgerAccount, MarketError, MarketFact, OperationKind, ParsedQuery, Reason, Tick};
use crate::model::{ApplicationId, Capability, Credits, JobId, PerPool};

use super::bench::{
    Bench, Program, asking, ids, items_row, launching, row, run_as, submission, submit_as, submit_question,
};

/// A worker of sixteen slots.
const SIXTEEN: Capability = Capability::new(16_384, 16);

/// Items of containers of this size.
fn items(items: &str, memory_mb: u32, vcores: u32, priority: u32) -> AskRow {
    AskRow { capability: Capability::new(memory_mb, vcores), priority, ..items_row(items, |_| {}) }
}

fn tick(bench: &mut Bench) {
    bench.cluster.pass_ms(1_000);
    bench.cluster.timer();
}

fn balance(bench: &Bench, queue: &str) -> Credits {
    bench.cluster.engine.market().unwrap().account(queue).unwrap().balance()
}

fn cost(bench: &Bench, application: ApplicationId) -> Credits {
    bench.application(application).cost.cost
}

fn reported_cost(bench: &mut Bench, user: &str, application: ApplicationId) -> Option<Credits> {
    match bench.ask_as(user, ApplicationQuestion::Show { application, known_version: None }).unwrap() {
        ApplicationAnswer::Application(report) => report.cost,
        other => panic!("{other:?}"),
    }
}

fn ticks(cluster: &Cluster) -> impl Iterator<Item = &Tick> {
    cluster.facts.iter().filter_map(|fact| match fact {
        Fact::Market(MarketFact::Tick(tick)) => Some(&**tick),
        _ => None,
    })
}

fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

/// Resource requests, section 10, by applications: five containers of two slots at 0.5 are 5.0 a tick, with three of three
/// slots more 8.0 from the next tick on.
#[test]
fn the_worked_example_of_containers() {
    let mut bench = Bench::under(market(&[("alice", "100", "0.5")]), &[SIXTEEN]);
    bench.cluster.pass_ms(1_000);
    let first = run_as(&mut bench, "alice", vec![items("1-5", 2_048, 1, 1)]);
    tick(&mut bench);
    assert_eq!(bench.application(first).counts.live.len(), 5);
    assert_eq!(balance(&bench, "alice"), credits("100"), "no interval was open");
    tick(&mut bench);
    assert_eq!((balance(&bench, "alice"), cost(&bench, first)), (credits("95"), credits("5")));
    let second = run_as(&mut bench, "alice", vec![items("1-3", 1_024, 3, 1)]);
    assert_eq!(bench.application(second).counts.live.len(), 3);
    tick(&mut bench);
    // Ten slots were wanted and are bought; nineteen share the price.
    assert_eq!(balance(&bench, "alice"), credits("90"));
    assert_eq!((cost(&bench, first), cost(&bench, second)), (credits("7.631578947368"), credits("2.368421052632")));
    tick(&mut bench);
    assert_eq!(balance(&bench, "alice"), credits("82"));
    // 16 of 19 slots are bought: ten and nine of them share the price.
    assert_eq!((cost(&bench, first), cost(&bench, second)), (credits("11.842105263157"), credits("6.157894736843")));
    assert_eq!(reported_cost(&mut bench, "alice", second), Some(credits("6.157894736843")));
    let last = ticks(&bench.cluster).last().unwrap().charges().next().unwrap();
    let slot_ms = PerPool::new(0, 0, 16_000);
    let expected = Reason::Charge { rate: credits("0.5"), interval_ms: 1_000, slot_ms };
    assert_eq!((last.debit, last.reason), (LedgerAccount::Queue("alice".parse().unwrap()), expected));
    let groups = report(&bench.cluster).groups;
    let bought = groups.iter().find(|group| group.name == "alice").and_then(|group| group.bought.as_ref()).unwrap();
    assert_eq!(bought.quota, PerPool::new(0, 0, 16));
}

/// A container is held, and charged, from its grant on, launched or not; a restart between changes nothing that facts prove.
#[test]
fn containers_are_charged_from_their_grant_to_their_end() {
    for crashes in [false, true] {
        let mut bench = Bench::under(market(&[("alice", "100", "1")]), &[SIXTEEN]);
        bench.cluster.pass_ms(1_000);
        let mut program = bench.register();
        let restart = |bench: &mut Bench| {
            if crashes {
                bench.crash();
            }
        };
        let paid = |bench: &Bench| credits("100").checked_sub(balance(bench, "alice")).unwrap();
        let first = ids(&program.call(&mut bench, asking(vec![row(1, 2)])));
        tick(&mut bench);
        bench.cluster.pass_ms(250);
        let second = ids(&program.call(&mut bench, asking(vec![row(2, 4)])));
        assert_eq!((first.len(), second.len()), (2, 4));
        restart(&mut bench);
        bench.cluster.pass_ms(750);
        bench.cluster.timer();
        if crashes {
            bench.cluster.pass_ms(250);
            bench.cluster.timer();
        }
        // Two were wanted and bought at the tick; four came later and are beyond them.
        assert_eq!(paid(&bench), credits("2"));
        program.call(&mut bench, launching(&first[..1], "true"));
        tick(&mut bench);
        assert_eq!((paid(&bench), cost(&bench, program.application)), (credits("8"), credits("8")));
    }
}

/// Seed 004: what is given back promptly is not charged. Who holds on to it pays, and asking again in the same call does not
/// help.
#[test]
fn a_prompt_return_is_free_and_hoarding_is_not() {
    let mut bench = Bench::under(market(&[("alice", "100", "1")]), &[SIXTEEN]);
    bench.cluster.pass_ms(1_000);
    let mut program = bench.register();
    let paid = |bench: &Bench| credits("100").checked_sub(balance(bench, "alice")).unwrap();
    let mut held = ids(&program.call(&mut bench, asking(vec![row(1, 4)])));
    tick(&mut bench);
    let mut again = |bench: &mut Bench, held_ms: u64, wants: u32| {
        bench.cluster.pass_ms(held_ms);
        let release = std::mem::take(&mut held);
        let count = release.len();
        held = ids(&program.call(bench, AllocateCall { release, ..asking(vec![row(1, wants)]) }));
        assert_eq!((count, held.len()), (4, wants as usize));
    };
    // They were granted in the interval before, and more than a tenth of it ago.
    again(&mut bench, 0, 4);
    // A tenth of a second, and a hundredth more: of four slots, for 0.1 and 0.11 of an interval.
    again(&mut bench, 100, 4);
    again(&mut bench, 110, 0);
    bench.cluster.pass_ms(790);
    bench.cluster.timer();
    assert_eq!((paid(&bench), cost(&bench, program.application)), (credits("0.44"), credits("0.44")));
}

/// What is asked for just before each tick, and given back as soon as it is granted, is sold for two intervals.
#[test]
fn what_is_given_back_after_each_tick_is_sold_no_more() {
    let mut bench = Bench::under(market(&[("alice", "100", "1")]), &[SIXTEEN]);
    bench.cluster.pass_ms(1_000);
    let mut program = bench.register();
    let mut sold = Vec::new();
    for _ in 0..5 {
        bench.cluster.pass_ms(999);
        let release = ids(&program.call(&mut bench, asking(vec![row(1, 8)])));
        bench.cluster.pass_ms(1);
        bench.cluster.timer();
        let interval = bench.cluster.engine.market().unwrap().account("alice").unwrap().interval().unwrap();
        sold.push(interval.quota.container);
        program.call(&mut bench, AllocateCall { release, ..asking(Vec::new()) });
    }
    assert_eq!(sold, [8, 8, 1, 1, 1]);
}

/// Two queues with jobs and applications: every charge is the sum of what its jobs and applications cost, whatever ends
/// between ticks, over restarts.
#[test]
fn charges_are_laid_on_jobs_and_applications_to_the_last_unit() {
    let lines = [("alice", "100", "0.333333333333"), ("bob", "7.000000000001", "0.7")];
    let mut bench = Bench::under(market(&lines), &[SIXTEEN, Capability::new(8_192, 4)]);
    let stock = bench.cluster.add_tracker("m0", 5, 2);
    bench.cluster.pass_ms(1_000);
    bench.cluster.beat(stock, hang);
    for user in ["alice", "bob"] {
        bench.cluster.pass_ms(1);
        let signature = bench.cluster.signature(user);
        bench.cluster.submit_signed(spec(user, user, 4, 0), signature).unwrap();
    }
    let first = run_as(&mut bench, "alice", vec![items("1-3", 3_000, 1, 1)]);
    let second = run_as(&mut bench, "bob", vec![items("1-9", 1_024, 1, 1), items("1-2", 1_024, 3, 2)]);
    let mut program = Program { application: submit_as(&mut bench, "alice", |_| {}), attempt: 0, response_id: 0 };
    program.register(&mut bench);
    let third = program.application;
    for step in 0..24 {
        bench.cluster.beat(stock, hang);
        bench.settle();
        match step {
            2 => drop(program.call(&mut bench, asking(vec![row(1, 3)]))),
            5 | 11 | 17 => bench.crash(),
            7 => {
                let running = bench.on_workers();
                let own = running.iter().find(|id| id.application == first);
                own.into_iter().for_each(|id| bench.end(*id, 0));
            }
            14 => {
                bench.ask_as("bob", ApplicationQuestion::Kill(second)).unwrap();
            }
            _ => {}
        }
        tick(&mut bench);
    }
    let mut charged: BTreeMap<String, i128> = BTreeMap::new();
    let mut container_ms = 0;
    for entry in ticks(&bench.cluster).flat_map(|tick| tick.charges()) {
        let LedgerAccount::Queue(queue) = &entry.debit else { panic!("{entry:?}") };
        *charged.entry(queue.to_string()).or_default() += entry.amount.units();
        let Reason::Charge { slot_ms, .. } = entry.reason else { panic!("{entry:?}") };
        container_ms += slot_ms.container;
    }
    assert!(container_ms > 100_000, "{container_ms}");
    let costs = &bench.cluster.engine.market.as_ref().unwrap().costs;
    let jobs: BTreeMap<JobId, (String, i128)> = bench
        .cluster
        .engine
        .jobs
        .iter()
        .map(|job| (job.id, (job.spec.user.clone(), costs.of(job).unwrap().cost.units())))
        .collect();
    let of = |user: &str, applications: &[ApplicationId]| {
        let jobs: i128 = jobs.values().filter(|(owner, _)| owner == user).map(|(_, cost)| cost).sum();
        assert!(jobs > 0, "maps run and cost");
        jobs + applications.iter().map(|id| cost(&bench, *id).units()).sum::<i128>()
    };
    assert_eq!(of("alice", &[first, third]), charged["alice"]);
    assert_eq!(of("bob", &[second]), charged["bob"]);
    for (queue, budget, _) in lines {
        assert_eq!(credits(budget).units() - balance(&bench, queue).units(), charged[queue]);
    }
    assert!(cost(&bench, second) > Credits::ZERO, "an application that is over keeps its cost");
}

/// Containers of one queue take nothing from the maps and reduces that another has bought.
#[test]
fn live_status_and_quotes_count_containers() {
    let mut bench = Bench::under(market(&[("alice", "100", "1"), ("bob", "100", "3")]), &[SIXTEEN]);
    bench.cluster.pass_ms(1_000);
    run_as(&mut bench, "alice", vec![AskRow { priority: 2, ..items("1-20", 1_024, 1, 2) }]);
    tick(&mut bench);
    let asked = |bench: &mut Bench, query: &str| {
        bench.cluster.pass_ms(1);
        bench.cluster.admin_asks(query).unwrap()
    };
    let query = format!("queues=alice&user=root&timestamp={}", bench.cluster.now.wall_ms);
    let answer = bench.cluster.ask(ParsedQuery::parse_queue_status(&query).unwrap(), true).unwrap();
    let Answer::QueueStatuses(statuses) = answer else { panic!("no statuses") };
    let status = &statuses[0];
    assert_eq!((status.quota.container, status.running.container, status.pending), (16, 16, 4));
    assert_eq!(status.lasts_s, Some(6), "100 credits at 16 an interval of a second");
    let Answer::Quote(quote) = asked(&mut bench, "quote=1&queue=bob") else { panic!("no quote") };
    assert_eq!((quote.quota.container, quote.price), (8, credits("2")), "an idle queue is quoted as if it wanted some");
    let Answer::Quote(quote) = asked(&mut bench, "quote=2&queue=alice") else { panic!("no quote") };
    assert_eq!((quote.quota.container, quote.running.container), (16, 16));
}

#[test]
fn a_queue_with_an_application_is_not_removed() {
    let mut bench = Bench::under(market(&[("alice", "100", "0")]), &[SIXTEEN]);
    bench.cluster.pass_ms(1_000);
    let application = run_as(&mut bench, "alice", vec![items("1-2", 1_024, 1, 1)]);
    bench.settle();
    bench.cluster.pass_ms(1);
    assert!(matches!(bench.cluster.admin_asks("removeQueue=alice"), Err(MarketError::QueueBusy(_))));
    bench.ask(ApplicationQuestion::Kill(application)).unwrap();
    bench.cluster.pass_ms(1);
    assert!(matches!(bench.cluster.admin_asks("removeQueue=alice"), Err(MarketError::QueueBusy(_))), "it still dies");
    bench.settle();
    bench.cluster.pass_ms(1);
    bench.cluster.admin_asks("removeQueue=alice").unwrap();
}

/// The rules of jobs: the queue is the owner's, for administrators too, and has to have an account.
#[test]
fn an_application_goes_to_its_owners_account() {
    let mut bench = Bench::under(market(&[("alice", "100", "1"), ("root", "1", "1")]), &[SIXTEEN]);
    bench.cluster.pass_ms(1_000);
    let own = submit_as(&mut bench, "alice", |_| {});
    assert_eq!(&*bench.application(own).submitted.queue, "alice");
    let mut to = |user: &str, queue: Option<&str>| {
        let submission = Submission { queue: queue.map(str::to_owned), ..submission(bench.new_id(user)) };
        bench.ask_as(user, submit_question(submission)).map(drop)
    };
    assert_eq!(to("alice", Some("alice")), Ok(()));
    for (user, queue) in [("alice", "root"), ("alice", "nowhere"), ("root", "alice"), ("root", "(no account)")] {
        let refused = to(user, Some(queue));
        assert!(matches!(&refused, Err(ApplicationRefusal::Forbidden(text)) if text.contains(queue)), "{refused:?}");
    }
    for queue in [None, Some("carol")] {
        assert!(matches!(to("carol", queue), Err(ApplicationRefusal::InvalidRequest(_))), "carol has no account");
    }
}

/// The market begins to rule over containers that are there, ends, and begins again; an account that comes pays from then on.
#[test]
fn containers_live_through_switches_of_the_scheduler() {
    let cluster = seeded(Cluster::with_market(fifo()), &[("alice", "100", "1")]);
    let mut bench = Bench::under(cluster, &[SIXTEEN]);
    bench.cluster.pass_ms(1_000);
    let application = run_as(&mut bench, "alice", vec![items("1-4", 1_024, 1, 1)]);
    bench.settle();
    let group = |bench: &Bench| {
        let scheduler = &bench.cluster.engine.cluster.scheduler;
        let app = bench.cluster.engine.applications.app(application).unwrap();
        scheduler.group_name(scheduler.group_of(app).unwrap()).unwrap().to_owned()
    };
    assert_eq!(reported_cost(&mut bench, "alice", application), None, "no market rules");
    done(&mut bench.cluster, wish(dynamic()));
    assert_eq!(group(&bench), "(no account)");
    tick(&mut bench);
    tick(&mut bench);
    assert_eq!(bench.cluster.engine.market().unwrap().ledger().charged, Credits::ZERO);
    for query in ["addQueue=default", "addBudget=50&queue=default", "setSpending=0.25&queue=default"] {
        bench.cluster.pass_ms(1);
        bench.cluster.admin_asks(query).unwrap();
    }
    assert_eq!(group(&bench), "default", "it has an account now");
    tick(&mut bench);
    tick(&mut bench);
    assert_eq!((balance(&bench, "default"), cost(&bench, application)), (credits("49"), credits("1")));
    // The open interval is charged before another scheduler rules, and nothing after it.
    let wished = bench.cluster.step(crate::engine::Event::SchedulerWished(wish(fifo()))).0;
    assert!(matches!(wished, crate::engine::Reply::Switch(_)));
    tick(&mut bench);
    assert!(!bench.cluster.engine.market().unwrap().is_ruling());
    tick(&mut bench);
    assert_eq!((balance(&bench, "default"), cost(&bench, application)), (credits("48"), credits("2")));
    assert_eq!(reported_cost(&mut bench, "alice", application), Some(credits("2")), "what it has cost stays");
    bench.cluster.config.policy = dynamic();
    done(&mut bench.cluster, wish(dynamic()));
    tick(&mut bench);
    assert_eq!(balance(&bench, "default"), credits("47"));
    bench.crash();
    tick(&mut bench);
    assert_eq!((balance(&bench, "default"), cost(&bench, application)), (credits("46"), credits("4")));
}

/// A query of a user about a queue, unsigned parts left out.
#[test]
fn info_counts_containers_within_the_quota() {
    let mut bench = Bench::under(market(&[("alice", "100", "1")]), &[SIXTEEN]);
    bench.cluster.pass_ms(1_000);
    run_as(&mut bench, "alice", vec![items("1-20", 1_024, 1, 1)]);
    tick(&mut bench);
    tick(&mut bench);
    bench.cluster.pass_ms(1);
    let parsed = ParsedQuery::parse(&format!("info&user=alice&timestamp={}", bench.cluster.now.wall_ms)).unwrap();
    assert_eq!(parsed.kind, OperationKind::Info);
    let Answer::Queue(info) = bench.cluster.ask(parsed, false).unwrap() else { panic!("no queue") };
    assert_eq!((info.used, info.pending, info.budget), (16, 4, credits("84")));
}
