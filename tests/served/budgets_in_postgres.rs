//! A daemon with its budgets in PostgreSQL: from `store init` to a month's report, and, in the long tier, under kills of either side.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::charged_jobs::ChargedJobs;
use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program};
use crate::daemon::postgres::PostgresServer;
use crate::daemon::skip::skip_without_root;
use crate::daemon::small_disk::{OnSmallDisk, command_on, skip_without_disks};

const KILLS: u32 = 20;

/// A database and the folders of a daemon that uses it.
struct Place {
    server: PostgresServer,
    folders: DaemonFolders,
}

/// The same amounts, in the same digits.
const ACCOUNTS: &str = "SELECT name, trim_scale(budget), trim_scale(bid) FROM jobtracker.account ORDER BY name";
const UNEQUAL: &str = "SELECT name, budget, sum(amount) FROM jobtracker.account
    LEFT JOIN jobtracker.movement ON account = name GROUP BY name, budget HAVING budget <> coalesce(sum(amount), 0)";

const CHARGES: &str = "SELECT account, trim_scale(-sum(amount)) FROM jobtracker.movement WHERE reason = 'charge'
    GROUP BY account ORDER BY account";

impl Place {
    /// With the tables made and these accounts in them, by the commands of the manual.
    fn new(server: PostgresServer, accounts: &str) -> Self {
        server.create_database("accounting");
        let mut folders = DaemonFolders::new("");
        folders.overrides.extend(server.overrides("accounting"));
        let place = Self { server, folders };
        let made = place.run(&["store", "init"]);
        assert!(made.contains("made the tables account, movement, top_up and publication"), "{made}");
        place.query(&format!("INSERT INTO jobtracker.account (name, budget, bid) VALUES {accounts}"));
        place.query(
            "CREATE ROLE accounting LOGIN PASSWORD 's3cret-of-postgres'; GRANT USAGE ON SCHEMA jobtracker TO accounting;
             GRANT SELECT ON ALL TABLES IN SCHEMA jobtracker TO accounting;
             GRANT INSERT (reference, account, amount, note) ON jobtracker.top_up TO accounting",
        );
        place
    }

    /// What a command prints that is configured as the daemon.
    fn run(&self, words: &[&str]) -> String {
        let mut command = Command::new(built_program());
        command.args(words).args(&self.folders.arguments()[1..]).env_remove("HADOOP_CONF_DIR");
        let done = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(done.stdout), text(done.stderr));
        assert!(done.status.success(), "{words:?}: {stdout}{stderr}");
        assert!(!stdout.contains("s3cret") && !stderr.contains("s3cret"), "{words:?}");
        stdout
    }

    fn query(&self, sql: &str) -> Vec<Vec<String>> {
        self.server.query("accounting", sql)
    }

    /// As accounting does.
    fn try_insert(&self, values: &str) -> Result<(), String> {
        let sql = format!("INSERT INTO jobtracker.top_up (reference, account, amount, note) VALUES {values}");
        self.server.try_query("accounting", "accounting", &sql).map(drop)
    }

    /// Waits until no top-up waits.
    fn wait_for_answers(&self) {
        while self.query("SELECT count(*) FROM jobtracker.top_up WHERE state = 'waiting'")[0][0] != "0" {}
    }

    /// Accounts as the ledger has them, each checked against the ledger's rows.
    fn ledger(&self) -> Vec<Vec<String>> {
        let database = self.folders.database();
        let mut accounts = database.prepare("SELECT queue, balance_units, rate FROM account ORDER BY queue").unwrap();
        let rows = accounts.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let mut found = Vec::new();
        for row in rows {
            let (queue, units, rate): (String, String, String) = row.unwrap();
            let sql = "SELECT coalesce(sum(CASE credit WHEN ?1 THEN CAST(amount_units AS INTEGER)
                           ELSE -CAST(amount_units AS INTEGER) END), 0) FROM ledger WHERE ?1 IN (debit, credit)";
            let sum: i64 = database.query_row(sql, [format!("queue:{queue}")], |row| row.get(0)).unwrap();
            let units: i64 = units.parse().unwrap();
            assert_eq!(sum, units, "{queue}");
            found.push(vec![queue, trimmed(&decimal(units)), trimmed(&rate)]);
        }
        found
    }

    /// Of each queue what the ledger has charged, and the number of charges.
    fn charges(&self) -> (Vec<Vec<String>>, i64) {
        let database = self.folders.database();
        let sql = "SELECT substr(debit, 7), sum(CAST(amount_units AS INTEGER)), count(*) FROM ledger
            WHERE reason = 'charge' GROUP BY debit ORDER BY debit";
        let mut select = database.prepare(sql).unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let rows: Vec<(String, i64, i64)> = rows.map(Result::unwrap).collect();
        let count = rows.iter().map(|(.., count)| count).sum();
        (rows.into_iter().map(|(queue, units, _)| vec![queue, trimmed(&decimal(units))]).collect(), count)
    }

    /// Waits until the tables show what the ledger has between two ticks: accounts, their movements, charges.
    fn wait_until_equal(&self) {
        let is_equal = || {
            self.query(ACCOUNTS) == self.ledger()
                && self.query(UNEQUAL).is_empty()
                && self.query(CHARGES) == self.charges().0
        };
        while !is_equal() {}
    }
}

