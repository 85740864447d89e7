//! Charges, shares and quotas over several ticks.

use super::*;

fn quotas(outcome: &Tick) -> Vec<(u32, u32)> {
    outcome.intervals().map(|(_, interval)| (interval.quota.map, interval.quota.reduce)).collect()
}

fn ledger_rows(outcome: &Tick) -> usize {
    outcome.charges().count()
}

#[test]
fn the_worked_example_of_two_queues() {
    let mut stage = Stage::new("queue1 100 1\nqueue2 100 2\n");
    let opened = stage.tick((6, 0), &[("queue1", 2, 0, 1), ("queue2", 3, 0, 1)]);
    assert_eq!((opened.price, quotas(&opened)), (credits("3"), vec![(2, 0), (4, 0)]));
    assert_eq!(ledger_rows(&opened), 0, "no interval has ended yet");
    let closed = stage.tick((6, 0), &[("queue2", 3, 0, 1), ("queue1", 2, 0, 1)]);
    assert_eq!((stage.balance("queue1"), stage.balance("queue2")), (credits("98"), credits("94")));
    let shares: Vec<String> = closed.intervals().map(|(_, interval)| interval.share.to_string()).collect();
    assert_eq!(shares, ["0.333333333", "0.666666666"]);
}

#[test]
fn nobody_pays_for_more_than_the_quota() {
    let mut stage = Stage::new("queue1 1000 1\nqueue2 1000 2\n");
    let opened = stage.tick((100, 10), &[("queue1", 0, 0, 1), ("queue2", 0, 0, 1)]);
    assert_eq!(quotas(&opened), [(33, 3), (67, 7)]);
    stage.tick((100, 10), &[("queue1", 10, 0, 1), ("queue2", 90, 0, 1)]);
    assert_eq!((stage.balance("queue1"), stage.balance("queue2")), (credits("990"), credits("866")));
    assert_eq!(stage.info("root", "info=queue2").used, 67);
}

#[test]
fn idle_queues_pay_nothing() {
    let mut stage = Stage::new("queue1 100 1\nqueue2 200 1\n");
    let outcome = stage.tick((10, 10), &[("queue1", 0, 0, 0)]);
    assert_eq!((outcome.price, outcome.intervals().count()), (Credits::ZERO, 0));
    stage.info("root", "addBudget=200&queue=queue1");
    stage.tick((10, 10), &[]);
    assert_eq!((stage.balance("queue1"), stage.balance("queue2")), (credits("300"), credits("200")));
}

#[test]
fn a_waiting_queue_has_a_share_and_pays_nothing() {
    let mut stage = Stage::new("a 10 1\n");
    assert_eq!(quotas(&stage.tick((4, 2), &[("a", 0, 0, 5)])), [(4, 2)]);
    stage.tick((4, 2), &[("a", 0, 0, 5)]);
    assert_eq!(stage.balance("a"), credits("10"));
}

/// What waits and could run nowhere buys nothing and does not count in the price; what it is not sold goes to the others.
#[test]
fn a_queue_that_could_place_nothing_is_not_active() {
    let mut stage = Stage::new("a 100 1\nb 1000 90\nc 100 1\n");
    let wanting = |queue: &str, want: PerPool<u32>| QueueUse { want, ..in_use(queue, (0, 0, 400), (0, 1)) };
    let tick = |stage: &mut Stage, of_b: PerPool<u32>| {
        let all = PerPool::new(99, 99, 0);
        stage.tick_of(PerPool::new(6, 2, 0), &[wanting("a", all), wanting("b", of_b), wanting("c", all)])
    };
    let opened = tick(&mut stage, PerPool::default());
    let queues: Vec<&str> = opened.intervals().map(|(queue, _)| queue.as_str()).collect();
    assert_eq!((opened.price, queues, quotas(&opened)), (credits("2"), vec!["a", "c"], vec![(3, 1), (3, 1)]));
    let opened = tick(&mut stage, PerPool::new(1, 0, 1));
    assert_eq!((opened.price, quotas(&opened)), (credits("92"), vec![(2, 1), (2, 0), (2, 1)]));
    let opened = tick(&mut stage, PerPool::default());
    assert_eq!(opened.intervals().count(), 2, "its interval is not continued");
    assert_eq!(stage.market.account("b").unwrap().interval(), None);
    assert_eq!(stage.balance("b"), credits("1000"));
}

