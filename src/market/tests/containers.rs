//! Containers in the market: what is sold for them, and what they are charged.

use super::*;

/// Slots of a cluster: six maps, four reduces, six beyond.
const SLOTS: PerPool<u32> = PerPool::new(6, 4, 6);

/// The use of a queue that has containers alone: slots held.
fn containers(queue: &str, held: u32) -> QueueUse {
    in_use(queue, (0, 0, 0), (held, 0))
}

fn quota(tick: &Tick, queue: &str) -> PerPool<u32> {
    tick.intervals().find(|(name, _)| name.as_str() == queue).unwrap().1.quota
}

/// Resource requests, section 10: five containers of two slots at a rate of 0.5 are 5.0; with three of three slots more,
/// 19 slots within a quota of 16 are 8.0. A quota is what is wanted, as far as there are slots.
#[test]
fn the_worked_example_of_containers() {
    let mut stage = Stage::new("alice 100 0.5\n");
    let using = |held, wanted, slots| {
        let want = PerPool::new(0, 0, slots);
        [QueueUse { want, ..in_use("alice", (0, 0, 0), (held, wanted)) }]
    };
    let opened = stage.tick_of(SLOTS, &using(0, 5, 10));
    assert_eq!(quota(&opened, "alice"), PerPool::new(4, 0, 6), "ten, those for containers first");
    let charged = stage.tick_of(SLOTS, &using(10, 3, 19));
    assert_eq!((charged.charges().next().unwrap().amount, stage.balance("alice")), (credits("5"), credits("95")));
    assert_eq!(quota(&charged, "alice"), SLOTS, "all that there are");
    assert_eq!(SLOTS.left_for_containers(PerKind::default()), 16);
    let charged = stage.tick_of(SLOTS, &using(19, 0, 19));
    let charge = charged.charges().next().unwrap();
    assert_eq!((charge.amount, stage.balance("alice")), (credits("8"), credits("87")));
    let slot_ms = PerPool::new(0, 0, 16_000);
    let reason = Reason::Charge { rate: credits("0.5"), interval_ms: 1_000, slot_ms };
    assert_eq!(charge.reason, reason);
    assert_eq!(stage.info("alice", "info").used, 16, "container slots within the quota");
}

#[test]
fn containers_use_what_maps_and_reduces_leave() {
    let mut stage = Stage::new("alice 100 1\n");
    let of = |maps, reduces, held| in_use("alice", (maps, reduces, 3), (held, 2));
    stage.tick_of(SLOTS, &[of(0, 0, 0)]);
    let charged = |stage: &mut Stage, maps, reduces, held| {
        let PerPool { map, reduce, container } =
            stage.tick_of(SLOTS, &[of(maps, reduces, held)]).queue_ticks[0].charge.slot_ms;
        PerPool::new(map / 1_000, reduce / 1_000, container / 1_000)
    };
    assert_eq!(charged(&mut stage, 6, 4, 9), PerPool::new(6, 4, 6), "maps and reduces first");
    assert_eq!(charged(&mut stage, 6, 0, 9), PerPool::new(6, 0, 9));
    assert_eq!(charged(&mut stage, 2, 9, 99), PerPool::new(2, 4, 10));
    let info = stage.info("alice", "info");
    assert_eq!((info.used, info.pending), (16, 5), "tasks and containers wait one by one");
}

/// What others were sold and do not hold counts as sold to containers beyond their quota, in proportion to the rates; so a
/// queue that holds nothing of what it was sold makes nothing free.
#[test]
fn containers_beyond_a_quota_pay_for_what_others_do_not_hold() {
    let mut stage = Stage::new("alice 100 1\nbob 100 3\ncarol 100 0\ndave 100 1\n");
    let wanted = |queue: &str| in_use(queue, (0, 0, 1), (0, 1));
    let opened = stage.tick_of(SLOTS, &["alice", "bob", "carol", "dave"].map(wanted));
    let quotas = ["alice", "bob", "dave"].map(|queue| quota(&opened, queue));
    assert_eq!(quotas, [PerPool::new(1, 1, 1), PerPool::new(4, 2, 4), PerPool::new(1, 1, 1)]);
    // Bob holds four of his ten slots. Alice has six beyond her three, and dave one beyond his.
    let usage =
        [containers("alice", 9), in_use("bob", (4, 0, 1), (0, 0)), containers("carol", 5), containers("dave", 4)];
    let charged = stage.tick_of(SLOTS, &usage);
    let slot_ms = |queue: &str| {
        let charges = charged.queue_ticks.iter().find(|queue_tick| queue_tick.queue.as_str() == queue);
        charges.unwrap().charge.slot_ms
    };
    assert_eq!(slot_ms("alice"), PerPool::new(0, 0, 8_000), "three, and five of the six that bob has left");
    assert_eq!(slot_ms("dave"), PerPool::new(0, 0, 4_000), "no more than it holds");
    assert_eq!(slot_ms("carol"), PerPool::default(), "without a rate it buys nothing");
    assert_eq!((stage.balance("alice"), stage.balance("dave")), (credits("92"), credits("96")));
    assert_eq!(stage.info("alice", "info").used, 3, "slots within the quota");
}

