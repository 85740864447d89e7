//! The state folder: private to its owner, and locked against a second daemon.
//!
//! Nothing in this process may open `state.db` but through SQLite once SQLite has it open: closing any other handle on
//! the file would drop SQLite's own locks (they belong to process and file, not to the handle).

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::error::StoreError;
use super::fault_point::FaultPoint;

const LOCK_NAME: &str = "lock";
const DATABASE_NAME: &str = "state.db";
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;

/// A state folder held by this process for as long as the value lives.
#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
    /// Keeps the lock: the system gives it up with the last handle, however the process ends.
    _lock: File,
}

// === impl Folder ===

impl Folder {
    /// Makes the folder if it is missing and takes its lock.
    pub(super) fn hold(dir: &Path) -> Result<Self, StoreError> {
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(dir).map_err(at("create", dir))?;
        let mode = fs::metadata(dir).map_err(at("read", dir))?.mode();
        if mode & OTHERS != 0 {
            // It may be somebody's own folder, so its mode stays; the files in it are private in any case.
            tracing::warn!("{} is open to others (mode {:o}): 700 is advised", dir.display(), mode & 0o777);
        }
        FaultPoint::FolderMade.pass();
        let lock = take_lock(&dir.join(LOCK_NAME))?;
        Ok(Self { dir: dir.to_owned(), _lock: lock })
    }

    /// The path of the database, whose file is made if it is missing.
    pub(super) fn database(&self) -> Result<PathBuf, StoreError> {
        let path = database_in(&self.dir);
        // SQLite gives its log the mode of the database file.
        private_file(&path)?;
        FaultPoint::DatabaseMade.pass();
        sync_folder(&self.dir).map_err(at("sync", &self.dir))?;
        FaultPoint::DatabaseNamed.pass();
        Ok(path)
    }
}

/// Where the database of a state folder is.
#[must_use]
pub fn database_in(state_dir: &Path) -> PathBuf {
    state_dir.join(DATABASE_NAME)
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Opens a file for reading and writing, made private if it is missing.
pub(super) fn private_file(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)
        .map_err(at("open", path))
}

/// Makes a private file that must not exist yet.
pub(super) fn new_private_file(path: &Path) -> Result<File, StoreError> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path).map_err(at("create", path))
}

/// For `map_err`: what was tried with which file.
pub(super) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::File { action, path, source }
}

fn take_lock(path: &Path) -> Result<File, StoreError> {
    let mut file = private_file(path)?;
    if let Err(error) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK {
            return Err(at("lock", path)(error.into()));
        }
        let mut text = String::new();
        let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
        return Err(StoreError::Held { path: path.to_owned(), pid });
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
    use super::*;

    #[test]
    fn a_second_holder_is_told_who_holds_it() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("a/state");
        let held = Folder::hold(&dir).unwrap();
        let error = Folder::hold(&dir).unwrap_err();
        assert!(matches!(&error, StoreError::Held { pid: Some(pid), .. } if *pid == std::process::id()), "{error}");
        assert!(error.to_string().contains(&format!("process {}", std::process::id())));
        drop(held);
        Folder::hold(&dir).unwrap();
    }

    #[test]
    fn folder_and_files_are_private() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("state");
        let folder = Folder::hold(&dir).unwrap();
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
        let error = Folder::hold(&file.join("state")).unwrap_err().to_string();
        assert!(error.starts_with("cannot create ") && error.contains("file/state"), "{error}");
    }
}
