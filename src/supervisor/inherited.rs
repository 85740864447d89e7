//! Descriptors that a supervisor has inherited beside its streams: what started the worker left them open.

use std::{fs, io};

/// The first one that is none of the three streams.
const FIRST: i32 = 3;

/// Closes all that this process has inherited, but for its three streams, so that a command has these alone. Before it has opened
/// anything, on its only thread.
///
/// # Errors
/// They cannot be listed.
pub(super) fn close_inherited() -> io::Result<()> {
    let open = fs::read_dir("/proc/self/fd")?;
    let numbers: Vec<i32> =
        open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(|fd| *fd >= FIRST).collect();
    for number in numbers {
        // That of the list is closed already.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
