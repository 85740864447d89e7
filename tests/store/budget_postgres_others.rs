//! Budgets in PostgreSQL beside others who work in the same database: what they plant, change and hold.

use std::time::Duration;

use crate::budget_postgres::{END, Stage, back_end, lines, unequal};
use crate::budget_stores::{BudgetPlace, PostgresPlace, written};
use crate::postgres::PostgresServer;
use crate::stage::Scratch;

use jobtracker::config::settings::PostgresSettings;
use jobtracker::market::{TopUp, TopUpAnswer};
use jobtracker::store::{BudgetBackEnd, FoundTopUps, PostgresBackEnd, initialise};

#[test]
fn operators_that_others_plant_in_public_run_neither_in_store_init_nor_as_the_daemon() {
    let test = "operators_that_others_plant_in_public_run_neither_in_store_init_nor_as_the_daemon";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    server.create_database("planted");
    let place = PostgresPlace { server: &server, database: "planted".to_owned() };
    place.query(
        "CREATE ROLE reader LOGIN PASSWORD 's3cret-of-postgres'; GRANT CREATE ON SCHEMA public TO PUBLIC;
         ALTER DATABASE planted SET search_path = public",
    );
    // Each takes types that the server's own operators would have to convert first.
    let plant = "CREATE FUNCTION public.true(a numeric, b integer) RETURNS boolean LANGUAGE sql AS 'SELECT true';
        CREATE OPERATOR public.>= (leftarg = numeric, rightarg = integer, function = public.true);
        CREATE FUNCTION public.divide(a bigint, b numeric) RETURNS numeric LANGUAGE plpgsql AS $$BEGIN
            INSERT INTO jobtracker.top_up (reference, account, amount, made_by)
                VALUES ('planted', 'alice', 12345, 'cfo') ON CONFLICT DO NOTHING;
            RETURN a::numeric OPERATOR(pg_catalog./) b;
        END$$;
        CREATE OPERATOR public./ (leftarg = bigint, rightarg = numeric, function = public.divide)";
    server.try_query("planted", "reader", plant).unwrap();
    initialise(&server.settings("planted"), false).unwrap();
    let negative = "INSERT INTO jobtracker.account VALUES ('alice', -5, 1)";
    let error = server.try_query("planted", "postgres", negative).unwrap_err();
    assert!(error.contains("account_budget_is_0_to_10_12"), "{error}");
    place.put("alice 100 1\n");
    let scratch = Scratch::new();
    let (stage, image) = Stage::open(&scratch, &place);
    stage.publish(&image, 1);
    image.close(END).unwrap();
    assert_eq!((place.lines(), unequal(&place)), (written("alice 100 1\n"), Vec::new()));
    assert_eq!(place.query("SELECT reference, made_by FROM jobtracker.top_up"), Vec::<Vec<String>>::new());
}

#[test]
fn a_lock_that_a_prepared_transaction_left_is_named_after_a_while_and_another_key_is_no_lock() {
    let test = "a_lock_that_a_prepared_transaction_left_is_named_after_a_while_and_another_key_is_no_lock";
    let Some(mut server) = PostgresServer::start_or_skip(test) else { return };
    server.stop();
    server.set_option("max_prepared_transactions=5");
    server.start();
    let place = PostgresPlace::new(&server, "prepared");
    let prepare = |key: &str, name: &str| {
        place.query(&format!("BEGIN; SELECT pg_advisory_xact_lock({key}); PREPARE TRANSACTION '{name}'"));
    };
    let mut back_end = back_end(server.settings("prepared"), "a").unwrap();
    // One number with the same halves is another lock.
    prepare("(1785684596::bigint << 32) + 1", "whole");
    back_end.publish(&lines("alice 1 1\n"), 1).unwrap();
    drop(back_end);
    while !place.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid IS NOT NULL").is_empty() {}
    prepare("1785684596, 1", "it''s left");
    let mut back_end = self::back_end(server.settings("prepared"), "a").unwrap();
    back_end.resume().unwrap();
    let published = back_end.publish(&lines("alice 2 1\n"), 2).unwrap_err().to_string();
    for expected in [
        "is held by the prepared transaction `it's left` of postgres since ",
        "(advisory lock 1785684596, 1, pg_prepared_xacts)",
        "ends, for example by ROLLBACK PREPARED 'it''s left'",
    ] {
        assert!(published.contains(expected), "{published}");
    }
    place.query("ROLLBACK PREPARED 'it''s left'");
    back_end.publish(&lines("alice 2 1\n"), 2).unwrap();
    assert_eq!(place.lines(), written("alice 2 1\n"));
}

