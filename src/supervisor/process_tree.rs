//! Processes of this machine by /proc: their parents and their memory (1.2.1 `ProcfsBasedProcessTree`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, getuid, pidfd_open, pidfd_send_signal};

use crate::process_stat::ProcessStat;

use super::command::WORK_FOLDER_VARIABLE;

/// Looks for processes that a lost supervisor has left, at most, and the pause between two.
const MOST_LOOKS: usize = 8;
const LOOK_PAUSE: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessEntry {
    /// Its number.
    pub(crate) pid: i32,
    /// Its parent's number.
    pub(crate) parent: i32,
    /// Address space, bytes.
    pub(crate) virtual_bytes: u64,
    /// Resident memory, bytes.
    pub(crate) physical_bytes: u64,
    /// Processor time of its own, and of its children that were reaped, ms.
    pub(crate) cpu_ms: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryUse {
    /// Address space, bytes.
    pub(crate) virtual_bytes: u64,
    /// Resident memory, bytes.
    pub(crate) physical_bytes: u64,
}

/// What the processes of a running command use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeUse {
    /// Resident memory, bytes: a page that several processes share counts in equal parts where the system says so.
    pub(crate) resident_bytes: u64,
    /// Processor time of all, also of those that were reaped, ms.
    pub(crate) cpu_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandTree {
    pub(crate) root: i32,
    /// Whether it is one of them.
    pub(crate) with_root: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessTable {
    children: BTreeMap<i32, Vec<ProcessEntry>>,
}

fn read(pid: i32) -> Option<ProcessEntry> {
    let ProcessStat { parent, virtual_bytes, resident_bytes, cpu_ms, children_cpu_ms } = ProcessStat::of(pid)?;
    let cpu_ms = cpu_ms.saturating_add(children_cpu_ms);
    Some(ProcessEntry { pid, parent, virtual_bytes, physical_bytes: resident_bytes, cpu_ms })
}

/// Resident memory of a process with its part of each shared page (`Pss` of proc_pid_smaps(5)), if it may be read.
fn proportional_bytes(pid: i32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let part = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    part.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
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

pub(crate) fn kill_children(parent: Pid) {
    let parent = parent.as_raw_nonzero().get();
    let is_child = |pid: i32| read(pid).is_some_and(|process| process.parent == parent);
    all_pids().filter(|pid| is_child(*pid)).for_each(|pid| kill_if(pid, || is_child(pid)));
}

/// Kills the processes of this user, for root those of all users, whose environment names a working directory within `folder`; returns
/// their number. One look can miss a process: while it is in `exec` its environment reads as empty, and it may have forked since. So it
/// looks again, until a look finds nothing new.
#[expect(clippy::disallowed_methods, reason = "the end of an exec is no event that one could wait for")]
pub(crate) fn kill_processes_in(folder: &Path) -> usize {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_worker = |pid: i32| pid != own && is_of_user(pid) && works_in(pid, folder);
    let mut killed = 0;
    for _ in 0..MOST_LOOKS {
        let found: Vec<i32> = all_pids().filter(|pid| is_worker(*pid)).collect();
        found.iter().for_each(|pid| kill_if(*pid, || is_worker(*pid)));
        let is_last = killed > 0 && found.is_empty();
        killed += found.len();
        if is_last {
            break;
        }
        std::thread::sleep(LOOK_PAUSE);
    }
    killed
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
    let work = variables.find_map(|variable| variable.strip_prefix(WORK_FOLDER_VARIABLE.as_bytes()));
    let work = work.and_then(|value| value.strip_prefix(b"="));
    work.is_some_and(|work| Path::new(std::ffi::OsStr::from_bytes(work)).starts_with(folder))
}

impl ProcessTable {
    pub(crate) fn read() -> Self {
        all_pids().filter_map(read).collect()
    }

    /// Memory of the descendants of a process; `with_root`: and its own.
    pub(crate) fn memory_of(&self, root: i32, with_root: bool) -> MemoryUse {
        let mut sum = MemoryUse::default();
        for process in self.of_tree(root, with_root) {
            sum.virtual_bytes = sum.virtual_bytes.saturating_add(process.virtual_bytes);
            sum.physical_bytes = sum.physical_bytes.saturating_add(process.physical_bytes);
        }
        sum
    }

    /// CPU time of the processes of a command, also of those that were reaped, ms.
    pub(crate) fn cpu_ms_of(&self, tree: CommandTree) -> u64 {
        self.of_tree(tree.root, true).iter().map(|process| process.cpu_ms).fold(0, u64::saturating_add)
    }

    /// What the processes of a command use now. Reads further files of each.
    pub(crate) fn use_of(&self, tree: CommandTree) -> TreeUse {
        // A root that does not count has reaped what did.
        let mut sum = TreeUse { resident_bytes: 0, cpu_ms: self.cpu_ms_of(tree) };
        for process in self.of_tree(tree.root, true) {
            if tree.with_root || process.pid != tree.root {
                let bytes = proportional_bytes(process.pid).unwrap_or(process.physical_bytes);
                sum.resident_bytes = sum.resident_bytes.saturating_add(bytes);
            }
        }
        sum
    }

    /// The descendants of a process; `with_root`: and itself.
    fn of_tree(&self, root: i32, with_root: bool) -> Vec<&ProcessEntry> {
        let mut found: Vec<&ProcessEntry> = Vec::new();
        if with_root {
            found.extend(self.children.values().flatten().filter(|process| process.pid == root));
        }
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            for process in self.children.get(&parent).into_iter().flatten().filter(|process| process.pid != parent) {
                found.push(process);
                parents.push(process.pid);
            }
        }
        found
    }
}

impl FromIterator<ProcessEntry> for ProcessTable {
    fn from_iter<T: IntoIterator<Item = ProcessEntry>>(processes: T) -> Self {
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
        let process =
            |pid, parent, bytes| ProcessEntry { pid, parent, virtual_bytes: bytes, physical_bytes: 1, cpu_ms: 5 };
        let table: ProcessTable =
            [process(1, 0, 1), process(2, 1, 10), process(3, 2, 100), process(4, 1, 1000), process(5, 3, 10_000)]
                .into_iter()
                .collect();
        let virtual_bytes = |root, with_root| table.memory_of(root, with_root).virtual_bytes;
        assert_eq!((virtual_bytes(2, true), virtual_bytes(2, false)), (10_110, 10_100));
        assert_eq!((virtual_bytes(1, true), virtual_bytes(9, true)), (11_111, 0));
        assert_eq!(table.memory_of(2, false).physical_bytes, 2);
        assert_eq!(table.use_of(CommandTree { root: 2, with_root: false }).cpu_ms, 15);
    }

    #[test]
    fn this_process_is_there() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let memory = ProcessTable::read().memory_of(own, true);
        assert!(memory.physical_bytes > 1 << 20 && memory.virtual_bytes >= memory.physical_bytes, "{memory:?}");
        assert!(proportional_bytes(own).is_some_and(|bytes| bytes > 1 << 20));
    }
}
