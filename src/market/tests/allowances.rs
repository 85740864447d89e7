//! Allowances and transfers: what is paid when, whatever the clocks and restarts do.

use proptest::prelude::*;

use super::*;
use crate::market::money::{Movement, OF_FIRST_BUDGETS};

impl Stage {
    pub(super) fn pass(&mut self, ms: u64) -> Vec<LedgerEntry> {
        self.now.mono_ms += ms;
        self.now.wall_ms += ms.cast_signed();
        self.pay()
    }

    fn pay(&mut self) -> Vec<LedgerEntry> {
        let paid = self.market.pay_allowances(self.now);
        self.facts.extend(paid.facts.iter().cloned());
        entries(&paid.facts)
    }

    /// The program is down for so long, and starts again by the facts; its monotonic clock is another one.
    pub(super) fn restart_after(&mut self, ms: i64) -> Vec<LedgerEntry> {
        let mut market = Market::new(MarketConfig::default(), START);
        self.facts.iter().for_each(|fact| market.apply(fact));
        self.now = Now { mono_ms: 77, wall_ms: self.now.wall_ms + ms };
        market.start_allowances(self.now);
        self.market = market;
        self.pay()
    }
}

fn entries(facts: &[MarketFact]) -> Vec<LedgerEntry> {
    let of = |fact: &MarketFact| match fact {
        MarketFact::Ledger(entry) => Some(entry.clone()),
        _ => None,
    };
    facts.iter().filter_map(of).collect()
}

fn stage() -> Stage {
    let mut stage = Stage::new("alice 10 1\nbob 5 1\n");
    stage.market.start_allowances(stage.now);
    stage
}

fn paid(entries: &[LedgerEntry]) -> Vec<String> {
    entries.iter().map(|entry| format!("{} {} {}", entry.amount, entry.by, entry.note)).collect()
}

#[test]
fn each_period_is_paid_once_when_it_has_passed() {
    let mut stage = stage();
    stage.ask("root", "allowance=2.5&queue=alice&every=60").unwrap();
    assert_eq!(paid(&stage.pass(59_999)), [""; 0]);
    assert_eq!(paid(&stage.pass(1)), ["2.5 root allowance 1"]);
    assert_eq!(paid(&stage.pass(0)), [""; 0]);
    assert_eq!(paid(&stage.pass(120_000)), ["2.5 root allowance 2", "2.5 root allowance 3"], "a late timer");
    assert_eq!(stage.balance("alice"), credits("17.5"));
    stage.ask("root", "allowance=none&queue=alice").unwrap();
    assert_eq!(paid(&stage.pass(600_000)), [""; 0]);
    let error = stage.ask("root", "allowance=none&queue=alice").unwrap_err();
    assert_eq!(error.to_string(), "queue alice has no allowance");
    assert_eq!(stage.market.total(), stage.market.ledger().expected_balance());
}

#[test]
fn the_last_payment_is_cut_to_the_cap() {
    let mut stage = stage();
    stage.ask("root", "allowance=4&queue=alice&every=1&cap=15").unwrap();
    assert_eq!(paid(&stage.pass(3_000)), ["4.0 root allowance 1", "1.0 root allowance 2"]);
    stage.ask("root", "addBudget=-9&queue=alice").unwrap();
    assert_eq!(paid(&stage.pass(1_000)), ["4.0 root allowance 4"], "what passed at the cap is not made up for");
    stage.ask("root", "allowance=4&queue=alice&every=1&cap=0").unwrap();
    assert_eq!(paid(&stage.pass(5_000)), [""; 0]);
    stage.ask("root", "addBudget=999999999980&queue=alice").unwrap();
    stage.ask("root", "allowance=1000000000000&queue=alice&every=1").unwrap();
    assert_eq!(paid(&stage.pass(1_000)), ["10.0 root allowance 10"], "no balance is above 10^12");
}

#[test]
fn a_wall_clock_that_is_set_pays_and_costs_nothing() {
    for step_ms in [3_600_000, -7_200_000, 999, -999, 86_400_000 * 365] {
        let mut stage = stage();
        stage.ask("root", "allowance=1&queue=alice&every=60").unwrap();
        stage.step_clock(step_ms);
        assert_eq!((stage.pass(59_999).len(), stage.pass(1).len()), (0, 1), "{step_ms}");
        // Nor after a restart: the stored time has moved with the clock, but for less than a second.
        let (least_ms, most_ms) = (49_999 - 999, 50_000 + 999);
        assert_eq!(paid(&stage.restart_after(10_000)), [""; 0], "{step_ms}");
        assert_eq!(stage.pass(least_ms).len(), 0, "{step_ms}");
        assert_eq!(stage.pass(most_ms - least_ms).len(), 1, "{step_ms}");
    }
}

