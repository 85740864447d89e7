//! The state folder: private to its owner, and locked against a second daemon.
//!
//! Nothing in this process may open `state.db` but through SQLite once SQLite has it open: closing any other handle on
//! the file would drop SQLite's own locks (they belong to process and file, not to the handle).

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::error::StoreError;
use super::fault_point::FaultPoint;
use crate::fs::{FolderHandle, Privacy, TrustedFolder, open_trusted_folder};

const LOCK_NAME: &str = "lock";
const DATABASE_NAME: &str = "state.db";
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;
const WRITABLE_FOR_GROUP: u32 = 0o020;

/// A state folder, locked by this process for as long as the value lives.
#[derive(Debug)]
pub(super) struct StateFolder {
    folder: FolderHandle,
    /// Keeps the lock: the system releases it with the last handle, however the process ends.
    _lock: File,
}

impl StateFolder {
    /// Creates the folder if it is missing and locks it. A folder of another user, or writable for others, is refused.
    pub(super) fn lock(dir: &Path) -> Result<Self, StoreError> {
        let TrustedFolder { folder, warnings } = open_trusted_folder(dir, FOLDER_MODE, Privacy::Private)?;
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        let mode = folder.mode()?;
        if mode & OTHERS != 0 && mode & WRITABLE_FOR_GROUP == 0 {
            // Its owner may want this mode, so it stays; the files in it are private in any case.
            tracing::warn!("{} is open to others (mode {:o}): set mode 700", dir.display(), mode & 0o777);
        }
        FaultPoint::FolderMade.pass();
        let lock = take_lock(&folder)?;
        Ok(Self { folder, _lock: lock })
    }

    /// The path of the database; creates a missing file.
    ///
    /// An empty file is a new database only where nothing of another one lies beside it: else it is one that was lost.
    pub(super) fn database(&self) -> Result<PathBuf, StoreError> {
        let path = database_in(self.folder.path());
        if is_empty(&path) == Some(true)
            && let Some(remains) = remains_beside(&path)
        {
            return Err(StoreError::Emptied { path, remains });
        }
        // SQLite gives its log the mode of the database file.
        self.folder.open_own_file(OsStr::new(DATABASE_NAME), FILE_MODE)?;
        FaultPoint::DatabaseMade.pass();
        self.folder.sync()?;
        FaultPoint::DatabaseNamed.pass();
        Ok(path)
    }
}

#[must_use]
pub fn database_in(state_dir: &Path) -> PathBuf {
    state_dir.join(DATABASE_NAME)
}

/// Whether a file has no bytes; none: it is not there.
fn is_empty(path: &Path) -> Option<bool> {
    Some(std::fs::symlink_metadata(path).ok()?.len() == 0)
}

/// What a database has left beside itself: its log, copies of before a migration, those that a restore has replaced.
fn remains_beside(database: &Path) -> Option<PathBuf> {
    let (copies, log) = (format!("{DATABASE_NAME}."), format!("{DATABASE_NAME}-wal"));
    let entries = std::fs::read_dir(database.parent()?).ok()?.filter_map(Result::ok);
    let remains = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        (name.starts_with(&copies) || *name == log) && is_empty(&entry.path()) == Some(false)
    });
    remains.map(|entry| entry.path()).min()
}

/// The path of a file that has the name of another one and an ending, beside that.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.to_owned().into_os_string();
    path.push(ending);
    path.into()
}

pub(super) fn sync_folder(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

pub(super) fn new_private_file(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path).map_err(at("create", path))
}

/// For `map_err`: the failed action and its file.
pub(super) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::File { action, path, source }
}

fn take_lock(folder: &FolderHandle) -> Result<File, StoreError> {
    let path = &folder.path().join(LOCK_NAME);
    let mut file = folder.open_own_file(OsStr::new(LOCK_NAME), FILE_MODE)?;
    if let Err(error) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK {
            return Err(at("lock", path)(error.into()));
        }
        let mut text = String::new();
        let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
        return Err(StoreError::Locked { path: path.to_owned(), pid });
    }
    FaultPoint::FolderLocked.pass();
    let write = |file: &mut File| -> io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    write(&mut file).map_err(at("write", path))?;
    FaultPoint::FolderNamed.pass();
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn an_empty_database_beside_what_another_has_left_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("state");
        let folder = StateFolder::lock(&dir).unwrap();
        let path = folder.database().unwrap();
        folder.database().unwrap();
        for name in ["state.db.replaced-1", "state.db-wal"] {
            let remains = dir.join(name);
            fs::write(&remains, "").unwrap();
            folder.database().unwrap();
            fs::write(&remains, "x").unwrap();
            let error = folder.database().unwrap_err();
            assert!(error.is_permanent());
            let text = error.to_string();
            assert!(text.contains("state.db has no bytes") && text.contains(name), "{text}");
            fs::remove_file(&path).unwrap();
            folder.database().unwrap();
            fs::remove_file(&remains).unwrap();
        }
        fs::write(&path, "x").unwrap();
        fs::write(dir.join("state.db.replaced-1"), "x").unwrap();
        folder.database().unwrap();
    }

    #[test]
    fn a_second_daemon_learns_which_process_holds_the_lock() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("a/state");
        let held = StateFolder::lock(&dir).unwrap();
        let error = StateFolder::lock(&dir).unwrap_err();
        assert!(matches!(&error, StoreError::Locked { pid: Some(pid), .. } if *pid == std::process::id()), "{error}");
        assert!(error.to_string().contains(&format!("process {}", std::process::id())));
        drop(held);
        // A process that another test starts keeps the lock until it runs its program.
        assert!((0..10_000).any(|_| StateFolder::lock(&dir).is_ok()));
    }

    #[test]
    fn folder_and_files_are_private() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("state");
        let folder = StateFolder::lock(&dir).unwrap();
        let database = folder.database().unwrap();
        for (path, mode) in [(&dir, 0o700), (&database, 0o600), (&dir.join(LOCK_NAME), 0o600)] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, mode, "{}", path.display());
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("file");
        fs::write(&file, "").unwrap();
        let error = StateFolder::lock(&file.join("state")).unwrap_err().to_string();
        assert_eq!(error, format!("{}: expected a folder", file.canonicalize().unwrap().display()));
    }

    #[test]
    fn links_in_place_of_our_files_are_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("state");
        fs::create_dir(&dir).unwrap();
        let secret = scratch.path().join("secret");
        fs::write(&secret, "a root-only file").unwrap();
        for name in [LOCK_NAME, DATABASE_NAME] {
            symlink(&secret, dir.join(name)).unwrap();
            let refused = StateFolder::lock(&dir).and_then(|folder| folder.database()).unwrap_err().to_string();
            assert!(
                refused.ends_with(&format!("/{name} is a symbolic link; expected a path without links")),
                "{refused}"
            );
            fs::remove_file(dir.join(name)).unwrap();
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "a root-only file");
        StateFolder::lock(&dir).unwrap().database().unwrap();
    }

    #[test]
    fn a_folder_that_others_may_change_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("state");
        fs::create_dir(&dir).unwrap();
        for mode in [0o777, 0o1777] {
            fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).unwrap();
            let refused = StateFolder::lock(&dir).unwrap_err().to_string();
            assert!(refused.contains("writable for others") && refused.contains("chmod"), "{refused}");
        }
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }
}
