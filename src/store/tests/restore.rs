//! A backup is put back whole or not at all, and what is lost is listed.

use super::*;
use crate::store::backup::backup;
use crate::store::database::open_for_writing;
use crate::store::schema::{COPIED, meta};

/// A state folder with a job of alice's that runs, and a copy of it; then the job ends, another one comes, and money.
fn folder_with_copy() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.db");
    let path = database_in(folder.path());
    let database = open_for_writing(&path).unwrap();
    let job = |name: &str, order: u32| {
        let spec = r#"{"user":"alice","queue":"alice","name":"n"}"#;
        let sql = "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state)
                   VALUES (?1, ?2, 1, ?3, x'', 'NORMAL', 'RUNNING')";
        database.execute(sql, rusqlite::params![name, order, spec]).unwrap();
    };
    let money = |reason: &str| {
        let sql = "INSERT INTO ledger (tick, wall_ms, queue, reason, amount, amount_units, debit, credit)
                   VALUES (0, 1795000000000, 'alice', ?1, '5.0', '5000000000000', 'issued', 'queue:alice')";
        database.execute(sql, [reason]).unwrap();
    };
    job("job_7_0001", 1);
    money("endowment");
    backup(&path, &file).unwrap();
    job("job_7_0002", 2);
    database.execute("UPDATE job SET state = 'SUCCEEDED', finish_ms = 9 WHERE job = 'job_7_0001'", []).unwrap();
    money("top_up");
    money("charge");
    (folder, file)
}

fn jobs(path: &Path) -> Vec<String> {
    let database = Connection::open(path).unwrap();
    let mut select = database.prepare("SELECT job || ' ' || state FROM job ORDER BY accept_order").unwrap();
    select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_copy_takes_the_place_and_what_it_lacks_is_listed() {
    let (folder, file) = folder_with_copy();
    let RestoreSummary { database, copy, kept, lost } = restore(folder.path(), &file).unwrap();
    assert_eq!((copy.jobs, copy.unfinished_jobs), (1, 1));
    assert_eq!(jobs(&database), ["job_7_0001 RUNNING"]);
    let kept = kept.unwrap();
    assert_eq!(kept, folder.path().join("state.db.replaced-1"));
    assert_eq!(jobs(&kept), ["job_7_0001 SUCCEEDED", "job_7_0002 RUNNING"]);
    let row = |row: [&str; 3]| row.map(str::to_owned);
    let expected = LostState {
        submitted: vec![row(["job_7_0002", "alice", "RUNNING"])],
        ended: vec![row(["job_7_0001", "alice", "SUCCEEDED"])],
        money: vec![LostMovement {
            time_ms: 1_795_000_000_000,
            reason: "top_up".to_owned(),
            queue: "alice".to_owned(),
            amount: "5.0".to_owned(),
            transfer: None,
            made_by: String::new(),
            note: String::new(),
            comes_again: None,
        }],
        settings: Vec::new(),
    };
    assert_eq!(lost.unwrap(), expected);
    assert_eq!(meta::<i64>(&Connection::open(&database).unwrap(), COPIED).unwrap(), Some(1));
    // Again, by the copy that it is now.
    let again = restore(folder.path(), &file).unwrap();
    assert_eq!(again.lost.unwrap(), LostState::default());
    assert_eq!(again.kept.unwrap(), folder.path().join("state.db.replaced-2"));
}

#[test]
fn all_that_was_set_since_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy.db");
    let path = database_in(folder.path());
    let database = open_for_writing(&path).unwrap();
    let change = |sql: &str| database.execute_batch(sql).unwrap();
    change(
        r#"INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state)
           VALUES ('job_7_0001', 1, 1, '{"user":"alice","queue":"alice","name":"n"}', x'', 'NORMAL', 'RUNNING');
           INSERT INTO account VALUES ('alice', '5.0', '5', '1.0', '1'), ('erin', '0.0', '0', '1.0', '1');
           INSERT INTO pause VALUES ('queue', 'alice', 'root', 1);
           INSERT INTO drained_worker VALUES ('w1', 'root', 1);"#,
    );
    backup(&path, &file).unwrap();
    change(
        r#"INSERT INTO account VALUES ('dave', '5.0', '5', '2.0', '2');
           DELETE FROM account WHERE queue = 'erin';
           UPDATE account SET rate = '3.0' WHERE queue = 'alice';
           DELETE FROM pause;
           INSERT INTO pause VALUES ('queue', 'bob', 'root', 1), ('job', 'job_7_0001', 'alice', 1);
           DELETE FROM drained_worker;
           INSERT INTO allowance VALUES ('carol', '5.0', '5', 60, '20.0', '20', 'root', 0, 1);
           INSERT INTO market_order VALUES ('job_7_0001', 'alice', 1795000000000, '4.0', '4', NULL, NULL);
           UPDATE job SET priority = 'HIGH', pool = 'p';
           INSERT OR REPLACE INTO meta (key, value) VALUES ('scheduler_choice', '{"class":"C"}');
           INSERT INTO ledger (tick, wall_ms, queue, reason, amount, amount_units, debit, credit)
           VALUES (0, 7, 'bob', 'transfer', '10.0', '10', 'queue:bob', 'queue:alice');"#,
    );
    let lost = restore(folder.path(), &file).unwrap().lost.unwrap();
    let transfers: Vec<_> = lost.money.iter().map(|movement| movement.transfer.clone().unwrap()).collect();
    assert_eq!(transfers, [["bob".to_owned(), "alice".to_owned()]]);
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let settings =
        lost.settings.iter().map(|LostSetting { subject, lost, copy }| [subject.clone(), text(lost), text(copy)]);
    let expected = [
        ["allowance of queue carol", "5.0 every 60 s, at most 20.0", "none"],
        ["drain of worker w1", "none", "by root"],
        ["hold of job_7_0001", "by alice", "none"],
        ["order for job_7_0001", "at most 4.0 until 2026-11-18T11:06:40Z", "none"],
        ["pause of queue alice", "none", "by root"],
        ["pause of queue bob", "by root", "none"],
        ["pool of job_7_0001", "p", "none"],
        ["priority of job_7_0001", "HIGH", "NORMAL"],
        ["queue dave", "there", "none"],
        ["queue erin", "none", "there"],
        ["scheduler of `jobtracker scheduler use`", "C", "none"],
        ["spending of queue alice", "3.0", "1.0"],
    ];
    assert_eq!(settings.collect::<Vec<_>>(), expected.map(|row| row.map(str::to_owned)));
}

