//! Sections 7 and 10: the allocation, what each interval costs, and the examples of the document and of the original's tests.

use std::time::Duration;

use crate::daemon::child::{DaemonFolders, wait_for_files};
use crate::dynamic_priority::market::{INTERVAL, Market, Terms, Worker, with_budgets, with_market};

use jobtracker::model::Credits;

/// Both queues have work for all slots and the tick has given each what it bought.
async fn filled(market: &Market, slots: (u32, u32), jobs: &[(&str, usize, usize)]) -> Worker {
    let mut worker = market.worker(slots.0, slots.1).await;
    for &(queue, maps, reduces) in jobs {
        market.submit(queue, maps, reduces).await;
    }
    market.tick().await;
    worker.fill().await;
    worker
}

fn five(budget: &str, spending: &str, share: &str, used: u32, pending: u32) -> [String; 5] {
    [budget.to_owned(), spending.to_owned(), share.to_owned(), used.to_string(), pending.to_string()]
}

#[test]
fn section_7_the_worked_example() {
    with_budgets("queue1 100 1\nqueue2 100 2\n", async |market| {
        let _worker = filled(&market, (6, 0), &[("queue1", 2, 0), ("queue2", 3, 0)]).await;
        market.tick().await;
        assert_eq!(market.info_but_for_the_wait("queue1").await, five("98.0", "1.0", "0.333333333", 2, 0));
        assert_eq!(market.info_but_for_the_wait("queue2").await, five("94.0", "2.0", "0.666666666", 3, 0));
        assert_eq!(market.price().await, "3.0");
    });
}

/// 0.11 of 12.249998 is the share in the document's sample answer.
#[test]
fn section_7_the_documents_sample_is_consistent() {
    with_budgets("queue1 99972 0.11\nqueue2 1000000 12.139998\n", async |market| {
        market.submit("queue1", 43, 0).await;
        market.submit("queue2", 1, 0).await;
        market.tick().await;
        assert_eq!(market.price().await, "12.249998");
        assert_eq!(market.info("queue1").await, five("99972.0", "0.11", "0.008979593", 0, 43));
    });
}

#[test]
fn section_7_the_price_is_the_sum_of_the_rates_of_queues_with_work_that_can_pay() {
    with_budgets("alice 100 0.5\nbob 100 1\ncarol 0 50\nqueue1 100 7\n", async |market| {
        for user in ["alice", "bob", "carol"] {
            market.submit(user, 1, 0).await;
        }
        market.tick().await;
        assert_eq!(market.price().await, "1.5", "carol cannot pay, queue1 has no work");
        assert_eq!(market.info("carol").await[1..3], ["0.0", "0.000000000"]);
        assert_eq!(market.info("queue1").await[1..3], ["0.0", "0.000000000"]);
    });
}

#[test]
fn section_7_what_is_published_is_the_budget_after_the_charge() {
    with_budgets("alice 100 0.5\n", async |market| {
        let _worker = filled(&market, (4, 0), &[("alice", 9, 0)]).await;
        assert_eq!(market.info("alice").await, five("100.0", "0.5", "1.000000000", 0, 9));
        market.tick().await;
        assert_eq!(market.info_but_for_the_wait("alice").await, five("98.0", "0.5", "1.000000000", 4, 5));
    });
}

#[test]
fn section_7_a_queue_that_only_waits_has_a_share_and_pays_nothing() {
    with_budgets("alice 100 0.5\n", async |market| {
        market.submit("alice", 9, 0).await;
        for _ in 0..3 {
            market.tick().await;
            assert_eq!(market.info("alice").await, five("100.0", "0.5", "1.000000000", 0, 9));
        }
    });
}

#[test]
fn section_7_decided_5_funded_means_a_rate_above_zero_and_one_slot_paid() {
    for (budgets, price) in
        [("alice 1 1\n", "1.0"), ("alice 0.999999999999 1\n", "0.0"), ("alice 5 0\n", "0.0"), ("alice 0 0\n", "0.0")]
    {
        with_budgets(budgets, async |market| {
            market.submit("alice", 1, 0).await;
            market.tick().await;
            assert_eq!(market.price().await, price, "{budgets}");
        });
    }
}

