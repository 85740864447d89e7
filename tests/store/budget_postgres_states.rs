//! Budgets in PostgreSQL: whose tables they are, what a restored state or an older layout finds, who paid a top-up.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::budget_postgres::{END, Stage, back_end, lines, unequal};
use crate::budget_stores::{BudgetPlace, PostgresPlace, written};
use crate::postgres::PostgresServer;
use crate::stage::{Scratch, incarnation, record};

use jobtracker::config::settings::PostgresSettings;
use jobtracker::market::{TakenTopUp, TopUp, TopUpAnswer};
use jobtracker::model::{Credits, QueueName};
use jobtracker::store::{BudgetBackEnd, LoadedState, PostgresBackEnd, initialise};

fn taken(reference: &str) -> TopUpAnswer {
    let amount = Credits::parse_exact("5").unwrap();
    let queue = QueueName::new("alice").unwrap();
    let outcome = Ok(TakenTopUp { reference: reference.to_owned(), queue, amount, ledger: 2 });
    TopUpAnswer { reference: reference.to_owned(), outcome }
}

fn insert(place: &PostgresPlace<'_>, reference: &str) {
    let sql = "INSERT INTO jobtracker.top_up (reference, account, amount) VALUES";
    place.query(&format!("{sql} ('{reference}', 'alice', 5)"));
}

fn references(found: Option<Vec<TopUp>>) -> Vec<String> {
    found.unwrap().into_iter().map(|top_up| top_up.reference).collect()
}

const STATES: &str = "SELECT reference, state, taken_by FROM jobtracker.top_up ORDER BY reference";

#[test]
fn tables_of_another_state_are_neither_claimed_nor_asked_for_top_ups_and_are_named_at_once() {
    let test = "tables_of_another_state_are_neither_claimed_nor_asked_for_top_ups_and_are_named_at_once";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "whose");
    place.put("alice 100 1\n");
    let scratch = Scratch::new();
    let (stage, image) = Stage::open(&scratch, &place);
    stage.publish(&image, 1);
    image.close(END).unwrap();
    insert(&place, "one");
    let movements = "SELECT account, amount FROM jobtracker.movement";
    let before = (place.query("SELECT * FROM jobtracker.publication"), place.query(movements));
    assert_eq!(before.1.len(), 1);
    let mut other = back_end(server.settings("whose"), "other").unwrap();
    let refusals = [
        other.load().map(drop).unwrap_err(),
        other.find_top_ups().map(drop).unwrap_err(),
        other.answer_top_ups(&[taken("one")]).unwrap_err(),
        PostgresBackEnd::look(server.settings("whose"), Some("other")).map(drop).unwrap_err(),
    ];
    for error in refusals.map(|error| error.to_string()) {
        assert!(error.contains("this one is other") && error.contains("store init --take-over"), "{error}");
    }
    // Money does not wait for a database at a later start.
    other.resume().unwrap();
    let new = PostgresBackEnd::look(server.settings("whose"), Some("")).unwrap_err().to_string();
    assert!(new.contains("this one is a new one"), "{new}");
    assert_eq!(PostgresBackEnd::look(server.settings("whose"), None).unwrap(), lines("alice 100 1\n"));
    drop(other);
    assert_eq!((place.query("SELECT * FROM jobtracker.publication"), place.query(movements)), before);
    assert_eq!(place.query(STATES), [["one", "waiting", ""]]);
    // Tables of no state give no top-ups either, until they are claimed.
    initialise(&server.settings("whose"), true).unwrap();
    let mut other = back_end(server.settings("whose"), "other").unwrap();
    assert_eq!(references(other.find_top_ups().unwrap()), Vec::<String>::new());
    other.answer_top_ups(&[taken("one")]).unwrap();
    assert_eq!(place.query(STATES), [["one", "waiting", ""]]);
    other.load().unwrap();
    assert_eq!(references(other.find_top_ups().unwrap()), ["one"]);
    other.answer_top_ups(&[taken("one")]).unwrap();
    assert_eq!(place.query(STATES), [["one", "taken", "other"]]);
}

