//! The scheduler is switched while jobs run.

use crate::api::{SwitchPlan, SwitchRefusal};
use crate::engine::{
    Caller, Effect, Event, Fact, PolicyConfig, QueueConfig, Reply, SchedulerChoice, SchedulerWish, SwitchReply,
};
use crate::fake_tracker::Role;
use crate::market::MarketFact;
use crate::model::{Credits, JobId, Kind, PerKind, RunState};

use super::cluster::{Cluster, FakeTask, Fate, dynamic, fifo, spec};
use super::market::{credits, market, seeded};
use super::policies::{capacity, fair};

fn class(policy: &PolicyConfig) -> &'static str {
    match policy {
        PolicyConfig::Fifo(_) => "Fifo",
        PolicyConfig::Capacity { .. } => "Capacity",
        PolicyConfig::Fair(_) => "Fair",
        PolicyConfig::Constraint(_) => "Constraint",
        PolicyConfig::Dynamic { .. } => "Dynamic",
    }
}

/// For a scheduler with the queue `default`.
pub(crate) fn wish(policy: PolicyConfig) -> Box<SchedulerWish> {
    Box::new(SchedulerWish {
        class: class(&policy).to_owned(),
        configured: "Configured".to_owned(),
        by: "root".to_owned(),
        policy,
        queues: vec![QueueConfig::open("default")],
        move_to: None,
        first_budgets: None,
    })
}

/// Working tasks stay at it; setups and cleanups succeed.
fn hang(task: &FakeTask) -> Fate {
    if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Hang }
}

