//! Why jobs wait: each reason in turn, which queues an answer may name, and the least rate that helps.

use crate::api::{Explanation, PendingReason, PreemptedFor};
use crate::engine::{Caller, Event, Explained, VolatileWalk};
use crate::fake_tracker::Role;
use crate::mapreduce::JobSpec;

use crate::model::{JobId, Kind, OrderClass, PerKind};
use crate::wire::STREAMING_ONLY;

use super::cluster::{Cluster, Fate, fifo, spec};
use super::market::{credits, market_under};
use super::preemption::{hang, live, preempting};

fn submit(cluster: &mut Cluster, user: &str, maps: u32, reduces: u32) -> JobId {
    cluster.pass_ms(1);
    let signature = cluster.signature(user);
    cluster.submit_signed(spec(user, user, maps, reduces), signature).unwrap()
}

fn explain(cluster: &Cluster, job: JobId, sees_names: bool) -> Explanation {
    cluster.engine.explain(job, sees_names, cluster.now).value.unwrap().finish()
}

fn why(cluster: &Cluster, job: JobId) -> Vec<String> {
    explain(cluster, job, false).why.iter().map(PendingReason::to_string).collect()
}

/// alice holds all six map slots and one reduce slot, bob's job waits behind her; bids are equal.
fn contest(kill_interval_ms: Option<u64>) -> (Cluster, JobId, JobId) {
    let lines = [("alice", "1000", "1"), ("bob", "100", "1"), ("carol", "0", "0")];
    let mut cluster = market_under(preempting(kill_interval_ms), &lines);
    cluster.add_tracker("h0", 6, 2);
    let alice = submit(&mut cluster, "alice", 20, 0);
    live(&mut cluster, 2_000, hang);
    let bob = submit(&mut cluster, "bob", 9, 1);
    (cluster, alice, bob)
}