#[test]
fn what_was_missed_while_down_is_paid_once_each_and_at_most_a_hundred_times() {
    let mut stage = stage();
    stage.ask("root", "allowance=1&queue=alice&every=60").unwrap();
    assert_eq!(stage.pass(90_000).len(), 1);
    assert_eq!(stage.restart_after(100_000).len(), 2, "periods 2 and 3 ended at 120 s and 180 s");
    assert_eq!(stage.restart_after(0).len(), 0);
    assert_eq!(stage.pass(49_999).len(), 0, "period 4 ends at 240 s");
    assert_eq!(stage.pass(1).len(), 1);
    let paid_late = paid(&stage.restart_after(86_400_000));
    assert_eq!((paid_late.len(), paid_late[0].as_str()), (100, "1.0 root allowance 1345"));
    assert_eq!(paid_late[99], "1.0 root allowance 1444");
    assert_eq!(stage.restart_after(-86_400_000).len(), 0, "set back while down");
    assert_eq!((stage.pass(59_999).len(), stage.pass(1).len()), (0, 1), "no queue waits longer than a period");
}

#[test]
fn no_queue_waits_longer_than_a_period_after_a_start() {
    // Set back by less than makes the stored times follow, or by more, and while the program was down.
    for (running_ms, down_ms) in [(0, -1), (-600, 0), (-600, 100), (-999, 998), (-5_000, -1), (0, -86_400_000)] {
        let mut stage = stage();
        stage.ask("root", "allowance=1&queue=bob&every=90").unwrap();
        // So that root's next timestamp is later than this one also by the clock that was set back.
        assert_eq!(paid(&stage.pass(10_000)), [""; 0]);
        stage.step_clock(running_ms);
        stage.ask("root", "allowance=1&queue=alice&every=2").unwrap();
        assert_eq!(paid(&stage.restart_after(down_ms)), [""; 0], "{running_ms} {down_ms}");
        assert_eq!(paid(&stage.pass(1_999)), [""; 0], "{running_ms} {down_ms}");
        assert_eq!(paid(&stage.pass(1)), ["1.0 root allowance 1"], "{running_ms} {down_ms}");
    }
}

#[test]
fn a_long_pause_of_a_running_program_is_paid_in_full() {
    let mut stage = stage();
    stage.ask("root", "allowance=1&queue=alice&every=1").unwrap();
    let mut rows = stage.pass(250_000);
    assert_eq!(rows.len(), 100, "a step is bounded");
    assert!(stage.market.next_allowance_mono_ms() <= stage.now.mono_ms, "the rest is due at once");
    rows.extend(stage.pass(0));
    rows.extend(stage.pass(0));
    assert_eq!((rows.len(), stage.pass(0).len()), (250, 0));
}

#[test]
fn an_allowance_is_replaced_and_ends_with_its_queue() {
    let mut stage = stage();
    stage.ask("root", "allowance=1&queue=alice&every=10").unwrap();
    stage.pass(10_000);
    stage.ask("root", "allowance=3&queue=alice&every=20").unwrap();
    assert_eq!(paid(&stage.pass(20_000)), ["3.0 root allowance 2"], "numbers continue");
    stage.ask("root", "removeQueue=alice").unwrap();
    stage.ask("root", "addQueue=alice").unwrap();
    assert_eq!(stage.pass(600_000).len(), 0);
    assert_eq!(stage.market.next_allowance_mono_ms(), u64::MAX);
    for query in ["allowance=1&queue=nosuch&every=1", "allowance=none&queue=nosuch"] {
        assert_eq!(stage.ask("root", query).unwrap_err().to_string(), "there is no queue nosuch");
    }
    for query in ["allowance=1&queue=bob&every=1", "transfer=1&from=bob&to=alice"] {
        let error = stage.ask("bob", query).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Denied);
    }
}

