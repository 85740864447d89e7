//! Copies a state database into one file, also while a daemon writes to it.
//!
//! Invariant: the target name exists only once the copy is complete, checked and synced.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ffi};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::model::FactNumber;

use super::database_reader::open_read_only;
use super::error::{StoreError, failed};
use super::fault_point::FaultPoint;
use super::folder::{at, beside, new_private_file, sync_folder};
use super::schema;
use super::schema::{BUDGET_FILE_SHOWN, COPIED, LAST_FACT, SESSION_KEY};

/// How long another process may lock the log of a crashed daemon while it recovers it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    pub last_fact: FactNumber,
    pub schema_version: u32,
    /// Unfinished ones included.
    pub jobs: u64,
    pub unfinished_jobs: u64,
    /// Queues with money.
    pub queues: u64,
    pub bytes: u64,
}

/// Copies a state database, also one that another process writes to, to a file that must not exist yet. The writer
/// continues meanwhile, in its log. Blocks for as long as copying and checking take.
///
/// # Errors
/// The database cannot be read or is damaged; the file exists or cannot be written.
pub fn backup(database: &Path, target: &Path) -> Result<BackupSummary, StoreError> {
    // SQLite would only say that it cannot open the file.
    fs::metadata(database).map_err(at("back up", database))?;
    if fs::symlink_metadata(target).is_ok() {
        let source =
            std::io::Error::new(ErrorKind::AlreadyExists, "it exists already; expected the name of a new file");
        return Err(at("back up to", target)(source));
    }
    let partial = Partial::make(target, &format!("-{}", std::process::id()))?;
    FaultPoint::BackupMade.pass();
    let source = open_read_only(database).map_err(failed("read", database))?;
    copy_pages(&source, &partial.path).map_err(failed("copy", database))?;
    drop(source);
    FaultPoint::BackupCopied.pass();
    let mut copy = Connection::open(&partial.path).map_err(failed("read", &partial.path))?;
    complete(&mut copy).map_err(failed("complete", &partial.path))?;
    FaultPoint::BackupCompleted.pass();
    let mut copied = checked_contents(&copy, database)?;
    copy.close().map_err(|(_, source)| failed("close", &partial.path)(source))?;
    FaultPoint::BackupChecked.pass();
    copied.bytes = partial.put_in_place(target, rename_to_new)?;
    Ok(copied)
}

/// An incomplete copy beside its target. Dropping it removes it.
struct Partial {
    path: PathBuf,
}

impl Partial {
    fn make(target: &Path, suffix: &str) -> Result<Self, StoreError> {
        let path = partial_of(target, suffix)?;
        new_private_file(&path)?;
        Ok(Self { path })
    }

    /// Syncs and renames it by `rename`; its size, bytes.
    fn put_in_place(
        self,
        target: &Path,
        rename: impl FnOnce(&Path, &Path) -> io::Result<()>,
    ) -> Result<u64, StoreError> {
        let sync = |path: &Path| {
            let file = File::open(path)?;
            file.sync_all()?;
            Ok(file.metadata()?.len())
        };
        let bytes = sync(&self.path).map_err(at("sync", &self.path))?;
        FaultPoint::BackupSynced.pass();
        rename(&self.path, target).map_err(at("back up to", target))?;
        FaultPoint::BackupRenamed.pass();
        let folder = target.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        sync_folder(folder).map_err(at("sync", folder))?;
        FaultPoint::BackupDone.pass();
        Ok(bytes)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Renamed already after success.
        let _ = fs::remove_file(&self.path);
        for suffix in ["-journal", "-wal", "-shm"] {
            let _ = fs::remove_file(beside(&self.path, suffix));
        }
    }
}

fn partial_of(target: &Path, suffix: &str) -> Result<PathBuf, StoreError> {
    let Some(name) = target.file_name() else {
        return Err(at("back up to", target)(ErrorKind::InvalidInput.into()));
    };
    let mut partial = name.to_owned();
    partial.push(format!(".partial{suffix}"));
    Ok(target.with_file_name(partial))
}

/// Never replaces a file, where the file system supports that.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if fs::symlink_metadata(to).is_err() => {
            fs::rename(from, to)
        }
        renamed => renamed.map_err(io::Error::from),
    }
}

fn copy_pages(source: &Connection, target: &Path) -> rusqlite::Result<()> {
    source.busy_timeout(BUSY_TIMEOUT)?;
    let mut copy = Connection::open(target)?;
    // An interrupted copy is removed; a complete one is synced at once at the end.
    copy.pragma_update(None, "synchronous", "OFF")?;
    copy_into(source, &mut copy)
}

pub(super) fn copy_into(source: &Connection, copy: &mut Connection) -> rusqlite::Result<()> {
    // All pages in one step: between two steps a commit of the writer would restart the copy.
    match Backup::new(source, copy)?.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None)),
    }
}

/// Copies a database that this process has locked to a file beside it; replaces what an interrupted try has left there.
pub(super) fn keep_aside(source: &Connection, path: &Path, target: &Path) -> Result<u64, StoreError> {
    let failed = failed("copy", path);
    // Removes the part that a crash has left.
    drop(Partial { path: partial_of(target, "")? });
    let partial = Partial::make(target, "")?;
    FaultPoint::BackupMade.pass();
    let mut copy = Connection::open(&partial.path).map_err(&failed)?;
    copy.pragma_update(None, "synchronous", "OFF").map_err(&failed)?;
    copy_into(source, &mut copy).map_err(&failed)?;
    FaultPoint::BackupCopied.pass();
    complete(&mut copy).map_err(&failed)?;
    FaultPoint::BackupCompleted.pass();
    copy.close().map_err(|(_, source)| failed(source))?;
    FaultPoint::BackupChecked.pass();
    partial.put_in_place(target, |from, to| fs::rename(from, to))
}