#[test]
fn section_7_decided_5_the_quota_is_cut_to_what_one_interval_can_pay() {
    with_budgets("alice 3 1\n", async |market| {
        let worker = filled(&market, (4, 2), &[("alice", 9, 2)]).await;
        assert_eq!(worker.running().values().copied().collect::<Vec<_>>(), [(4, 2)], "the rest is free of charge");
        market.tick().await;
        let told = market.info_but_for_the_wait("alice").await;
        assert_eq!(told[..4], ["0.0", "0.0", "0.000000000", "3"].map(str::to_owned));
    });
}

/// Whether the bid goes up or down within an interval, the interval costs what it was bought for.
#[test]
fn section_7_decided_5_an_interval_is_charged_at_the_rate_that_opened_it() {
    for bid in ["40", "0.01", "0"] {
        with_budgets("alice 100 2\n", async |market| {
            let _worker = filled(&market, (5, 0), &[("alice", 5, 0)]).await;
            assert_eq!(market.status("alice", &format!("setSpending={bid}&queue=alice")).await, 200);
            assert_eq!(market.price().await, "2.0", "nothing moves between ticks");
            market.tick().await;
            assert_eq!(market.budget_but_for_the_wait("alice").await, "90.0", "bid changed to {bid}");
        });
    }
}

/// A setup is not used, and is free for its first ten seconds; from then on it costs what a map costs.
#[test]
fn section_7_decided_5_setups_are_not_counted_and_cost_a_map_after_ten_seconds() {
    with_budgets("alice 100 1\n", async |market| {
        let mut worker = market.worker(4, 0).await;
        market.submit("alice", 2, 0).await;
        market.tick().await;
        // Its setup is under way, for the whole interval: ninety of a hundred seconds of one slot are charged.
        worker.beat().await;
        market.tick().await;
        let [budget, rest @ ..] = market.info("alice").await;
        assert_eq!(rest, ["1.0", "1.000000000", "0", "2"]);
        let before: Credits = budget.parse().unwrap();
        let nominal: Credits = "99.1".parse().unwrap();
        let most: Credits = "99.5".parse().unwrap();
        assert!(nominal <= before && before < most, "{budget}: but for the wait, 99.1");
        // The setup is over, two maps run: two slots.
        worker.fill().await;
        market.tick().await;
        let after: Credits = market.budget("alice").await.parse().unwrap();
        let cost = before.units() - after.units();
        let (least, most): (Credits, Credits) = ("1.5".parse().unwrap(), "2.0".parse().unwrap());
        assert!(least.units() < cost && cost <= most.units(), "{before} to {after}: but for the wait, 2.0");
    });
}

/// A setup of less than ten seconds costs nothing, and its slot is not used.
#[test]
fn section_7_decided_5_short_setups_are_free() {
    with_budgets("alice 100 1\n", async |market| {
        let mut worker = market.worker(4, 0).await;
        market.submit("alice", 2, 0).await;
        market.tick().await;
        market.pass(INTERVAL - Duration::from_secs(5)).await;
        worker.beat().await;
        market.skip(Duration::from_secs(5)).await;
        assert_eq!(market.info("alice").await, five("100.0", "1.0", "1.000000000", 0, 2));
    });
}

#[test]
fn section_7_decided_5_a_late_tick_is_one_tick() {
    with_budgets("alice 100 1\n", async |market| {
        let _worker = filled(&market, (2, 0), &[("alice", 2, 0)]).await;
        market.skip(INTERVAL * 5).await;
        assert_eq!(market.budget_but_for_the_wait("alice").await, "98.0");
    });
}