#[test]
fn a_database_of_another_encoding_than_utf8_is_refused_by_name() {
    let test = "a_database_of_another_encoding_than_utf8_is_refused_by_name";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let name = encoding.to_lowercase();
        let made = format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
        server.query("postgres", &made);
        for error in [
            initialise(&server.settings(&name), false).map(drop).unwrap_err(),
            PostgresBackEnd::look(server.settings(&name), None).map(drop).unwrap_err(),
            back_end(server.settings(&name), "a").unwrap().load().map(drop).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains(&format!("the encoding of the database is {encoding}")), "{error}");
        }
    }
}

#[test]
fn a_top_up_that_cannot_be_answered_is_named_and_keeps_no_other_one_waiting() {
    let test = "a_top_up_that_cannot_be_answered_is_named_and_keeps_no_other_one_waiting";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "single");
    place.put("alice 100 1\n");
    place.query(
        "CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
            IF NEW.reference = 'bad' THEN RAISE 'not this one'; END IF; RETURN NEW; END$$;
         CREATE TRIGGER t BEFORE UPDATE ON jobtracker.top_up FOR EACH ROW EXECUTE FUNCTION refuses();
         INSERT INTO jobtracker.top_up (reference, account, amount) VALUES ('bad', 'alice', 1), ('one', 'alice', 1)",
    );
    let scratch = Scratch::new();
    let (stage, mut image) = Stage::open(&scratch, &place);
    let mut found = image.found_top_ups().unwrap();
    // The owner of the ledger.
    let owner = std::thread::spawn(move || {
        while let Some(FoundTopUps { top_ups, answers }) = found.blocking_recv() {
            let refused = |top_up: TopUp| TopUpAnswer { reference: top_up.reference, outcome: Err("no".to_owned()) };
            answers.send(top_ups.into_iter().map(refused).collect()).unwrap();
        }
    });
    let waiting = "SELECT reference FROM jobtracker.top_up WHERE state = 'waiting'";
    while place.query(waiting) != [["bad"]] {}
    while !image.watch().last_error().is_some_and(|error| error.contains("top-up bad: not this one")) {}
    place.query("INSERT INTO jobtracker.top_up (reference, account, amount) VALUES ('two', 'alice', 1)");
    while place.query(waiting) != [["bad"]] {}
    place.query("DROP TRIGGER t ON jobtracker.top_up");
    while !place.query(waiting).is_empty() || image.watch().last_error().is_some() {}
    stage.publish(&image, 1);
    image.close(END).unwrap();
    owner.join().unwrap();
}

#[test]
fn row_security_a_missing_row_and_a_short_life_of_idle_sessions_are_met_by_name_or_not_at_all() {
    let test = "row_security_a_missing_row_and_a_short_life_of_idle_sessions_are_met_by_name_or_not_at_all";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "secured");
    place.query(
        "CREATE ROLE owner LOGIN PASSWORD 's3cret-of-postgres'; ALTER ROLE owner SET idle_session_timeout = 300;
         ALTER SCHEMA jobtracker OWNER TO owner; ALTER TABLE jobtracker.account OWNER TO owner;
         ALTER TABLE jobtracker.movement OWNER TO owner; ALTER TABLE jobtracker.top_up OWNER TO owner;
         ALTER TABLE jobtracker.publication OWNER TO owner",
    );
    let settings = server.settings("secured");
    let settings = PostgresSettings { url: settings.url.replace("postgres@", "owner@"), ..settings };
    let mut back_end = back_end(settings, "a").unwrap();
    back_end.publish(&lines("alice 1 1\n"), 1).unwrap();
    let session = "SELECT pid FROM pg_stat_activity WHERE usename = 'owner'";
    let before = place.query(session);
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!((before.len(), place.query(session)), (1, before));
    let secured = "ALTER TABLE jobtracker.account ENABLE ROW LEVEL SECURITY; ALTER TABLE jobtracker.account FORCE ROW LEVEL SECURITY";
    place.query(secured);
    let error = back_end.publish(&lines("bob 1 1\n"), 2).unwrap_err().to_string();
    assert!(error.contains("or NO FORCE ROW LEVEL SECURITY where the role owns the table"), "{error}");
    assert!(!error.contains("must own the tables"), "{error}");
    place.query("ALTER TABLE jobtracker.account DISABLE ROW LEVEL SECURITY; DELETE FROM jobtracker.publication");
    let error = back_end.publish(&lines("bob 1 1\n"), 2).unwrap_err().to_string();
    let (_, remedy) = error.split_once("has no row, which `jobtracker store init` puts in: run ").unwrap();
    place.query(remedy);
    back_end.publish(&lines("bob 1 1\n"), 2).unwrap();
    assert_eq!(place.lines(), written("bob 1 1\n"));
}