/// Makes it a single file without a log, and removes what holds for the original only.
fn complete(copy: &mut Connection) -> rusqlite::Result<()> {
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    // The budget file keeps changing: when the copy is restored, a difference is no edit of an administrator.
    // A copy is read by others: nothing of the key stays in it, and a daemon that starts with it draws another.
    copy.pragma_update(None, "secure_delete", true)?;
    copy.execute("DELETE FROM meta WHERE key IN (?1, ?2)", [BUDGET_FILE_SHOWN, SESSION_KEY])?;
    // Trackers continue too: a daemon that starts with the copy may not know all of their attempts.
    copy.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, 1)", [COPIED]).map(drop)
}

/// What a copy has, once it is found whole; `path` is what an error names.
pub(super) fn checked_contents(copy: &Connection, path: &Path) -> Result<BackupSummary, StoreError> {
    if let Some(text) = damage(copy).map_err(failed("check", path))? {
        return Err(StoreError::Damaged { path: path.to_owned(), text });
    }
    contents(copy).map_err(failed("read", path))
}

/// The first damage that SQLite finds, if any.
fn damage(copy: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    Ok((found != "ok").then_some(found))
}

fn contents(copy: &Connection) -> rusqlite::Result<BackupSummary> {
    let count = |sql| copy.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned);
    Ok(BackupSummary {
        last_fact: FactNumber(schema::meta::<i64>(copy, LAST_FACT)?.unwrap_or(0).cast_unsigned()),
        schema_version: schema::version(copy)?,
        jobs: count("SELECT count(*) FROM job")?,
        unfinished_jobs: count("SELECT count(*) FROM job WHERE finish_ms IS NULL")?,
        queues: count("SELECT count(*) FROM account")?,
        bytes: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::store::database::open_for_writing;
    use crate::store::steps::VERSION;

    /// A database as a daemon leaves it after a clean stop.
    fn database(scratch: &Path) -> PathBuf {
        let path = scratch.join("state.db");
        let database = open_for_writing(&path).unwrap();
        let sql =
            "INSERT INTO meta VALUES ('last_fact', 17), ('budget_file_shown', '17'), ('session_key', x'5e551041');
             INSERT INTO account VALUES ('alice', '7.0', '7000000000000', '0.5', '500000000000')";
        database.execute_batch(sql).unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_copy_is_one_private_file_and_says_what_is_in_it() {
        let (scratch, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = place.path().join("copy.db");
        let copied = backup(&database(scratch.path()), &target).unwrap();
        let about = fs::metadata(&target).unwrap();
        let expected = BackupSummary {
            last_fact: FactNumber(17),
            schema_version: VERSION,
            jobs: 0,
            unfinished_jobs: 0,
            queues: 1,
            bytes: about.len(),
        };
        assert_eq!(copied, expected);
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
        // Readable where nothing can be written beside it, and without a trace.
        let copy = open_read_only(&target).unwrap();
        assert_eq!(schema::meta::<String>(&copy, BUDGET_FILE_SHOWN).unwrap(), None, "no stop of a daemon left it so");
        assert_eq!(schema::meta::<i64>(&copy, COPIED).unwrap(), Some(1));
        let has_key = |file: &Path| fs::read(file).unwrap().windows(4).any(|bytes| bytes == [0x5e, 0x55, 0x10, 0x41]);
        assert!(has_key(&scratch.path().join("state.db")) && !has_key(&target), "who reads a copy could sign in");
        drop(copy);
        assert_eq!(names(place.path()), ["copy.db"]);
    }

    #[test]
    fn what_exists_is_never_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let path = database(scratch.path());
        let target = scratch.path().join("copy.db");
        std::os::unix::fs::symlink("nowhere", &target).unwrap();
        let error = backup(&path, &target).unwrap_err().to_string();
        assert!(error.starts_with("cannot back up to ") && error.contains("exists"), "{error}");
        fs::remove_file(&target).unwrap();
        // Nor what comes while the copy is made.
        let partial = Partial::make(&target, "").unwrap();
        fs::write(&target, "mine").unwrap();
        let error = partial.put_in_place(&target, rename_to_new).unwrap_err().to_string();
        assert!(error.contains("exists"), "{error}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        assert!(!names(scratch.path()).iter().any(|name| name.contains("partial")));
        assert!(backup(&path, &path).unwrap_err().to_string().contains("exists"));
    }

    #[test]
    fn what_is_damaged_or_no_state_is_told_and_leaves_nothing() {
        let (scratch, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = place.path().join("copy.db");
        let error = backup(&scratch.path().join("state.db"), &target).unwrap_err().to_string();
        assert!(error.starts_with("cannot back up ") && error.contains("No such file"), "{error}");
        let path = database(scratch.path());
        let open = Connection::open(&path).unwrap();
        let root = "SELECT rootpage FROM sqlite_schema WHERE name = 'account'";
        let page = open.query_row(root, [], |row| row.get::<_, u32>(0)).unwrap() as usize;
        drop(open);
        let mut bytes = fs::read(&path).unwrap();
        bytes[(page - 1) * 4096..][..8].fill(0xff);
        fs::write(&path, bytes).unwrap();
        let error = backup(&path, &target).unwrap_err().to_string();
        assert!(error.contains("state.db is damaged: "), "{error}");
        fs::write(&path, "hadoop_user_1 100.0 1.0\n".repeat(50)).unwrap();
        let error = backup(&path, &target).unwrap_err().to_string();
        assert!(error.contains("not a database"), "{error}");
        assert_eq!(names(place.path()), Vec::<String>::new());
    }
}