#[test]
fn section_7_decided_5_ticks_are_numbered_durably_and_downtime_is_none() {
    let place = DaemonFolders::new("alice 100 1\n");
    let last_tick = || {
        let asked = "SELECT coalesce(max(number), 0), count(*) FROM tick";
        place.database().query_row(asked, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap()
    };
    for life in 0..3 {
        let serving = place.start();
        let (before, _) = last_tick();
        wait_for_files(&place.path("state"), || last_tick().0 > before);
        serving.kill();
        let (number, rows) = last_tick();
        assert_eq!(number, rows, "life {life}: no number is left out or used twice");
    }
    assert_eq!(place.balance("alice").as_deref(), Some("100.0"));
}

#[test]
fn section_7_decided_5_quotas_round_by_largest_part_and_carry_the_rest() {
    // Shares of a third of one slot each: every queue has it once in three intervals.
    with_market(
        Terms {
            budgets: "alice 100 1\nbob 100 1\ncarol 100 1\n",
            overrides: &["mapred.priority-scheduler.kill-interval=0"],
            ..Terms::default()
        },
        async |market| {
            let quota = |queue: &'static str| {
                market.rig.owner.with_engine(|engine| {
                    let account = engine.market().unwrap().account(queue).unwrap();
                    account.interval().map_or(0, |interval| interval.quota.map)
                })
            };
            let _worker = market.worker(1, 0).await;
            for user in ["alice", "bob", "carol"] {
                market.submit(user, 5, 0).await;
            }
            let mut history = Vec::new();
            for _ in 0..6 {
                market.tick().await;
                history.push(["alice", "bob", "carol"].map(quota));
            }
            assert!(history.iter().all(|quotas| quotas.iter().sum::<u32>() == 1), "{history:?}");
            for queue in 0..3 {
                assert_eq!(history.iter().map(|quotas| quotas[queue]).sum::<u32>(), 2, "{history:?}");
            }
        },
    );
}

#[test]
fn section_7_decided_5_amounts_have_twelve_decimals_and_shares_nine_rounded_down() {
    with_budgets("alice 1000000000000 0.000000000002\nbob 1 0.000000000001\n", async |market| {
        assert_eq!(market.status("root", "addBudget=0.000000000001&queue=bob").await, 200);
        assert_eq!(market.status("root", "addBudget=0.0000000000001&queue=bob").await, 400);
        assert_eq!(market.status("root", "addBudget=0.0000000000000&queue=bob").await, 200, "zeros say nothing");
        assert_eq!(market.status("root", "addBudget=0.000000000001&queue=alice").await, 400, "beyond 10^12");
        market.submit("alice", 1, 0).await;
        market.submit("bob", 1, 0).await;
        market.tick().await;
        assert_eq!(market.info("alice").await[..3], ["1000000000000.0", "0.000000000002", "0.666666666"]);
        assert_eq!(market.info("bob").await[..3], ["1.000000000001", "0.000000000001", "0.333333333"]);
    });
}

// The original's own tests, by their assertions.

#[test]
fn section_10_a_budget_update_shows_after_the_tick_and_idle_queues_are_not_charged() {
    with_budgets("queue1 100 1\nqueue2 200 1\n", async |market| {
        market.tick().await;
        assert_eq!((market.budget("queue1").await, market.budget("queue2").await), ("100.0".into(), "200.0".into()));
        assert_eq!(market.status("root", "addBudget=200&queue=queue1").await, 200);
        assert_eq!(market.status("root", "addBudget=300&queue=queue2").await, 200);
        market.tick().await;
        assert_eq!((market.budget("queue1").await, market.budget("queue2").await), ("300.0".into(), "500.0".into()));
    });
}

#[test]
fn section_10_a_spending_update_moves_the_shares_at_the_next_tick() {
    with_budgets("queue1 1000 1\nqueue2 1000 2\n", async |market| {
        let _worker = filled(&market, (2, 0), &[("queue1", 1, 0), ("queue2", 1, 0)]).await;
        assert_eq!(
            [market.info("queue1").await[2].clone(), market.info("queue2").await[2].clone()],
            ["0.333333333", "0.666666666"]
        );
        assert_eq!(market.status("queue1", "setSpending=5&queue=queue1").await, 200);
        assert_eq!(market.status("queue2", "setSpending=1&queue=queue2").await, 200);
        assert_eq!(market.info("queue1").await[2], "0.333333333");
        market.tick().await;
        assert_eq!(
            [market.info("queue1").await[2].clone(), market.info("queue2").await[2].clone()],
            ["0.833333333", "0.166666666"]
        );
    });
}

