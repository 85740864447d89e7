//! Law 1 under random requests and ticks: credits are conserved, no queue pays more than rate x quota or falls below zero.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Of a queue: maps, reduces and tasks that wait; slots of containers held, and containers wanted.
type Use = (u8, (u32, u32, u64), (u32, u64));

#[derive(Clone, Debug)]
enum Act {
    Ask(&'static str, String),
    Tick(PerPool<u32>, Vec<Use>),
    Clock(i64),
    Pass(u32),
    Restart(u32),
    Busy(u8),
}

fn queue_text(index: u8) -> &'static str {
    ["alice", "bob", "carol", "dave"][usize::from(index % 4)]
}

fn any_amount() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (-200_000i64..200_000, 0u32..12).prop_map(|(amount, scale)| {
            Credits::from_units(i128::from(amount) * 10i128.pow(scale)).to_string()
        }),
        8 => (-100i32..100).prop_map(|amount| amount.to_string()),
        1 => Just("1000000000000".to_owned()),
        1 => "[-0-9.eNa]{0,20}",
    ]
}

fn any_act() -> impl Strategy<Value = Act> {
    let user = prop::sample::select(vec!["alice", "bob", "root", "root", "root"]);
    let operation = prop_oneof![
        (any_amount(), 0u8..4).prop_map(|(amount, queue)| format!("setSpending={amount}&queue={}", queue_text(queue))),
        (any_amount(), 0u8..4).prop_map(|(amount, queue)| format!("addBudget={amount}&queue={}", queue_text(queue))),
        (0u8..4).prop_map(|queue| format!("addQueue={}", queue_text(queue))),
        (0u8..4).prop_map(|queue| format!("removeQueue={}", queue_text(queue))),
        (any_amount(), 0u8..4, 0u32..40, prop::option::of(any_amount())).prop_map(|(amount, queue, every, cap)| {
            let cap = cap.map(|cap| format!("&cap={cap}")).unwrap_or_default();
            format!("allowance={amount}&queue={}&every={every}{cap}", queue_text(queue))
        }),
        (0u8..4).prop_map(|queue| format!("allowance=none&queue={}", queue_text(queue))),
        (any_amount(), 0u8..4, 0u8..4).prop_map(|(amount, from, to)| {
            format!("transfer={amount}&from={}&to={}", queue_text(from), queue_text(to))
        }),
        Just("info".to_owned()),
        Just("infos".to_owned()),
    ];
    let containers = (prop_oneof![1 => Just(0), 2 => 0u32..40], 0u64..3);
    let usage = prop::collection::vec((0u8..5, (0u32..40, 0u32..10, 0u64..3), containers), 0..5);
    let slots = (0u32..60, 0u32..12, 0u32..20).prop_map(|(map, reduce, beyond)| PerPool::new(map, reduce, beyond));
    prop_oneof![
        5 => (user, operation).prop_map(|(user, operation)| Act::Ask(user, operation)),
        4 => (slots, usage).prop_map(|(slots, usage)| Act::Tick(slots, usage)),
        1 => (-400_000i64..400_000).prop_map(Act::Clock),
        2 => (0u32..60_000).prop_map(Act::Pass),
        1 => (0u32..600_000).prop_map(Act::Restart),
        1 => (0u8..8).prop_map(Act::Busy),
    ]
}

/// What the open interval of each queue may cost: by what it was sold, and by containers beyond that as far as it could pay.
fn commitments(market: &Market) -> BTreeMap<QueueName, (Credits, Credits)> {
    let of = |queue: &QueueName| {
        let account = market.account(queue.as_str()).unwrap();
        let most =
            account.interval().and_then(|interval| interval.share.rate().checked_mul(u64::from(interval.most_paid?)));
        (account.balance(), most.unwrap_or_default())
    };
    market.queues().map(|queue| (queue.clone(), of(queue))).collect()
}

fn check_tick(before: &BTreeMap<QueueName, (Credits, Credits)>, stage: &Stage, outcome: &Tick) {
    for (queue, (balance, committed)) in before {
        let paid = balance.checked_sub(stage.balance(queue.as_str())).unwrap();
        assert!(paid >= Credits::ZERO && paid <= *committed, "{queue} paid {paid} of at most {committed}");
    }
    let shares: i128 = outcome.intervals().map(|(_, interval)| interval.share.rate().units()).sum();
    assert!(shares <= outcome.price.units());
    let charges: Vec<LedgerEntry> = outcome.charges().collect();
    let charged: i128 = charges.iter().map(|entry| entry.amount.units()).sum();
    let paid: i128 = before.values().map(|(balance, _)| balance.units()).sum::<i128>() - stage.market.total().units();
    assert_eq!(charged, paid);
    assert!(
        charges
            .iter()
            .map(|entry| entry.number)
            .eq((1..=outcome.ledger.rows).skip(outcome.ledger.rows as usize - charges.len()))
    );
}

fn check_laws(stage: &Stage) {
    assert_eq!(stage.market.total(), stage.market.ledger().expected_balance());
    for queue in stage.market.queues() {
        let account = stage.market.account(queue.as_str()).unwrap();
        assert!(account.balance() >= Credits::ZERO && account.bid() >= Credits::ZERO);
        assert!(stage.market.committed(queue.as_str()) <= account.balance(), "{queue} can owe more than it has");
    }
}

