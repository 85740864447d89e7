//! Budgets in a database: the server that all runs share, and the script that publishes to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::daemon::child::DaemonFolders;
use crate::daemon::postgres::{PostgresServer, try_query};
use crate::laws::Laws;
use crate::scenes::FIRST;
use crate::stage::Stage;

use jobtracker::store::INITIALISE_SQL;

/// In the folder of what was prepared: the port of the server.
const PORT: &str = "postgres.port";
/// In the folders of a daemon: the port, and the name of its database.
const DATABASE: &str = "etc/database";

const ACCOUNTS: &str =
    "SELECT name || ' ' || trim_scale(budget) || ' ' || trim_scale(bid) FROM jobtracker.account ORDER BY name";
const UNEQUAL: &str = "SELECT name FROM jobtracker.account LEFT JOIN jobtracker.movement ON account = name
    GROUP BY name, budget HAVING budget <> coalesce(sum(amount), 0)";

/// Lets scripts find the server.
pub fn prepare(prepared: &Path, server: &PostgresServer) {
    fs::write(prepared.join(PORT), server.port().to_string()).unwrap();
    fs::copy(server.password_file(), prepared.join("postgres.password")).unwrap();
}

/// Whether there is one.
pub fn are_there(prepared: &Path) -> bool {
    prepared.join(PORT).exists()
}

/// A place whose daemon has its budgets in a database of its own.
pub fn place(prepared: &Path) -> (DaemonFolders, Laws) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let port = fs::read_to_string(prepared.join(PORT)).unwrap();
    let name = format!("run{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let number = port.parse().unwrap();
    try_query(number, "postgres", "postgres", &format!("CREATE DATABASE {name}")).unwrap();
    let mut place = DaemonFolders::new("");
    fs::write(place.path(DATABASE), format!("{port} {name}")).unwrap();
    let password: PathBuf = place.path("etc/password");
    fs::copy(prepared.join("postgres.password"), &password).unwrap();
    place.set_mode("etc/password", 0o600);
    place.overrides.extend([
        "mapred.dynamic-scheduler.store=postgres".to_owned(),
        format!("mapred.dynamic-scheduler.store.url=postgres://postgres@127.0.0.1:{port}/{name}"),
        format!("mapred.dynamic-scheduler.store.password-file={}", password.display()),
    ]);
    query(&place, INITIALISE_SQL);
    for (queue, budget, bid) in FIRST {
        query(
            &place,
            &format!("INSERT INTO jobtracker.account (name, budget, bid) VALUES ('{queue}', {budget}, {bid})"),
        );
    }
    (place, Laws::new(FIRST).with_tables())
}

/// Rows of one column.
fn query(place: &DaemonFolders, sql: &str) -> Vec<String> {
    let found = fs::read_to_string(place.path(DATABASE)).unwrap();
    let (port, name) = found.split_once(' ').unwrap();
    let rows = try_query(port.parse().unwrap(), name, "postgres", sql).unwrap();
    rows.into_iter().map(|row| row.into_iter().next().unwrap_or_default()).collect()
}

fn insert(place: &DaemonFolders, reference: &str, queue: &str) {
    let row = format!("('{reference}', '{queue}', 2)");
    query(place, &format!("INSERT INTO jobtracker.top_up (reference, account, amount) VALUES {row}"));
}

/// What the database shows, in lines of the budget file.
pub fn lines(place: &DaemonFolders) -> String {
    assert_eq!(query(place, UNEQUAL), [""; 0], "movements add up to the balances");
    let rows = query(place, ACCOUNTS);
    let written = |row: String| jobtracker::market::budget_file::parse(&format!("{row}\n"), "account").unwrap();
    rows.into_iter().map(|row| jobtracker::market::budget_file::render(&written(row))).collect()
}

/// Top-ups wait from before the first start; others come, over both ways, while the daemon dies and is started again.
pub fn publish(stage: &mut Stage) {
    let is_answered =
        |place: &DaemonFolders| query(place, "SELECT 1 FROM jobtracker.top_up WHERE state = 'waiting'").is_empty();
    insert(&stage.place, "first", "alice");
    stage.begin_life();
    stage.wait_until("an answer", is_answered);
    stage.ask("root", "addBudget=1&queue=alice");
    let is_shown = |place: &DaemonFolders| query(place, ACCOUNTS).first().is_some_and(|row| row == "alice 103 1");
    stage.wait_until("alice 103", is_shown);
    insert(&stage.place, "second", "bob");
    stage.kill();

    stage.begin_life();
    stage.wait_until("an answer", is_answered);
    stage.ask("root", "addBudget=1&queue=bob");
    insert(&stage.place, "third", "bob");
    stage.wait_until("an answer", is_answered);
    stage.stop();
    let states = query(&stage.place, "SELECT reference || ' ' || state FROM jobtracker.top_up ORDER BY reference");
    assert_eq!(states, ["first taken", "second taken", "third taken"]);
    stage.laws.in_the_end(&stage.place, &[("alice", "103"), ("bob", "12.5")], &[("alice", "1"), ("bob", "0.25")]);
}
