//! What stands behind the budgets may be something else than a file: tried again until it takes them, and each tick
//! once.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::stage::{Scratch, record};

use jobtracker::engine::Fact;
use jobtracker::market::{BudgetLine, Market, MarketConfig, budget_file};
use jobtracker::model::{FactNumber, Now};
use jobtracker::store::{BudgetAtStart, BudgetBackEnd, BudgetBackEndError, BudgetPublisher, Interrupter};

/// A table of budgets, as a database would hold it.
#[derive(Debug, Default)]
struct Table {
    rows: BTreeMap<String, (String, String)>,
    tick: Option<u64>,
    /// How often it was asked for its rows.
    loads: u32,
    /// The ticks of all calls, refused ones too.
    calls: Vec<u64>,
    /// Calls that break off after the first row.
    outages: u32,
}

/// A connection to it.
#[derive(Clone, Debug, Default)]
struct TableStore(Arc<(Mutex<Table>, Condvar)>);

impl TableStore {
    fn with(&self, change: impl FnOnce(&mut Table)) {
        change(&mut self.0.0.lock().unwrap());
    }

    fn wait_until(&self, says: impl Fn(&Table) -> bool) {
        let table = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(table, |table| !says(table)).unwrap());
    }

    fn rows(&self) -> Vec<(String, String, String)> {
        let table = self.0.0.lock().unwrap();
        table.rows.iter().map(|(queue, (budget, rate))| (queue.clone(), budget.clone(), rate.clone())).collect()
    }
}

impl BudgetBackEnd for TableStore {
    fn place(&self) -> String {
        "table budgets".to_owned()
    }

    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        self.with(|table| table.loads += 1);
        let text: String =
            self.rows().iter().map(|(queue, budget, rate)| format!("{queue} {budget} {rate}\n")).collect();
        Ok(budget_file::parse(&text, "table budgets")?)
    }

    fn publish(&mut self, accounts: &[BudgetLine], tick: u64) -> Result<(), BudgetBackEndError> {
        let mut table = self.0.0.lock().unwrap();
        self.0.1.notify_all();
        table.calls.push(tick);
        if table.tick.is_some_and(|shown| tick < shown) {
            return Ok(());
        }
        let is_out = table.outages > 0;
        table.outages = table.outages.saturating_sub(1);
        table.rows.clear();
        for account in accounts {
            table.rows.insert(account.queue.to_string(), (account.budget.to_string(), account.rate.to_string()));
            if is_out {
                let reason = "connection reset".to_owned();
                return Err(BudgetBackEndError::BackEnd {
                    action: "publish",
                    place: "table budgets".to_owned(),
                    reason,
                    is_permanent: false,
                });
            }
        }
        table.tick = Some(tick);
        Ok(())
    }
}

fn lines(text: &str) -> Vec<BudgetLine> {
    budget_file::parse(text, "budget").unwrap()
}

fn row(queue: &str, budget: &str, rate: &str) -> (String, String, String) {
    (queue.to_owned(), budget.to_owned(), rate.to_owned())
}

/// A table with alice's budget.
fn endowed() -> TableStore {
    let table = TableStore::default();
    table.with(|table| drop(table.rows.insert("alice".to_owned(), ("100".to_owned(), "1".to_owned()))));
    table
}

#[test]
fn budgets_are_loaded_at_the_first_start_and_never_again() {
    let (scratch, table) = (Scratch::new(), endowed());
    let (store, loaded) = scratch.open();
    let (image, found) = BudgetPublisher::with_back_end(table.clone(), &loaded).unwrap();
    let BudgetAtStart::Initial(initial) = found else { panic!("{found:?}") };
    assert_eq!(initial, lines("alice 100 1\n"));
    let facts = Market::new(MarketConfig::default(), 0).seed_budgets(initial, Now { mono_ms: 0, wall_ms: 0 });
    let last = record(&store.fact_sender(), loaded.last_fact, facts.into_iter().map(Fact::Market).collect());
    image.close(last).unwrap();
    store.close().unwrap();
    // Whatever the table says from now on: the ledger is the truth.
    table.with(|table| drop(table.rows.insert("mallory".to_owned(), ("1000000".to_owned(), "1".to_owned()))));
    let (_store, loaded) = scratch.open();
    let (image, found) = BudgetPublisher::with_back_end(table.clone(), &loaded).unwrap();
    assert_eq!(found, BudgetAtStart::Unchanged);
    image.publish(lines("alice 99 1\n"), 1);
    image.close(FactNumber(0)).unwrap();
    assert_eq!(table.rows(), [row("alice", "99.0", "1.0")]);
    assert_eq!(table.0.0.lock().unwrap().loads, 1);
}

#[test]
fn rows_that_cannot_be_understood_refuse_the_first_start() {
    let (scratch, table) = (Scratch::new(), endowed());
    table.with(|table| drop(table.rows.insert("bob".to_owned(), ("NaN".to_owned(), "1".to_owned()))));
    let (_store, loaded) = scratch.open();
    let error = BudgetPublisher::with_back_end(table, &loaded).unwrap_err().to_string();
    assert!(error.contains("table budgets:2") && error.contains("NaN"), "{error}");
}

