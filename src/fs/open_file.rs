//! A file of any file system, open for reading.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::checked_file::CheckedFile;
use super::error::{FsError, refused};

/// A file that is open for reading and was found as expected.
#[derive(Debug)]
pub enum OpenFile {
    /// On this machine.
    Local(CheckedFile),
}

impl OpenFile {
    /// Where it lies, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            OpenFile::Local(file) => &file.path,
        }
    }

    /// Its length when it was opened. It may grow or shrink since.
    #[must_use]
    pub fn length_bytes(&self) -> u64 {
        match self {
            OpenFile::Local(file) => file.metadata.len(),
        }
    }

    /// When it was changed last, ms since 1970; 0 for what lies before.
    ///
    /// # Errors
    /// [`FsError`]: the file system does not record it.
    pub fn changed_ms(&self) -> Result<i64, FsError> {
        match self {
            OpenFile::Local(file) => {
                let changed = file.metadata.modified();
                let changed = changed.map_err(refused("read", &file.path, "a file system that records changes"))?;
                Ok(changed.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as i64))
            }
        }
    }

    /// The whole content, of at most `max_bytes`; never holds more than one byte beyond that in memory, however the file grows meanwhile.
    ///
    /// # Errors
    /// [`FsError`]: longer, or the file system refuses.
    pub fn read_limited(self, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        match self {
            OpenFile::Local(file) => file.read_limited(max_bytes),
        }
    }
}

impl Read for OpenFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            OpenFile::Local(file) => file.file.read(into),
        }
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            OpenFile::Local(file) => file.file.seek(to),
        }
    }
}
