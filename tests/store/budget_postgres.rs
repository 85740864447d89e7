//! Budgets in PostgreSQL: one writer, wrong databases, certificates, a ledger that was set back, ten thousand accounts.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::budget_stores::{BudgetPlace, FilePlace, PostgresPlace, written};
use crate::postgres::PostgresServer;
use crate::stage::{Scratch, record, tick as play_tick};

use jobtracker::config::settings::{PostgresSettings, SslMode};
use jobtracker::engine::Fact;
use jobtracker::market::{
    BudgetLine, ContainerUse, Market, MarketConfig, MarketFact, QueueUse, TopUp, TopUpAnswer, budget_file,
};
use jobtracker::model::{Credits, FactNumber, Now, PerKind, PerPool};
use jobtracker::store::{
    BudgetAtStart, BudgetBackEnd, BudgetBackEndError, BudgetPublisher, LoadedState, PostgresBackEnd, Store, initialise,
};

pub const START: Now = Now { mono_ms: 0, wall_ms: 1_764_000_000_000 };
pub const END: FactNumber = FactNumber(0);

pub fn lines(text: &str) -> Vec<BudgetLine> {
    budget_file::parse(text, "budget").unwrap()
}

/// A market whose facts are in the store.
pub struct Stage {
    pub store: Store,
    pub market: Market,
    last: FactNumber,
}

impl Stage {
    /// Opens the state, with the market as the facts so far rebuild it.
    pub fn open(scratch: &Scratch, place: &PostgresPlace<'_>) -> (Self, BudgetPublisher) {
        let (store, loaded) = scratch.open();
        let (image, found) = place.open(&store, &loaded).unwrap();
        let lines = if let BudgetAtStart::Initial(lines) = found { lines } else { Vec::new() };
        (Self::seeded(store, &loaded, lines), image)
    }

    pub fn seeded(store: Store, loaded: &LoadedState, lines: Vec<BudgetLine>) -> Self {
        let mut market = Market::new(MarketConfig::default(), 0);
        loaded.market.iter().for_each(|fact| market.apply(fact));
        let mut stage = Self { store, market, last: loaded.last_fact };
        let facts = stage.market.seed_budgets(lines, START);
        if !facts.is_empty() {
            stage.record(facts);
        }
        stage
    }

    pub fn record(&mut self, facts: Vec<MarketFact>) {
        let facts = facts.into_iter().map(Fact::Market).collect();
        self.last = record(&self.store.fact_sender(), self.last, facts);
    }

    pub fn top_up(&mut self, reference: &str, queue: &str, amount: &str) {
        let amount = Credits::parse_exact(amount).unwrap();
        let (made_by, note) = ("accounting".to_owned(), String::new());
        let top_up = TopUp { reference: reference.to_owned(), queue: queue.to_owned(), amount, made_by, note };
        let mut facts = Vec::new();
        self.market.take_top_up(&top_up, START, &mut facts).unwrap();
        self.record(facts);
    }

    pub fn publish(&self, image: &BudgetPublisher, tick: u64) {
        image.publish(self.market.budget_lines(), tick);
        while image.watch().lag().ticks > 0 {
            assert_eq!(image.watch().last_error(), None);
            std::thread::yield_now();
        }
    }
}

/// Every account whose movements do not add up to its budget.
pub fn unequal(place: &PostgresPlace<'_>) -> Vec<Vec<String>> {
    place.query(
        "SELECT name, budget, sum(amount) FROM jobtracker.account LEFT JOIN jobtracker.movement ON account = name
         GROUP BY name, budget HAVING budget <> coalesce(sum(amount), 0)",
    )
}

/// A back-end that waits for no session that is about to end.
pub fn back_end(settings: PostgresSettings, state: &str) -> Result<PostgresBackEnd, BudgetBackEndError> {
    PostgresBackEnd::new(settings, state).map(|back_end| back_end.with_patience(Duration::ZERO))
}