#[test]
fn a_user_sees_numbers_and_an_admin_names() {
    let (mut cluster, _, bob) = contest(None);
    live(&mut cluster, 2_000, hang);
    let explained = serde_json::to_string_pretty(&explain(&cluster, bob, false)).unwrap();
    assert!(!explained.contains("alice") && !explained.contains("carol"), "{explained}");
    insta::assert_snapshot!(explained, @r#"
    {
      "job": "job_202611210913_0002",
      "name": "job",
      "user": "bob",
      "queue": "bob",
      "state": "RUNNING",
      "tasks": {
        "map": {
          "total": 9,
          "finished": 0,
          "running": 0,
          "pending": 9
        },
        "reduce": {
          "total": 1,
          "finished": 0,
          "running": 0,
          "pending": 1
        }
      },
      "cost": "0.0",
      "why": [
        {
          "reason": "below_quota",
          "kind": "map",
          "quota": 3,
          "held": 0
        },
        {
          "reason": "none_free",
          "kind": "map"
        },
        {
          "reason": "reduces_wait",
          "maps_done": 0,
          "maps_needed": 1
        }
      ],
      "slots": {
        "map": {
          "total": 6,
          "this_job": 0,
          "own_queue": 0,
          "other_queues": 6,
          "others_within_quota": 3,
          "others_above_quota": 3,
          "others_unpaid": 0,
          "setup_and_cleanup": 0,
          "free": 0
        },
        "reduce": {
          "total": 2,
          "this_job": 0,
          "own_queue": 0,
          "other_queues": 0,
          "others_within_quota": 0,
          "others_above_quota": 0,
          "others_unpaid": 0,
          "setup_and_cleanup": 0,
          "free": 2
        }
      },
      "market": {
        "budget": "100.0",
        "bid": "1.0",
        "rate": "1.0",
        "price": "2.0",
        "share": "0.500000000",
        "quota": {
          "map": 3,
          "reduce": 1
        },
        "held": {
          "map": 0,
          "reduce": 0
        },
        "class": {
          "map": "under_quota",
          "reduce": null
        },
        "queues_before": {
          "map": 0,
          "reduce": 0
        },
        "moving": {
          "rate": "0.09090909091",
          "price": "1.09090909091",
          "share": "0.083333333",
          "quota": {
            "map": 1,
            "reduce": 0
          }
        }
      }
    }
    "#);
    let explained = explain(&cluster, bob, true);
    assert_eq!(explained.slots.map.by_queue[0].queue, "alice");
    assert_eq!((explained.slots.map.by_queue[0].held, explained.slots.map.by_queue[0].quota), (6, 3));
    assert_eq!(serde_json::from_str::<Explanation>(&serde_json::to_string(&explained).unwrap()).unwrap(), explained);
}

#[test]
fn the_reported_rate_buys_a_slot() {
    let (mut cluster, alice, bob) = contest(None);
    live(&mut cluster, 2_000, hang);
    for (job, queue) in [(bob, "bob"), (alice, "alice")] {
        let explained = explain(&cluster, job, false);
        let buyer = explained.market.unwrap();
        let Some(moving) = buyer.moving else {
            // alice holds all there is.
            assert_eq!((queue, buyer.held.map), ("alice", 6));
            continue;
        };
        cluster.pass_ms(1);
        cluster.admin_asks(&format!("setSpending={}&queue={queue}", moving.rate)).unwrap();
        cluster.now.mono_ms = cluster.engine.rounds.update.due_mono_ms();
        cluster.timer();
        let quota = cluster.engine.market().unwrap().account(queue).unwrap().interval().unwrap().quota;
        assert_eq!(quota.slots(), moving.quota);
        assert!(quota.map > buyer.held.map);
    }
}

#[test]
fn the_reason_why_a_queue_buys_nothing_is_reported() {
    let (mut cluster, alice, bob) = contest(None);
    assert_eq!(why(&cluster, bob)[0], "its setup waits for a slot; no task may run before it is done");
    assert!(why(&cluster, bob)[1].starts_with("its queue has bought nothing yet"));
    live(&mut cluster, 2_000, hang);
    assert_eq!(
        why(&cluster, bob),
        [
            "its queue has bought 3 map slots and holds 0; it gets more as slots come free",
            "no map slot is free",
            "its reduces wait until 1 map is done; 0 are",
        ]
    );
    assert_eq!(
        why(&cluster, alice),
        [
            "its queue has bought 3 map slots and holds 6; more come only from what others leave free",
            "no map slot is free"
        ]
    );
    let bid = |cluster: &mut Cluster, rate: &str| {
        cluster.pass_ms(1);
        cluster.admin_asks(&format!("setSpending={rate}&queue=bob")).unwrap();
        live(cluster, 1_000, hang);
    };
    bid(&mut cluster, "0");
    assert_eq!(explain(&cluster, bob, false).why[0], PendingReason::NoBid);
    bid(&mut cluster, "100.5");
    assert_eq!(
        explain(&cluster, bob, false).why[0],
        PendingReason::NotFunded { budget: credits("100"), bid: credits("100.5") }
    );
    let buyer = explain(&cluster, bob, false).market.unwrap();
    assert!(buyer.moving.is_some_and(|moving| moving.rate < credits("100.5")), "a lower rate buys");
    let class = buyer.class;
    assert_eq!(class, PerKind::new(Some(OrderClass::Unfunded), None), "no reduce has been asked for");
    cluster.step(Event::SetSafeMode { on: true, caller: Caller::named("mapred") });
    assert_eq!(explain(&cluster, bob, false).why[0], PendingReason::SafeMode);
}

#[test]
fn no_rate_is_named_for_what_no_worker_can_run() {
    let mut cluster = market_under(preempting(None), &[("alice", "1000", "1"), ("bob", "100", "0.5")]);
    cluster.add_tracker("h0", 6, 2);
    cluster.trackers[0].name = format!("tracker_h0:{STREAMING_ONLY}/127.0.0.1:50060");
    live(&mut cluster, 2_000, hang);
    cluster.pass_ms(1);
    let signature = cluster.signature("bob");
    let stock = JobSpec { only_stock: Some("a comparator of Java".to_owned()), ..spec("bob", "bob", 2, 1) };
    let bob = cluster.submit_signed(stock, signature).unwrap();
    live(&mut cluster, 2_000, hang);
    let explained = explain(&cluster, bob, false);
    assert!(matches!(explained.why[0], PendingReason::NoWorkerCanRun { .. }), "{:?}", explained.why);
    assert_eq!(explained.market.unwrap().moving, None);
}

#[test]
fn jobs_of_one_queue_stand_in_line() {
    let (mut cluster, _, bob) = contest(None);
    let second = submit(&mut cluster, "bob", 2, 0);
    live(&mut cluster, 2_000, hang);
    assert!(explain(&cluster, second, false).why.contains(&PendingReason::EarlierJobs { kind: Kind::Map, jobs: 1 }));
    assert!(!why(&cluster, bob).iter().any(|why| why.contains("before it in line")));
}

#[test]
fn what_is_done_or_over_waits_for_nothing() {
    let lines = [("alice", "1000", "1")];
    let mut cluster = market_under(preempting(None), &lines);
    cluster.add_tracker("h0", 6, 2);
    let job = submit(&mut cluster, "alice", 2, 0);
    live(&mut cluster, 1_000, hang);
    assert_eq!(explain(&cluster, job, false).why, [PendingReason::NothingWaits]);
    cluster.run(job, |_| Fate::Succeed);
    assert_eq!(why(&cluster, job), ["it is finished: SUCCEEDED"]);
    assert!(explain(&cluster, job, false).cost.is_some());
}

#[test]
fn unusable_slots_are_distinguished_from_usable_ones() {
    let mut cluster = Cluster::new(fifo());
    cluster.add_tracker("h0", 1, 0);
    cluster.add_tracker("h1", 3, 0);
    (0..2).for_each(|index| drop(cluster.beat(index, hang)));
    let job = cluster.submit(spec("u", "default", 8, 0)).unwrap();
    (0..4).for_each(|_| drop(cluster.beat(0, hang)));
    let explained = explain(&cluster, job, true);
    assert_eq!(explained.why, [PendingReason::FreeForIt { kind: Kind::Map, slots: 3 }]);
    assert_eq!((explained.market, explained.preemption, explained.cost), (None, None, None));
    let later = cluster.submit(spec("u", "default", 1, 0)).unwrap();
    assert_eq!(explain(&cluster, later, false).why, [PendingReason::SetupWaits]);
    // The tracker with the free slots falls silent.
    cluster.pass_ms(500_000);
    cluster.beat(0, hang);
    let silent =
        PendingReason::Unusable { kind: Kind::Map, avoided: 0, no_room: 0, failed_there: 0, out_of_service: 3 };
    assert!(explain(&cluster, job, false).why.contains(&silent));
    assert_eq!(
        silent.to_string(),
        "map slots are free that it cannot use: 3 of trackers that are silent, unhealthy or take no work"
    );
    cluster.beat(1, hang);
    cluster.beat(1, hang);
    assert_eq!(explain(&cluster, job, false).why, [PendingReason::NoneFree { kind: Kind::Map }]);
}

#[test]
fn hosts_that_a_job_avoids_are_reported() {
    let mut cluster = Cluster::new(fifo());
    for host in ["h0", "h1", "h2", "h3", "h4"] {
        cluster.add_tracker(host, 2, 0);
    }
    (0..5).for_each(|index| drop(cluster.beat(index, hang)));
    let spec = JobSpec { max_tracker_failures: 1, ..spec("u", "default", 30, 0) };
    let job = cluster.submit(spec).unwrap();
    for index in 0..5 {
        (0..4).for_each(|_| drop(cluster.beat(index, hang)));
    }
    (0..3).for_each(|_| {
        drop(cluster.beat(0, |task| if task.role == Role::Housekeeping { Fate::Succeed } else { Fate::Fail }))
    });
    let avoided = explain(&cluster, job, false).why.into_iter().find_map(|why| match why {
        PendingReason::Unusable { avoided, .. } => Some(avoided),
        _ => None,
    });
    assert_eq!(avoided, Some(2));
}

#[test]
fn a_preempted_job_names_the_queues_that_got_its_slots() {
    let (mut rare, at_risk, waiting) = contest(Some(60_000));
    live(&mut rare, 2_000, hang);
    let preempted = explain(&rare, at_risk, false).preemption.unwrap();
    assert_eq!((preempted.at_risk, preempted.for_queue), (Some(3), None));
    let waiting = explain(&rare, waiting, false).preemption.unwrap();
    assert_eq!((waiting.at_risk, waiting.for_queue), (Some(0), Some(PreemptedFor { short: 3, victims: 3 })));
    let (mut cluster, alice, bob) = contest(Some(2_000));
    let before = explain(&cluster, alice, false).preemption.unwrap();
    assert_eq!((before.so_far, before.last, before.at_risk), (0, None, Some(0)));
    live(&mut cluster, 4_000, hang);
    let explained = explain(&cluster, alice, true).preemption.unwrap();
    assert_eq!(explained.so_far, 3, "down to the quota");
    let last = explained.last.unwrap();
    assert!(last.attempts > 0 && last.for_slots >= last.attempts, "{last:?}");
    assert_eq!((last.for_queues, last.by_queue[0].0.as_str()), (1, "bob"));
    let user = explain(&cluster, alice, false).preemption.unwrap().last.unwrap();
    assert!(user.by_queue.is_empty());
    assert_eq!((user.for_queues, user.for_slots, user.at_ms), (last.for_queues, last.for_slots, last.at_ms));
    assert_eq!(explain(&cluster, bob, false).preemption.unwrap().so_far, 0);
}

#[test]
fn a_job_that_is_not_known_has_no_explanation() {
    let (cluster, _, bob) = contest(None);
    let unknown = JobId::new(bob.identifier, 4711);
    assert!(cluster.engine.explain(unknown, true, cluster.now).value.is_none());
}

/// What the views have of a job is what a request for it is answered.
#[test]
fn a_walk_for_the_views_explains_the_jobs_that_are_asked_for_and_once() {
    let (cluster, alice, bob) = contest(None);
    let unknown = JobId { number: 99, ..bob };
    let mut walk = VolatileWalk::default();
    walk.say(vec![alice, unknown, bob], Vec::new());
    let mut walked = || {
        let mut slices = std::iter::repeat_with(|| cluster.engine.walk_volatile(&mut walk, false, cluster.now));
        let explained = slices.find_map(|delta| delta).unwrap().explained.into_iter();
        explained.map(|(job, explained)| (job, explained.map(Explained::finish))).collect::<Vec<_>>()
    };
    let expected = [bob, unknown, alice].map(|job| (job, (job != unknown).then(|| explain(&cluster, job, true))));
    assert_eq!(walked(), expected);
    assert_eq!(walked(), []);
}
