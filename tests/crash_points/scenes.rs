//! The scripts that are cut. Each is one run of a daemon through several starts; what it asks for it asks until it is
//! answered, so that with a cut and without it ends alike.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use crate::applications;
use crate::cluster::Cluster;
use crate::daemon::child::DaemonFolders;
use crate::histories;
use crate::laws::{Accounts, Laws, budgets, rows, rows_of};
use crate::stage::{Cut, Stage};
use crate::store_stage;
use crate::tables;

use jobtracker::model::{Kind, RunState};
use jobtracker::store::encode_splits;

/// A script.
pub struct Scene {
    pub name: &'static str,
    /// Makes its place, from what was prepared.
    pub set: fn(prepared: &Path) -> (DaemonFolders, Laws),
    pub play: fn(&mut Stage),
}

pub const SCENES: [Scene; 14] = [
    Scene { name: "jobs and money", set: |_| fresh(), play: jobs_and_money },
    Scene { name: "switches", set: |_| fresh(), play: switches },
    Scene { name: "an idle moment", set: |_| idle(), play: an_idle_moment },
    Scene { name: "budget file", set: |_| foreign(DaemonFolders::new(&budgets(FIRST))), play: budget_file },
    Scene { name: "budget file in place", set: |_| in_place(), play: budget_file },
    Scene { name: "a pending image", set: |_| fresh(), play: a_pending_image },
    Scene { name: "an old ledger", set: old_ledger, play: housekeeping },
    Scene { name: "an old layout", set: old_layout, play: a_migration },
    Scene { name: "too many jobs", set: crowded, play: retention },
    Scene { name: "a program", set: |_| applications::place(), play: applications::a_program },
    Scene { name: "items", set: |_| applications::place(), play: applications::items },
    Scene { name: "a copy of a history", set: |_| fresh(), play: histories::a_copy },
    Scene { name: "masters", set: |_| applications::place(), play: applications::masters },
    Scene { name: TABLES, set: tables::place, play: tables::publish },
];

const TABLES: &str = "budgets in a database";

// === impl Scene ===

impl Scene {
    /// Whether what it needs is there.
    pub fn can_be_played(&self, prepared: &Path) -> bool {
        self.name != TABLES || tables::are_there(prepared)
    }

    /// Whether containers are given in it.
    pub fn has_applications(&self) -> bool {
        ["a program", "items", "masters"].contains(&self.name)
    }
}

pub const FIRST: Accounts<'_> = &[("alice", "100", "1"), ("bob", "7.5", "0.25")];
/// An age at which rows are summed up and ticks grow rare.
const AGE_MS: i64 = 40 * 86_400_000;

fn fresh() -> (DaemonFolders, Laws) {
    (DaemonFolders::new(&budgets(FIRST)), Laws::new(FIRST))
}

/// Nothing comes by itself for longer than the store waits before it moves its log into the database.
fn idle() -> (DaemonFolders, Laws) {
    let (mut place, laws) = fresh();
    place.overrides.push("mapred.dynamic-scheduler.alloc-interval=30".to_owned());
    (place, laws)
}

/// A place where somebody else writes into the budget file too.
fn foreign(place: DaemonFolders) -> (DaemonFolders, Laws) {
    (place, Laws::new(FIRST).with_a_foreign_file())
}

/// The folder of the budget file takes no new files.
fn in_place() -> (DaemonFolders, Laws) {
    let place = DaemonFolders::of_nobody(&budgets(FIRST));
    place.set_mode("etc", 0o555);
    foreign(place)
}

