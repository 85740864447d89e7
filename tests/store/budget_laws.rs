//! The laws of a store of budgets, over the file, a program and a PostgreSQL database.

use crate::budget_stores::{BudgetPlace, CommandPlace, FilePlace, PostgresPlace, written};
use crate::postgres::PostgresServer;
use crate::stage::{Scratch, record};

use jobtracker::engine::Fact;
use jobtracker::market::{BudgetLine, Market, MarketConfig, budget_file};
use jobtracker::model::{FactNumber, Now};
use jobtracker::store::{BudgetAtStart, BudgetPublisher, LoadedState, Store};

const START: Now = Now { mono_ms: 0, wall_ms: 1_764_000_000_000 };
const FIRST: &str = "alice 100 1\n";
/// For stops after which the mark of a clean one does not matter.
const END: FactNumber = FactNumber(0);

fn lines(text: &str) -> Vec<BudgetLine> {
    budget_file::parse(text, "budget").unwrap()
}

/// Holds a law over each store, and says over which it does not.
fn over_each(test: &str, law: impl Fn(&dyn BudgetPlace)) {
    println!("the file");
    law(&FilePlace(Scratch::new()));
    println!("a program");
    law(&CommandPlace::new());
    println!("a database");
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    law(&PostgresPlace::new(&server, "laws"));
}

/// The first start: what is in the store is credited, and the ledger has it.
fn endow(place: &dyn BudgetPlace, scratch: &Scratch, text: &str) -> (Store, LoadedState, BudgetPublisher) {
    place.put(text);
    let (store, loaded) = scratch.open();
    let (image, found) = place.open(&store, &loaded).unwrap();
    let BudgetAtStart::Initial(initial) = found else { panic!("{found:?}") };
    assert_eq!(initial, lines(text));
    let facts = Market::new(MarketConfig::default(), 0).seed_budgets(initial, START);
    record(&store.fact_sender(), loaded.last_fact, facts.into_iter().map(Fact::Market).collect());
    (store, loaded, image)
}

fn wait_for_lines(place: &dyn BudgetPlace, text: &str) {
    while place.lines() != written(text) {
        std::thread::yield_now();
    }
}

/// Waits until a publication has failed.
fn wait_for_error(image: &BudgetPublisher) -> String {
    loop {
        match image.watch().last_error() {
            Some(error) => return error,
            None => std::thread::yield_now(),
        }
    }
}

#[test]
fn budgets_are_loaded_at_the_first_start_and_never_again() {
    over_each("budgets_are_loaded_at_the_first_start_and_never_again", |place| {
        let scratch = Scratch::new();
        let (store, _, image) = endow(place, &scratch, FIRST);
        drop((image, store));
        // Whatever the store says from now on: the ledger is the truth.
        place.put("alice 99 1\nmallory 1000000 1\n");
        let (store, loaded) = scratch.open();
        let (image, found) = place.open(&store, &loaded).unwrap();
        assert!(matches!(found, BudgetAtStart::Unchanged | BudgetAtStart::Overridden(_)), "{found:?}");
        image.publish(lines("alice 98 1\n"), 1);
        image.close(END).unwrap();
        assert_eq!(place.lines(), written("alice 98 1\n"));
    });
}

#[test]
fn what_is_no_budget_refuses_the_first_start_by_name() {
    over_each("what_is_no_budget_refuses_the_first_start_by_name", |place| {
        for (bad, expected) in [("bob NaN 1", "NaN"), ("bob -1 1", "negative"), ("bob 1 -0.5", "negative")] {
            let scratch = Scratch::new();
            place.put(&format!("alice 100 1\n{bad}\n"));
            let (store, loaded) = scratch.open();
            let error = place.open(&store, &loaded).unwrap_err().to_string();
            assert!(error.contains("bob") && error.contains(expected), "{error}");
        }
    });
}

#[test]
fn what_fails_is_reported_and_retried_until_it_is_whole() {
    over_each("what_fails_is_reported_and_retried_until_it_is_whole", |place| {
        let scratch = Scratch::new();
        let (_store, _, image) = endow(place, &scratch, FIRST);
        place.break_down();
        image.publish(lines("alice 98 1\nbob 5 1\n"), 7);
        let error = wait_for_error(&image);
        assert!(error.contains(image.watch().place()), "{error}");
        assert!(image.watch().lag().ticks >= 1, "{:?}", image.watch().lag());
        place.mend();
        wait_for_lines(place, "alice 98 1\nbob 5 1\n");
        image.close(END).unwrap();
    });
}

#[test]
fn while_it_is_out_only_the_newest_accounts_are_kept_for_it() {
    over_each("while_it_is_out_only_the_newest_accounts_are_kept_for_it", |place| {
        let scratch = Scratch::new();
        let (_store, _, image) = endow(place, &scratch, FIRST);
        place.break_down();
        image.publish(lines("alice 90 1\n"), 1);
        wait_for_error(&image);
        for tick in 2..=50 {
            image.publish(lines(&format!("alice {} 1\n", 91 - tick)), tick);
        }
        assert_eq!(image.watch().lag().ticks, 50);
        place.mend();
        image.close(END).unwrap();
        assert_eq!(place.lines(), written("alice 41 1\n"));
    });
}

#[test]
fn a_tick_that_is_published_twice_is_there_once_and_an_earlier_one_changes_nothing() {
    over_each("a_tick_that_is_published_twice_is_there_once_and_an_earlier_one_changes_nothing", |place| {
        let scratch = Scratch::new();
        let (_store, _, image) = endow(place, &scratch, FIRST);
        let shown = "alice 90 1\nbob 1 1\n";
        for (accounts, tick) in [(shown, 5), (shown, 5), ("alice 100 1\n", 4)] {
            image.publish(lines(accounts), tick);
            while image.watch().lag().ticks > 0 {
                std::thread::yield_now();
            }
            assert_eq!(place.lines(), written(shown));
        }
        image.close(END).unwrap();
    });
}

#[test]
fn one_that_stays_out_does_not_hang_the_stop() {
    over_each("one_that_stays_out_does_not_hang_the_stop", |place| {
        let scratch = Scratch::new();
        let (_store, _, image) = endow(place, &scratch, FIRST);
        place.break_down();
        image.publish(lines("alice 90 1\n"), 1);
        let name = image.watch().place().to_owned();
        let error = image.close(END).unwrap_err().to_string();
        assert!(error.contains(&name), "{error}");
    });
}
