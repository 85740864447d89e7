//! Has large buffers go back to the system as soon as they are free.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// What glibc reads at the start of a process, and only then: buffers from this size on, bytes, are mapped by themselves.
const THRESHOLD: &str = "MALLOC_MMAP_THRESHOLD_";
const THRESHOLD_BYTES: &str = "1048576";

/// Executes this program again, under the same process id, with a fixed threshold, unless the environment sets one.
///
/// By default glibc raises the threshold to the size of each large buffer that is freed, up to 32 MiB, and keeps what is smaller in a
/// heap for each thread: forty submissions with a job.xml of 5 MB left 88 MiB behind.
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