/// Users bid, jobs run under charges, one is killed, the daemon dies in between; a start finds a token gone and a directory
/// too many; stops and starts.
fn jobs_and_money(stage: &mut Stage) {
    let mut cluster = Cluster::new();
    stage.begin_life();
    cluster.beat(stage);
    stage.ask("alice", "setSpending=2&queue=alice");
    stage.ask("root", "addBudget=50.5&queue=alice");
    let first = cluster.submit(stage, "alice", (5, 1));
    let second = cluster.submit(stage, "bob", (4, 0));
    stage.ask("root", "addQueue=carol");
    stage.ask("root", "addBudget=5&queue=carol");
    cluster.hold(true);
    cluster.beat(stage);
    let third = cluster.submit(stage, "bob", (2, 0));
    cluster.set_priority(stage, "alice", first, "HIGH");
    stage.ask("bob", "setSpending=0.5&queue=bob");
    // The tick after the one that sells slots charges for what runs then.
    cluster.beat_until(stage, "a charge", |place| {
        let text = fs::read_to_string(place.budget()).unwrap_or_default();
        let budget = text.strip_prefix("alice ").and_then(|rest| rest.split('.').next()?.parse::<i64>().ok());
        budget.is_some_and(|budget| budget != 100 && budget < 150)
    });
    stage.ask("root", "removeQueue=carol");
    cluster.hold(false);
    cluster.kill_a_map(stage, "bob", second);
    cluster.beat(stage);
    cluster.kill_job(stage, "bob", third);
    cluster.read_events(stage, "alice", first);
    cluster.read_events(stage, "bob", second);
    stage.kill();
    let system = stage.place.path("hadoop/mapred/system");
    fs::remove_file(system.join(first.to_string()).join("jobToken")).unwrap();
    let nobodys = first.to_string().trim_end_matches(char::is_numeric).to_owned() + "0099";
    fs::create_dir(system.join(nobodys)).unwrap();

    stage.begin_life();
    cluster.finish(stage, "alice", first, RunState::Succeeded);
    cluster.finish(stage, "bob", second, RunState::Succeeded);
    cluster.finish(stage, "bob", third, RunState::Killed);
    stage.ask("root", "addBudget=1000&queue=bob");
    cluster.clean_up(stage);
    stage.wait_for_budget("bob 100");
    stage.stop();

    stage.begin_life();
    let last = cluster.submit(stage, "alice", (1, 0));
    cluster.finish(stage, "alice", last, RunState::Succeeded);
    for (user, job) in [("alice", first), ("bob", second), ("bob", third), ("alice", last)] {
        cluster.read_events(stage, user, job);
    }
    histories::await_histories(stage);
    cluster.clean_up(stage);
    stage.stop();
    histories::check(&stage.place, &[first, second, third, last]);
    // Setup, maps and reduces, cleanup: none twice.
    assert_eq!(cluster.launches_of(first), 5 + 1 + 2);
    assert_eq!(cluster.launches_of(last), 1 + 2);
    let issued = [("alice", "150.5"), ("bob", "1007.5"), ("carol", "0")];
    stage.laws.in_the_end(&stage.place, &issued, &[("alice", "2"), ("bob", "0.5")]);
    let jobs = rows(&stage.place, "SELECT job || ' ' || state FROM job ORDER BY accept_order");
    let expected = [(first, "SUCCEEDED"), (second, "SUCCEEDED"), (third, "KILLED"), (last, "SUCCEEDED")];
    assert_eq!(jobs, expected.map(|(job, state)| format!("{job} {state}")));
    assert_eq!(rows(&stage.place, "SELECT tracker FROM pending_kill_job"), [""; 0]);
    let alive = "SELECT attempt || ' ' || state FROM attempt WHERE state NOT IN ('SUCCEEDED', 'FAILED', 'KILLED')";
    assert_eq!(rows(&stage.place, alive), [""; 0]);
    let charged = "SELECT DISTINCT reason FROM ledger WHERE reason = 'charge'";
    assert_eq!(rows(&stage.place, charged), ["charge"]);
}