#[test]
fn a_lost_movement_has_its_author_and_whether_it_comes_again_by_itself() {
    let (folder, file) = folder_with_copy();
    let allow = |path: &Path, queue: &str| {
        let sql = format!("INSERT INTO allowance VALUES ('{queue}', '5.0', '5', 60, '20.0', '20', 'root', 0, 1)");
        Connection::open(path).unwrap().execute_batch(&sql).unwrap();
    };
    let path = database_in(folder.path());
    allow(&path, "alice");
    allow(&path, "bob");
    allow(&file, "alice");
    let move_money = |reason: &str, queue: &str, is_out: bool, by: &str, note: &str| {
        let (debit, credit) = (format!("queue:{queue}"), "issued".to_owned());
        let (debit, credit) = if is_out { (debit, credit) } else { (credit, debit) };
        let sql =
            "INSERT INTO ledger (tick, wall_ms, queue, reason, amount, amount_units, debit, credit, made_by, note)
                   VALUES (0, 1795000000000, ?1, ?2, '5.0', '5', ?3, ?4, ?5, ?6)";
        let row = rusqlite::params![queue, reason, debit, credit, by, note];
        Connection::open(&path).unwrap().execute(sql, row).unwrap();
    };
    move_money("adjustment", "alice", false, "sql:accounting", "inv-1: grant");
    move_money("adjustment", "alice", true, "", "");
    move_money("top_up", "alice", true, "root", "sql:accounting");
    move_money("allowance", "alice", false, "", "");
    move_money("allowance", "bob", false, "", "");
    let money = restore(folder.path(), &file).unwrap().lost.unwrap().money;
    let found = money.iter().skip(1).map(|LostMovement { queue, amount, made_by, note, comes_again, .. }| {
        (&**queue, &**amount, &**made_by, &**note, *comes_again)
    });
    let expected = [
        ("alice", "5.0", "sql:accounting", "inv-1: grant", Some(ComesAgain::FromSql)),
        ("alice", "-5.0", "", "", None),
        ("alice", "-5.0", "root", "sql:accounting", None),
        ("alice", "5.0", "", "", Some(ComesAgain::AsAllowance)),
        ("bob", "5.0", "", "", None),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn a_damaged_database_is_kept_with_its_log_and_replaced() {
    let (folder, file) = folder_with_copy();
    let path = database_in(folder.path());
    fs::write(&path, "no database").unwrap();
    fs::write(beside(&path, "-wal"), "its log").unwrap();
    let restored = restore(folder.path(), &file).unwrap();
    assert!(restored.lost.unwrap_err().contains("not a database"));
    let kept = restored.kept.unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "no database");
    assert_eq!(fs::read_to_string(beside(&kept, "-wal")).unwrap(), "its log");
    assert!(!beside(&path, "-wal").exists());
    assert_eq!(jobs(&path), ["job_7_0001 RUNNING"]);
}

#[test]
fn what_cannot_be_restored_changes_nothing() {
    let (folder, file) = folder_with_copy();
    let path = database_in(folder.path());
    let before = jobs(&path);
    let names = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        // Logs come and go with who reads.
        let mut names: Vec<String> = names.filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm")).collect();
        names.sort();
        names
    };
    let refused = |file: &Path, words: &str| {
        let text = restore(folder.path(), file).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    refused(&folder.path().join("nothing.db"), "No such file");
    refused(&path, "it is the database itself");
    let elsewhere = tempfile::tempdir().unwrap();
    let pipe = elsewhere.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&pipe, "it is not a regular file");
    let damaged = folder.path().join("damaged.db");
    let mut bytes = fs::read(&file).unwrap();
    let length = bytes.len();
    bytes[length / 2..].fill(0xff);
    fs::write(&damaged, bytes).unwrap();
    refused(&damaged, "damaged");
    fs::write(&damaged, "alice 100 1\n".repeat(400)).unwrap();
    refused(&damaged, "not a database");
    let newer = folder.path().join("newer.db");
    fs::copy(&file, &newer).unwrap();
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 700).unwrap();
    refused(&newer, "has schema version 700");
    let foreign = folder.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE songs (name)").unwrap();
    refused(&foreign, "is a database of another program");
    let before_names = names();
    let held = StateFolder::lock(folder.path()).unwrap();
    refused(&file, "only one JobTracker may run on a state folder");
    drop(held);
    assert_eq!((jobs(&path), names()), (before, before_names));
}