/// A tick of a queue that runs so many maps, could run so many more, and may have 400 of them and nine reduces later.
fn tick_of_starter(stage: &mut Stage, running: u32, now: u32) -> Option<(u32, u32)> {
    let a = in_use("a", (4, 2, 0), (0, 0));
    let want = PerPool::new(running + now, 0, 0);
    let b = QueueUse { want, later: PerKind::new(400, 9), ..in_use("b", (running, 0, 400), (0, 0)) };
    let opened = stage.tick_of(PerPool::new(8, 4, 0), &[a, b]);
    let of_b = opened.intervals().find(|(queue, _)| queue.as_str() == "b");
    of_b.map(|(_, interval)| (interval.quota.map, interval.quota.reduce))
}

/// A setup that hangs, or maps that never let the reduces begin: after two intervals in vain only what can run now counts.
#[test]
fn what_a_queue_has_yet_to_run_counts_unless_it_held_nothing_for_two_intervals() {
    let mut stage = Stage::new("a 1000 1\nb 1000 1\n");
    let mut tick = |running, now, has_free: bool| {
        if has_free {
            stage.market.note_free_maps();
        }
        tick_of_starter(&mut stage, running, now)
    };
    let sold: Vec<_> = (0..4).map(|_| tick(0, 1, false)).collect();
    assert_eq!(
        sold,
        [Some((4, 2)), Some((4, 2)), Some((4, 0)), Some((4, 0))],
        "its setup waits: others hold all slots"
    );
    assert_eq!(tick(0, 0, true), Some((4, 0)), "one interval in vain");
    assert_eq!(tick(0, 1, true), Some((1, 0)), "two");
    assert_eq!(tick(0, 0, true), None, "three");
    assert_eq!(tick(0, 1, true), Some((1, 0)), "being sold nothing makes nothing good");
    assert_eq!(tick(3, 97, true), Some((4, 0)), "its reduces have not begun");
    assert_eq!(tick(3, 97, true), Some((4, 0)), "nor now");
}

#[test]
fn a_queue_that_waits_for_slots_that_others_hold_does_not_wait_in_vain() {
    let mut stage = Stage::new("a 1000 1\nb 1000 1\n");
    let sold: Vec<_> = (0..5).map(|_| tick_of_starter(&mut stage, 0, 400)).collect();
    let of_maps: Vec<_> = sold.iter().flatten().map(|(maps, _)| *maps).collect();
    assert_eq!(of_maps, [4; 5]);
    assert_eq!(sold[4], Some((4, 0)), "whose reduces cannot begin is sold none, whether slots are free or not");
}

/// Work that is there at the tick and gone soon after, run or not, would keep slots from others for nothing.
#[test]
fn a_queue_with_too_little_for_what_it_was_sold_is_sold_twice_what_it_has_held() {
    let mut stage = Stage::new("a 1000 1\nb 1000 1\n");
    let mut sold = |had_too_little: bool, running: u32| {
        if had_too_little {
            stage.market.note_too_little("b");
        }
        tick_of_starter(&mut stage, running, 100).map(|(maps, _)| maps)
    };
    assert_eq!((sold(false, 0), sold(true, 0)), (Some(4), Some(4)), "once");
    assert_eq!((sold(false, 0), sold(false, 0)), (Some(4), Some(4)), "as much is left as was sold");
    assert_eq!((sold(true, 0), sold(true, 0)), (Some(1), Some(1)), "twice and again");
    assert_eq!((sold(false, 1), sold(true, 2)), (Some(2), Some(4)), "it grows with what it holds");
    assert_eq!((sold(true, 0), sold(false, 0)), (Some(1), Some(1)), "one that plays on begins again");
}