/// 100 map and 10 reduce slots at a third and two thirds: 33 and 67 maps, 3 and 7 reduces.
#[test]
fn section_10_quotas_and_what_is_charged_within_them() {
    with_budgets("queue1 1000 1\nqueue2 1000 2\n", async |market| {
        let worker = filled(&market, (100, 10), &[("queue1", 100, 10), ("queue2", 100, 10)]).await;
        let quota = |queue: &'static str| {
            market.rig.owner.with_engine(|engine| {
                let quota = engine.market().unwrap().account(queue).unwrap().interval().unwrap().quota;
                (quota.map, quota.reduce)
            })
        };
        assert_eq!((quota("queue1"), quota("queue2")), ((33, 3), (67, 7)));
        assert_eq!(worker.running().values().copied().collect::<Vec<_>>(), [(33, 0), (67, 0)]);
        assert_eq!((market.budget("queue1").await, market.budget("queue2").await), ("1000.0".into(), "1000.0".into()));
        market.tick().await;
        assert_eq!(market.budget_but_for_the_wait("queue1").await, "967.0");
        assert_eq!(market.budget_but_for_the_wait("queue2").await, "866.0");
    });
}

/// Three bidders as on the running original: shares follow bids at the next tick, charges what is within the quota.
#[test]
fn section_12_shares_follow_bids() {
    with_budgets("alice 1000 0.5\nbob 1000 1\ncarol 1000 0.5\n", async |market| {
        let _worker = filled(&market, (6, 2), &[("alice", 9, 0)]).await;
        assert_eq!(market.info("alice").await[2], "1.000000000");
        market.submit("bob", 9, 0).await;
        market.tick().await;
        assert_eq!(market.info_but_for_the_wait("alice").await, five("997.0", "0.5", "0.333333333", 6, 3));
        assert_eq!(market.info("bob").await, five("1000.0", "1.0", "0.666666666", 0, 9));
        // Still on all six, but it has bought two of them now, and one reduce that it does not use.
        market.submit("carol", 9, 0).await;
        assert_eq!(market.status("alice", "setSpending=2&queue=alice").await, 200);
        market.tick().await;
        assert_eq!(market.price().await, "3.5");
        assert_eq!(market.info_but_for_the_wait("alice").await, five("996.0", "2.0", "0.571428571", 2, 3));
        assert_eq!(market.info("bob").await[2], "0.285714285");
        assert_eq!(market.info("carol").await[2], "0.142857142");
    });
}

/// What the wait for the worker saves adds up, and is spent in the end: a quota is cut to what the balance pays for.
#[test]
fn section_12_a_budget_runs_dry_to_less_than_one_slot() {
    with_budgets("alice 8 0.5\n", async |market| {
        let mut worker = filled(&market, (1, 0), &[("alice", 1, 0)]).await;
        let rate: Credits = "0.5".parse().unwrap();
        let mut before: Credits = "8".parse().unwrap();
        for charges in 1..=16_i128 {
            market.tick().await;
            // It would be lost if it kept silent for so long.
            worker.beat().await;
            let after: Credits = market.budget("alice").await.parse().unwrap();
            let cost = before.units() - after.units();
            assert!(0 < cost && cost <= rate.units(), "charge {charges}: {before} to {after}");
            let nominal = (16 - charges) * rate.units();
            let saved = after.units() - nominal;
            assert!(0 <= saved && saved < rate.units(), "charge {charges}: {after} is left");
            before = after;
        }
        // Less than one slot costs is left: nothing is sold any more, and what it runs on is free of charge.
        let left = market.budget("alice").await;
        assert_eq!(market.info("alice").await, five(&left, "0.0", "0.000000000", 1, 0));
        market.tick().await;
        assert_eq!(market.info("alice").await[..2], [&*left, "0.0"], "what it runs on is free of charge");
        assert_eq!(market.price().await, "0.0");
    });
}