#[test]
fn what_breaks_off_is_told_and_tried_again_until_it_is_whole() {
    let (scratch, table) = (Scratch::new(), endowed());
    let (_store, loaded) = scratch.open();
    let (image, _) = BudgetPublisher::with_back_end(table.clone(), &loaded).unwrap();
    table.with(|table| table.outages = 2);
    image.publish(lines("alice 98 1\nbob 5 1\n"), 7);
    table.wait_until(|table| table.calls.len() == 1);
    assert_eq!(table.rows().len(), 1, "torn");
    while image.watch().last_error().is_none() {
        std::thread::yield_now();
    }
    assert_eq!(image.watch().last_error().unwrap(), "cannot publish the budgets in table budgets: connection reset");
    table.wait_until(|table| table.tick == Some(7));
    assert_eq!(table.rows(), [row("alice", "98.0", "1.0"), row("bob", "5.0", "1.0")]);
    assert_eq!(table.0.0.lock().unwrap().calls, [7, 7, 7]);
    image.close(FactNumber(0)).unwrap();
}

#[test]
fn while_it_is_out_only_the_newest_accounts_are_kept_for_it() {
    let (scratch, table) = (Scratch::new(), endowed());
    let (_store, loaded) = scratch.open();
    let (image, _) = BudgetPublisher::with_back_end(table.clone(), &loaded).unwrap();
    table.with(|table| table.outages = 1);
    image.publish(lines("alice 90 1\n"), 1);
    table.wait_until(|table| table.calls == [1]);
    for tick in 2..=50 {
        image.publish(lines(&format!("alice {} 1\n", 91 - tick)), tick);
    }
    image.close(FactNumber(0)).unwrap();
    assert_eq!(table.rows(), [row("alice", "41.0", "1.0")]);
    let calls = table.0.0.lock().unwrap().calls.clone();
    assert!(calls.is_sorted() && calls.last() == Some(&50), "{calls:?}");
}

#[test]
fn a_tick_that_is_published_twice_is_there_once_and_an_earlier_one_changes_nothing() {
    let (scratch, table) = (Scratch::new(), endowed());
    let (_store, loaded) = scratch.open();
    // The same tick at a stop and at the start after it, then what a process of before still had to say.
    for (accounts, tick) in [("alice 90 1\nbob 1 1\n", 5), ("alice 90 1\nbob 1 1\n", 5), ("alice 100 1\n", 4)] {
        let (image, _) = BudgetPublisher::with_back_end(table.clone(), &loaded).unwrap();
        image.publish(lines(accounts), tick);
        image.close(FactNumber(0)).unwrap();
        assert_eq!(table.rows(), [row("alice", "90.0", "1.0"), row("bob", "1.0", "1.0")]);
    }
    assert_eq!(table.0.0.lock().unwrap().tick, Some(5));
}

#[test]
fn one_that_stays_out_does_not_hang_the_stop() {
    let (scratch, table) = (Scratch::new(), endowed());
    let (_store, loaded) = scratch.open();
    let (image, _) = BudgetPublisher::with_back_end(table.clone(), &loaded).unwrap();
    table.with(|table| table.outages = u32::MAX);
    image.publish(lines("alice 90 1\n"), 1);
    let error = image.close(FactNumber(0)).unwrap_err().to_string();
    assert!(error.contains("connection reset"), "{error}");
}

/// One whose calls are answered only when they are interrupted.
#[derive(Clone, Debug, Default)]
struct SilentStore(Arc<(Mutex<Silence>, Condvar)>);

#[derive(Debug, Default)]
struct Silence {
    calls: u32,
    is_interrupted: bool,
}

impl BudgetBackEnd for SilentStore {
    fn place(&self) -> String {
        "table budgets".to_owned()
    }

    fn load(&mut self) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        Ok(lines("alice 100 1\n"))
    }

    fn publish(&mut self, _accounts: &[BudgetLine], _tick: u64) -> Result<(), BudgetBackEndError> {
        let mut silence = self.0.0.lock().unwrap();
        silence.calls += 1;
        self.0.1.notify_all();
        drop(self.0.1.wait_while(silence, |silence| !silence.is_interrupted).unwrap());
        let reason = "interrupted".to_owned();
        Err(BudgetBackEndError::BackEnd { action: "publish", place: self.place(), reason, is_permanent: false })
    }

    fn interrupter(&self) -> Option<Interrupter> {
        let store = self.clone();
        Some(Box::new(move || {
            store.0.0.lock().unwrap().is_interrupted = true;
            store.0.1.notify_all();
        }))
    }
}

#[test]
fn one_that_says_nothing_is_a_trouble_and_is_asked_nothing_more_at_the_stop() {
    let (scratch, silent) = (Scratch::new(), SilentStore::default());
    let (_store, loaded) = scratch.open();
    let (image, _) = BudgetPublisher::with_back_end(silent.clone(), &loaded).unwrap();
    image.publish(lines("alice 90 1\n"), 1);
    let calls = silent.0.0.lock().unwrap();
    drop(silent.0.1.wait_while(calls, |silence| silence.calls == 0).unwrap());
    assert_eq!(image.watch().last_error(), None, "it has a moment");
    let error = loop {
        match image.watch().last_error() {
            Some(error) => break error,
            None => std::thread::park_timeout(Duration::from_millis(20)),
        }
    };
    assert!(error.starts_with("cannot publish the budgets in table budgets: no answer since "), "{error}");
    // What waits when it is interrupted is not tried again, which would take for ever.
    image.publish(lines("alice 80 1\n"), 2);
    let error = image.close(FactNumber(0)).unwrap_err().to_string();
    assert_eq!(error, "cannot publish the budgets in table budgets: interrupted");
    assert_eq!(silent.0.0.lock().unwrap().calls, 1);
}
