//! Returns large freed buffers to the system at once.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// glibc's variable, read only at the start of a process: buffers of at least this size, bytes, get mappings of their own.
const THRESHOLD: &str = "MALLOC_MMAP_THRESHOLD_";
const THRESHOLD_BYTES: &str = "1048576";

/// Executes this program again, under the same process id, with a fixed threshold, unless the environment sets one.
///
/// By default glibc raises the threshold to the size of each large buffer that is freed, up to 32 MiB, and keeps smaller buffers in a
/// heap for each thread: forty submissions with a job.xml of 5 MB left 88 MiB allocated.
pub(super) fn return_large_buffers() {
    if std::env::var_os(THRESHOLD).is_some() {
        return;
    }
    let mut arguments = std::env::args_os();
    if let (Ok(program), Some(name)) = (std::env::current_exe(), arguments.next()) {
        let error = Command::new(program).arg0(name).args(arguments).env(THRESHOLD, THRESHOLD_BYTES).exec();
        tracing::debug!("the program runs without {THRESHOLD}: {error}");
    }
}
