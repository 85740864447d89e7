//! A state database or a backup of it, opened to be read: the file is never changed, and nothing is written beside it.
//!
//! One that has a log beside it, is of an older schema version, or is in the mode that a daemon leaves it in, is read from a private
//! copy: SQLite would write beside the file, or the schema differs.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags};

use super::backup::{checked_contents, copy_into};
use super::database::known_version_of;
use super::error::{StoreError, failed};
use super::finished_jobs::FinishedJobReader;
use super::folder::{at, beside};
use super::ledger_reader::LedgerReader;
use super::loaded_state::{LoadedState, StateReader};
use super::options::StoreOptions;
use super::steps::{self, VERSION};
use super::stored_applications::StoredApplicationReader;

/// Where the header of a database says whether it has a log, and the value for one that has none.
const MODE_AT: usize = 18;
const WITHOUT_LOG: [u8; 2] = [1, 1];
const MOST_TRIES: u32 = 1_000;
static NEXT_FOLDER: AtomicU32 = AtomicU32::new(0);

/// A state database that is read and never changed.
#[derive(Debug)]
pub(crate) struct StateFile {
    database: PathBuf,
    /// Keeps the copy, if there is one.
    _copy: Option<PrivateFolder>,
}

#[derive(Debug)]
struct PrivateFolder(PathBuf);

impl StateFile {
    /// Opens a file and loads its state, with so many of the newest jobs that are over. Blocks for as long as checking, and perhaps
    /// copying it, takes.
    pub(crate) fn open(file: &Path, finished_jobs: usize) -> Result<(Self, LoadedState), StoreError> {
        let about = fs::metadata(file).map_err(at("read", file))?;
        if about.is_dir() {
            let source =
                io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; expected a state.db or a backup of one");
            return Err(at("read", file)(source));
        }
        let (is_single, has_log) = (is_single(file)?, has_content(&beside(file, "-wal")));
        let source = source(file, has_log).map_err(failed("read", file))?;
        let version = known_version_of(&source, file)?;
        checked_contents(&source, file)?;
        let opened = match is_single && !has_log && version == VERSION {
            true => Self { database: file.to_owned(), _copy: None },
            false => {
                let folder = PrivateFolder::make()?;
                let database = folder.0.join("state.db");
                let mut copy = Connection::open(&database).map_err(failed("copy", file))?;
                copy_into(&source, &mut copy).map_err(failed("copy", file))?;
                copy.pragma_update(None, "journal_mode", "DELETE").map_err(failed("copy", file))?;
                steps::run_from(version, &copy, || {}).map_err(failed("migrate a copy of", file))?;
                Self { database, _copy: Some(folder) }
            }
        };
        drop(source);
        let folder = opened.database.parent().unwrap_or(Path::new("."));
        let options = StoreOptions { finished_jobs, ..StoreOptions::new(folder) };
        let loaded = StateReader::new(&opened.database, &options).load()?;
        Ok((opened, loaded))
    }

    pub(crate) fn ledger(&self) -> LedgerReader {
        LedgerReader::new(&self.database)
    }

    pub(crate) fn finished_jobs(&self) -> FinishedJobReader {
        FinishedJobReader::new(&self.database)
    }

    pub(crate) fn stored_applications(&self) -> StoredApplicationReader {
        StoredApplicationReader::new(&self.database)
    }
}

/// Opens a file that has no log beside it as one that never changes, so that SQLite writes nothing there.
fn source(file: &Path, has_log: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if has_log {
        return Connection::open_with_flags(file, flags);
    }
    let path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let encoded = percent_encode(path.as_os_str().as_bytes(), NON_ALPHANUMERIC);
    Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags | OpenFlags::SQLITE_OPEN_URI)
}

fn is_single(file: &Path) -> Result<bool, StoreError> {
    let mut header = [0; MODE_AT + WITHOUT_LOG.len()];
    let read = File::open(file).and_then(|mut opened| opened.read_exact(&mut header));
    match read {
        Ok(()) => Ok(header[MODE_AT..] == WITHOUT_LOG),
        // SQLite says what is wrong with it.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        Err(error) => Err(at("read", file)(error)),
    }
}

fn has_content(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| about.len() > 0)
}

impl PrivateFolder {
    fn make() -> Result<Self, StoreError> {
        let (place, pid) = (std::env::temp_dir(), std::process::id());
        for _ in 0..MOST_TRIES {
            // A name is used once: who has seen its folder go does not meet another one.
            let number = NEXT_FOLDER.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("jobtracker-pages-{pid}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(at("make a folder in", &place)(error)),
            }
        }
        Err(at("make a folder in", &place)(io::ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!("cannot remove {}: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
#[path = "tests/state_file.rs"]
mod tests;