fn decimal(units: i64) -> String {
    format!("{}.{:012}", units / 1_000_000_000_000, units % 1_000_000_000_000)
}

fn trimmed(amount: &str) -> String {
    amount.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[test]
fn a_new_user_tops_up_by_sql_and_reads_the_statement_and_a_months_report() {
    let test = "a_new_user_tops_up_by_sql_and_reads_the_statement_and_a_months_report";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let mut place = Place::new(server, "('alice', 1000, 0.5), ('bob', 500, 1)");
    let checked = place.run(&["check-config", "--connect"]);
    assert!(checked.contains("mapred.dynamic-scheduler.store.url"), "{checked}");
    assert!(checked.contains("/accounting: reached; 2 accounts"), "{checked}");
    let serving = place.folders.start();
    let copy = place.folders.path("copy.db").display().to_string();
    place.run(&["backup", &copy]);
    place
        .try_insert("('inv-1', 'alice', 250, 'November grant'), ('inv-2', 'carol', 1, ''), ('inv-3', 'bob', -600, '')")
        .unwrap();
    place.wait_for_answers();
    assert_eq!(
        place.query("SELECT reference, state, answer, made_by FROM jobtracker.top_up ORDER BY reference"),
        [
            ["inv-1", "taken", "250.0 to alice, ledger entry 3", "accounting"],
            ["inv-2", "refused", "there is no queue carol", "accounting"],
            ["inv-3", "refused", "queue bob has 500.0, less than the 600.0 to be taken out", "accounting"],
        ]
    );
    for line in [
        "the top-up inv-2 by SQL is refused: there is no queue carol",
        "the top-up inv-3 by SQL is refused: queue bob has 500.0, less than the 600.0 to be taken out",
        "audit: sql-top-up user=accounting queue=alice amount=250.0 reference=inv-1",
        "audit: denied sql-top-up user=accounting queue=carol amount=1.0 reference=inv-2 why=\"there is no queue carol\"",
    ] {
        serving.log.wait_for(line);
    }
    let statement = serving.ask_address("/scheduler/statement", "root", "statement=alice").body;
    assert!(statement.contains("inv-1: November grant") && statement.contains("sql:accounting"), "{statement}");
    // The database itself refuses what can never be taken over.
    for (values, expected) in [
        ("('inv-1', 'alice', 1, '')", "duplicate key value violates unique constraint"),
        ("('inv-4', 'alice', 1e30, '')", "numeric field overflow"),
        ("('inv-4', 'alice', 'NaN', '')", "top_up_amount_is_within_10_12"),
        ("('inv-4', 'alice', 0.0000000000001, '')", "top_up_amount_is_not_0_at_12_decimals"),
        ("('inv-4', 'alice', 'Infinity', '')", "numeric field overflow"),
        ("('inv-1 ', 'alice', 1, '')", "top_up_reference_is_1_to_100_characters_without_blanks"),
        ("('inv\u{2010}1', 'alice', 1, '')", "top_up_reference_is_1_to_100_characters_without_blanks"),
        ("('inv-4', 'alice and more', 1, '')", "top_up_account_is_a_name"),
    ] {
        let error = place.try_insert(values).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    place.wait_until_equal();
    let report = "SELECT account, trim_scale(spent), trim_scale(added) FROM jobtracker.spent_by_month ORDER BY account";
    assert_eq!(place.query(report), [["alice", "0", "1250"], ["bob", "0", "500"]]);
    let status = serving.get("/status", "").body.replace(' ', "");
    assert!(status.contains(r#""lag_ticks":0"#) && status.contains("/accounting"), "{status}");
    let metrics = serving.get("/metrics", "").body;
    assert!(metrics.contains("jobtracker_budget_image_lag_ticks 0"), "{metrics}");
    // An outage: each cause once, and its end.
    place.server.stop();
    let refused = "Connection refused (os error 111); retrying";
    serving.top_up("alice", "1");
    serving.log.wait_for(refused);
    while !serving.get("/readyz", "").body.contains("cannot publish the budgets in database") {
        serving.top_up("alice", "1");
    }
    place.server.start();
    place.wait_until_equal();
    let again = serving.log.wait_for("/accounting can be updated again after ");
    assert!(again.contains(" INFO ") && again.ends_with(" s"), "{again}");
    assert_eq!(serving.log.text().matches(refused).count(), 1, "{}", serving.log.text());
    // A second daemon on the same tables.
    let mut second = DaemonFolders::new("");
    second.overrides.extend(place.server.overrides("accounting"));
    let (_, log) = second.try_start(&[]).err().unwrap();
    assert!(log.contains("another JobTracker publishes there: `jobtracker process "), "{log}");
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    assert!(!log.contains("s3cret") && !log.contains("log.file"), "{log}");
    // A restore of the state of before: what came by SQL comes again by itself, once.
    let restored = place.run(&["restore", &copy]);
    let by_sql = restored.split("top-ups by SQL since; DO NOT repeat them").nth(1).unwrap();
    assert!(by_sql.contains("queue alice, by sql:accounting: inv-1: November grant\n"), "{restored}");
    assert!(!by_sql.contains("top_up of 1.0"), "{restored}");
    let serving = place.folders.start();
    while place.folders.balance("alice").unwrap() != "1250.0" {}
    place.wait_until_equal();
    assert_eq!(serving.stop().0, 0);
    // A move to the file, where an old one lies.
    std::fs::write(place.folders.budget(), "alice 1 1\n").unwrap();
    place.folders.overrides.push("mapred.dynamic-scheduler.store=file".to_owned());
    let serving = place.folders.start();
    serving.log.wait_for("the budget file is not taken over, since the budgets were in database postgres@");
    assert_eq!(serving.stop().0, 0);
    assert_eq!(place.folders.balance("alice").unwrap(), "1250.0");
}

#[test]
fn a_check_that_connects_says_so_where_it_did_not() {
    let check = |define: &[&str]| {
        let mut command = Command::new(built_program());
        command.args(["check-config", "--connect"]).env_remove("HADOOP_CONF_DIR");
        let done = command.args(define.iter().flat_map(|value| ["-D", value])).output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        String::from_utf8(done.stdout).unwrap()
    };
    let wrong = check(&["mapred.dynamic-scheduler.store=postgres", "mapred.job.tracker=here"]);
    assert!(wrong.contains("\nbudgets in their store: not connected to, because of the errors"), "{wrong}");
}

/// Ends what runs beside, also where a test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Bids and adds money until the daemon is gone or told to stop.
fn bid(http: &ChildDaemon, is_over: &AtomicBool, moves: &AtomicU64) {
    while !is_over.load(Ordering::Relaxed) {
        let number = moves.fetch_add(1, Ordering::Relaxed);
        let queue = if number.is_multiple_of(2) { "alice" } else { "bob" };
        let operation = match number % 3 {
            0 => format!("setSpending=0.{}&queue={queue}", 1 + number % 9),
            1 => format!("addBudget=3.25&queue={queue}"),
            _ => format!("addBudget=-1.125&queue={queue}"),
        };
        if http.try_ask_at("root", &operation, jobtracker::clock::wall_ms() + 1_000 + number.cast_signed()).is_err() {
            return;
        }
    }
}

/// Runs bids beside what is done to either side.
fn under_bids(serving: &ChildDaemon, moves: &AtomicU64, done: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    let before = moves.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let bidding = scope.spawn(|| bid(serving, &is_over, moves));
        while moves.load(Ordering::Relaxed) < before + 20 && !bidding.is_finished() {
            std::thread::yield_now();
        }
        let _end = Ends(&is_over);
        done();
    });
}

#[test]
#[ignore = "a minute: tests/full.sh"]
fn twenty_kills_under_bids_leave_the_ledger_exact_and_the_table_equal_to_it() {
    let test = "twenty_kills_under_bids_leave_the_ledger_exact_and_the_table_equal_to_it";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let mut place = Place::new(server, "('alice', 1000, 0.5), ('bob', 500, 1)");
    let moves = AtomicU64::new(0);
    let mut serving = place.folders.start();
    let jobs = ChargedJobs::begin(&serving);
    for kill in 0..KILLS {
        println!("kill {kill}");
        let charges = place.charges().1;
        while place.charges().1 == charges {}
        match kill % 4 {
            0 => {
                let process = serving.process();
                under_bids(&serving, &moves, || {
                    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
                });
                serving.kill();
                serving = place.folders.start();
                jobs.follow(&serving);
            }
            1 => {
                under_bids(&serving, &moves, || place.server.kill());
                assert!(serving.get("/readyz", "").body.contains("ok"));
                place.server.start();
            }
            2 => {
                under_bids(&serving, &moves, || place.server.stop());
                place.server.start();
            }
            _ => {
                let read_only = |value| {
                    place.server.query(
                        "postgres",
                        &format!("ALTER DATABASE accounting SET default_transaction_read_only = {value}"),
                    );
                    place.server.query(
                        "postgres",
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'accounting'",
                    );
                };
                under_bids(&serving, &moves, || read_only("on"));
                serving.top_up("alice", "1");
                while !serving.get("/readyz", "").body.contains("the server accepts no writes") {
                    serving.top_up("alice", "1");
                }
                read_only("off");
            }
        }
        serving.top_up("bob", "1");
        place.wait_until_equal();
    }
    assert_eq!(serving.stop().0, 0);
    place.wait_until_equal();
    println!("{} moves, {} charges", moves.load(Ordering::Relaxed), place.charges().1);
}

#[test]
#[ignore = "a minute: tests/full.sh"]
fn top_ups_by_sql_while_the_daemon_is_killed_twenty_times_are_applied_once_each() {
    let test = "top_ups_by_sql_while_the_daemon_is_killed_twenty_times_are_applied_once_each";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let place = Place::new(server, "('alice', 1000, 0.5)");
    let (is_over, inserted) = (AtomicBool::new(false), AtomicU32::new(0));
    let known = |place: &Place| -> u32 {
        if !place.folders.path("state/state.db").exists() {
            return 0;
        }
        let sql = "SELECT count(*) FROM taken_top_up";
        place.folders.database().query_row(sql, [], |row| row.get(0)).unwrap_or(0)
    };
    std::thread::scope(|scope| {
        let _end = Ends(&is_over);
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let number = inserted.fetch_add(1, Ordering::Relaxed);
                place.try_insert(&format!("('inv-{number}', 'alice', 1, '')")).unwrap();
            }
        });
        for kill in 0..KILLS {
            let before = known(&place);
            let serving = place.folders.start();
            // Just after the ledger has some, most often before the rows are answered; each third time later.
            while known(&place) == before {}
            if kill % 3 == 0 {
                let taken = format!("SELECT count(*) > {before} FROM jobtracker.top_up WHERE state = 'taken'");
                while place.query(&taken)[0][0] != "t" {}
            }
            serving.kill();
        }
    });
    let serving = place.folders.start();
    place.wait_for_answers();
    let count = inserted.load(Ordering::Relaxed);
    println!("{count} top-ups");
    let states = place.query("SELECT state, count(*) FROM jobtracker.top_up GROUP BY state");
    assert_eq!(states, [["taken".to_owned(), count.to_string()]]);
    place.wait_until_equal();
    let (code, _) = serving.stop();
    assert_eq!(code, 0);
    assert_eq!(place.folders.balance("alice").unwrap(), format!("{}.0", 1_000 + count));
    let sql = "SELECT count(*), count(DISTINCT note) FROM ledger WHERE reason = 'adjustment'";
    let entries: (u32, u32) =
        place.folders.database().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(entries, (count, count));
}

