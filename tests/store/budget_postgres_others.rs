//! Budgets in PostgreSQL beside others who work in the same database: what they plant, change and hold.

use crate::budget_postgres::{END, Stage, unequal};
use crate::budget_stores::{BudgetPlace, PostgresPlace, written};
use crate::postgres::PostgresServer;
use crate::stage::Scratch;

use jobtracker::store::initialise;

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