/// What containers hold beyond a quota is paid as far as the balance reaches.
#[test]
fn containers_beyond_a_quota_never_overdraw() {
    let mut stage = Stage::new("alice 5 1\nbob 100 1\n");
    let wanted = |queue: &str| in_use(queue, (0, 0, 1), (0, 1));
    let opened = stage.tick_of(SLOTS, &["alice", "bob"].map(wanted));
    assert_eq!(quota(&opened, "alice"), PerPool::new(3, 2, 0), "cut to what she can pay");
    let all = [containers("alice", 12), in_use("bob", (0, 0, 1), (0, 0))];
    stage.tick_of(SLOTS, &all);
    assert_eq!(stage.balance("alice"), Credits::ZERO);
    // Some of the money goes while it is spent.
    let mut stage = Stage::new("alice 9 1\nbob 100 1\n");
    stage.tick_of(SLOTS, &["alice", "bob"].map(wanted));
    stage.info("root", "addBudget=-1&queue=alice");
    let charged = stage.tick_of(SLOTS, &all);
    assert_eq!(charged.queue_ticks[0].charge.slot_ms, PerPool::new(0, 0, 8_000));
    assert_eq!(stage.balance("alice"), Credits::ZERO);
}

/// A queue is active by a container that it holds or wants alone: it has a share, and the price counts it.
#[test]
fn a_queue_with_containers_alone_is_active() {
    let mut stage = Stage::new("alice 100 1\nbob 100 1\ncarol 100 2\n");
    let usage = [in_use("bob", (3, 0, 1), (0, 0)), containers("alice", 2), in_use("carol", (0, 0, 0), (0, 7))];
    let tick = stage.tick_of(SLOTS, &usage);
    assert_eq!(tick.price, credits("4"));
    let quotas = ["alice", "bob", "carol"].map(|queue| quota(&tick, queue));
    assert_eq!(quotas, [PerPool::new(2, 1, 2), PerPool::new(1, 1, 0), PerPool::new(3, 2, 4)]);
    let all = [containers("alice", 0), in_use("bob", (3, 0, 1), (0, 0))];
    assert_eq!(stage.tick_of(SLOTS, &all).intervals().count(), 1, "nothing of alice and carol is there any more");
}

/// Containers that a queue could not buy cost nothing, whatever they hold.
#[test]
fn containers_of_the_poor_are_free() {
    let mut stage = Stage::new("alice 0 1\nbob 100 0\n");
    for _ in 0..3 {
        let tick = stage.tick_of(SLOTS, &[containers("alice", 9), containers("bob", 5)]);
        assert_eq!((tick.charges().count(), tick.price), (0, Credits::ZERO));
    }
    assert_eq!((stage.balance("alice"), stage.balance("bob")), (Credits::ZERO, credits("100")));
}

/// Hoarding ends with the money: a quota is cut so that all of it can be paid.
#[test]
fn a_budget_runs_dry_exactly_on_containers() {
    let mut stage = Stage::new("alice 25 1\n");
    let all = [containers("alice", 16)];
    let quotas: Vec<PerPool<u32>> = (0..4).map(|_| quota(&stage.tick_of(SLOTS, &all), "alice")).collect();
    assert_eq!(quotas, [SLOTS, PerPool::new(5, 4, 0), PerPool::default(), PerPool::default()]);
    assert_eq!(stage.balance("alice"), Credits::ZERO);
}

/// Ticks and intervals that were stored before there were containers are read: they have none.
#[test]
fn what_was_stored_before_containers_is_read() {
    let interval: Interval = serde_json::from_str(
        r#"{"share":{"rate":"0.5","price":"1.0"},"quota":{"map":4,"reduce":2},"remainder":{"map":7,"reduce":-7},
            "used":3,"pending":9}"#,
    )
    .unwrap();
    assert_eq!((interval.quota, interval.remainder.container), (PerPool::new(4, 2, 0), RoundingRemainder::default()));
}