/// The error of a back-end with these settings, as a first start reads it, once the session of the one before has ended.
pub fn refusal(settings: PostgresSettings) -> String {
    let waits = |back_end: PostgresBackEnd| back_end.with_patience(Duration::from_secs(2));
    match back_end(settings, "a").map(waits).and_then(|mut back_end| back_end.load()) {
        Ok(lines) => panic!("{lines:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_second_writer_is_refused_and_the_first_goes_on_when_its_session_was_ended() {
    let test = "a_second_writer_is_refused_and_the_first_goes_on_when_its_session_was_ended";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "writers");
    place.put("alice 100 1\n");
    let scratch = Scratch::new();
    let (stage, image) = Stage::open(&scratch, &place);
    let error = refusal(server.settings("writers"));
    assert!(error.contains("another JobTracker publishes there: `jobtracker process "), "{error}");
    assert!(error.contains("as postgres from 127.0.0.1"), "{error}");
    // A later start that finds the lock taken is refused, too.
    let state = &place.query("SELECT state FROM jobtracker.publication")[0][0];
    let mut second = back_end(server.settings("writers"), state).unwrap();
    assert!(second.resume().unwrap_err().to_string().contains("another JobTracker publishes there"));
    let ended = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'";
    assert_eq!(place.query(ended).len(), 1);
    image.publish(lines("alice 98 1\n"), 1);
    while place.lines() != written("alice 98 1\n") {
        std::thread::yield_now();
    }
    // While another one has the lock, nothing is published, and the complaint names it.
    place.query(ended);
    while second.resume().is_err() {}
    image.publish(lines("alice 97 1\n"), 2);
    while !image.watch().last_error().is_some_and(|error| error.contains("another JobTracker publishes there")) {
        std::thread::yield_now();
    }
    assert_eq!(place.lines(), written("alice 98 1\n"));
    drop(second);
    image.close(END).unwrap();
    assert_eq!(place.lines(), written("alice 97 1\n"));
    drop(stage);
}

/// Ends the sessions that have the lock of the only writer.
fn release(server: &PostgresServer, database: &str) {
    let ended = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'";
    while server.query(database, ended).is_empty() {
        std::thread::yield_now();
    }
    while !server.query(database, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'").is_empty() {}
}

#[test]
fn a_lock_that_a_stranger_holds_stops_publications_and_no_start() {
    let test = "a_lock_that_a_stranger_holds_stops_publications_and_no_start";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "held");
    place.query("CREATE ROLE reader LOGIN PASSWORD 's3cret-of-postgres'");
    // Whatever name it gives itself, it may not write what a JobTracker publishes; and what may, is not named as one.
    for (user, name) in [("reader", "jobtracker process 7 on there"), ("postgres", "psql")] {
        let sql =
            format!("SET application_name = '{name}'; SELECT pg_advisory_lock(1785684596, 1); SELECT pg_sleep(600)");
        std::thread::scope(|scope| {
            scope.spawn(|| server.try_query("held", user, &sql).unwrap_err());
            while place.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'").is_empty() {}
            let mut back_end = back_end(server.settings("held"), "a").unwrap();
            let resumed = back_end.resume();
            let published = back_end.publish(&lines("alice 1 1\n"), 1);
            // The first start waits: it would give the tables to this state.
            let loaded = back_end.load();
            let pid = place.query("SELECT pid FROM pg_locks WHERE locktype = 'advisory'")[0][0].clone();
            // Else a failure would wait for the session.
            release(&server, "held");
            resumed.unwrap();
            let (published, loaded) = (published.unwrap_err().to_string(), loaded.unwrap_err().to_string());
            for expected in [
                format!("is held by `{name}` as {user} from 127.0.0.1, session {pid}, connected since "),
                "which need not be a JobTracker".to_owned(),
                format!("SELECT pg_terminate_backend({pid})"),
            ] {
                assert!(published.contains(&expected) && loaded.contains(&expected), "{published}\n{loaded}");
            }
            back_end.publish(&lines("alice 1 1\n"), 1).unwrap();
        });
    }
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_named_and_the_next_one_asked() {
    let test = "a_server_that_accepts_and_says_nothing_is_named_and_the_next_one_asked";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "silent");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let with = |servers: String| {
        let url = format!("postgres://postgres@{servers}/silent?connect_timeout=1");
        PostgresSettings { url, ..server.settings("silent") }
    };
    let error = refusal(with(address.to_string()));
    assert!(error.contains(&format!("no answer from {address} within 2 s: waited for the login")), "{error}");
    // At a later start money does not wait for it.
    back_end(with(address.to_string()), "a").unwrap().resume().unwrap();
    let both = with(format!("{address},127.0.0.1:{}", server.port()));
    back_end(both, "a").unwrap().publish(&lines("alice 1 1\n"), 1).unwrap();
    assert_eq!(place.lines(), written("alice 1 1\n"));
}

#[test]
fn what_a_trigger_drops_or_alters_is_an_error_and_no_publication() {
    let test = "what_a_trigger_drops_or_alters_is_an_error_and_no_publication";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "triggers");
    place.put("alice 100 1\nbob 5 1\n");
    let scratch = Scratch::new();
    let (store, loaded) = scratch.open();
    let mut back_end = PostgresBackEnd::of_state(server.settings("triggers"), &store, &loaded).unwrap();
    let mut stage = Stage::seeded(store, &loaded, back_end.load().unwrap());
    back_end.publish(&stage.market.budget_lines(), 1).unwrap();
    place.query(
        "CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE FUNCTION alters() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.budget := 0; RETURN NEW; END';
         INSERT INTO jobtracker.top_up (reference, account, amount) VALUES ('r', 'alice', 1)",
    );
    let mut tick = 1;
    let mut under = |trigger: &str, table: &str, work: &mut dyn FnMut(&mut PostgresBackEnd, u64)| {
        place.query(&format!("CREATE TRIGGER t BEFORE {trigger}"));
        tick += 1;
        work(&mut back_end, tick);
        place.query(&format!("DROP TRIGGER t ON jobtracker.{table}"));
    };
    let is_refused = |done: Result<(), BudgetBackEndError>, table: &str| {
        let error = done.unwrap_err().to_string();
        let expected =
            format!("rows of jobtracker.{table} are not as they were sent: a trigger, a rule or row security");
        assert!(error.contains(&expected), "{error}");
    };
    for (trigger, table, accounts) in [
        (
            "INSERT ON jobtracker.account FOR EACH ROW EXECUTE FUNCTION drops()",
            "account",
            "alice 100 1\nbob 5 1\ncarol 1 1\n",
        ),
        ("UPDATE ON jobtracker.account FOR EACH ROW EXECUTE FUNCTION drops()", "account", "alice 99 1\nbob 5 1\n"),
        ("UPDATE ON jobtracker.account FOR EACH ROW EXECUTE FUNCTION alters()", "account", "alice 99 1\nbob 5 1\n"),
        ("DELETE ON jobtracker.account FOR EACH ROW EXECUTE FUNCTION drops()", "account", "alice 100 1\n"),
        (
            "UPDATE ON jobtracker.publication FOR EACH ROW EXECUTE FUNCTION drops()",
            "publication",
            "alice 100 1\nbob 5 1\n",
        ),
    ] {
        under(trigger, table, &mut |back_end, tick| is_refused(back_end.publish(&lines(accounts), tick), table));
        assert_eq!(place.lines(), written("alice 100 1\nbob 5 1\n"));
    }
    stage.top_up("one", "alice", "10");
    let accounts = stage.market.budget_lines();
    under("INSERT ON jobtracker.movement FOR EACH ROW EXECUTE FUNCTION drops()", "movement", &mut |back_end, tick| {
        is_refused(back_end.publish(&accounts, tick), "movement");
    });
    under("UPDATE ON jobtracker.top_up FOR EACH ROW EXECUTE FUNCTION drops()", "top_up", &mut |back_end, _| {
        let answer = TopUpAnswer { reference: "r".to_owned(), outcome: Err("no".to_owned()) };
        is_refused(back_end.answer_top_ups(&[answer]), "top_up");
    });
    back_end.publish(&accounts, 9).unwrap();
    assert_eq!(place.lines(), written("alice 110 1\nbob 5 1\n"));
    assert_eq!(unequal(&place), Vec::<Vec<String>>::new());
    drop(back_end);
    // Movements that cannot be deleted would be counted twice.
    place.query(
        "CREATE TRIGGER t BEFORE DELETE ON jobtracker.movement FOR EACH ROW EXECUTE FUNCTION drops();
         UPDATE jobtracker.movement SET amount = amount + 1",
    );
    stage.store.close().unwrap();
    let (store, loaded) = scratch.open();
    let loaded = LoadedState { is_copy_unpublished: true, ..loaded };
    let mut back_end = PostgresBackEnd::of_state(server.settings("triggers"), &store, &loaded).unwrap();
    is_refused(back_end.publish(&accounts, 10), "movement");
}