/// Another scheduler takes over while a job runs, and another, and the market again; the job moves and is charged by the market
/// alone.
fn switches(stage: &mut Stage) {
    let mut cluster = Cluster::new();
    stage.begin_life();
    cluster.beat(stage);
    let job = cluster.submit(stage, "alice", (4, 1));
    cluster.hold(true);
    cluster.beat(stage);
    stage.switch("fifo", &["--move-to", "default"]);
    cluster.beat(stage);
    stage.switch("fair", &[]);
    stage.kill();

    stage.begin_life();
    stage.switch("fair", &[]);
    cluster.beat(stage);
    stage.switch("dynamic", &[]);
    cluster.hold(false);
    cluster.finish(stage, "alice", job, RunState::Succeeded);
    cluster.clean_up(stage);
    stage.stop();
    assert_eq!(cluster.launches_of(job), 4 + 1 + 2);
    stage.laws.in_the_end(&stage.place, &[("alice", "100"), ("bob", "7.5")], &[("alice", "1"), ("bob", "0.25")]);
    let queue = rows(&stage.place, "SELECT queue || ' ' || state FROM job");
    assert_eq!(queue, ["default SUCCEEDED"]);
    let choice = "SELECT value ->> 'class' FROM meta WHERE key = 'scheduler_choice'";
    assert_eq!(rows(&stage.place, choice), ["org.apache.hadoop.mapred.DynamicPriorityScheduler"]);
}

/// The log of the store is moved into the database, which has time for it now.
fn an_idle_moment(stage: &mut Stage) {
    stage.begin_life();
    stage.ask("root", "addBudget=1&queue=alice");
    let log_is_moved =
        |place: &DaemonFolders| fs::metadata(place.path("state/state.db")).is_ok_and(|file| file.len() > 4096);
    stage.wait_until("a moved log", log_is_moved);
    stage.ask("root", "addBudget=2&queue=alice");
    stage.stop();
    stage.laws.in_the_end(&stage.place, &[("alice", "103"), ("bob", "7.5")], &[("alice", "1"), ("bob", "0.25")]);
}

/// The budget file is changed by us, by somebody else while we run, and by an administrator while we do not.
fn budget_file(stage: &mut Stage) {
    stage.begin_life();
    stage.ask("root", "addBudget=1&queue=alice");
    stage.wait_for_budget("alice 101.");
    fs::write(stage.place.budget(), "mallory 1000000 1\n").unwrap();
    stage.ask("root", "addBudget=1&queue=alice");
    stage.wait_for_budget("alice 102.");
    stage.kill();

    stage.begin_life();
    stage.ask("root", "addBudget=1&queue=alice");
    stage.stop();
    stage.laws.in_the_end(&stage.place, &[("alice", "103"), ("bob", "7.5")], &[("alice", "1"), ("bob", "0.25")]);
    fs::write(stage.place.budget(), budgets(&[("alice", "60", "2"), ("carol", "5", "0.125")])).unwrap();

    stage.begin_life();
    stage.ask("root", "addBudget=1&queue=alice");
    stage.stop();
    let issued = [("alice", "61"), ("bob", "0"), ("carol", "5")];
    stage.laws.in_the_end(&stage.place, &issued, &[("alice", "2"), ("carol", "0.125")]);
}

/// A start finds its own file, and its state does not know yet that this came to be there.
fn a_pending_image(stage: &mut Stage) {
    stage.begin_life_that_dies("budget-file.renamed:1", |serving| serving.top_up("alice", "1"));
    stage.begin_life();
    stage.ask("root", "addBudget=1&queue=alice");
    stage.wait_for_budget("alice 102.");
    stage.stop();
    stage.laws.in_the_end(&stage.place, &[("alice", "102"), ("bob", "7.5")], &[("alice", "1"), ("bob", "0.25")]);
}

