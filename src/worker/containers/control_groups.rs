//! Control groups (version 2) of containers, where the worker's own group is delegated to it: the kernel keeps each to its memory; else a look at all
//! processes, which containers share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use rustix::fs::{Mode, OFlags};
use tokio::time::Instant;

use crate::model::{Capability, ContainerId};
use crate::supervisor::command::CommandGroup;
use crate::supervisor::process_tree::{CommandTree, ProcessTable, TreeUse};

/// Where the system has them.
pub(crate) const MOUNT: &str = "/sys/fs/cgroup";
/// The group that the worker itself moves into: a group with others below it has no processes of its own.
const OWN_LEAF: &str = "worker";
/// What it takes of the kernel's controllers.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
const MAX_PIDS: u32 = 4_096;
/// `cpu.weight` of one core.
const WEIGHT_OF_CORE: u32 = 100;
/// Largest `cpu.weight`.
const MAX_WEIGHT: u32 = 10_000;

#[derive(Clone, Debug)]
pub(crate) struct ControlGroups {
    /// The group that is delegated to it.
    folder: PathBuf,
}

#[derive(Debug)]
pub(crate) struct ContainerGroup {
    folder: PathBuf,
    own_procs: PathBuf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupCounts {
    /// The most memory, bytes; none where the kernel does not keep it.
    pub(crate) peak_bytes: Option<u64>,
    pub(crate) cpu_ms: Option<u64>,
    /// Processes that the kernel killed for memory.
    pub(crate) oom_kills: u64,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NoGroups {
    #[error("this process is in no control group of version 2")]
    NoVersionTwo,
    #[error("this process is in the root of all control groups")]
    Root,
    #[error("{} has no controller {controller}", folder.display())]
    NoController { folder: PathBuf, controller: &'static str },
    #[error("{} is not delegated to this process: {source}", path.display())]
    NotDelegated {
        /// What could not be written.
        path: PathBuf,
        source: io::Error,
    },
}

fn write(path: &Path, text: &str) -> Result<(), NoGroups> {
    let written = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| rustix::io::write(&file, text.as_bytes()));
    written.map(drop).map_err(|error| NoGroups::NotDelegated { path: path.to_owned(), source: error.into() })
}

fn make_folder(path: &Path) -> Result<(), NoGroups> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(NoGroups::NotDelegated { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// The number in the line of that name.
fn field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value?.trim().parse().ok()
}

/// The groups that this process is in, as `/proc/self/cgroup` says it (cgroups(7)).
pub(crate) fn memberships_of_process() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

/// The folder of the group that a process is in.
fn folder_of(mount: &Path, memberships: &str) -> Result<PathBuf, NoGroups> {
    let path = memberships.lines().find_map(|line| line.strip_prefix("0::/")).ok_or(NoGroups::NoVersionTwo)?;
    Ok(mount.join(path))
}

impl ControlGroups {
    /// Moves this process into a leaf of its group, and makes room for groups of containers beside it.
    /// Errors: [`NoGroups`]; the process is then where it was, if the system lets it return.
    pub(crate) fn take_over(mount: &Path, memberships: &str) -> Result<Self, NoGroups> {
        let groups = Self::find(mount, memberships)?;
        make_folder(&groups.folder.join(OWN_LEAF))?;
        write(&groups.own_procs(), "0")?;
        let wanted: String = CONTROLLERS.iter().map(|name| format!("+{name} ")).collect();
        // Fails while other processes are in the group, which is then not this worker's alone.
        if let Err(refused) = write(&groups.folder.join("cgroup.subtree_control"), wanted.trim_end()) {
            let _ = write(&groups.folder.join("cgroup.procs"), "0");
            let _ = fs::remove_dir(groups.folder.join(OWN_LEAF));
            return Err(refused);
        }
        groups.remove_left();
        Ok(groups)
    }

    /// The group of this process, where a take-over may succeed; changes nothing.
    pub(crate) fn find(mount: &Path, memberships: &str) -> Result<Self, NoGroups> {
        let folder = folder_of(mount, memberships)?;
        let controllers = fs::read_to_string(folder.join("cgroup.controllers")).map_err(|_| NoGroups::NoVersionTwo)?;
        if !folder.join("cgroup.events").exists() {
            return Err(NoGroups::Root);
        }
        let missing = CONTROLLERS.into_iter().find(|name| !controllers.split_whitespace().any(|there| there == *name));
        if let Some(controller) = missing {
            return Err(NoGroups::NoController { folder, controller });
        }
        let path = folder.join("cgroup.subtree_control");
        match rustix::fs::access(&path, rustix::fs::Access::WRITE_OK) {
            Ok(()) => Ok(Self { folder }),
            Err(error) => Err(NoGroups::NotDelegated { path, source: error.into() }),
        }
    }

    fn own_procs(&self) -> PathBuf {
        self.folder.join(OWN_LEAF).join("cgroup.procs")
    }

    /// Removes empty groups of containers that a killed worker left.
    fn remove_left(&self) {
        let left = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in left.filter(|entry| entry.file_name().to_string_lossy().starts_with("container_")) {
            // One with processes stays; so does its room, until they end.
            let _ = fs::remove_dir(entry.path());
        }
    }

    /// What a container uses now; none where the kernel does not say.
    pub(crate) fn use_of(&self, id: ContainerId) -> Option<TreeUse> {
        let folder = self.folder.join(id.to_string());
        let resident_bytes = fs::read_to_string(folder.join("memory.current")).ok()?.trim().parse().ok()?;
        let stat = fs::read_to_string(folder.join("cpu.stat")).ok()?;
        Some(TreeUse { resident_bytes, cpu_ms: field(&stat, "usage_usec")? / 1000 })
    }

    pub(crate) fn make(&self, id: ContainerId, capability: Capability) -> Result<ContainerGroup, NoGroups> {
        let folder = self.folder.join(id.to_string());
        make_folder(&folder)?;
        let group = ContainerGroup { folder, own_procs: self.own_procs() };
        let set = |name: &str, value: &str| write(&group.folder.join(name), value);
        set("memory.max", &(u64::from(capability.memory_mb) << 20).to_string())?;
        // A machine without swap accounting has none to limit.
        let _ = set("memory.swap.max", "0");
        set("memory.oom.group", "1")?;
        let weight = capability.vcores.saturating_mul(WEIGHT_OF_CORE).clamp(1, MAX_WEIGHT);
        set("cpu.weight", &weight.to_string())?;
        set("pids.max", &MAX_PIDS.to_string())?;
        Ok(group)
    }
}

impl ContainerGroup {
    pub(crate) fn for_command(&self) -> CommandGroup {
        CommandGroup { procs: self.folder.join("cgroup.procs"), own_procs: self.own_procs.clone() }
    }

    /// What it has counted so far.
    pub(crate) fn counts(&self) -> GroupCounts {
        let text = |name: &str| fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        GroupCounts {
            peak_bytes: text("memory.peak").trim().parse().ok(),
            cpu_ms: field(&text("cpu.stat"), "usage_usec").map(|us| us / 1000),
            oom_kills: field(&text("memory.events"), "oom_kill").unwrap_or(0),
        }
    }
}

impl Drop for ContainerGroup {
    fn drop(&mut self) {
        // The command has ended: what has fled from its process group goes with the group. One that the kernel still holds goes at the
        // next start; kernels before 5.14 have no such file.
        let _ = write(&self.folder.join("cgroup.kill"), "1");
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The processes of the machine as they were a moment ago.
#[derive(Debug, Default)]
pub struct ProcessLooks {
    last: Mutex<Option<(Instant, Arc<ProcessTable>)>>,
}

impl ProcessLooks {
    /// What a command's processes use, as seen at most so long ago. Reads files of `/proc`.
    pub(crate) fn use_of(&self, tree: CommandTree, age: Duration) -> TreeUse {
        self.processes(age).use_of(tree)
    }

    fn processes(&self, age: Duration) -> Arc<ProcessTable> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((at, table)) if at.elapsed() <= age => table.clone(),
            _ => {
                let table = Arc::new(ProcessTable::read());
                *last = Some((Instant::now(), table.clone()));
                table
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ApplicationId;

    /// A folder in which the kernel's files are plain ones.
    fn delegated(controllers: &str) -> tempfile::TempDir {
        let scratch = tempfile::tempdir().unwrap();
        let group = scratch.path().join("system.slice/worker.service");
        fs::create_dir_all(group.join(OWN_LEAF)).unwrap();
        fs::write(group.join("cgroup.controllers"), controllers).unwrap();
        for name in ["cgroup.events", "cgroup.procs", "cgroup.subtree_control", "worker/cgroup.procs"] {
            fs::write(group.join(name), "").unwrap();
        }
        scratch
    }

    const MEMBERSHIPS: &str = "4:memory:/x\n0::/system.slice/worker.service\n";

    #[test]
    fn a_delegated_group_is_divided_and_a_container_gets_what_it_asked_for() {
        let scratch = delegated("cpuset cpu io memory pids\n");
        let groups = ControlGroups::take_over(scratch.path(), MEMBERSHIPS).unwrap();
        let group = scratch.path().join("system.slice/worker.service");
        let read = |name: &str| fs::read_to_string(group.join(name)).unwrap();
        assert_eq!((&*read("worker/cgroup.procs"), &*read("cgroup.subtree_control")), ("0", "+cpu +memory +pids"));
        let id = ApplicationId::new(5, 1).container(1, 7);
        let folder = group.join(id.to_string());
        fs::create_dir(&folder).unwrap();
        for name in ["memory.max", "memory.oom.group", "cpu.weight", "pids.max", "memory.swap.max"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let made = groups.make(id, Capability::new(512, 2)).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!((&*read("memory.max"), &*read("memory.swap.max")), ("536870912", "0"));
        assert_eq!((&*read("memory.oom.group"), &*read("cpu.weight"), &*read("pids.max")), ("1", "200", "4096"));
        fs::write(folder.join("memory.peak"), "1048577\n").unwrap();
        fs::write(folder.join("cpu.stat"), "usage_usec 2500\nuser_usec 1\n").unwrap();
        fs::write(folder.join("memory.events"), "oom 3\noom_kill 2\noom_group_kill 1\n").unwrap();
        fs::write(folder.join("memory.current"), "524288\n").unwrap();
        assert_eq!(groups.use_of(id), Some(TreeUse { resident_bytes: 524_288, cpu_ms: 2 }));
        let counts = GroupCounts { peak_bytes: Some(1_048_577), cpu_ms: Some(2), oom_kills: 2 };
        assert_eq!(made.counts(), counts);
        assert_eq!(made.for_command().procs, folder.join("cgroup.procs"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let refused = |controllers: &str, memberships: &str| {
            let machine = delegated(controllers);
            let looked = ControlGroups::find(machine.path(), memberships).unwrap_err().to_string();
            let refused = ControlGroups::take_over(machine.path(), memberships).unwrap_err().to_string();
            assert_eq!(looked, refused, "a look finds what a start would");
            refused
        };
        assert!(refused("cpu pids", MEMBERSHIPS).contains("no controller memory"));
        assert!(refused("cpu memory pids", "4:memory:/x\n").contains("no control group of version 2"));
        let scratch = delegated("cpu memory pids");
        let group = scratch.path().join("system.slice/worker.service");
        fs::remove_file(group.join("cgroup.subtree_control")).unwrap();
        let refused = ControlGroups::take_over(scratch.path(), MEMBERSHIPS).unwrap_err().to_string();
        assert!(refused.contains("cgroup.subtree_control is not delegated"), "{refused}");
        fs::remove_file(group.join("cgroup.events")).unwrap();
        assert!(matches!(ControlGroups::take_over(scratch.path(), MEMBERSHIPS), Err(NoGroups::Root)));
    }
}
