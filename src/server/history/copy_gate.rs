//! Whether a user's copy may still be written: until the end of its job is reported.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The end of the job is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the end of the job has been reported: nothing is written to its user's folders after it")]
pub(super) struct GateClosed;

/// Open until the end of a job is reported.
#[derive(Debug, Default)]
pub(super) struct CopyGate {
    is_closed: AtomicBool,
}

/// Writes while the gate is open.
pub(super) struct GatedWriter<'a> {
    pub(super) file: &'a mut dyn Write,
    pub(super) gate: &'a CopyGate,
}

impl CopyGate {
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn check(&self) -> Result<(), GateClosed> {
        if self.is_closed.load(Ordering::SeqCst) { Err(GateClosed) } else { Ok(()) }
    }
}

impl Write for GatedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gate.check().map_err(io::Error::other)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