/// Passes connections on, each only for so many bytes of the daemon's.
struct CuttingProxy {
    address: SocketAddr,
    /// Where it leads to.
    port: Arc<AtomicU16>,
    budget: Arc<AtomicU64>,
    cuts: Arc<AtomicU32>,
}

impl CuttingProxy {
    fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (budget, cuts) = (Arc::new(AtomicU64::new(u64::MAX)), Arc::new(AtomicU32::new(0)));
        let (theirs, counted) = (budget.clone(), cuts.clone());
        let port = Arc::new(AtomicU16::new(port));
        let leads_to = port.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let port = leads_to.load(Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (budget, counted) = (theirs.clone(), counted.clone());
                std::thread::spawn(move || {
                    let (mut buffer, mut passed) = ([0; 512], 0);
                    while let Ok(read @ 1..) = from.read(&mut buffer) {
                        passed += read as u64;
                        if passed > budget.load(Ordering::Relaxed) {
                            counted.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        if to.write_all(&buffer[..read]).is_err() {
                            break;
                        }
                    }
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                });
                let (mut from, mut to) = (server, client);
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                });
            }
        });
        Self { address, port, budget, cuts }
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures whether money waits for a database")]
#[test]
#[ignore = "a minute: tests/full.sh"]
fn a_proxy_that_cuts_anywhere_and_a_database_that_answers_late_cost_no_money_and_no_time_of_it() {
    let test = "a_proxy_that_cuts_anywhere_and_a_database_that_answers_late_cost_no_money_and_no_time_of_it";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let proxy = CuttingProxy::to(server.port());
    let mut place = Place::new(server, "('alice', 1000, 0.5), ('bob', 500, 1)");
    let url = format!("mapred.dynamic-scheduler.store.url=postgres://postgres@{}/accounting", proxy.address);
    place.folders.overrides.push(url);
    let serving = place.folders.start();
    let mut references = 0;
    for budget in (400..9_000).step_by(430) {
        let before = proxy.cuts.load(Ordering::Relaxed);
        proxy.budget.store(budget, Ordering::Relaxed);
        place.try_insert(&format!("('cut-{budget}', 'bob', 2, '')")).unwrap();
        references += 1;
        while proxy.cuts.load(Ordering::Relaxed) < before + 2 {
            serving.top_up("alice", "0.5");
        }
    }
    proxy.budget.store(u64::MAX, Ordering::Relaxed);
    serving.top_up("alice", "0.5");
    place.wait_for_answers();
    place.wait_until_equal();
    println!("{} cuts", proxy.cuts.load(Ordering::Relaxed));
    assert_eq!(place.folders.balance("bob").unwrap(), format!("{}.0", 500 + 2 * references));
    // A lock that another program holds: the publication waits, and money does not.
    let (held, release) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let place = &place;
        scope.spawn(move || {
            let sql = "BEGIN; LOCK TABLE jobtracker.account; SELECT pg_sleep(25); COMMIT";
            held.send(()).unwrap();
            place.query(sql);
        });
        release.recv().unwrap();
        let (mut moves, mut slowest) = (0, std::time::Duration::ZERO);
        while !serving.get("/readyz", "").body.contains("cannot publish the budgets in database") {
            let begun = std::time::Instant::now();
            serving.top_up("alice", "1");
            slowest = slowest.max(begun.elapsed());
            moves += 1;
        }
        println!("{moves} top-ups over HTTP while the table was locked, the slowest in {slowest:?}");
        // A publication waits 20 s for the lock.
        assert!(moves > 5 && slowest.as_secs() < 10, "{moves} {slowest:?}");
    });
    serving.top_up("alice", "1");
    place.wait_until_equal();
    assert_eq!(serving.stop().0, 0);
}