fn switch(cluster: &mut Cluster, wish: Box<SchedulerWish>) -> SwitchReply {
    // A restart reads the files of what was chosen.
    let config = (wish.policy.clone(), wish.queues.clone());
    match cluster.step(Event::SchedulerWished(wish)).0 {
        Reply::Switch(reply) => {
            if let SwitchReply::Done(_) = reply {
                (cluster.config.policy, cluster.config.queues) = config;
                cluster.config.choice = cluster.engine.administration.choice.clone();
            }
            reply
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) fn done(cluster: &mut Cluster, wish: Box<SchedulerWish>) -> SwitchPlan {
    match switch(cluster, wish) {
        SwitchReply::Done(plan) => *plan,
        other => panic!("{other:?}"),
    }
}

fn refused(cluster: &mut Cluster, wish: Box<SchedulerWish>) -> Vec<SwitchRefusal> {
    let before = cluster.facts.len();
    let status = cluster.engine.scheduler_status(cluster.now);
    let refusals = match switch(cluster, wish) {
        SwitchReply::Refused(plan) => plan.refusals,
        other => panic!("{other:?}"),
    };
    assert_eq!(cluster.engine.scheduler_status(cluster.now), status, "nothing has changed");
    assert_eq!(cluster.facts.len(), before, "and nothing is recorded");
    refusals
}

fn held(cluster: &Cluster, id: JobId) -> PerKind<u32> {
    cluster.engine.cluster.scheduler.app_usage(cluster.engine.jobs.get(id).unwrap().app)
}

fn group(cluster: &Cluster, id: JobId) -> String {
    let scheduler = &cluster.engine.cluster.scheduler;
    let group = scheduler.group_of(cluster.engine.jobs.get(id).unwrap().app).unwrap();
    scheduler.group_name(group).unwrap().to_owned()
}

fn balance(cluster: &Cluster, queue: &str) -> Credits {
    cluster.engine.market().unwrap().account(queue).unwrap().balance()
}

fn ticks(cluster: &Cluster) -> usize {
    cluster.facts.iter().filter(|fact| matches!(fact, Fact::Market(MarketFact::Tick(_)))).count()
}

fn assert_sums(cluster: &mut Cluster) {
    cluster.engine.check_whole_state();
    assert!(cluster.engine.outbox.violations.is_empty(), "{:?}", cluster.engine.outbox.violations.take());
    let scheduler = &cluster.engine.cluster.scheduler;
    let (kept, counted) = (scheduler.totals(), scheduler.recount());
    assert_eq!((kept.running, kept.held, kept.waiting), (counted.running, counted.held, counted.waiting));
}

/// Two jobs with half of their maps at work.
fn at_work(mut cluster: Cluster) -> (Cluster, [JobId; 2]) {
    for host in ["h0", "h1"] {
        cluster.add_tracker(host, 2, 1);
    }
    cluster.pass_ms(1_000);
    let jobs = ["alice", "bob"].map(|user| cluster.submit(spec(user, "default", 4, 1)).unwrap());
    for _ in 0..8 {
        for index in 0..2 {
            cluster.pass_ms(100);
            cluster.beat(index, hang);
        }
    }
    (cluster, jobs)
}

#[test]
fn running_attempts_keep_their_slots_through_every_scheduler_and_each_task_runs_once() {
    let (mut cluster, jobs) = at_work(seeded(Cluster::with_market(fifo()), &[("carol", "100", "1")]));
    let before = jobs.map(|id| held(&cluster, id));
    assert_eq!(before[0].map + before[1].map, 4);
    for policy in [capacity(), fair(), fifo(), fair(), capacity(), dynamic()] {
        let name = class(&policy);
        let plan = done(&mut cluster, wish(policy));
        assert_eq!((plan.to.as_str(), plan.moves.len()), (name, 0));
        assert_eq!(jobs.map(|id| held(&cluster, id)), before, "{name}");
        assert_sums(&mut cluster);
        let groups = jobs.map(|id| group(&cluster, id));
        match name {
            "Fair" => assert_eq!(groups, ["alice", "bob"]),
            "Dynamic" => assert_eq!(groups, ["(no account)", "(no account)"]),
            _ => assert_eq!(groups, ["default", "default"]),
        }
        // Nothing is free, and nothing is launched a second time (the cluster checks it).
        for index in 0..2 {
            cluster.pass_ms(100);
            cluster.beat(index, hang);
        }
        assert_eq!(jobs.map(|id| held(&cluster, id)), before, "{name}");
    }
    for id in jobs {
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
        let launched = cluster.launched.iter().filter(|attempt| attempt.task.job == id).count();
        assert_eq!(launched, 4 + 1 + 2, "maps, reduce, setup, cleanup");
    }
    assert_eq!(balance(&cluster, "carol"), credits("100"));
    assert_sums(&mut cluster);
}

#[test]
fn a_plan_says_what_the_switch_does_and_changes_nothing() {
    let (mut cluster, jobs) = at_work(Cluster::new(fifo()));
    let facts = cluster.facts.len();
    let plan = cluster.engine.plan_switch(&wish(capacity()), cluster.now);
    assert_eq!((facts, plan.is_permitted(), plan.waits_until_ms), (cluster.facts.len(), true, None));
    let [default] = plan.groups.as_slice() else { panic!("{plan:?}") };
    assert_eq!((default.name.as_str(), default.jobs, default.due), ("default", 2, Some(PerKind::new(4, 2))));
    assert_eq!(default.held.map, 4);
    assert!(default.settings.contains(&"capacity 100.0%".to_owned()), "{default:?}");
    assert_eq!(done(&mut cluster, wish(capacity())), plan);
    let status = cluster.engine.scheduler_status(cluster.now);
    assert_eq!((status.scheduler.as_str(), status.by.as_deref()), ("Capacity", Some("root")));
    assert_eq!((status.since_ms, status.configured.as_str()), (cluster.now.wall_ms, "Configured"));
    assert_eq!(status.groups, plan.groups);
    let shared = cluster.engine.plan_switch(&wish(fair()), cluster.now);
    let due: Vec<_> = shared.groups.iter().map(|pool| (pool.name.as_str(), pool.due.unwrap().map)).collect();
    assert_eq!(due, [("alice", 2), ("bob", 2)], "{shared:?}");
    assert_eq!(jobs.map(|id| group(&cluster, id)), ["default", "default"]);
}

#[test]
fn jobs_of_a_queue_that_is_missing_are_named_and_move_where_told_over_a_restart() {
    let mut cluster = Cluster::new(fifo());
    cluster.config.queues.push(QueueConfig::open("old"));
    let mut cluster = {
        let config = cluster.config.clone();
        cluster.engine = crate::engine::Engine::new(config, Default::default(), cluster.now);
        cluster.facts = cluster.engine.take_start_facts().1;
        cluster
    };
    cluster.add_tracker("h0", 2, 1);
    cluster.pass_ms(1_000);
    let stays = cluster.submit(spec("alice", "default", 2, 0)).unwrap();
    let moves = cluster.submit(spec("bob", "old", 4, 0)).unwrap();
    for _ in 0..6 {
        cluster.pass_ms(100);
        cluster.beat(0, hang);
    }
    let missing = SwitchRefusal::QueueMissing { queue: "old".into(), jobs: vec![moves] };
    assert_eq!(refused(&mut cluster, wish(capacity())), [missing]);
    let to = |queue: &str| Box::new(SchedulerWish { move_to: Some(queue.to_owned()), ..*wish(capacity()) });
    let unknown = refused(&mut cluster, to("new"));
    assert!(unknown.iter().any(|why| matches!(why, SwitchRefusal::TargetMissing { queue, .. } if queue == "new")));
    // Under the Fair scheduler there is a pool for any.
    assert!(cluster.engine.plan_switch(&wish(fair()), cluster.now).is_permitted());

    let plan = done(&mut cluster, to("default"));
    assert_eq!(plan.moves.iter().map(|moved| moved.job).collect::<Vec<_>>(), [moves]);
    assert_eq!((group(&cluster, moves), group(&cluster, stays)), ("default".into(), "default".into()));
    assert!(cluster.engine.cluster.scheduler.group("old").is_none(), "nothing is in it");
    assert_sums(&mut cluster);
    let queue = |cluster: &Cluster, id| cluster.engine.jobs.get(id).unwrap().spec.queue.clone();
    assert_eq!(queue(&cluster, moves), "default");
    cluster.crash(1_000, |_| Fate::Hang);
    assert_eq!(queue(&cluster, moves), "default");
    assert_eq!(cluster.engine.scheduler_status(cluster.now).scheduler, "Capacity");
    for id in [stays, moves] {
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    }
}

#[test]
fn safe_mode_and_a_missing_market_refuse() {
    let mut cluster = Cluster::new(fifo());
    assert!(matches!(refused(&mut cluster, wish(dynamic()))[..], [SwitchRefusal::NoMarket { .. }]));
    let caller = Caller::named("mapred");
    cluster.step(Event::SetSafeMode { on: true, caller: caller.clone() });
    assert_eq!(refused(&mut cluster, wish(capacity())), [SwitchRefusal::SafeMode { by: "mapred".into() }]);
    cluster.step(Event::SetSafeMode { on: false, caller });
    done(&mut cluster, wish(capacity()));
}

#[test]
fn the_market_begins_with_a_tick_and_sells_nothing_to_unsigned_jobs() {
    let (mut cluster, jobs) =
        at_work(seeded(Cluster::with_market(fifo()), &[("alice", "100", "1"), ("default", "9", "1")]));
    let plan = done(&mut cluster, wish(dynamic()));
    assert_eq!(plan.without_claim, jobs);
    assert!(cluster.effects.contains(&Effect::ShowScheduler));
    assert_eq!(ticks(&cluster), 1, "the first tick comes with the switch");
    assert!(cluster.engine.market().unwrap().is_ruling());
    // A signed job buys slots, and the others run with what is left.
    let signature = cluster.signature("alice");
    let signed = cluster.submit_signed(spec("alice", "alice", 2, 0), signature).unwrap();
    assert!(cluster.submit(spec("bob", "default", 1, 0)).is_err(), "unsigned");
    for _ in 0..5 {
        cluster.pass_ms(1_000);
        cluster.timer();
    }
    assert_eq!(balance(&cluster, "default"), credits("9"), "a job of a queue by that name is none of the account's");
    assert_eq!(balance(&cluster, "alice"), credits("100"), "nothing of alice's runs yet");
    cluster.crash(0, |_| Fate::Hang);
    assert_eq!(jobs.map(|id| group(&cluster, id)), ["(no account)", "(no account)"]);
    assert_eq!(group(&cluster, signed), "alice");
    for id in jobs.into_iter().chain([signed]) {
        assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    }
    assert_eq!(balance(&cluster, "default"), credits("9"));
}

/// A signed job lost its account while another scheduler ruled; that which comes pays for it, and for no other in its place.
#[test]
fn an_account_that_comes_pays_for_jobs_that_had_none() {
    let (mut cluster, first) = paying();
    assert!(matches!(switch(&mut cluster, away()), SwitchReply::Waits(_)));
    cluster.pass_ms(1_000);
    cluster.timer();
    assert!(!cluster.engine.market().unwrap().is_ruling());
    let cost = |cluster: &Cluster, id| {
        let jobs = cluster.engine.inspect().jobs();
        cluster.engine.market.as_ref().unwrap().costs.of(jobs.get(id).unwrap()).map(|cost| cost.cost)
    };
    let before = cost(&cluster, first);
    cluster.admin_asks("removeQueue=alice").unwrap();
    cluster.config.policy = dynamic();
    assert_eq!(done(&mut cluster, wish(dynamic())).without_claim, [first]);
    let tick = |cluster: &mut Cluster| {
        cluster.pass_ms(1_000);
        cluster.timer();
    };
    tick(&mut cluster);
    assert_eq!((group(&cluster, first), cost(&cluster, first)), ("(no account)".to_owned(), before));
    for query in ["addQueue=alice", "addBudget=50&queue=alice", "setSpending=1&queue=alice"] {
        cluster.pass_ms(1);
        cluster.admin_asks(query).unwrap();
    }
    assert_eq!(group(&cluster, first), "alice");
    tick(&mut cluster);
    tick(&mut cluster);
    assert!(cost(&cluster, first) > before, "{:?}", cost(&cluster, first));
    assert_eq!(balance(&cluster, "alice"), credits("48"));
    cluster.crash(0, |_| Fate::Hang);
    assert_eq!(group(&cluster, first), "alice");
}

/// Alice's signed job runs under the market, two maps at a rate of 1.
fn paying() -> (Cluster, JobId) {
    let mut cluster = market(&[("alice", "100", "1")]);
    cluster.add_tracker("h0", 2, 0);
    cluster.pass_ms(1_000);
    cluster.beat(0, hang);
    let signature = cluster.signature("alice");
    let id = cluster.submit_signed(spec("alice", "alice", 6, 0), signature).unwrap();
    cluster.beat(0, hang);
    cluster.pass_ms(1_000);
    cluster.timer();
    for _ in 0..4 {
        cluster.beat(0, hang);
    }
    assert_eq!(held(&cluster, id), PerKind::new(2, 0));
    (cluster, id)
}

fn away() -> Box<SchedulerWish> {
    Box::new(SchedulerWish { move_to: Some("default".to_owned()), ..*wish(fifo()) })
}

#[test]
fn the_market_charges_the_open_interval_before_another_takes_over() {
    let (mut cluster, id) = paying();
    let until_ms = match switch(&mut cluster, away()) {
        SwitchReply::Waits(plan) => plan.waits_until_ms.unwrap(),
        other => panic!("{other:?}"),
    };
    assert!(until_ms > cluster.now.wall_ms && until_ms <= cluster.now.wall_ms + 1_000);
    let waiting = cluster.engine.scheduler_status(cluster.now).waiting.unwrap();
    assert_eq!((waiting.scheduler.as_str(), waiting.by.as_str(), waiting.until_ms), ("Fifo", "root", until_ms));
    let again = refused(&mut cluster, wish(capacity()));
    assert!(again.contains(&SwitchRefusal::SwitchWaits { scheduler: "Fifo".into(), by: "root".into() }), "{again:?}");
    assert_eq!((group(&cluster, id), balance(&cluster, "alice")), ("alice".into(), credits("100")));

    cluster.pass_ms(1_000);
    cluster.timer();
    assert_eq!(balance(&cluster, "alice"), credits("98"), "two slots at 1, once");
    let accounts = cluster.engine.market().unwrap();
    assert!(!accounts.is_ruling());
    assert_eq!((accounts.price(), accounts.account("alice").unwrap().interval()), (Credits::ZERO, None));
    let ended = cluster.effects.iter().find_map(|effect| match effect {
        Effect::EndWait(plan) => Some(plan.clone()),
        _ => None,
    });
    assert!(ended.unwrap().is_permitted());
    assert_eq!((group(&cluster, id), held(&cluster, id)), ("default".into(), PerKind::new(2, 0)));
    assert_sums(&mut cluster);
    let sold = ticks(&cluster);

    // It is free from now on, over a restart too; and back under the market it pays again.
    (cluster.config.policy, cluster.config.choice) = (fifo(), cluster.engine.administration.choice.clone());
    cluster.pass_ms(5_000);
    cluster.timer();
    cluster.crash(0, |_| Fate::Hang);
    assert_eq!((ticks(&cluster), balance(&cluster, "alice")), (sold, credits("98")));
    cluster.beat(0, hang);
    cluster.beat(0, hang);
    let plan = done(&mut cluster, wish(dynamic()));
    assert_eq!((plan.without_claim.len(), group(&cluster, id)), (0, "alice".into()));
    cluster.pass_ms(1_000);
    cluster.timer();
    assert_eq!(balance(&cluster, "alice"), credits("96"));
    assert_eq!(cluster.run(id, |_| Fate::Succeed), RunState::Succeeded);
    let market = cluster.engine.market().unwrap();
    assert_eq!(market.total(), market.ledger().expected_balance());
    assert_eq!(cluster.engine.build_snapshot(cluster.now).value.running[Kind::Map], 0);
}

#[test]
fn a_wish_that_is_withdrawn_changes_nothing() {
    let (mut cluster, id) = paying();
    assert!(matches!(switch(&mut cluster, away()), SwitchReply::Waits(_)));
    cluster.step(Event::WishWithdrawn);
    assert_eq!(cluster.engine.scheduler_status(cluster.now).waiting, None);
    cluster.pass_ms(1_000);
    cluster.timer();
    assert!(cluster.engine.market().unwrap().is_ruling());
    assert_eq!((group(&cluster, id), balance(&cluster, "alice")), ("alice".into(), credits("98")));
    assert!(!cluster.effects.iter().any(|effect| matches!(effect, Effect::EndWait(_))));
}

#[test]
fn a_wish_is_judged_again_at_the_tick() {
    let (mut cluster, _) = paying();
    assert!(matches!(switch(&mut cluster, away()), SwitchReply::Waits(_)));
    cluster.step(Event::SetSafeMode { on: true, caller: Caller::named("mapred") });
    cluster.pass_ms(1_000);
    cluster.timer();
    assert!(cluster.engine.market().unwrap().is_ruling());
    let ended = cluster.effects.iter().find_map(|effect| match effect {
        Effect::EndWait(plan) => Some(plan.clone()),
        _ => None,
    });
    assert_eq!(ended.unwrap().refusals, [SwitchRefusal::SafeMode { by: "mapred".into() }]);
    assert_eq!(balance(&cluster, "alice"), credits("98"));
}

#[test]
fn the_ruling_scheduler_reads_its_files_again_and_rules_since_it_did() {
    let (mut cluster, id) = paying();
    cluster.engine.administration.choice.class = "Dynamic".to_owned();
    let slower = PolicyConfig::Dynamic { alloc_interval_ms: 3_000, kill_interval_ms: Some(5_000) };
    let plan = done(&mut cluster, wish(slower));
    assert!(plan.is_reread());
    let status = cluster.engine.scheduler_status(cluster.now);
    assert_eq!((status.since_ms, status.by), (cluster.config.choice.since_ms, None), "as before");
    cluster.pass_ms(2_999);
    cluster.timer();
    assert_eq!(balance(&cluster, "alice"), credits("100"));
    cluster.pass_ms(1);
    cluster.timer();
    assert_eq!((group(&cluster, id), balance(&cluster, "alice")), ("alice".into(), credits("98")));
}

#[test]
fn a_start_under_another_choice_forgets_the_one_before() {
    let mut cluster = Cluster::new(fifo());
    done(&mut cluster, wish(fair()));
    let chosen = |cluster: &Cluster| {
        let choices = cluster.facts.iter().filter_map(|fact| match fact {
            Fact::SchedulerChosen { choice, .. } => Some(choice.clone()),
            _ => None,
        });
        choices.collect::<Vec<_>>()
    };
    cluster.crash(0, |_| Fate::Hang);
    assert_eq!(chosen(&cluster).len(), 1, "it is still in force");
    cluster.config.policy = fifo();
    cluster.config.choice = SchedulerChoice::of_configuration("Fifo", 7);
    cluster.crash(0, |_| Fate::Hang);
    assert_eq!(chosen(&cluster).last(), Some(&cluster.config.choice));
    cluster.crash(0, |_| Fate::Hang);
    assert_eq!(chosen(&cluster).len(), 2);
}
