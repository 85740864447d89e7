//! The market after a restart is the market before it, to the last unit.

use crate::stage::{Scratch, record, tick as play_tick};

use jobtracker::engine::Fact;
use jobtracker::market::{
    Allowance, Consumer, ContainerUse, ForgottenStamps, KeyId, LedgerAccount, LedgerEntry, Market, MarketConfig,
    MarketFact, QueueUse, Reason, SignedTextId, Stamp, StatementPage, budget_file,
};
use jobtracker::model::{Credits, FactNumber, Now, PerKind, PerPool};
use jobtracker::store::{FactSender, LoadedState};

const START_MS: i64 = 1_795_000_000_000;

fn config() -> MarketConfig {
    MarketConfig { signature_window_ms: 300_000, job_signature_uses: 1, job_signature_window_ms: 300_000 }
}

fn now(tick: u64) -> Now {
    Now { mono_ms: tick * 1000, wall_ms: START_MS + tick as i64 * 1000 }
}

/// The usage of a tick: changes from tick to tick, `bob` is idle at times.
fn usage(tick: u64) -> Vec<QueueUse> {
    let used = |queue: &str, maps, reduces, pending| QueueUse {
        queue: queue.parse().unwrap(),
        running: PerKind::new(maps, reduces),
        pending,
        containers: ContainerUse { held: maps / 2, wanted: 1 },
        want: QueueUse::wants_all(&ContainerUse { wanted: 1, ..ContainerUse::default() }),
        later: PerKind::default(),
    };
    let mut usage = vec![used("alice", 3 + tick as u32 % 5, 1, 10), used("carol", 1, 0, 0)];
    if !tick.is_multiple_of(3) {
        usage.push(used("bob", 7, 2, 4));
    }
    usage
}

struct Stage {
    sink: FactSender,
    last: FactNumber,
}

impl Stage {
    fn record(&mut self, facts: Vec<MarketFact>) {
        self.last = record(&self.sink, self.last, facts.into_iter().map(Fact::Market).collect());
    }
}

fn restarted(loaded: &LoadedState) -> Market {
    let mut market = Market::new(config(), START_MS);
    loaded.market.iter().for_each(|fact| market.apply(fact));
    market
}

fn stamp(user: &str, key: u64, timestamp_ms: i64, uses: u32) -> MarketFact {
    let consumer = if uses > 1 { Consumer::Job } else { Consumer::Servlet };
    let text = SignedTextId(u64::MAX);
    MarketFact::Stamp(Stamp { consumer, user: user.into(), key_id: KeyId(key), timestamp_ms, text, uses })
}

#[test]
fn a_restarted_market_goes_on_as_if_nothing_had_happened() {
    let scratch = Scratch::new();
    let mut never_stopped = Market::new(config(), START_MS);
    let lines = budget_file::parse("alice 1000.5 0.1\nbob 20 0.333333333333\ncarol 0.1 1\n", "budget").unwrap();
    let endowment = never_stopped.seed_budgets(lines, now(0));
    for tick in 1..=30 {
        // Each tick is a life of the daemon of its own.
        let (store, loaded) = scratch.open();
        let mut stage = Stage { sink: store.fact_sender(), last: loaded.last_fact };
        assert_eq!(loaded.first_start, tick == 1);
        if tick == 1 {
            stage.record(endowment.clone());
        } else {
            let mut market = restarted(&loaded);
            assert_eq!(market.ledger(), never_stopped.ledger());
            assert_eq!(market.total(), market.ledger().expected_balance());
            assert_eq!(market.tick_number(), tick - 1);
            let outcome = play_tick(&mut market, &usage(tick), PerPool::new(9, 4, 3), 1_000, now(tick));
            let mut original = never_stopped.clone();
            let expected = play_tick(&mut original, &usage(tick), PerPool::new(9, 4, 3), 1_000, now(tick));
            assert_eq!(outcome.last(), expected.last(), "tick {tick}");
        }
        stage.record(play_tick(&mut never_stopped, &usage(tick), PerPool::new(9, 4, 3), 1_000, now(tick)));
        store.close().unwrap();
    }
    assert!(never_stopped.ledger().charged > Credits::ZERO);
}

