//! Processes of this machine by /proc: their parents and their memory (1.2.1 `ProcfsBasedProcessTree`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, getuid, pidfd_open, pidfd_send_signal};

use crate::process_stat::ProcessStat;

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its parent's number.
    pub parent: i32,
    /// Address space, bytes.
    pub virtual_bytes: u64,
    /// Resident memory, bytes.
    pub physical_bytes: u64,
}

/// Memory of several processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Address space, bytes.
    pub virtual_bytes: u64,
    /// Resident memory, bytes.
    pub physical_bytes: u64,
}

/// The processes of a running command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandTree {
    /// All of them descend from it.
    pub root: i32,
    /// Whether it is one of them.
    pub with_root: bool,
}

/// A snapshot of all visible processes.
#[derive(Clone, Debug, Default)]
pub struct ProcessTable {
    children: BTreeMap<i32, Vec<Process>>,
}

fn read(pid: i32) -> Option<Process> {
    let ProcessStat { parent, virtual_bytes, resident_bytes, .. } = ProcessStat::of(pid)?;
    Some(Process { pid, parent, virtual_bytes, physical_bytes: resident_bytes })
}

fn all_pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Kills a process if `is_meant` still holds once its number cannot be reused.
fn kill_if(pid: i32, is_meant: impl Fn() -> bool) {
    let Some(process) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return };
    if is_meant() {
        // It may have ended already.
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
}

/// Kills all children of a process.
pub fn kill_children(parent: Pid) {
    let parent = parent.as_raw_nonzero().get();
    let is_child = |pid: i32| read(pid).is_some_and(|process| process.parent == parent);
    all_pids().filter(|pid| is_child(*pid)).for_each(|pid| kill_if(pid, || is_child(pid)));
}

/// Kills the processes of this user, for root those of all users, whose environment names a working directory within `folder`; returns
/// their number.
pub fn kill_processes_in(folder: &Path) -> usize {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_worker = |pid: i32| pid != own && is_of_user(pid) && works_in(pid, folder);
    let found: Vec<i32> = all_pids().filter(|pid| is_worker(*pid)).collect();
    found.iter().for_each(|pid| kill_if(*pid, || is_worker(*pid)));
    found.len()
}

fn is_of_user(pid: i32) -> bool {
    use std::os::unix::fs::MetadataExt;
    // Root runs commands of others.
    getuid().is_root() || fs::metadata(format!("/proc/{pid}")).is_ok_and(|about| about.uid() == getuid().as_raw())
}

fn works_in(pid: i32, folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    let work = variables.find_map(|variable| variable.strip_prefix(b"HADOOP_WORK_DIR="));
    work.is_some_and(|work| Path::new(std::ffi::OsStr::from_bytes(work)).starts_with(folder))
}

// === impl ProcessTable ===

impl ProcessTable {
    /// Takes a snapshot.
    pub fn read() -> Self {
        all_pids().filter_map(read).collect()
    }

    /// Memory of the descendants of a process; `with_root`: and its own.
    pub fn memory_of(&self, root: i32, with_root: bool) -> MemoryUse {
        let mut sum = MemoryUse::default();
        let mut add = |process: &Process| {
            sum.virtual_bytes = sum.virtual_bytes.saturating_add(process.virtual_bytes);
            sum.physical_bytes = sum.physical_bytes.saturating_add(process.physical_bytes);
        };
        if with_root {
            self.children.values().flatten().filter(|process| process.pid == root).for_each(&mut add);
        }
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            for process in self.children.get(&parent).into_iter().flatten().filter(|process| process.pid != parent) {
                add(process);
                parents.push(process.pid);
            }
        }
        sum
    }
}

impl FromIterator<Process> for ProcessTable {
    fn from_iter<T: IntoIterator<Item = Process>>(processes: T) -> Self {
        let mut table = Self::default();
        for process in processes {
            table.children.entry(process.parent).or_default().push(process);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_all_that_comes_from_its_root() {
        let process = |pid, parent, bytes| Process { pid, parent, virtual_bytes: bytes, physical_bytes: 1 };
        let table: ProcessTable =
            [process(1, 0, 1), process(2, 1, 10), process(3, 2, 100), process(4, 1, 1000), process(5, 3, 10_000)]
                .into_iter()
                .collect();
        let virtual_bytes = |root, with_root| table.memory_of(root, with_root).virtual_bytes;
        assert_eq!((virtual_bytes(2, true), virtual_bytes(2, false)), (10_110, 10_100));
        assert_eq!((virtual_bytes(1, true), virtual_bytes(9, true)), (11_111, 0));
        assert_eq!(table.memory_of(2, false).physical_bytes, 2);
    }

    #[test]
    fn this_process_is_there() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let memory = ProcessTable::read().memory_of(own, true);
        assert!(memory.physical_bytes > 1 << 20 && memory.virtual_bytes >= memory.physical_bytes, "{memory:?}");
    }
}
