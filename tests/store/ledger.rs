//! The ledger over months: old detail folds, no sum moves, a restart goes on.

use std::collections::BTreeMap;

use crate::stage::{Scratch, incarnation, record, tick as play_tick};

use jobtracker::engine::Fact;
use jobtracker::market::{ContainerUse, Market, MarketConfig, MarketFact, QueueUse, StatementPage, budget_file};
use jobtracker::model::{FactNumber, Now, PerKind, PerPool};
use jobtracker::store::Store;

const DAY_MS: i64 = 86_400_000;
const START_MS: i64 = 20_000 * DAY_MS;
const TICKS_A_DAY: i64 = 4;
const INTERVAL_MS: u64 = (DAY_MS / TICKS_A_DAY) as u64;

fn now(tick: i64) -> Now {
    let since_ms = tick * DAY_MS / TICKS_A_DAY;
    Now { mono_ms: since_ms as u64, wall_ms: START_MS + since_ms }
}

fn usage(tick: i64) -> Vec<QueueUse> {
    ["alice", "bob"]
        .map(|queue| QueueUse {
            queue: queue.parse().unwrap(),
            running: PerKind::new(1 + tick as u32 % 3, 1),
            pending: 2,
            containers: ContainerUse { held: 3, wanted: 1 },
            want: QueueUse::wants_all(&ContainerUse { held: 3, ..ContainerUse::default() }),
            later: PerKind::default(),
        })
        .to_vec()
}

/// A market that lived so many days, its store closed.
fn lived(scratch: &Scratch, days: i64) -> Market {
    let (store, loaded) = scratch.open();
    let mut last = loaded.last_fact;
    let mut market = Market::new(MarketConfig::default(), START_MS);
    let lines = budget_file::parse("alice 10000 0.333333333333\nbob 5000 0.1\n", "budget").unwrap();
    let mut tell = |facts: Vec<MarketFact>| {
        last = record(&store.fact_sender(), last, facts.into_iter().map(Fact::Market).collect());
    };
    tell(market.seed_budgets(lines, now(0)));
    for tick in 1..=days * TICKS_A_DAY {
        tell(play_tick(&mut market, &usage(tick), PerPool::new(20, 10, 4), INTERVAL_MS, now(tick)));
    }
    keep_house(&store, last);
    store.close().unwrap();
    market
}

/// So many commits that the writer makes steps between them, whether it had idle moments or not.
fn keep_house(store: &Store, mut last: FactNumber) {
    for number in 1..=140 {
        last = record(&store.fact_sender(), last, vec![incarnation(number)]);
    }
}

/// The balance of each account by the whole ledger, in units.
fn balances(scratch: &Scratch) -> BTreeMap<String, i128> {
    let mut balances: BTreeMap<String, i128> = BTreeMap::new();
    let look = scratch.look();
    let mut statement = look.prepare("SELECT debit, credit, amount_units FROM ledger").unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let units: i128 = row.get::<_, String>(2).unwrap().parse().unwrap();
        *balances.entry(row.get(0).unwrap()).or_default() -= units;
        *balances.entry(row.get(1).unwrap()).or_default() += units;
    }
    balances
}

/// Issued and charged by the rows up to a number, in units.
fn totals(scratch: &Scratch, rows: i64) -> (i128, i128) {
    let look = scratch.look();
    let sql = "SELECT credit, debit, amount_units FROM ledger WHERE number <= ?1";
    let mut statement = look.prepare(sql).unwrap();
    let mut found = statement.query([rows]).unwrap();
    let mut totals = (0, 0);
    while let Some(row) = found.next().unwrap() {
        let units: i128 = row.get::<_, String>(2).unwrap().parse().unwrap();
        totals.0 += if row.get::<_, String>(1).unwrap() == "issued" { units } else { 0 };
        totals.1 += if row.get::<_, String>(0).unwrap() == "revenue" { units } else { 0 };
    }
    totals
}

#[test]
fn the_totals_of_ticks_are_those_of_the_rows_where_the_rows_are_whole() {
    let scratch = Scratch::new();
    lived(&scratch, 40);
    let look = scratch.look();
    let mut statement = look.prepare("SELECT number, ledger_rows, issued_units, charged_units FROM tick").unwrap();
    let mut ticks = statement.query([]).unwrap();
    let mut judged = 0;
    while let Some(tick) = ticks.next().unwrap() {
        let number: i64 = tick.get(0).unwrap();
        let (is_end_of_day, is_detailed) = (number % TICKS_A_DAY == TICKS_A_DAY - 1, number >= 10 * TICKS_A_DAY);
        if is_end_of_day || is_detailed {
            let units = |column| tick.get::<_, String>(column).unwrap().parse::<i128>().unwrap();
            assert_eq!(totals(&scratch, tick.get(1).unwrap()), (units(2), units(3)), "tick {number}");
            judged += 1;
        }
    }
    assert_eq!(judged, 10 + 30 * TICKS_A_DAY + 1);
}

#[test]
fn months_fold_and_the_market_goes_on_to_the_last_unit() {
    let scratch = Scratch::new();
    let mut market = lived(&scratch, 60);
    let count = |condition: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM ledger WHERE {condition}");
        scratch.look().query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    // The day of the last tick and thirty whole ones before it stay in detail: 30 * 4 + 1 ticks of two queues.
    assert_eq!(count("day IS NULL"), 2 * (30 * TICKS_A_DAY + 1));
    // Two charges on each of thirty days, and two endowments.
    assert_eq!(count("day IS NOT NULL"), 2 * 30 + 2);
    let balances = balances(&scratch);
    for queue in ["alice", "bob"] {
        let balance = market.account(queue).unwrap().balance();
        assert_eq!(balances[&format!("queue:{queue}")], balance.units(), "{queue}");
    }
    assert_eq!(balances["revenue"], market.ledger().charged.units());
    assert_eq!(-balances["issued"], market.ledger().issued.units());

    let (store, loaded) = scratch.open();
    let statement = |queue: &str, page| store.ledger().statement(&queue.parse().unwrap(), page).unwrap();
    let alice = statement("alice", StatementPage::default()).unwrap();
    assert_eq!(alice.balance, market.account("alice").unwrap().balance());
    // The endowment and the first day's charges are of one day: its end has the balance.
    let balances: Vec<String> =
        alice.rows[..3].iter().map(|row| row.balance.map_or("-".into(), |balance| balance.to_string())).collect();
    assert_eq!(balances[0], "-");
    let first_day = alice.rows[1].amount.checked_add("10000".parse().unwrap()).unwrap();
    assert_eq!(balances[1], first_day.to_string());
    let since = START_MS + 59 * DAY_MS;
    let page = StatementPage { since_ms: Some(since), before: None };
    assert_eq!(statement("alice", page).unwrap().rows.len() as i64, TICKS_A_DAY + 1);
    assert_eq!(statement("carol", StatementPage::default()), None);

    let mut restarted = Market::new(MarketConfig::default(), START_MS);
    loaded.market.iter().for_each(|fact| restarted.apply(fact));
    assert_eq!(restarted.ledger(), market.ledger());
    let next = 60 * TICKS_A_DAY + 1;
    let slots = PerPool::new(20, 10, 4);
    let [again, expected] =
        [&mut restarted, &mut market].map(|market| play_tick(market, &usage(next), slots, INTERVAL_MS, now(next)));
    assert_eq!(again.last(), expected.last());
}