#[test]
fn a_restored_state_takes_over_again_what_it_took_and_nothing_that_another_one_did() {
    let test = "a_restored_state_takes_over_again_what_it_took_and_nothing_that_another_one_did";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "paid");
    place.put("alice 100 1\n");
    let mut former = back_end(server.settings("paid"), "former").unwrap();
    former.load().unwrap();
    insert(&place, "one");
    assert_eq!(references(former.find_top_ups().unwrap()), ["one"]);
    former.answer_top_ups(&[taken("one")]).unwrap();
    drop(former);
    initialise(&server.settings("paid"), true).unwrap();
    let scratch = Scratch::new();
    let (stage, image) = Stage::open(&scratch, &place);
    stage.publish(&image, 1);
    drop(image);
    stage.store.close().unwrap();
    let (store, loaded) = scratch.open();
    let name = loaded.name.clone().unwrap();
    let mut later = PostgresBackEnd::of_state(server.settings("paid"), &store, &loaded).unwrap();
    insert(&place, "two");
    assert_eq!(references(later.find_top_ups().unwrap()), ["two"]);
    later.answer_top_ups(&[taken("two")]).unwrap();
    assert_eq!(place.query(STATES), [["one", "taken", "former"], ["two", "taken", name.as_str()]]);
    drop(later);
    let loaded = LoadedState { is_copy_unpublished: true, ..loaded };
    let mut restored = PostgresBackEnd::of_state(server.settings("paid"), &store, &loaded).unwrap();
    restored.publish(&lines("alice 100 1\n"), 1).unwrap();
    assert_eq!(place.query(STATES), [["one", "taken", "former"], ["two", "waiting", ""]]);
    assert_eq!(references(restored.find_top_ups().unwrap()), ["two"]);
}

#[test]
fn a_restore_while_the_database_is_out_is_known_until_the_tables_show_it() {
    let test = "a_restore_while_the_database_is_out_is_known_until_the_tables_show_it";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "restored");
    place.put("alice 100 1\nbob 50 1\n");
    let scratch = Scratch::new();
    let copy = scratch.dir.path().join("copy.db");
    let (mut stage, image) = Stage::open(&scratch, &place);
    stage.publish(&image, 1);
    stage.store.backup(&copy).unwrap();
    stage.top_up("one", "alice", "5");
    stage.publish(&image, 40);
    place.query(
        "INSERT INTO jobtracker.top_up (reference, account, amount, state, taken_by)
         SELECT 'one', 'alice', 5, 'taken', state FROM jobtracker.publication",
    );
    drop(image);
    stage.store.close().unwrap();
    let folder = scratch.dir.path().join("state");
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    fs::copy(&copy, folder.join("state.db")).unwrap();
    // A start without the database, in which as much happens as the tables have, and more.
    let (store, loaded) = scratch.open();
    assert!(loaded.is_copy && loaded.is_copy_unpublished);
    let last = record(&store.fact_sender(), loaded.last_fact, vec![incarnation(7)]);
    let mut stage = Stage::seeded(store, &LoadedState { last_fact: last, ..loaded }, Vec::new());
    stage.top_up("other", "bob", "3");
    stage.top_up("another", "bob", "4");
    stage.store.close().unwrap();
    let (store, loaded) = scratch.open();
    assert!(!loaded.is_copy && loaded.is_copy_unpublished);
    drop(store);
    let (stage, image) = Stage::open(&scratch, &place);
    stage.publish(&image, 2);
    assert_eq!(place.lines(), written("alice 100 1\nbob 57 1\n"));
    assert_eq!(unequal(&place), Vec::<Vec<String>>::new());
    assert_eq!(place.query("SELECT state FROM jobtracker.top_up"), [["waiting"]]);
    assert_eq!(place.query("SELECT tick FROM jobtracker.publication"), [["2"]]);
    image.close(END).unwrap();
    stage.store.close().unwrap();
    assert!(!scratch.open().1.is_copy_unpublished);
}