#[test]
fn movements_that_somebody_deleted_or_changed_come_back_at_the_next_start() {
    let test = "movements_that_somebody_deleted_or_changed_come_back_at_the_next_start";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "deleted");
    place.put("alice 100 1\nbob 50 1\n");
    let scratch = Scratch::new();
    let (mut stage, mut image) = Stage::open(&scratch, &place);
    stage.top_up("one", "alice", "10");
    stage.publish(&image, 1);
    let movements = "SELECT account, amount, ledger, note FROM jobtracker.movement ORDER BY ledger";
    let expected = place.query(movements);
    assert_eq!(expected.len(), 3);
    for (tick, damage) in [
        "DELETE FROM jobtracker.movement WHERE note = 'one'",
        "DELETE FROM jobtracker.movement",
        "UPDATE jobtracker.movement SET amount = 'NaN' WHERE account = 'bob'",
        "INSERT INTO jobtracker.movement SELECT 77, 'carol', day, at, reason, 5 FROM jobtracker.movement LIMIT 1",
    ]
    .into_iter()
    .enumerate()
    {
        place.query(damage);
        drop(image);
        stage.store.close().unwrap();
        (stage, image) = Stage::open(&scratch, &place);
        stage.publish(&image, 2 + tick as u64);
        assert_eq!(place.query(movements), expected, "{damage}");
    }
    image.close(END).unwrap();
}