#[test]
fn a_charge_names_interval_rate_and_slots() {
    let mut stage = Stage::new("a 10 0.5\n");
    stage.tick((4, 2), &[("a", 0, 0, 5)]);
    let outcome = stage.tick((4, 2), &[("a", 3, 1, 0)]);
    let expected = LedgerEntry {
        number: 2,
        wall_ms: stage.now.wall_ms,
        tick: 2,
        debit: LedgerAccount::Queue(name("a")),
        credit: LedgerAccount::Revenue,
        amount: credits("2"),
        reason: Reason::Charge { rate: credits("0.5"), interval_ms: 1_000, slot_ms: PerPool::new(3_000, 1_000, 0) },
        by: String::new(),
        note: String::new(),
    };
    assert_eq!(outcome.charges().collect::<Vec<_>>(), [expected]);
}

/// Seen on the original: 8.0 at rate 0.5 with one slot used is sixteen charges down to 0.0.
#[test]
fn a_budget_runs_dry_exactly() {
    let mut stage = Stage::new("a 8 0.5\n");
    stage.tick((1, 0), &[("a", 1, 0, 1)]);
    for charges in 1..=16 {
        stage.tick((1, 0), &[("a", 1, 0, 1)]);
        assert_eq!(stage.balance("a").units(), 8_000_000_000_000 - charges * 500_000_000_000);
    }
    let dry = stage.tick((1, 0), &[("a", 1, 0, 1)]);
    assert_eq!((dry.price, quotas(&dry), stage.balance("a")), (Credits::ZERO, vec![(0, 0)], Credits::ZERO));
    assert_eq!(stage.ask("alice", "price"), Ok(Answer::Price(Credits::ZERO)));
}

/// Defect 10: a penniless bidder had a share of 200.0 whenever nothing of it ran.
#[test]
fn defect_10_a_penniless_bidder_has_no_share() {
    let mut stage = Stage::new("payer 100 0.5\npoor 0 100\n");
    for usage in [[("payer", 4, 0, 4), ("poor", 0, 0, 9)], [("payer", 4, 0, 4), ("poor", 2, 0, 9)]] {
        let outcome = stage.tick((6, 0), &usage);
        assert_eq!((outcome.price, quotas(&outcome)), (credits("0.5"), vec![(6, 0), (0, 0)]));
    }
    let poor = stage.info("root", "info=poor");
    assert_eq!((poor.spending, poor.share, poor.used, poor.pending), (Credits::ZERO, Share::ZERO, 0, 9));
}

/// Defect 36: with B = R the original let a queue take 99 slots and waived the charge.
#[test]
fn defect_36_every_interval_is_paid() {
    let mut stage = Stage::new("a 2 1\n");
    assert_eq!(quotas(&stage.tick((100, 0), &[("a", 99, 0, 1)])), [(2, 0)]);
    let outcome = stage.tick((100, 0), &[("a", 99, 0, 1)]);
    assert_eq!((stage.balance("a"), quotas(&outcome)), (Credits::ZERO, vec![(0, 0)]));
}

/// Defect 37: the original charged the interval that had passed at the bid of the moment.
#[test]
fn defect_37_the_rate_that_opened_the_interval_is_charged() {
    for changed in ["0", "0.01", "40"] {
        let mut stage = Stage::new("alice 100 2\n");
        stage.tick((10, 0), &[("alice", 0, 0, 9)]);
        stage.info("alice", &format!("setSpending={changed}&queue=alice"));
        stage.tick((10, 0), &[("alice", 5, 0, 9)]);
        assert_eq!(stage.balance("alice"), credits("90"), "bid changed to {changed}");
        assert_eq!(stage.market.account("alice").unwrap().published().rate, credits(changed));
    }
}

/// Defects 27 and 28: the original charged for numbers pushed long ago.
#[test]
fn defect_27_and_28_use_is_that_of_the_tick() {
    let mut stage = Stage::new("a 100 1\n");
    stage.tick((10, 10), &[("a", 5, 5, 5)]);
    stage.tick((10, 10), &[]);
    assert_eq!(stage.balance("a"), credits("100"));
    let idle = stage.info("root", "info=a");
    assert_eq!((idle.spending, idle.share, idle.used, idle.pending), (Credits::ZERO, Share::ZERO, 0, 0));
}