/// A market rebuilt from facts that went through the store's format.
fn rebuilt(facts: &[MarketFact]) -> Market {
    let mut market = Market::new(MarketConfig::default(), START);
    for fact in facts {
        let stored = serde_json::to_string(fact).unwrap();
        market.apply(&serde_json::from_str(&stored).unwrap());
    }
    market
}

/// What a restart needs: the latest of each, in the order that `Market::apply` asks for.
fn compacted(stage: &Stage) -> Vec<MarketFact> {
    let last_tick = stage.facts.iter().rev().find_map(|fact| match fact {
        // What it charged is in the accounts.
        MarketFact::Tick(tick) => {
            let mut tick = tick.clone();
            tick.queue_ticks.retain(|queue_tick| queue_tick.interval.is_some());
            for queue_tick in &mut tick.queue_ticks {
                queue_tick.charge = Charge::default();
                queue_tick.balance = stage.balance(queue_tick.queue.as_str());
            }
            tick.laid.clear();
            Some(tick)
        }
        _ => None,
    });
    let rows = last_tick.as_ref().map_or(0, |tick| tick.ledger.rows);
    let accounts = stage.market.queues().map(|queue| {
        let account = stage.market.account(queue.as_str()).unwrap();
        MarketFact::Account { queue: queue.clone(), balance: account.balance(), rate: account.bid() }
    });
    let allowances = stage.market.queues().filter_map(|queue| {
        let allowance = stage.market.allowance(queue.as_str())?.clone();
        Some(MarketFact::AllowanceSet { queue: queue.clone(), allowance })
    });
    let of_kind =
        |wanted: fn(&MarketFact, u64) -> bool| stage.facts.iter().filter(move |fact| wanted(fact, rows)).cloned();
    accounts
        .chain(allowances)
        .chain(last_tick.map(MarketFact::Tick))
        .chain(of_kind(|fact, rows| matches!(fact, MarketFact::Ledger(entry) if entry.number > rows)))
        .chain(of_kind(|fact, _| {
            matches!(fact, MarketFact::Stamp(_) | MarketFact::StampsForgotten(_) | MarketFact::Metered(_))
        }))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn credits_are_conserved_under_random_requests_and_ticks(acts in prop::collection::vec(any_act(), 0..80)) {
        let mut stage = Stage::new("alice 1000 0.5\nbob 3.000000000001 1\n");
        for act in acts {
            match act {
                Act::Ask(user, operation) => { let _ = stage.ask(user, &operation); }
                Act::Clock(ms) => stage.step_clock(ms),
                Act::Pass(ms) => drop(stage.pass(u64::from(ms))),
                Act::Restart(ms) => drop(stage.restart_after(i64::from(ms))),
                Act::Busy(queue) if queue < 4 => stage.busy.push(name(queue_text(queue))),
                Act::Busy(_) => stage.busy.clear(),
                Act::Tick(slots, usage) => {
                    let usage: Vec<_> = usage
                        .iter()
                        .map(|&(queue, tasks, containers)| {
                            in_use(if queue == 4 { "ghost" } else { queue_text(queue) }, tasks, containers)
                        })
                        .collect();
                    let before = commitments(&stage.market);
                    let outcome = stage.tick_of(slots, &usage);
                    check_tick(&before, &stage, &outcome);
                }
            }
            check_laws(&stage);
        }

        // Stamps of reads become facts at a tick.
        stage.tick((0, 0), &[]);
        let mut again = rebuilt(&stage.facts);
        again.start_allowances(stage.now);
        stage.market.start_allowances(stage.now);
        // What is held is known from jobs and applications.
        again.forget_meter();
        let mut original = stage.market.clone();
        original.forget_meter();
        prop_assert_eq!(format!("{:?}", &again), format!("{:?}", &original));
        let restarted = rebuilt(&compacted(&stage));
        prop_assert_eq!(restarted.accounts(), again.accounts());
        for queue in again.queues() {
            prop_assert_eq!(restarted.allowance(queue.as_str()), again.allowance(queue.as_str()));
        }
        prop_assert_eq!(restarted.ledger(), again.ledger());
        prop_assert_eq!(restarted.guard(), again.guard());
        prop_assert_eq!(restarted.price(), again.price());
    }

    #[test]
    fn a_restart_amid_an_interval_charges_it_once(map in 0u32..20, reduce in 0u32..10, rate in 1i128..5_000) {
        let rate = Credits::from_units(rate * 1_000_000_000);
        let mut stage = Stage::new(&format!("alice 100 {rate}\nbob 100 1\n"));
        let slots = PerPool::new(12, 6, 5);
        stage.tick_of(slots, &[in_use("alice", (0, 0, 1), (0, 1)), in_use("bob", (0, 0, 1), (0, 1))]);
        stage.ask("root", "addBudget=7&queue=alice").unwrap();
        let mut twin = Stage { market: rebuilt(&compacted(&stage)), ..Stage::new("") };
        (twin.now, twin.tick_mono_ms) = (stage.now, stage.tick_mono_ms);
        let usage = [in_use("alice", (map, reduce, 1), (map, 1)), in_use("bob", (3, 3, 0), (9, 0))];
        prop_assert_eq!(stage.tick_of(slots, &usage).queue_ticks, twin.tick_of(slots, &usage).queue_ticks);
        prop_assert_eq!(stage.balance("alice"), twin.balance("alice"));
        prop_assert_eq!(twin.market.total(), twin.market.ledger().expected_balance());
    }
}