#[test]
fn what_others_write_into_the_tables_is_written_over_whatever_tick_it_bears() {
    let test = "what_others_write_into_the_tables_is_written_over_whatever_tick_it_bears";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "over");
    place.put("alice 100 1\nbob 50 1\n");
    let scratch = Scratch::new();
    let (mut stage, image) = Stage::open(&scratch, &place);
    stage.top_up("one", "alice", "10");
    stage.publish(&image, 1);
    let shown = "SELECT state, tick, ledger FROM jobtracker.publication";
    let expected = place.query(shown);
    let movements = "SELECT account, amount, note FROM jobtracker.movement ORDER BY account, ledger";
    let moved = place.query(movements);
    for damage in [
        "UPDATE jobtracker.publication SET tick = 1000000; UPDATE jobtracker.account SET budget = 1",
        "UPDATE jobtracker.publication SET ledger = 1000000; DELETE FROM jobtracker.movement",
        "UPDATE jobtracker.publication SET ledger = 1",
        "UPDATE jobtracker.publication SET ledger = -1",
        "UPDATE jobtracker.publication SET state = NULL; DELETE FROM jobtracker.movement",
        // A session without the lock may have left others room.
        "DELETE FROM jobtracker.movement; UPDATE jobtracker.account SET budget = 1;
         SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'",
    ] {
        place.query(damage);
        // Nothing changes in the market meanwhile.
        let is_again = || {
            place.query(shown) == expected
                && place.query(movements) == moved
                && place.lines() == written("alice 110 1\nbob 50 1\n")
        };
        while !is_again() {
            std::thread::yield_now();
        }
    }
    stage.publish(&image, 2);
    assert_eq!(place.query("SELECT tick FROM jobtracker.publication"), [["2"]]);
    image.close(END).unwrap();
}

#[test]
fn tables_of_the_first_layout_learn_who_took_what_or_their_owner_is_asked_for() {
    let test = "tables_of_the_first_layout_learn_who_took_what_or_their_owner_is_asked_for";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "former");
    place.put("alice 100 1\n");
    let scratch = Scratch::new();
    let (mut stage, image) = Stage::open(&scratch, &place);
    stage.top_up("one", "alice", "5");
    stage.publish(&image, 1);
    image.close(END).unwrap();
    let name = place.query("SELECT state FROM jobtracker.publication")[0][0].clone();
    // The second was taken by a state database that had the tables before.
    place.query(
        "ALTER TABLE jobtracker.top_up DROP COLUMN taken_by; UPDATE jobtracker.publication SET layout = 1;
         INSERT INTO jobtracker.top_up (reference, account, amount, made_by, state)
         VALUES ('one', 'alice', 5, 'accounting', 'taken'), ('two', 'alice', 5, 'accounting', 'taken'),
            ('three', 'alice', 5, 'accounting', 'waiting');
         CREATE ROLE writer LOGIN PASSWORD 's3cret-of-postgres'; GRANT USAGE ON SCHEMA jobtracker TO writer;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA jobtracker TO writer",
    );
    let settings = || server.settings("former");
    let as_writer = || PostgresSettings { url: settings().url.replace("postgres@", "writer@"), ..settings() };
    let refusals = [
        PostgresBackEnd::look(as_writer(), None).map(drop).unwrap_err(),
        initialise(&as_writer(), false).map(drop).unwrap_err(),
        back_end(as_writer(), &name).unwrap().load().map(drop).unwrap_err(),
    ];
    for error in refusals.map(|error| error.to_string()) {
        assert!(error.contains("layout 1, of before; their owner must run `jobtracker store init` once"), "{error}");
    }
    PostgresBackEnd::look(settings(), Some(&name)).unwrap();
    assert_eq!(place.query("SELECT layout FROM jobtracker.publication"), [["1"]]);
    back_end(settings(), &name).unwrap().resume().unwrap();
    assert_eq!(place.query("SELECT layout FROM jobtracker.publication"), [["2"]]);
    let expected = [["one", "taken", name.as_str()], ["three", "waiting", ""], ["two", "taken", ""]];
    assert_eq!(place.query(STATES), expected);
    PostgresBackEnd::look(as_writer(), Some(&name)).unwrap();
    initialise(&settings(), false).unwrap();
}