/// Charges of before charges went by time are shown and summed as they were, beside those by time.
#[test]
fn whole_slots_of_before_charges_by_time_are_shown_as_they_were() {
    let scratch = Scratch::new();
    let (store, loaded) = scratch.open();
    let mut stage = Stage { sink: store.fact_sender(), last: loaded.last_fact };
    let mut market = Market::new(config(), START_MS);
    let lines = budget_file::parse("alice 1000.5 0.1\n", "budget").unwrap();
    stage.record(market.seed_budgets(lines, now(0)));
    let sampled = LedgerEntry {
        number: market.ledger().rows + 1,
        wall_ms: START_MS,
        tick: 1,
        debit: LedgerAccount::Queue("alice".parse().unwrap()),
        credit: LedgerAccount::Revenue,
        amount: "0.6".parse().unwrap(),
        reason: Reason::SampledCharge {
            rate: "0.1".parse().unwrap(),
            map_slots: 3,
            reduce_slots: 1,
            container_slots: 2,
        },
        by: String::new(),
        note: String::new(),
    };
    let balance = "999.9".parse().unwrap();
    let account = MarketFact::Account { queue: "alice".parse().unwrap(), balance, rate: "0.1".parse().unwrap() };
    stage.record(vec![MarketFact::Ledger(sampled.clone()), account]);
    store.close().unwrap();
    let (store, loaded) = scratch.open();
    let mut stage = Stage { sink: store.fact_sender(), last: loaded.last_fact };
    assert!(loaded.market.contains(&MarketFact::Ledger(sampled)));
    let mut continued = restarted(&loaded);
    for tick in 1..=2 {
        stage.record(play_tick(&mut continued, &usage(tick)[..1], PerPool::new(9, 4, 3), 1_000, now(tick)));
    }
    let statement = store.ledger().statement(&"alice".parse().unwrap(), StatementPage::default()).unwrap().unwrap();
    assert_eq!(statement.balance, continued.account("alice").unwrap().balance());
    let charges: Vec<_> = statement.rows.iter().filter(|row| row.rate.is_some()).collect();
    let [sampled, by_time] = charges[..] else { panic!("{charges:?}") };
    let slots = [sampled.map_slots, sampled.reduce_slots, sampled.container_slots];
    assert_eq!((slots, sampled.map_slot_ms, sampled.interval_ms), ([Some(3), Some(1), Some(2)], None, None));
    let slot_ms = [by_time.map_slot_ms, by_time.reduce_slot_ms, by_time.container_slot_ms];
    assert_eq!((slot_ms, by_time.map_slots), ([Some(5_000), Some(1_000), Some(2_000)], None));
    assert_eq!((by_time.interval_ms, by_time.amount), (Some(1_000), "-0.8".parse().unwrap()));
}