/// What [`old_ledger`] begins with: a state with some rows and ticks, which a clean stop left.
pub fn prepare(prepared: &Path) {
    let (place, _) = fresh();
    let serving = place.start();
    for _ in 0..5 {
        serving.top_up("alice", "1");
    }
    let ticks = |place: &DaemonFolders| {
        let database = looked_into(place)?;
        let ticks: i64 = database.query_row("SELECT count(*) FROM tick", [], |row| row.get(0)).ok()?;
        Some(ticks >= 3)
    };
    while ticks(&place) != Some(true) {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    serving.stop();
    let database = place.database();
    for table in ["ledger", "tick"] {
        database.execute(&format!("UPDATE {table} SET wall_ms = wall_ms - ?1"), [AGE_MS]).unwrap();
    }
    drop(database);
    fs::copy(place.path("state/state.db"), prepared.join("state.db")).unwrap();
    fs::copy(place.budget(), prepared.join("budget")).unwrap();
    fs::copy(place.path("state/state.db"), prepared.join("crowded.db")).unwrap();
    as_version_1(&place.path("state/state.db"), &prepared.join("version-1.db"));
    crowd(&Connection::open(prepared.join("crowded.db")).unwrap());
}

/// Gives all that version 1 of the schema has room for a database of that version.
fn as_version_1(newer: &Path, target: &Path) {
    let database = Connection::open(target).unwrap();
    database.execute_batch(include_str!("../../src/store/schema.sql")).unwrap();
    database.execute("ATTACH ?1 AS newer", [newer.to_str().unwrap()]).unwrap();
    let lists =
        "SELECT name, (SELECT group_concat(name) FROM pragma_table_info(list.name)) FROM main.sqlite_schema AS list
                 WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut tables = database.prepare(lists).unwrap();
    let tables = tables.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    let is_there = |table: &String| database.table_exists(Some("newer"), table.as_str()).unwrap();
    for (table, columns) in tables.map(Result::unwrap).filter(|(table, _)| is_there(table)) {
        let sql = format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}");
        database.execute(&sql, []).unwrap();
    }
    database.pragma_update(None, "application_id", u32::from_be_bytes(*b"jobt")).unwrap();
    database.pragma_update(None, "user_version", 1).unwrap();
}

fn old_layout(prepared: &Path) -> (DaemonFolders, Laws) {
    let (place, laws) = old_ledger(prepared);
    fs::copy(prepared.join("version-1.db"), place.path("state/state.db")).unwrap();
    (place, laws)
}

/// A start migrates a database of version 1.
fn a_migration(stage: &mut Stage) {
    stage.begin_life();
    stage.ask("root", "addBudget=1&queue=alice");
    stage.stop();
    stage.laws.in_the_end(&stage.place, &[("alice", "106"), ("bob", "7.5")], &[("alice", "1"), ("bob", "0.25")]);
    let version: u32 = stage.place.database().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert!(version > 1);
    let copy = stage.place.path(&format!("state/state.db.before-version-{version}"));
    assert_eq!(rows_of(&copy, "SELECT balance FROM account ORDER BY queue"), ["105.0", "7.5"]);
    let partial = stage.place.names("state").into_iter().find(|name| name.contains("partial"));
    assert_eq!(partial, None);
}

/// Finished jobs that stay, being in memory; and those beyond them.
const JOBS_KEPT: i32 = 100;
const JOBS_BEYOND: i32 = 12;
/// More than one step deletes.
const ATTEMPTS_OF_A_LARGE_JOB: i32 = 2500;

/// Gives a state too many finished jobs, each with its cost.
fn crowd(database: &Connection) {
    let (spec, splits) = (serde_json::to_string(&store_stage::spec()).unwrap(), encode_splits(&store_stage::splits()));
    for number in 1..=JOBS_KEPT + JOBS_BEYOND {
        let job = store_stage::job_id(number);
        let sql = "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, running_ms, finish_ms)
                   VALUES (?1, ?2, 1, ?3, ?4, 'NORMAL', 'SUCCEEDED', 2, 2 + ?2)";
        database.execute(sql, params![job.to_string(), number, spec, splits]).unwrap();
        let sql = "INSERT INTO job_cost VALUES (?1, 1, 1, 0, '0.5', '500000000000', 20000, 0)";
        database.execute(sql, [job.to_string()]).unwrap();
        let attempts = if number == 3 { ATTEMPTS_OF_A_LARGE_JOB } else { 2 };
        for attempt in 0..attempts {
            let attempt = job.task(Kind::Map, 0).attempt(attempt).to_string();
            let sql = "INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, state)
                       VALUES (?1, ?2, 'work', 'tracker_n:n/1.2.3.4:5', 1, 2, 'FAILED')";
            database.execute(sql, params![attempt, job.to_string()]).unwrap();
        }
    }
}