#[test]
fn a_transfer_is_one_row_and_takes_what_may_be_withdrawn() {
    let mut stage = stage();
    let handled = stage.handled("root", "transfer=4.000000000001&from=alice&to=bob&note=lent%20%C3%BC");
    let queue = |text: &str| LedgerAccount::Queue(name(text));
    let [entry] = &entries(&handled.facts)[..] else { panic!("{:?}", handled.facts) };
    let LedgerEntry { debit, credit, amount, reason, by, note, .. } = entry;
    assert_eq!((debit, credit, reason), (&queue("alice"), &queue("bob"), &Reason::Transfer));
    assert_eq!((*amount, by.as_str(), note.as_str()), (credits("4.000000000001"), "root", "lent ü"));
    assert_eq!([stage.balance("alice"), stage.balance("bob")], [credits("5.999999999999"), credits("9.000000000001")]);
    let Ok(Answer::Queues { queues, .. }) = handled.answer else { panic!("{:?}", handled.answer) };
    assert_eq!(
        queues.iter().map(|info| info.budget).collect::<Vec<_>>(),
        [credits("5.999999999999"), credits("9.000000000001")]
    );
    stage.tick((3, 0), &[("alice", 0, 0, 3)]);
    for (query, text) in [
        ("transfer=6&from=alice&to=bob", "queue alice has 5.999999999999, less than the 6.0 to be taken out"),
        (
            "transfer=3&from=alice&to=bob",
            "queue alice may owe 3.0 of its 5.999999999999 for the open interval; retry after the next tick",
        ),
        ("transfer=1&from=alice&to=nosuch", "there is no queue nosuch"),
        ("transfer=1&from=nosuch&to=alice", "there is no queue nosuch"),
    ] {
        let before = stage.facts.len();
        assert_eq!(stage.ask("root", query).unwrap_err().to_string(), text);
        assert!(matches!(stage.facts[before..], [MarketFact::Stamp(_)]), "nothing is half done");
    }
    stage.ask("root", "addBudget=999999999990&queue=bob").unwrap();
    let error = stage.ask("root", "transfer=2&from=alice&to=bob").unwrap_err();
    assert!(error.to_string().ends_with("with 2.0 more it would exceed 10^12"), "{error}");
    assert_eq!(stage.market.total(), stage.market.ledger().expected_balance());
}

#[test]
fn every_row_says_where_it_came_from() {
    let mut stage = stage();
    stage.ask("root", "addBudget=2&queue=alice&note=grant").unwrap();
    stage.ask("root", "addBudget=-1&queue=alice").unwrap();
    stage.ask("root", "removeQueue=bob").unwrap();
    stage.tick((3, 0), &[("alice", 0, 0, 3)]);
    let tick = stage.tick((3, 0), &[("alice", 3, 0, 0)]);
    let rows = entries(&stage.facts).into_iter().chain(tick.charges());
    let authors: Vec<_> = rows.map(|entry| (entry.by, entry.note)).collect();
    let expected =
        [("", OF_FIRST_BUDGETS), ("", OF_FIRST_BUDGETS), ("root", "grant"), ("root", ""), ("root", ""), ("", "")];
    assert_eq!(authors, expected.map(|(by, note)| (by.to_owned(), note.to_owned())));
    // A movement of nothing is none.
    let (debit, credit) = (LedgerAccount::Issued, LedgerAccount::Queue(name("alice")));
    let nothing = Movement { debit, credit, amount: Credits::ZERO, reason: Reason::TopUp, by: "root", note: "x" };
    let mut facts = Vec::new();
    stage.market.record_movement(nothing, stage.now, &mut facts);
    assert_eq!(facts, []);
}

/// What happens to the program of an allowance.
#[derive(Clone, Debug)]
enum Happening {
    Runs(u64),
    WallClockIsSet(i64),
    IsDown(i64),
}

fn any_happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0u64..90_000).prop_map(Happening::Runs),
        2 => (-5_000_000i64..5_000_000).prop_map(|ms| Happening::WallClockIsSet(ms * 1_000)),
        2 => (0i64..500_000).prop_map(Happening::IsDown),
    ]
}

proptest! {
    /// Judged by books kept apart: time that the program ran, and time that it was down without a step of the clock.
    #[test]
    fn as_many_periods_are_paid_as_have_passed(
        every_s in 1u64..200,
        happenings in prop::collection::vec(any_happening(), 1..60),
    ) {
        let mut stage = stage();
        stage.ask("root", &format!("allowance=1&queue=alice&every={every_s}")).unwrap();
        let every_ms = every_s * 1_000;
        let (mut into_period_ms, mut numbers, mut periods) = (0, Vec::new(), 0);
        for happening in happenings {
            let (passed_ms, is_down, mut rows) = match happening {
                Happening::Runs(ms) => (ms, false, stage.pass(ms)),
                Happening::WallClockIsSet(ms) => {
                    stage.step_clock(ms);
                    (0, false, stage.pass(0))
                }
                Happening::IsDown(ms) => (ms.unsigned_abs(), true, stage.restart_after(ms)),
            };
            while stage.market.next_allowance_mono_ms() <= stage.now.mono_ms {
                rows.extend(stage.pass(0));
            }
            let due = (into_period_ms + passed_ms) / every_ms;
            into_period_ms = (into_period_ms + passed_ms) % every_ms;
            let skipped = if is_down { due.saturating_sub(100) } else { 0 };
            numbers.extend(periods + skipped + 1..=periods + due);
            periods += due;
            let expected: Vec<_> = numbers.drain(..).map(|number: u64| format!("1.0 root allowance {number}")).collect();
            prop_assert_eq!(paid(&rows), expected);
        }
    }
}
