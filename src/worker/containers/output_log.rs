//! One of a container's two logs, which ends at its limit.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// Read from a pipe at once, bytes.
const PIECE_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct OutputLog {
    file: File,
    written_bytes: u64,
    limit_bytes: u64,
    is_full: bool,
    lost: Option<LostOutput>,
}

/// What could not be kept of an output.
#[derive(Debug)]
pub(crate) struct LostOutput {
    pub(crate) bytes: u64,
    /// What the system said first.
    pub(crate) error: io::Error,
}

/// A log and the pipe that its content comes from.
#[derive(Debug)]
pub(crate) struct CollectedOutput {
    pipe: io::PipeReader,
    log: OutputLog,
    is_over: bool,
}

impl OutputLog {
    /// A log of at most `limit_bytes` in a file that is empty.
    pub(crate) fn new(file: File, limit_bytes: u64) -> Self {
        Self { file, written_bytes: 0, limit_bytes, is_full: false, lost: None }
    }

    /// Appends bytes; returns whether they are the first for which there is no room within the limit.
    fn append(&mut self, bytes: &[u8]) -> bool {
        if self.is_full {
            return false;
        }
        let room = usize::try_from(self.limit_bytes - self.written_bytes).unwrap_or(usize::MAX);
        let fitting = &bytes[..bytes.len().min(room)];
        self.write(fitting);
        self.written_bytes += fitting.len() as u64;
        self.is_full = fitting.len() < bytes.len();
        if self.is_full {
            let _ = self.write_notice();
        }
        self.is_full
    }

    /// Writes as much as it can, and counts the rest.
    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(written) if written > 0 => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                failed => {
                    let error = failed.err().unwrap_or_else(|| io::ErrorKind::WriteZero.into());
                    let lost = self.lost.get_or_insert(LostOutput { bytes: 0, error });
                    lost.bytes = lost.bytes.saturating_add(bytes.len() as u64);
                    return;
                }
            }
        }
    }

    /// Puts a line at the end that says that more was written.
    fn write_notice(&mut self) -> io::Result<()> {
        let limit_kb = self.limit_bytes >> 10;
        let notice = format!("\n[cut at the limit of a log, jobtracker.containers.log.limit.kb = {limit_kb}]\n");
        let end = self.limit_bytes.saturating_sub(notice.len() as u64);
        self.file.set_len(end)?;
        self.file.seek(SeekFrom::Start(end))?;
        self.file.write_all(notice.as_bytes())
    }
}

impl CollectedOutput {
    /// Collects what comes from the pipe.
    pub(crate) fn new(pipe: io::PipeReader, log: OutputLog) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe, log, is_over: false })
    }

    /// Whether nothing more can come.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What could not be written, and how much was.
    pub(crate) fn lost(&self) -> Option<(&LostOutput, u64)> {
        let lost = self.log.lost.as_ref()?;
        Some((lost, self.log.written_bytes.saturating_sub(lost.bytes)))
    }

    /// Takes what is there; returns whether the log has overflowed just now. Takes at most a few pieces, so that a flood lets the
    /// caller look at other things.
    pub(crate) fn take(&mut self) -> bool {
        let mut piece = [0; PIECE_BYTES];
        let mut has_overflowed = false;
        for _ in 0..16 {
            match self.pipe.read(&mut piece) {
                Ok(0) => {
                    self.is_over = true;
                    break;
                }
                Ok(bytes) => has_overflowed |= self.log.append(&piece[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_over = error.kind() != io::ErrorKind::WouldBlock;
                    break;
                }
            }
        }
        has_overflowed
    }
}

impl AsFd for CollectedOutput {
    /// Readable when there is something to take.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_full_disk_does_not_take_is_counted() {
        let (pipe, mut writer) = io::pipe().unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut output = CollectedOutput::new(pipe, OutputLog::new(full, 1 << 10)).unwrap();
        writer.write_all(b"lost").unwrap();
        output.take();
        let (lost, kept_bytes) = output.lost().unwrap();
        assert_eq!((lost.bytes, lost.error.kind(), kept_bytes), (4, io::ErrorKind::StorageFull, 0));
    }

    #[test]
    fn a_log_ends_at_its_limit_with_a_line_that_says_so() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("stdout");
        let (pipe, mut writer) = io::pipe().unwrap();
        let mut output = CollectedOutput::new(pipe, OutputLog::new(File::create(&path).unwrap(), 1 << 10)).unwrap();
        writer.write_all(&[b'x'; 1 << 10]).unwrap();
        assert!(!output.take(), "it just fits");
        assert_eq!(std::fs::read(&path).unwrap(), [b'x'; 1 << 10]);
        writer.write_all(b"y").unwrap();
        assert!(output.take() && !output.is_over());
        writer.write_all(b"z").unwrap();
        drop(writer);
        assert!(!output.take() && output.is_over(), "only the first overflow is news");
        let log = std::fs::read_to_string(&path).unwrap();
        assert_eq!(log.len(), 1 << 10);
        assert!(
            log.starts_with("xxx")
                && log.ends_with("\n[cut at the limit of a log, jobtracker.containers.log.limit.kb = 1]\n")
        );
    }
}