#[test]
#[ignore = "a minute: tests/full.sh"]
fn a_failover_in_the_middle_of_a_publication_to_a_replica_that_lacks_commits_loses_nothing() {
    let test = "a_failover_in_the_middle_of_a_publication_to_a_replica_that_lacks_commits_loses_nothing";
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let proxy = CuttingProxy::to(server.port());
    let mut place = Place::new(server, "('alice', 1000, 0.5), ('bob', 500, 1)");
    let url = format!("mapred.dynamic-scheduler.store.url=postgres://postgres@{}/accounting", proxy.address);
    place.folders.overrides.push(url);
    let serving = place.folders.start();
    let _jobs = ChargedJobs::begin(&serving);
    // The password file is in the folder of the first.
    let mut former = Vec::new();
    for (round, budget) in (600..9_000).step_by(1_400).enumerate() {
        place.server.stop();
        let mut replica = place.server.copy();
        place.server.start();
        replica.start();
        // Commits that the replica lacks: a top-up that is taken, and charges.
        let reference = format!("('lost-{round}', 'bob', 2, '')");
        place.try_insert(&reference).unwrap();
        place.wait_for_answers();
        let taken = format!("SELECT answer FROM jobtracker.top_up WHERE reference = 'lost-{round}'");
        let answer = place.query(&taken);
        let charges = place.charges().1;
        while place.charges().1 < charges + 2 {}
        let before = proxy.cuts.load(Ordering::Relaxed);
        proxy.budget.store(budget, Ordering::Relaxed);
        while proxy.cuts.load(Ordering::Relaxed) == before {
            serving.top_up("alice", "0.5");
        }
        place.server.kill();
        proxy.port.store(replica.port(), Ordering::Relaxed);
        proxy.budget.store(u64::MAX, Ordering::Relaxed);
        former.push(std::mem::replace(&mut place.server, replica));
        place.wait_until_equal();
        // Accounting finds its row gone, and makes it again.
        place.try_insert(&reference).unwrap();
        place.wait_for_answers();
        assert_eq!(place.query(&taken), answer);
        place.wait_until_equal();
    }
    let taken = "SELECT count(*) FROM taken_top_up";
    let taken: i64 = place.folders.database().query_row(taken, [], |row| row.get(0)).unwrap();
    println!("{} failovers, {taken} top-ups by SQL, {} charges", former.len(), place.charges().1);
    assert_eq!(serving.stop().0, 0);
    place.wait_until_equal();
}

