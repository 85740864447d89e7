//! Databases as older programs left them: a start opens each, and so does an upgrade, whose predecessor finds its own
//! layout again if the successor fails.

use std::io::Read;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use flate2::read::GzDecoder;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::daemon::child::{ChildDaemon, DaemonFolders, built_program};
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::upgrade::stage::client;

use jobtracker::channel::Channel;
use jobtracker::model::AttemptState;
use jobtracker::wire::protocol::Protocol;

const VERSION_1: &str = "version-1.db.gz";
/// Where the programs that made the databases had their files.
const MADE_IN: &str = "/tmp/jobtracker-mixed-dynamic.";

/// A place with a database of that file, whose jobs have their files here.
fn place_with(fixture: &str) -> DaemonFolders {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
    let mut place = DaemonFolders::new("alice 1 1\n");
    place.overrides.push("mapred.dynamic-scheduler.alloc-interval=3600".to_owned());
    place.overrides.push(format!("mapred.system.dir={}", place.path("system").display()));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/state").join(fixture);
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_end(&mut bytes).unwrap();
    std::fs::write(state_of(&place), bytes).unwrap();
    place.set_mode("state/state.db", 0o600);
    relocate(&place);
    place
}

fn state_of(place: &DaemonFolders) -> PathBuf {
    place.path("state/state.db")
}

/// Names this place where the database names the folder that it was made in.
fn relocate(place: &DaemonFolders) {
    let database = Connection::open(state_of(place)).unwrap();
    let specs = rows(&database, "SELECT spec FROM job");
    let there = specs[0].split_once(MADE_IN).unwrap().1.split('/').next().unwrap();
    let (there, here) = (format!("{MADE_IN}{there}"), place.dir.path().display().to_string());
    for (table, column) in [
        ("job", "spec"),
        ("application", "submitted"),
        ("application_context", "context"),
        ("application_launch", "launch"),
    ] {
        let sql = format!("UPDATE {table} SET {column} = replace({column}, ?1, ?2)");
        database.execute(&sql, [&there, &here]).unwrap();
    }
}

fn rows(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// What must be the same in every layout, whatever time has passed: allowances are paid at a start.
fn contents(path: &Path) -> Vec<String> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sql = [
        "SELECT queue || ' ' || balance_units || ' ' || rate_units FROM account
             WHERE queue NOT IN (SELECT queue FROM allowance) ORDER BY queue",
        "SELECT number || ' ' || queue || ' ' || reason || ' ' || amount_units || ' ' || debit || ' ' || credit || ' '
             || coalesce(map_slots, '') || ' ' || coalesce(container_slots, '') FROM ledger WHERE reason <> 'allowance' ORDER BY number",
        "SELECT job || ' ' || user || ' ' || name || ' ' || submit_ms || ' ' || coalesce(finish_ms, 'unfinished')
             FROM job ORDER BY accept_order",
        "SELECT job || ' ' || cost_units || ' ' || map_slots || ' ' || reduce_slots FROM job_cost ORDER BY job",
        "SELECT application || ' ' || cost_units || ' ' || container_slots FROM application_cost ORDER BY application",
        "SELECT queue || ' ' || credits_units || ' ' || every_s || ' ' || cap_units FROM allowance ORDER BY queue",
        "SELECT application || ' ' || user || ' ' || queue || ' ' || state FROM application ORDER BY application",
    ];
    sql.iter().flat_map(|sql| rows(&database, sql)).collect()
}

fn live_containers(path: &Path) -> Vec<String> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    rows(
        &database,
        "SELECT application || ' ' || number || ' ' || state FROM container WHERE ended_ms IS NULL ORDER BY 1",
    )
}

