//! A new file of any file system, open for writing.

use std::io::{self, Write};

use crate::hdfs::HdfsWriter;

use super::checksummed::ChecksummedFile;

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
