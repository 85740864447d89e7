//! A file of any file system, open for reading or, new, for writing.

use std::io;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::hdfs::{HdfsReader, HdfsWriter};

use super::checked_file::CheckedFile;
use super::checksummed::ChecksummedFile;
use super::error::{FsError, refused};

/// A file that is open for reading and was found as expected.
#[derive(Debug)]
pub(crate) enum OpenFile {
    Local(CheckedFile),
    Hdfs(Box<HdfsFile>),
}

#[derive(Debug)]
pub(crate) struct HdfsFile {
    pub(super) reader: HdfsReader,
    /// Where it lies, for messages.
    pub(super) path: PathBuf,
    /// Its last change when it was opened, epoch ms.
    pub(super) changed_ms: i64,
}

impl OpenFile {
    /// Where it lies, for messages.
    pub(crate) fn path(&self) -> &Path {
        match self {
            OpenFile::Local(file) => &file.path,
            OpenFile::Hdfs(file) => &file.path,
        }
    }

    /// Its length when it was opened. It may grow or shrink since.
    pub(crate) fn length_bytes(&self) -> u64 {
        match self {
            OpenFile::Local(file) => file.metadata.len(),
            OpenFile::Hdfs(file) => file.reader.length_bytes(),
        }
    }

    /// When it was changed last, ms since 1970; 0 for what lies before. Errors: the file system does not record it.
    pub(crate) fn changed_ms(&self) -> Result<i64, FsError> {
        match self {
            OpenFile::Local(file) => {
                let changed = file.metadata.modified();
                let changed = changed.map_err(refused("read", &file.path, "a file system that records changes"))?;
                Ok(changed.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as i64))
            }
            OpenFile::Hdfs(file) => Ok(file.changed_ms),
        }
    }

    /// Fills the buffer, unless the file or, on HDFS, its block ends before: one read of a stock client (1.2.1 `FSInputChecker.read`,
    /// `DFSInputStream.read`).
    pub(crate) fn read_full(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            OpenFile::Local(file) => file.file.read(into),
            OpenFile::Hdfs(file) => file.reader.read_in_block(into),
        }
    }

    /// The whole content, of at most `max_bytes`; never holds more than one byte beyond that in memory, however the file grows meanwhile.
    /// Errors: longer, or the file system refuses.
    pub(crate) fn read_limited(self, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        match self {
            OpenFile::Local(file) => file.read_limited(max_bytes),
            OpenFile::Hdfs(file) => file.read_limited(max_bytes),
        }
    }
}

impl HdfsFile {
    fn read_limited(mut self, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        let length_bytes = self.reader.length_bytes();
        if length_bytes > max_bytes {
            return Err(FsError::TooLong { path: self.path, bytes: length_bytes, max_bytes });
        }
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(max_bytes).read_to_end(&mut bytes);
        read.map_err(refused("read", &self.path, "a readable file"))?;
        if bytes.len() as u64 != length_bytes {
            let reason = format!("ended after {} of {length_bytes} bytes", bytes.len());
            let source = io::Error::new(io::ErrorKind::UnexpectedEof, reason);
            return Err(refused("read", &self.path, "a file that does not change meanwhile")(source));
        }
        Ok(bytes)
    }
}

impl Read for OpenFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            OpenFile::Local(file) => file.file.read(into),
            OpenFile::Hdfs(file) => file.reader.read(into),
        }
    }
}

impl Seek for OpenFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            OpenFile::Local(file) => file.file.seek(to),
            OpenFile::Hdfs(file) => file.reader.seek(to),
        }
    }
}

/// Writes a file. It counts as written only when [`FileWriter::finish`] has returned.
#[derive(Debug)]
pub enum FileWriter {
    /// On this machine, with its checksums beside it.
    Local(ChecksummedFile),
    Hdfs(HdfsWriter),
}

impl FileWriter {
    /// Writes what is held back; returns the bytes written as Hadoop counts them: with the checksums, where those are a file.
    pub fn finish(self) -> io::Result<u64> {
        match self {
            FileWriter::Local(file) => file.finish(),
            FileWriter::Hdfs(file) => Ok(file.finish()?),
        }
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            FileWriter::Local(file) => file.write(bytes),
            FileWriter::Hdfs(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            FileWriter::Local(file) => file.flush(),
            FileWriter::Hdfs(file) => file.flush(),
        }
    }
}