fn crowded(prepared: &Path) -> (DaemonFolders, Laws) {
    let (mut place, laws) = old_ledger(prepared);
    fs::copy(prepared.join("crowded.db"), place.path("state/state.db")).unwrap();
    place.overrides.push("jobtracker.state.finished-jobs=1".to_owned());
    place.overrides.push(format!("mapred.job.tracker.retiredjobs.cache.size={JOBS_KEPT}"));
    (place, laws)
}

/// Finished jobs beyond the limit are deleted.
fn retention(stage: &mut Stage) {
    stage.begin_life();
    stage.ask("root", "addBudget=1&queue=alice");
    stage.wait_until("the end of old jobs", |place| {
        let Some(database) = looked_into(place) else { return false };
        let attempts: i32 = database.query_row("SELECT count(*) FROM attempt", [], |row| row.get(0)).unwrap_or(-1);
        attempts == 2 * JOBS_KEPT
    });
    stage.stop();
    stage.laws.in_the_end(&stage.place, &[("alice", "106"), ("bob", "7.5")], &[("alice", "1"), ("bob", "0.25")]);
    let left = rows(&stage.place, "SELECT job FROM job ORDER BY accept_order");
    let expected = (JOBS_BEYOND + 1..=JOBS_BEYOND + JOBS_KEPT).map(|number| store_stage::job_id(number).to_string());
    assert_eq!(left, expected.collect::<Vec<_>>());
    let deleted = rows(&stage.place, "SELECT last_number || ' ' || jobs FROM deleted_job");
    assert_eq!(deleted, [format!("{JOBS_BEYOND} {JOBS_BEYOND}")]);
    let cost = rows(
        &stage.place,
        "SELECT queue || ' ' || cost || ' ' || map_slots || ' ' || map_slot_ms FROM deleted_job_cost",
    );
    assert_eq!(cost, [format!("alice {}.0 {JOBS_BEYOND} {}", JOBS_BEYOND / 2, 20_000 * JOBS_BEYOND)]);
    let lost = "SELECT DISTINCT job FROM attempt WHERE job NOT IN (SELECT job FROM job)";
    assert_eq!(rows(&stage.place, lost), [""; 0]);
}

fn old_ledger(prepared: &Path) -> (DaemonFolders, Laws) {
    let (place, laws) = fresh();
    fs::copy(prepared.join("state.db"), place.path("state/state.db")).unwrap();
    fs::copy(prepared.join("budget"), place.budget()).unwrap();
    (place, laws.with_a_foreign_file().with_an_old_ledger())
}

/// The database of a daemon that runs.
pub fn looked_into(place: &DaemonFolders) -> Option<Connection> {
    Connection::open_with_flags(place.path("state/state.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).ok()
}

/// Rows of the ledger become daily sums, and ticks are thinned out.
fn housekeeping(stage: &mut Stage) {
    stage.begin_life();
    stage.ask("root", "addBudget=1&queue=alice");
    stage.wait_until("housekeeping", |place| {
        let Some(database) = looked_into(place) else { return false };
        let done = "SELECT (SELECT count(*) FROM ledger WHERE day IS NOT NULL) > 0
                    AND (SELECT count(*) FROM meta WHERE key IN ('ticks_by_minute', 'ticks_by_hour')) = 2";
        database.query_row(done, [], |row| row.get(0)).unwrap_or(false)
    });
    stage.stop();
    stage.laws.in_the_end(&stage.place, &[("alice", "106"), ("bob", "7.5")], &[("alice", "1"), ("bob", "0.25")]);
    assert_eq!(rows(&stage.place, "SELECT amount FROM ledger WHERE day IS NULL"), ["1.0"]);
}

/// Plays a script, with a cut or, to count what is passed, without.
pub fn play(scene: &Scene, prepared: &Path, cut: Option<Cut>) -> Stage {
    let (place, laws) = (scene.set)(prepared);
    let mut stage = Stage::new(place, laws, cut);
    (scene.play)(&mut stage);
    stage
}