#[test]
#[ignore = "a minute: tests/full.sh"]
fn a_database_whose_disk_is_full_says_so_and_catches_up_once_there_is_room() {
    let test = "a_database_whose_disk_is_full_says_so_and_catches_up_once_there_is_room";
    if skip_without_root(test) || skip_without_disks(test) {
        return;
    }
    let Some(server) = PostgresServer::start_or_skip(test) else { return };
    let mut place = Place::new(server, "('alice', 1000, 0.5), ('bob', 500, 1)");
    place.server.stop();
    let data = place.server.data();
    place.server.set_runner(&command_on(&data, 120));
    place.server.start();
    let root = PathBuf::from(format!("/proc/{}/root", place.server.process_id()));
    let disk = root.join(data.strip_prefix("/").unwrap());
    let serving = place.folders.start();
    serving.top_up("alice", "1");
    place.wait_until_equal();
    OnSmallDisk::fill_folder(&disk);
    // Each is a movement; so many need another page.
    while !serving.get("/readyz", "").body.contains("make room on the database's disk") {
        serving.top_up("alice", "0.5");
    }
    serving.top_up("bob", "1");
    OnSmallDisk::make_room_in(&disk);
    place.wait_until_equal();
    assert_eq!(serving.stop().0, 0);
    place.wait_until_equal();
}
