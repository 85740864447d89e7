//! A file is read as it is, or refused by name; it and its folder stay as they were.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::store::backup;
use crate::store::database::open_for_writing;
use crate::store::schema::{APPLICATION_ID, SCHEMA};

const MONEY: &str = "INSERT INTO meta VALUES ('last_fact', 17);
     INSERT INTO account VALUES ('alice', '7.0', '7000000000000', '0.5', '500000000000')";

/// The files of a folder with their bytes.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())).collect()
}

/// Opens a file whose folder takes no writes; what the folder has is as before.
fn open(file: &Path) -> Result<(StateFile, LoadedState), StoreError> {
    let folder = file.parent().unwrap();
    let before = content(folder);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o500)).unwrap();
    let opened = StateFile::open(file, 10);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(before == content(folder), "{file:?} or what lies beside it was changed");
    opened
}

#[test]
fn a_backup_is_read_in_place_and_a_database_in_use_from_a_copy_that_goes_with_it() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("state.db");
    open_for_writing(&path).unwrap().execute_batch(MONEY).unwrap();
    let target = scratch.path().join("a %20 backup?.db");
    backup(&path, &target).unwrap();
    let (read, loaded) = open(&target).unwrap();
    assert_eq!((read.database.as_path(), loaded.last_fact.0, loaded.market.len()), (target.as_path(), 17, 1));
    // As a daemon leaves it after a stop, in a mode in which SQLite writes beside it.
    let (read, loaded) = open(&path).unwrap();
    let copy = read.database.clone();
    assert_eq!((copy != path, loaded.last_fact.0), (true, 17));
    assert_eq!(fs::metadata(copy.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    drop(read);
    assert!(!copy.exists() && !copy.parent().unwrap().exists());
    // As a crash leaves it: the log has what came last.
    let database = open_for_writing(&path).unwrap();
    database.execute_batch("UPDATE meta SET value = 18 WHERE key = 'last_fact'").unwrap();
    assert!(has_content(&beside(&path, "-wal")));
    let (_read, loaded) = StateFile::open(&path, 10).unwrap();
    assert_eq!(loaded.last_fact.0, 18);
}

#[test]
fn an_older_layout_is_read_from_a_copy_in_the_present_one() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("state.db");
    let first = format!(
        "{SCHEMA}; ALTER TABLE ledger DROP COLUMN note; {MONEY}; PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = 1"
    );
    Connection::open(&path).unwrap().execute_batch(&first).unwrap();
    let (read, loaded) = open(&path).unwrap();
    assert_eq!((read.database != path, loaded.market.len()), (true, 1));
}

#[test]
fn what_cannot_be_shown_is_refused_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let refused = |name: &str, make: &dyn Fn(&Path)| {
        let path = scratch.path().join(name);
        make(&path);
        open(&path).unwrap_err().to_string()
    };
    let missing = refused("missing.db", &|_| {});
    assert!(missing.starts_with("cannot read ") && missing.contains("missing.db: No such file"), "{missing}");
    let newer = refused("newer.db", &|path| {
        let sql = format!("{SCHEMA}; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 700");
        Connection::open(path).unwrap().execute_batch(&sql).unwrap();
    });
    assert!(newer.contains("newer.db has schema version 700, expected schema version"), "{newer}");
    let foreign = refused("songs.db", &|path| {
        Connection::open(path).unwrap().execute_batch("CREATE TABLE songs (name)").unwrap();
    });
    assert!(foreign.contains("songs.db is a database of another program"), "{foreign}");
    let text = refused("budget", &|path| fs::write(path, "hadoop_user_1 100.0 1.0\n".repeat(50)).unwrap());
    assert!(text.contains("budget") && text.contains("not a database"), "{text}");
    let empty = refused("empty.db", &|path| fs::write(path, "").unwrap());
    assert!(empty.contains("empty.db"), "{empty}");
    let damaged = refused("damaged.db", &|path| {
        let database = open_for_writing(path).unwrap();
        database.execute_batch(MONEY).unwrap();
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'account'";
        let page = database.query_row(root, [], |row| row.get::<_, u32>(0)).unwrap() as usize;
        drop(database);
        let mut bytes = fs::read(path).unwrap();
        bytes[(page - 1) * 4096..][..8].fill(0xff);
        fs::write(path, bytes).unwrap();
    });
    assert!(damaged.contains("damaged.db is damaged: "), "{damaged}");
    let cut = refused("cut.db", &|path| {
        let whole = scratch.path().join("damaged.db");
        fs::write(path, &fs::read(whole).unwrap()[..9_000]).unwrap();
    });
    assert!(cut.contains("cut.db"), "{cut}");
    let folder = StateFile::open(scratch.path(), 10).unwrap_err().to_string();
    assert!(folder.contains("it is a folder; expected a state.db"), "{folder}");
}