#[test]
fn a_database_that_is_not_ours_or_that_we_may_not_write_is_refused_by_name() {
    let test = "a_database_that_is_not_ours_or_that_we_may_not_write_is_refused_by_name";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    server.create_database("wrong");
    let settings = || server.settings("wrong");
    let place = format!("database postgres@127.0.0.1:{}/wrong", server.port());
    let refused = |settings: PostgresSettings, expected: &str| {
        let error = refusal(settings);
        assert!(error.contains(expected) && error.contains(&place), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    };
    refused(settings(), "make the tables: jobtracker store init");
    initialise(&settings(), false).unwrap();
    assert!(initialise(&settings(), false).unwrap().was_there);
    server.query("wrong", "UPDATE jobtracker.publication SET layout = 7");
    refused(settings(), "its tables have layout 7, this program knows 2");
    assert!(initialise(&settings(), false).unwrap_err().to_string().contains("layout 7"));
    server.query("wrong", "UPDATE jobtracker.publication SET layout = 2, state = 'theirs'");
    let mut back_end = PostgresBackEnd::new(settings(), "ours").unwrap();
    back_end.resume().unwrap();
    let error = back_end.publish(&lines("alice 1 1\n"), 1).unwrap_err().to_string();
    assert!(error.contains("they name theirs, this one is ours") && error.contains("--take-over"), "{error}");
    // Its session has ended with the refusal; one of the others that has the lock would take the tables back.
    let mut theirs = PostgresBackEnd::new(settings(), "theirs").unwrap();
    theirs.resume().unwrap();
    let error = initialise(&settings(), true).unwrap_err().to_string();
    assert!(error.contains("another JobTracker publishes there: `jobtracker process "), "{error}");
    let ended = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'";
    assert_eq!(server.query("wrong", ended).len(), 1);
    let taken = initialise(&settings(), true).unwrap();
    assert_eq!(taken.taken_from.as_deref(), Some("theirs"));
    back_end.publish(&lines("alice 1 1\n"), 1).unwrap();
    drop((back_end, theirs));
    server.query("wrong", "ALTER TABLE jobtracker.account RENAME COLUMN bid TO rate");
    refused(settings(), "its tables are not those of `jobtracker store init`");
    server.query("wrong", "ALTER TABLE jobtracker.account RENAME COLUMN rate TO bid");
    server.query(
        "wrong",
        "CREATE ROLE reader LOGIN PASSWORD 's3cret-of-postgres'; GRANT USAGE ON SCHEMA jobtracker TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA jobtracker TO reader",
    );
    let as_reader = PostgresSettings { url: settings().url.replace("postgres@", "reader@"), ..settings() };
    let made = initialise(&as_reader, false).unwrap_err().to_string();
    for error in [refusal(as_reader), made] {
        assert!(error.contains("its role lacks ") && error.contains("INSERT on jobtracker.account"), "{error}");
    }
    server.query("postgres", "ALTER DATABASE wrong SET default_transaction_read_only = on");
    refused(settings(), "the server accepts no writes");
    let nowhere = PostgresSettings { url: settings().url.replace("/wrong", "/nowhere"), ..settings() };
    assert!(refusal(nowhere).contains("name an existing database in mapred.dynamic-scheduler.store.url"));
    let unknown = PostgresSettings { url: format!("{}?sslcert=/x", settings().url), ..settings() };
    let error = refusal(unknown);
    assert!(error.contains("mapred.dynamic-scheduler.store.url") && error.contains("sslcert"), "{error}");
}

#[test]
fn a_password_file_is_private_and_holds_the_password() {
    let Some(server) = PostgresServer::start_or_skip("a_password_file_is_private_and_holds_the_password") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    let settings = || PostgresSettings { password_file: Some(path.clone()), ..server.settings("postgres") };
    for (content, mode, expected) in [
        ("s3cret-of-postgres\n", 0o644, "it is readable for others: run chmod 600"),
        ("s3cret-of-postgres\n", 0o640, "it is open to its group: run chmod 600"),
        ("\n", 0o600, "its first line is empty; expected the password"),
        ("s3cret-but-wrong\n", 0o600, "the password is that of mapred.dynamic-scheduler.store.password-file"),
        ("s3cret-of-postgres \nwrong", 0o600, "its line ends with a blank, which is part of it: remove the blank"),
    ] {
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = refusal(settings());
        assert!(error.contains(expected) && !error.contains("s3cret"), "{error}");
        assert_eq!(PostgresBackEnd::check_settings(&settings()).is_empty(), content.contains("wrong"), "{content:?}");
    }
    let none = PostgresSettings { password_file: None, ..settings() };
    assert!(refusal(none).contains("password"));
    assert!(!format!("{:?}", PostgresBackEnd::new(settings(), "a").unwrap()).contains("s3cret"));
}

/// Makes a certificate for a name, valid from and to these times, signed by the authority of the folder.
fn certify(folder: &Path, name: &str, from: &str, to: &str) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let script = format!(
        "cd {folder} && umask 077
         [ -e ca.pem ] || openssl req -x509 {key} -days 30 -subj /CN=authority -keyout ca.key -out ca.pem
         openssl req {key} -subj /CN={name} -keyout server.key -out server.csr
         printf 'subjectAltName=DNS:{name}' >server.ext
         printf '[ca]\\ndefault_ca=own\\n[own]\\ndatabase=index\\nnew_certs_dir=.\\nserial=serial\\ndefault_md=sha256\\n' >ca.cnf
         printf 'policy=any\\nunique_subject=no\\n[any]\\ncommonName=supplied\\n' >>ca.cnf
         : >index; echo 01 >serial
         openssl ca -batch -notext -config ca.cnf -in server.csr -out server.crt -cert ca.pem -keyfile ca.key \
             -startdate {from} -enddate {to} -extfile server.ext",
        folder = folder.display()
    );
    let made = Command::new("sh").args(["-ec", &script]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn certificates_that_are_wrong_expired_or_of_another_name_are_refused_as_libpq_does() {
    let test = "certificates_that_are_wrong_expired_or_of_another_name_are_refused_as_libpq_does";
    let Some(mut server) = PostgresServer::start_or_skip(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (past, future) = ("20200101000000Z", "20490101000000Z");
    certify(folder.path(), "localhost", past, future);
    let other = tempfile::tempdir().unwrap();
    certify(other.path(), "localhost", past, future);
    let authority = folder.path().join("ca.pem").display().to_string();
    let stranger = other.path().join("ca.pem").display().to_string();
    let of = |server: &PostgresServer, mode, roots: Option<&str>| PostgresSettings {
        url: server.url("tls").replace("127.0.0.1", "localhost"),
        ssl_mode: mode,
        root_certificates: roots.map(str::to_owned),
        ..server.settings("tls")
    };
    server.create_database("tls");
    initialise(&server.settings("tls"), false).unwrap();
    let error = refusal(of(&server, SslMode::Require, None));
    assert!(error.contains("server does not support TLS"), "{error}");
    server.install_certificate(&folder.path().join("server.crt"), &folder.path().join("server.key"));
    let reaches = |server: &PostgresServer, settings: PostgresSettings| {
        let mut back_end = PostgresBackEnd::new(settings, "a").unwrap();
        back_end.load().unwrap();
        let encrypted =
            "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'jobtracker%'";
        server.query("tls", encrypted)[0][0].clone()
    };
    assert_eq!(reaches(&server, of(&server, SslMode::VerifyFull, Some(&authority))), "t");
    assert_eq!(reaches(&server, of(&server, SslMode::Require, None)), "t");
    assert_eq!(reaches(&server, of(&server, SslMode::Prefer, None)), "t");
    assert_eq!(reaches(&server, of(&server, SslMode::Disable, None)), "f");
    assert_eq!(reaches(&server, of(&server, SslMode::Allow, None)), "f");
    assert_eq!(reaches(&server, of(&server, SslMode::Require, Some(&authority))), "t");
    // Certificates that are named are for use in every mode with TLS.
    for mode in [SslMode::Prefer, SslMode::Require, SslMode::VerifyCa, SslMode::VerifyFull] {
        let error = refusal(of(&server, mode, Some(&stranger)));
        assert!(error.contains("invalid peer certificate: "), "{error}");
    }
    // By its address the server has another name.
    let by_address = |mode| PostgresSettings { url: server.url("tls"), ..of(&server, mode, Some(&authority)) };
    assert!(refusal(by_address(SslMode::VerifyFull)).contains("certificate not valid for name"));
    assert_eq!(reaches(&server, by_address(SslMode::VerifyCa)), "t");
    certify(folder.path(), "localhost", past, "20200102000000Z");
    server.install_certificate(&folder.path().join("server.crt"), &folder.path().join("server.key"));
    for mode in [SslMode::VerifyCa, SslMode::VerifyFull] {
        let error = refusal(of(&server, mode, Some(&authority)));
        assert!(error.contains("expired"), "{error}");
    }
    for mode in [SslMode::Require, SslMode::VerifyFull] {
        let error = refusal(of(&server, mode, Some("/nonexistent/ca.pem")));
        assert!(error.contains("sslrootcert /nonexistent/ca.pem"), "{error}");
    }
}

#[test]
fn the_movements_of_each_account_add_up_to_its_budget_whatever_is_lost_on_either_side() {
    let test = "the_movements_of_each_account_add_up_to_its_budget_whatever_is_lost_on_either_side";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "sums");
    place.put("alice 100 1\nbob 50 1\n");
    let scratch = Scratch::new();
    let copy = scratch.dir.path().join("copy.db");
    let (mut stage, image) = Stage::open(&scratch, &place);
    stage.top_up("one", "alice", "10");
    stage.publish(&image, 1);
    assert_eq!(unequal(&place), Vec::<Vec<String>>::new());
    stage.store.backup(&copy).unwrap();
    stage.top_up("two", "alice", "5");
    stage.top_up("three", "bob", "-7.5");
    stage.publish(&image, 2);
    assert_eq!(place.lines(), written("alice 115 1\nbob 42.5 1\n"));
    assert_eq!(unequal(&place), Vec::<Vec<String>>::new());
    let references = "SELECT note FROM jobtracker.movement WHERE reason = 'adjustment' ORDER BY ledger";
    assert_eq!(place.query(references), [["one"], ["two"], ["three"]]);
    // The database is set back to an older backup of itself.
    place.query(
        "DELETE FROM jobtracker.movement WHERE ledger > 2; UPDATE jobtracker.publication SET ledger = 2, tick = 0;
         UPDATE jobtracker.account SET budget = 1",
    );
    stage.publish(&image, 3);
    assert_eq!(unequal(&place), Vec::<Vec<String>>::new());
    assert_eq!(place.query(references), [["one"], ["two"], ["three"]]);
    // A top-up that was taken, and that the restored ledger does not have: it is found again.
    place.query(
        "INSERT INTO jobtracker.top_up (reference, account, amount, state, taken_by)
         SELECT 'two', 'alice', 5, 'taken', state FROM jobtracker.publication",
    );
    drop(image);
    stage.store.close().unwrap();
    fs::remove_dir_all(scratch.dir.path().join("state")).unwrap();
    fs::create_dir(scratch.dir.path().join("state")).unwrap();
    fs::set_permissions(scratch.dir.path().join("state"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::copy(&copy, scratch.dir.path().join("state/state.db")).unwrap();
    let (stage, image) = Stage::open(&scratch, &place);
    stage.publish(&image, 1);
    assert_eq!(place.lines(), written("alice 110 1\nbob 50 1\n"));
    assert_eq!(unequal(&place), Vec::<Vec<String>>::new());
    assert_eq!(place.query(references), [["one"]]);
    assert_eq!(place.query("SELECT state FROM jobtracker.top_up"), [["waiting"]]);
    image.close(END).unwrap();
}

#[test]
fn ten_thousand_accounts_are_published_at_once_and_cost_the_owner_what_a_file_does() {
    let test = "ten_thousand_accounts_are_published_at_once_and_cost_the_owner_what_a_file_does";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = PostgresPlace::new(&server, "many");
    let accounts = |budget: u32| -> Vec<BudgetLine> {
        lines(&(0..10_000).map(|number| format!("queue{number} {budget}.5 0.25\n")).collect::<String>())
    };
    let mut back_end = PostgresBackEnd::new(server.settings("many"), "a").unwrap();
    back_end.resume().unwrap();
    for tick in 1..=3 {
        let begun = Instant::now();
        back_end.publish(&accounts(100 - tick), u64::from(tick)).unwrap();
        let took = begun.elapsed();
        println!("10,000 rows published in {took:?}");
        // Below a second on a machine that does nothing else.
        assert!(took.as_secs() < 20, "{took:?}");
    }
    assert_eq!(place.query("SELECT count(*) FROM jobtracker.account"), [["10000"]]);
    drop(back_end);
    publish_charges_of_each_queue(&server, &accounts(1_000));
    // What the owner's thread spends on a tick: it copies the accounts and hands them over, whatever the store.
    let mut market = Market::new(MarketConfig::default(), 0);
    market.seed_budgets(accounts(1), START);
    let file = FilePlace(Scratch::new());
    file.put("alice 1 1\n");
    for (name, store) in [("the file", &file as &dyn BudgetPlace), ("the database", &place)] {
        let scratch = Scratch::new();
        let (state, loaded) = scratch.open();
        initialise(&server.settings("many"), true).unwrap();
        let (image, _) = store.open(&state, &loaded).unwrap();
        let begun = Instant::now();
        for tick in 1..=20 {
            image.publish(market.budget_lines(), tick);
        }
        println!("a tick of 10,000 queues costs the owner {:?} with {name}", begun.elapsed() / 20);
        image.close(END).unwrap();
    }
}

/// Each queue is charged at each tick: accounts and movements together.
fn publish_charges_of_each_queue(server: &PostgresServer, accounts: &[BudgetLine]) {
    let place = PostgresPlace::new(server, "charged");
    let scratch = Scratch::new();
    let (store, loaded) = scratch.open();
    let mut back_end = PostgresBackEnd::of_state(server.settings("charged"), &store, &loaded).unwrap();
    let mut stage = Stage::seeded(store, &loaded, accounts.to_vec());
    let usage: Vec<QueueUse> = accounts
        .iter()
        .map(|account| QueueUse {
            queue: account.queue.clone(),
            running: PerKind::new(1, 0),
            pending: 1,
            containers: ContainerUse::default(),
            want: QueueUse::wants_all(&ContainerUse::default()),
            later: PerKind::default(),
        })
        .collect();
    for tick in 1..=4_u64 {
        let now = Now { mono_ms: tick * 20_000, wall_ms: START.wall_ms + tick.cast_signed() * 20_000 };
        let facts = play_tick(&mut stage.market, &usage, PerPool::new(10_000, 0, 0), 20_000, now);
        stage.record(facts);
        let begun = Instant::now();
        back_end.publish(&stage.market.budget_lines(), tick).unwrap();
        println!("tick {tick} of 10,000 charged queues published in {:?}", begun.elapsed());
    }
    let charged = "SELECT count(*) FROM jobtracker.movement WHERE reason = 'charge' AND amount < 0";
    assert_eq!(place.query(charged), [["10000"]]);
    assert_eq!(unequal(&place), Vec::<Vec<String>>::new());
}
