//! This process: its threads, and the memory that it uses and may use. Where a Java program says its heap, ours says these.

use std::fs;
use std::path::Path;

use crate::process_stat::{ProcessStat, ThreadStat};

/// The memory of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Resident.
    pub(super) used_bytes: u64,
    /// The limit of its control groups, else the machine's memory.
    pub(super) all_bytes: u64,
}

impl Memory {
    pub(super) fn now() -> Self {
        let used_bytes = ProcessStat::of_this_process().map_or(0, |stat| stat.resident_bytes);
        let limits = [group_limit(), machine_bytes()];
        Memory { used_bytes, all_bytes: limits.into_iter().flatten().min().unwrap_or(used_bytes) }
    }
}

/// Numbers of this process.
pub(super) struct Process {
    pub(super) memory: Memory,
    pub(super) threads: u64,
    pub(super) running_threads: u64,
}

impl Process {
    pub(super) fn now() -> Self {
        let threads = ThreadStat::all();
        Process {
            memory: Memory::now(),
            threads: threads.len() as u64,
            running_threads: threads.iter().filter(|thread| thread.state == 'R').count() as u64,
        }
    }
}

/// The least limit of the control groups that this process is in.
fn group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = Path::new("/sys/fs/cgroup").join(own.trim_start_matches('/'));
    let limits = own.ancestors().take_while(|group| group.starts_with("/sys/fs/cgroup"));
    limits.filter_map(|group| fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()).min()
}

fn machine_bytes() -> Option<u64> {
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_less_than_it_may() {
        let memory = Memory::now();
        assert!(memory.used_bytes > 0 && memory.used_bytes < memory.all_bytes, "{memory:?}");
    }
}