#[test]
fn stamps_rows_after_the_tick_and_removals_are_loaded() {
    let scratch = Scratch::new();
    let (store, loaded) = scratch.open();
    let mut stage = Stage { sink: store.fact_sender(), last: loaded.last_fact };
    let mut market = Market::new(config(), START_MS);
    let lines = budget_file::parse("alice 10 1\nbob 10 1\n", "budget").unwrap();
    stage.record(market.seed_budgets(lines, now(0)));
    stage.record(play_tick(&mut market, &usage(1), PerPool::new(2, 2, 1), 1_000, now(1)));
    let rows = market.ledger().rows;
    let entry = |number, debit, credit, amount: &str, reason| LedgerEntry {
        number,
        wall_ms: START_MS,
        tick: 1,
        debit,
        credit,
        amount: amount.parse().unwrap(),
        reason,
        by: "root".to_owned(),
        note: "row ü".repeat(number as usize % 2),
    };
    let queue = |name: &str| LedgerAccount::Queue(name.parse().unwrap());
    let later = [
        entry(rows + 1, LedgerAccount::Issued, queue("alice"), "0.000000000001", Reason::TopUp),
        entry(rows + 2, LedgerAccount::Issued, queue("alice"), "5", Reason::Adjustment),
        entry(
            rows + 3,
            queue("alice"),
            LedgerAccount::Revenue,
            "123456789012.000000000007",
            Reason::Charge {
                rate: "0.5".parse().unwrap(),
                interval_ms: 20_000,
                slot_ms: PerPool::new(3, u64::from(u32::MAX) * 20_000, 9),
            },
        ),
        entry(rows + 4, queue("bob"), queue("alice"), "1", Reason::Transfer),
        entry(rows + 5, LedgerAccount::Issued, queue("alice"), "2", Reason::Allowance),
        entry(rows + 6, queue("bob"), LedgerAccount::Issued, "7", Reason::Closing),
    ];
    let allowance = |queue: &str, periods, cap: Option<&str>| MarketFact::AllowanceSet {
        queue: queue.parse().unwrap(),
        allowance: Allowance {
            credits: "0.000000000001".parse().unwrap(),
            every_s: 86_400,
            cap: cap.map(|cap| cap.parse().unwrap()),
            by: "root".to_owned(),
            periods,
            due_ms: START_MS + 5,
        },
    };
    let forgotten = |up_to_ms| {
        let (consumer, user, key_id) = (Consumer::Servlet, "alice".to_owned(), KeyId(1));
        MarketFact::StampsForgotten(ForgottenStamps { consumer, user, key_id, up_to_ms })
    };
    stage.record(later.iter().cloned().map(MarketFact::Ledger).collect());
    stage.record(vec![
        allowance("alice", 1, None),
        allowance("bob", 1, None),
        allowance("carol", 1, None),
        MarketFact::AllowanceEnded { queue: "carol".parse().unwrap() },
        allowance("alice", 2, Some("20")),
        MarketFact::AccountRemoved { queue: "bob".parse().unwrap() },
        stamp("alice", u64::MAX, 5, 1),
        stamp("alice", 1, 7, 1),
        stamp("alice", 1, 6, 1),
        stamp("alice", 1, 9, 1),
        forgotten(6),
        stamp("alice", 1, 9, 2),
        forgotten(3),
    ]);
    store.close().unwrap();

    let (_store, loaded) = scratch.open();
    let of =
        |pick: fn(&MarketFact) -> bool| loaded.market.iter().filter(|fact| pick(fact)).cloned().collect::<Vec<_>>();
    assert_eq!(of(|fact| matches!(fact, MarketFact::Ledger(_))), later.map(MarketFact::Ledger));
    assert_eq!(
        of(|fact| matches!(fact, MarketFact::Stamp(_))),
        [stamp("alice", 1, 9, 2), stamp("alice", 1, 7, 1), stamp("alice", 1, 9, 1), stamp("alice", u64::MAX, 5, 1)]
    );
    assert_eq!(of(|fact| matches!(fact, MarketFact::StampsForgotten(_))), [forgotten(6)]);
    let ticks = of(|fact| matches!(fact, MarketFact::Tick(_)));
    let [MarketFact::Tick(tick)] = &ticks[..] else { panic!("{ticks:?}") };
    let queues: Vec<&str> = tick.intervals().map(|(queue, _)| queue.as_str()).collect();
    assert_eq!((tick.number, queues), (1, vec!["alice"]));
    assert_eq!(of(|fact| matches!(fact, MarketFact::Account { .. })).len(), 1);
    let allowances = of(|fact| matches!(fact, MarketFact::AllowanceSet { .. }));
    assert_eq!(allowances, [allowance("alice", 2, Some("20"))]);
    let readable: String = scratch
        .look()
        .query_row(
            "SELECT queue || ' ' || reason || ' ' || amount || ' ' || amount_units || ' ' || rate || ' ' || interval_ms
                 || ' ' || map_slot_ms || ' ' || reduce_slot_ms || ' ' || debit || ' ' || credit
             FROM ledger WHERE reason = 'charge' ORDER BY number DESC",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(
        readable,
        "alice charge 123456789012.000000000007 123456789012000000000007 0.5 20000 3 85899345900000 queue:alice revenue"
    );
}