fn version(path: &Path) -> u32 {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

fn newest_version() -> u32 {
    let place = DaemonFolders::new("alice 1 1\n");
    place.start().stop();
    version(&state_of(&place))
}

/// Every amount adds up, and what the ledger says is what the accounts have.
fn assert_sums(place: &DaemonFolders) {
    let database = place.database();
    let units = |sql: &str| rows(&database, sql).iter().map(|text| text.parse::<i128>().unwrap()).sum::<i128>();
    for queue in rows(&database, "SELECT queue FROM account") {
        let moved = |side: &str| units(&format!("SELECT amount_units FROM ledger WHERE {side} = 'queue:{queue}'"));
        let balance = units(&format!("SELECT balance_units FROM account WHERE queue = '{queue}'"));
        assert_eq!(balance, moved("credit") - moved("debit"), "{queue}");
    }
    let charged = units("SELECT amount_units FROM ledger WHERE reason = 'charge'");
    let laid = units("SELECT cost_units FROM job_cost UNION ALL SELECT cost_units FROM application_cost");
    assert_eq!(charged, laid, "each charge is laid on a job or an application");
}

/// The old rows are shown as they were.
fn assert_shown(serving: &ChildDaemon, before: &[String]) {
    let jobs: Value = serde_json::from_str(&serving.ask_address("/scheduler/jobs", "root", "jobs").body).unwrap();
    for job in jobs["jobs"].as_array().unwrap() {
        let id = job["job"].as_str().unwrap();
        assert!(before.iter().any(|row| row.starts_with(id)), "{id}");
    }
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 5);
    let statement = serving.ask_address("/scheduler/statement", "root", "statement=alice").body;
    assert!(statement.contains("transfer") && statement.contains("250.125"), "{statement}");
    let report = serving.ask_address("/scheduler/report", "root", "report=users").body;
    assert!(report.contains("alice") && report.contains("bob"), "{report}");
    let report = serving.ask_address("/scheduler/report", "root", "report=jobs").body;
    let report: Value = serde_json::from_str(&report).unwrap();
    let row = |name: &str| report["rows"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    // Its reduces ran for less than a second, and the rows of then say that they still run.
    assert!(row("killed")["reduce_slot_seconds"].as_u64().unwrap() <= 1, "{report}");
    assert_eq!((&row("over")["state"], &row("over")["charged"]), (&"SUCCEEDED".into(), &"5.0".into()));
    assert_eq!(serving.get("/readyz", "").status, 200);
}

#[test]
fn a_start_opens_each_layout_and_keeps_what_it_says() {
    let mut place = place_with(VERSION_1);
    // The trackers of then do not come again.
    place.overrides.push("mapred.tasktracker.expiry.interval=2000".to_owned());
    let before = contents(&state_of(&place));
    let serving = place.start();
    let log = serving.log.text();
    assert!(log.contains("had schema version 1 and has version "), "{log}");
    assert_shown(&serving, &before);
    assert_eq!(contents(&state_of(&place)), before);
    assert_sums(&place);
    let live = "SELECT count(*) || '' FROM attempt JOIN job USING (job)
                WHERE job.finish_ms IS NOT NULL AND attempt.state NOT IN ('SUCCEEDED', 'FAILED', 'KILLED')";
    assert_eq!(rows(&place.database(), live), ["0"], "no attempt outlives its job");
    serving.top_up("alice", "5");
    work_goes_on(&place, &serving);
    assert_eq!(serving.stop().0, 0);
    let newest = newest_version();
    assert_eq!(version(&state_of(&place)), newest);
    let kept = place.path(&format!("state/state.db.before-version-{newest}"));
    assert_eq!((version(&kept), contents(&kept)), (1, before));
    assert_sums(&place);
    // The second start finds nothing to do.
    let serving = place.start();
    assert!(!serving.log.text().contains("had schema version"));
    assert_eq!(serving.stop().0, 0);
    // A copy of that layout is put back as it is, and the start after that migrates it.
    let copy = place.path("copy.db");
    std::fs::copy(&kept, &copy).unwrap();
    let state = format!("jobtracker.state.dir={}", place.path("state").display());
    let mut restore = Command::new(built_program());
    restore.arg("restore").arg(&copy).args(["-D", &state]).env_remove("HADOOP_CONF_DIR");
    let restored = restore.output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
    assert_eq!(version(&state_of(&place)), 1);
    let serving = place.start();
    assert!(serving.log.text().contains("had schema version 1 and has version "), "{}", serving.log.text());
    assert_eq!(serving.stop().0, 0);
    assert_eq!(version(&state_of(&place)), newest);
    assert_sums(&place);
}

/// How an attempt ends: one that cleans up after another as that did.
fn ended(state: AttemptState) -> AttemptState {
    match state {
        AttemptState::KilledUnclean => AttemptState::Killed,
        AttemptState::FailedUnclean => AttemptState::Failed,
        _ => AttemptState::Succeeded,
    }
}

/// What ran is lost with its trackers and runs again, to its end.
fn work_goes_on(place: &DaemonFolders, serving: &ChildDaemon) {
    serving.log.wait_for("lost tracker_localhost:streaming_only.w1");
    serving.log.wait_for("lost tracker_localhost:streaming_only.w2");
    let mut calls = client(serving, Protocol::InterTracker);
    let mut tracker = ScriptedTracker::new();
    tracker.fake.name = "tracker_localhost:streaming_only.w3/127.0.0.1:50060".to_owned();
    let left = "SELECT name || ' ' || state FROM job WHERE name LIKE 'running-%' AND state <> 'SUCCEEDED'";
    for _ in 0..100 {
        let heartbeat = tracker.heartbeat();
        tracker.obey(calls.call(&heartbeat));
        tracker.fake.attempts.iter_mut().for_each(|attempt| attempt.state = ended(attempt.state));
        if rows(&place.database(), left).is_empty() {
            return;
        }
    }
    panic!("{:?} after 100 heartbeats:\n{}", rows(&place.database(), left), serving.log.text());
}

// === An upgrade from a program that knows the old layout only ===

/// The end of a program that hands over: its hand-over is the first version.
struct ScriptedPredecessor {
    channel: Channel,
    ports: [TcpListener; 2],
    successor: JoinHandle<Result<ChildDaemon, (std::process::ExitStatus, String)>>,
}

/// As a daemon holds it.
fn listener() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

// === impl ScriptedPredecessor ===

impl ScriptedPredecessor {
    /// Starts this program as the successor, which comes to be ready.
    fn start(place: &DaemonFolders, environment: &[(&'static str, &'static str)]) -> Self {
        let (channel, theirs) = Channel::pair().unwrap();
        let mut command = place.command();
        command.arg("--take-over").envs(environment.iter().copied());
        let successor = std::thread::spawn(move || ChildDaemon::with_input(command, Stdio::from(theirs)));
        let ports = [(); 2].map(|()| listener());
        let [rpc, http] =
            ports.each_ref().map(|port| json!({"configured": "127.0.0.1:0", "bound": port.local_addr().unwrap()}));
        let state_dir = place.path("state").canonicalize().unwrap();
        channel.send(&json!({"version": 1, "state_dir": state_dir, "rpc": rpc, "http": http})).unwrap();
        let ready: Value = channel.receive(None).unwrap();
        assert!(ready.get("ready").is_some(), "{ready}");
        Self { channel, ports, successor }
    }

    /// Hands over; the successor has the state, and waits for permission to serve.
    fn hand_over(&self) -> Result<Value, std::io::Error> {
        let inventory = json!({"has_control": false, "trackers": [], "open_ids": [], "connections": []});
        self.channel.send(&inventory).unwrap();
        let [rpc, http] = &self.ports;
        self.channel.send_descriptors(&[rpc.as_fd(), http.as_fd()]).unwrap();
        self.channel.receive(None)
    }
}

#[test]
fn an_upgrade_migrates_once_the_successor_may_serve() {
    let place = place_with(VERSION_1);
    let (before, containers) = (contents(&state_of(&place)), live_containers(&state_of(&place)));
    let predecessor = ScriptedPredecessor::start(&place, &[]);
    assert_eq!(version(&state_of(&place)), 1, "ready");
    let Ok(answer) = predecessor.hand_over() else { panic!("{:?}", predecessor.successor.join().unwrap().map(drop)) };
    assert_eq!(answer, "restored");
    assert_eq!(version(&state_of(&place)), 1, "restored");
    predecessor.channel.send(&"serve").unwrap();
    assert_eq!(predecessor.channel.receive::<Value>(None).unwrap(), "serving");
    assert_eq!(version(&state_of(&place)), newest_version());
    predecessor.channel.send(&"acknowledged").unwrap();
    let serving = predecessor.successor.join().unwrap().unwrap_or_else(|(status, log)| panic!("{status}\n{log}"));
    assert_shown(&serving, &before);
    assert_eq!(contents(&state_of(&place)), before);
    assert_eq!(live_containers(&state_of(&place)), containers);
    assert_sums(&place);
    serving.top_up("alice", "5");
    assert_eq!(serving.stop().0, 0);
}

/// Wherever it dies before it may serve, and if it is stopped by its predecessor.
#[test]
fn an_upgrade_that_fails_leaves_the_layout_of_the_predecessor() {
    for point in [
        "migration.due",
        "migration.copy-kept",
        "migration.begun",
        "migration.step-run",
        "migration.written",
        "start.engine",
        "",
    ] {
        let place = place_with(VERSION_1);
        let before = contents(&state_of(&place));
        let environment = if point.is_empty() { None } else { Some(("JOBTRACKER_CRASH_AT", point)) };
        let predecessor = ScriptedPredecessor::start(&place, environment.as_slice());
        let answer = predecessor.hand_over();
        if point.is_empty() {
            assert_eq!(answer.unwrap(), "restored");
        } else {
            assert!(answer.is_err(), "{point}: {answer:?}");
        }
        // What a predecessor does with a successor that is not to serve.
        drop(predecessor.channel);
        let outcome = predecessor.successor.join().unwrap();
        if let Ok(successor) = outcome {
            // Without a predecessor it serves: nobody else holds the state.
            assert!(point.is_empty());
            assert_eq!(successor.stop().0, 0);
            continue;
        }
        assert_eq!((version(&state_of(&place)), contents(&state_of(&place))), (1, before), "{point}");
        assert_eq!(rows(&place.database(), "SELECT count(*) || '' FROM daemon_run"), ["1"], "{point}");
    }
}
