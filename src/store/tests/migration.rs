//! Older layouts are migrated whole or not at all, and a copy from before is kept.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::*;
use crate::store::database::{check_schema, open_for_reading, open_migrating};
use crate::store::schema::{APPLICATION_ID, COPIED, SCHEMA, meta};
use crate::store::{Store, StoreError, StoreOptions};

/// A state folder with one of the first databases of version 1.
fn folder_of_version_1() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let first = format!(
        "{SCHEMA};
         ALTER TABLE ledger DROP COLUMN note;
         INSERT INTO account VALUES ('alice', '5.0', '5000000000000', '1.0', '1000000000000');
         PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = 1"
    );
    Connection::open(&path).unwrap().execute_batch(&first).unwrap();
    (folder, path)
}

fn version_of(path: &Path) -> u32 {
    let database = open_read_only(path).unwrap();
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

fn copy_of(path: &Path) -> PathBuf {
    copy_before(path, VERSION)
}

#[test]
fn an_older_database_is_migrated_and_a_copy_kept() {
    let (folder, path) = folder_of_version_1();
    // What an interrupted try has left is made again.
    std::fs::write(copy_of(&path), "half a copy").unwrap();
    std::fs::write(format!("{}.partial", copy_of(&path).display()), "half a copy").unwrap();
    check_schema(folder.path()).unwrap();
    assert_eq!(version_of(&path), 1, "a check changes nothing");
    let (_, loaded) = Store::open(StoreOptions::new(folder.path())).unwrap();
    assert_eq!(loaded.market.len(), 1, "{:?}", loaded.market);
    assert_eq!((version_of(&path), version_of(&copy_of(&path))), (VERSION, 1));
    assert_eq!(std::fs::metadata(copy_of(&path)).unwrap().mode() & 0o777, 0o600);
    let copy = Connection::open(copy_of(&path)).unwrap();
    assert!(!copy.table_exists(None, "allowance").unwrap());
    assert_eq!(copy.query_row("SELECT balance FROM account", [], |row| row.get::<_, String>(0)).unwrap(), "5.0");
    // A daemon that starts with it lacks what came since.
    assert_eq!(meta::<i64>(&copy, COPIED).unwrap(), Some(1));
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("partial")), "{names:?}");
}

#[test]
fn a_held_migration_leaves_the_old_layout_until_it_is_committed() {
    let (folder, path) = folder_of_version_1();
    let options = StoreOptions { holds_migration: true, ..StoreOptions::new(folder.path()) };
    // The process does not come to serve: facts that it has sent are undone too.
    let (store, loaded) = Store::open(options.clone()).unwrap();
    let first = crate::model::FactNumber(loaded.last_fact.0 + 1);
    let identifier = "202611261200".parse().unwrap();
    let facts = vec![crate::engine::Fact::RunStarted { identifier, start_ms: 1 }];
    store.fact_sender().append(first, facts.clone());
    store.close().unwrap();
    assert_eq!(version_of(&path), 1);
    let (store, loaded) = Store::open(options).unwrap();
    assert!(loaded.identifiers.is_empty(), "{:?}", loaded.identifiers);
    store.fact_sender().append(first, facts);
    assert_eq!(version_of(&path), 1);
    store.commit_migration().unwrap();
    assert_eq!(version_of(&path), VERSION);
    store.commit_migration().unwrap();
    store.close().unwrap();
    let (_, loaded) = Store::open(StoreOptions::new(folder.path())).unwrap();
    assert_eq!(loaded.identifiers.len(), 1);
}

#[test]
fn a_reader_sees_an_older_database_in_the_present_layout_and_leaves_it_alone() {
    let (folder, path) = folder_of_version_1();
    let before = std::fs::read(&path).unwrap();
    let database = open_for_reading(&path).unwrap();
    let balance = "SELECT balance || (SELECT count(*) FROM allowance) FROM account";
    assert_eq!(database.query_row(balance, [], |row| row.get::<_, String>(0)).unwrap(), "5.00");
    drop(database);
    assert!(before == std::fs::read(&path).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_newer_database_names_the_copy_that_this_program_can_open() {
    let (folder, path) = folder_of_version_1();
    drop(Store::open(StoreOptions::new(folder.path())).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 700).unwrap();
    std::fs::copy(&path, copy_before(&path, 800)).unwrap();
    std::fs::write(copy_before(&path, 900), "no database").unwrap();
    let text = open_migrating(&path).map(drop).unwrap_err().to_string();
    let expected = format!(
        "{} has schema version 700, expected schema version {VERSION}: start the program that wrote it; or go back to its copy \
         from before that program, which loses what was recorded since: jobtracker restore {}",
        path.display(),
        copy_of(&path).display()
    );
    assert_eq!(text, expected);
}

#[test]
fn a_migration_without_room_is_refused_and_says_what_it_takes() {
    let (_folder, path) = folder_of_version_1();
    let text = StoreError::NoRoom { path: path.clone(), folder: "/var".into(), needed_bytes: 7, free_bytes: 6 };
    assert!(text.to_string().ends_with("/var has 6 bytes free, the copy and the changes take 7; nothing is changed: free some space, or start the program that wrote it"), "{text}");
    let database = Connection::open(&path).unwrap();
    refuse_without_room(&database, &path).unwrap();
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let (_folder, path) = folder_of_version_1();
    // An administrator's table stands where a step makes its own.
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE tracker_presence (mine)").unwrap();
    let error = open_migrating(&path).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("cannot migrate "), "{error}");
    let database = Connection::open(&path).unwrap();
    assert_eq!((version_of(&path), database.table_exists(None, "job_history").unwrap()), (1, false));
}