#[test]
fn a_queue_that_only_runs_beyond_its_quota_still_counts() {
    let mut stage = Stage::new("a 100 1\nb 100 1\n");
    stage.tick((4, 0), &[("b", 0, 0, 4)]);
    let outcome = stage.tick((4, 0), &[("a", 4, 0, 0), ("b", 0, 0, 4)]);
    assert_eq!((outcome.price, quotas(&outcome)), (credits("2"), vec![(2, 0), (2, 0)]));
    assert_eq!(stage.balance("a"), credits("100"), "slots it had not bought are free");
}

#[test]
fn carries_end_with_demand() {
    let mut stage = Stage::new("a 100 1\nb 100 1\n");
    let both = [("a", 0, 0, 1), ("b", 0, 0, 1)];
    assert_eq!(quotas(&stage.tick((1, 0), &both)), [(1, 0), (0, 0)]);
    assert_eq!(quotas(&stage.tick((1, 0), &both)), [(0, 0), (1, 0)]);
    stage.tick((1, 0), &both);
    stage.tick((1, 0), &[]);
    assert_eq!(quotas(&stage.tick((1, 0), &both)), [(1, 0), (0, 0)]);
}

#[test]
fn a_queue_named_twice_is_charged_once() {
    let mut stage = Stage::new("a 100 1\n");
    stage.tick((4, 0), &[("a", 2, 0, 0)]);
    let outcome = stage.tick((4, 0), &[("a", 2, 0, 0), ("a", 2, 0, 0), ("ghost", 1, 1, 1)]);
    assert_eq!((stage.balance("a"), outcome.intervals().count()), (credits("98"), 1));
}

#[test]
fn rounded_budgets_are_booked_as_adjustments() {
    let stage = Stage::new("a 0.10999999940395355225 1\nb 5 0.10999999940395355225\nc 0 0\n");
    let reasons: Vec<Reason> = stage
        .facts
        .iter()
        .filter_map(|fact| match fact {
            MarketFact::Ledger(entry) => Some(entry.reason.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [Reason::Adjustment, Reason::Endowment]);
    assert_eq!(stage.market.total(), credits("5.109999999404"));
    assert_eq!(stage.market.ledger().expected_balance(), stage.market.total());
}

#[test]
fn the_image_is_the_accounts() {
    let mut stage = Stage::new("b 5 0.5\na 1 0\n");
    stage.info("root", "addBudget=2.25&queue=a");
    let text = budget_file::render(&stage.market.budget_lines());
    assert_eq!(
        text,
        "a 3.25000000000000000000 0.00000000000000000000\nb 5.00000000000000000000 0.50000000000000000000\n"
    );
}

#[test]
fn ten_thousand_queues_whose_bids_change_in_every_interval_pay_for_what_they_held() {
    let names: Vec<QueueName> = (0..10_000).map(|number| name(&format!("q{number:05}"))).collect();
    let lines: String = names.iter().map(|name| format!("{name} 1000 1\n")).collect();
    let mut stage = Stage::new(&lines);
    let usage: Vec<QueueUse> = names
        .iter()
        .map(|name| in_use(name.as_str(), (1 + u32::from(name.as_str().ends_with('7')), 0, 1), (0, 0)))
        .collect();
    let mut sold: Vec<(Credits, u32)> = vec![(Credits::ZERO, 0); names.len()];
    for round in 1..=3_i128 {
        let before: Vec<Credits> = names.iter().map(|name| stage.balance(name.as_str())).collect();
        for (place, name) in (1..).zip(&names) {
            let (balance, rate) = (stage.balance(name.as_str()), Credits::from_units((place * round) % 977 + 1));
            stage.market.apply(&MarketFact::Account { queue: name.clone(), balance, rate });
        }
        let tick = stage.tick_of(PerPool::new(15_000, 0, 0), &usage);
        for (((name, before), (rate, quota)), queue_use) in names.iter().zip(&before).zip(&sold).zip(&usage) {
            let owed = rate.units() * i128::from(queue_use.running.map.min(*quota));
            assert_eq!(before.units() - stage.balance(name.as_str()).units(), owed, "{name} in round {round}");
        }
        sold = tick.intervals().map(|(_, interval)| (interval.share.rate(), interval.quota.map)).collect();
        assert_eq!(sold.len(), names.len());
    }
    assert!(stage.market.ledger().charged > Credits::ZERO);
}
