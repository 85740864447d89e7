//! The folders of a tasktracker on its disks (1.2.1 `LocalDirAllocator`, `TaskTracker.LocalStorage`). Invariant: only the process that
//! holds a folder's lock uses it.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::fs::{FolderHandle, FsError, Privacy, open_trusted_folder, remove_below};
use crate::streaming::private_files::{make_folder, open_to_read_and_append};
use crate::supervisor::process_tree::kill_processes_in;

use super::error::TaskTrackerError;
use super::node_health::FreeSpace;

/// Of a disk, the part that is a good one.
const GOOD_PART: u64 = 4;
/// Prefix of folder names, before the port.
const NAME: &str = "tasktracker-";
/// Of a created `mapred.local.dir`; another tasktracker of this user may share it.
const DISK_MODE: u32 = 0o755;
/// Of a folder in which other users have folders.
const REACHABLE_MODE: u32 = 0o711;
/// Longest name of a tasktracker in a lock file, bytes.
const MAX_NAME_BYTES: u64 = 1024;
/// Suffix of a folder's lock file; the lock is held while the folder is in use.
const LOCK: &str = ".lock";

#[derive(Debug)]
pub(crate) struct LocalFolders {
    /// At least one, each with its locked file.
    held: Vec<(PathBuf, File)>,
    failures: usize,
    /// Names of killed tasktrackers whose folders and processes were removed, sorted.
    replaced: BTreeSet<String>,
    next: AtomicUsize,
}

impl LocalFolders {
    /// Creates a new folder on each usable disk for the tasktracker of that name. Removes folders of tasktrackers that were
    /// killed, and kills the processes that they left. Waits up to `lock_timeout` for its own folder: another tasktracker that
    /// starts may be about to remove it. With `is_for_users` the users of jobs reach what is theirs below it.
    /// Errors: [`TaskTrackerError::InUse`]; [`TaskTrackerError::Folder`] when no disk can be used; [`TaskTrackerError::Unreachable`].
    pub(crate) fn acquire(
        disks: &[PathBuf],
        port: u16,
        name: &str,
        user: &str,
        is_for_users: bool,
        lock_timeout: Duration,
    ) -> Result<Self, TaskTrackerError> {
        let mut held = Vec::new();
        let mut failure = None;
        let mut replaced = BTreeSet::new();
        for disk in disks {
            let is_new = !disk.exists();
            match acquire_folder(disk, port, name, lock_timeout, &mut replaced) {
                Ok(Some(folder)) => {
                    if is_for_users {
                        open_to_users(disk, &folder.0, is_new)?;
                    }
                    held.push(folder);
                }
                Ok(None) => return Err(TaskTrackerError::InUse { folder: folder_in(disk, port) }),
                // Not a failed disk: other users could replace the tracker's files.
                Err(Unusable::Untrusted(error)) => return Err(TaskTrackerError::Untrusted(error)),
                Err(Unusable::Failed(source)) => {
                    let unusable = TaskTrackerError::Folder { folder: disk.clone(), user: user.to_owned(), source };
                    tracing::warn!("{unusable}");
                    failure = Some(unusable);
                }
            }
        }
        match failure {
            Some(failure) if held.is_empty() => Err(failure),
            _ => Ok(Self { failures: disks.len() - held.len(), held, replaced, next: AtomicUsize::new(0) }),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Path> {
        self.held.iter().map(|(folder, _)| folder.as_path())
    }

    /// The one that a path lies in.
    pub(crate) fn of(&self, path: &Path) -> Option<&Path> {
        self.all().find(|folder| path.starts_with(folder))
    }

    /// Names of killed tasktrackers of which nothing is left on these disks.
    pub(crate) fn replaced(&self) -> impl Iterator<Item = &str> {
        self.replaced.iter().map(String::as_str)
    }

    pub(crate) fn failures(&self) -> usize {
        self.failures
    }

    /// The folder for new files: in turn, but none on a disk with less than half the free space of another.
    pub(crate) fn next(&self) -> &Path {
        let free: Vec<u64> = self.all().map(|folder| free_space(folder).map_or(0, |free| free.bytes)).collect();
        let least = free.iter().max().map_or(0, |most| most / 2);
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let (before, after) = self.held.split_at(turn % self.held.len());
        let (free_before, free_after) = free.split_at(before.len());
        let mut in_turn = after.iter().chain(before).zip(free_after.iter().chain(free_before));
        // The disk with the most free space is among them.
        in_turn.find(|(_, room)| **room >= least).map_or(Path::new(""), |((folder, _), _)| folder)
    }

    /// The most free space on any disk.
    pub(crate) fn free_space(&self) -> Option<FreeSpace> {
        self.all().filter_map(free_space).max_by_key(|free| free.bytes)
    }

    /// Removes the folders; the next start removes the rest.
    pub(crate) fn remove(&self) {
        for (folder, _) in &self.held {
            let _ = remove_tree(folder).and_then(|()| fs::remove_file(lock_of(folder)));
        }
    }
}

/// Lets other users reach what is theirs in the folder, without a look at the rest.
/// Errors: [`TaskTrackerError::Unreachable`]: a folder above it keeps them out.
fn open_to_users(disk: &Path, folder: &Path, is_new: bool) -> Result<(), TaskTrackerError> {
    let unreachable = |part: &Path, source: Option<Box<FsError>>| TaskTrackerError::Unreachable {
        folder: folder.to_owned(),
        part: part.to_owned(),
        source,
    };
    let set_mode = |path: &Path, mode| FolderHandle::open(path).and_then(|opened| opened.set_mode(mode));
    // The umask has made it narrower.
    let opened = if is_new { set_mode(disk, DISK_MODE) } else { Ok(()) };
    let opened = opened.and_then(|()| set_mode(folder, REACHABLE_MODE));
    opened.map_err(|error| unreachable(folder, Some(Box::new(error))))?;
    // Of its real path: each folder on it must let them pass.
    let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    match real.ancestors().find(|above| fs::metadata(above).is_ok_and(|above| above.mode() & 0o001 == 0)) {
        Some(closed) => Err(unreachable(closed, None)),
        None => Ok(()),
    }
}

/// Removes a folder, if it is there, with whatever the users of jobs have put into it.
fn remove_tree(folder: &Path) -> io::Result<()> {
    let disk = folder.parent().unwrap_or(Path::new("/"));
    remove_below(disk, folder).map(drop).map_err(io::Error::from)
}

fn folder_in(disk: &Path, port: u16) -> PathBuf {
    disk.join(format!("{NAME}{port}"))
}

fn lock_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(LOCK);
    name.into()
}

fn free_space(folder: &Path) -> Option<FreeSpace> {
    let about = rustix::fs::statvfs(folder).ok()?;
    let inodes = (about.f_files > 0).then_some(about.f_favail);
    Some(FreeSpace { bytes: about.f_bavail.saturating_mul(about.f_frsize), inodes })
}

/// Whether so much is a good part of the disk of a folder: work that has it fills the disk by itself, wherever it runs.
pub(super) fn is_good_part(bytes: u64, folder: &Path) -> bool {
    let all_bytes = rustix::fs::statvfs(folder).map_or(u64::MAX, |about| about.f_blocks.saturating_mul(about.f_frsize));
    bytes >= all_bytes / GOOD_PART
}

enum Unusable {
    Untrusted(FsError),
    Failed(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(source: io::Error) -> Self {
        Self::Failed(source)
    }
}

/// Creates a missing folder, and checks that only root and our own user can change its content.
/// Errors: [`FsError`], of which [`FsError::Untrusted`] names the part of the path at fault.
pub(super) fn make_trusted(folder: &Path, mode: u32) -> Result<(), FsError> {
    let trusted = open_trusted_folder(folder, mode, Privacy::Private)?;
    trusted.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    Ok(())
}

/// Creates a folder with its lock, which holds the tasktracker's name; `None` when another process holds it. Adds the names of
/// killed tasktrackers to `replaced`.
fn acquire_folder(
    disk: &Path,
    port: u16,
    name: &str,
    lock_timeout: Duration,
    replaced: &mut BTreeSet<String>,
) -> Result<Option<(PathBuf, File)>, Unusable> {
    make_trusted(disk, DISK_MODE).map_err(|error| match error {
        error @ FsError::Untrusted { .. } => Unusable::Untrusted(error),
        error => Unusable::Failed(error.into()),
    })?;
    let own = folder_in(disk, port);
    for entry in fs::read_dir(disk)? {
        let folder = entry?.path();
        let port = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(NAME));
        if folder != own && port.is_some_and(|port| port.parse::<u16>().is_ok()) {
            replaced.extend(remove_stale_folder(&folder));
        }
    }
    let Some(mut lock) = lock_within(&lock_of(&own), lock_timeout)? else { return Ok(None) };
    lock.set_len(0)?;
    lock.write_all(name.as_bytes())?;
    kill_processes_in(&own);
    remove_tree(&own)?;
    make_folder(&own)?;
    Ok(Some((own, lock)))
}

/// Removes the folder of a killed tasktracker; returns its name, unless another process holds the folder or its lock has none.
fn remove_stale_folder(folder: &Path) -> Option<String> {
    let path = lock_of(folder);
    let held = lock(&path).ok()??;
    // Of the file that is locked, whatever its path names now.
    let mut name = String::new();
    let _ = (&held).take(MAX_NAME_BYTES).read_to_string(&mut name);
    let killed = kill_processes_in(folder);
    tracing::info!("{}: removed the folder of a killed tasktracker; processes killed: {killed}", folder.display());
    // The next start removes the rest.
    let _ = remove_tree(folder).and_then(|()| fs::remove_file(path));
    (!name.is_empty()).then_some(name)
}

/// Locks a file; `None` when another process has held its lock for all that time.
fn lock_within(path: &Path, timeout: Duration) -> io::Result<Option<File>> {
    if let Some(file) = lock(path)? {
        return Ok(Some(file));
    }
    let (locked, is_locked) = std::sync::mpsc::sync_channel(0);
    let is_wanted = Arc::new(AtomicBool::new(true));
    let (path, wanted) = (path.to_owned(), is_wanted.clone());
    // Nothing can end its wait but the lock; when that comes too late, the lock is released at once.
    let wait = move || drop(locked.send(wait_for_lock(&path, &wanted)));
    std::thread::Builder::new().name("folder lock".to_owned()).spawn(wait)?;
    let file = is_locked.recv_timeout(timeout);
    is_wanted.store(false, Ordering::SeqCst);
    file.unwrap_or(Ok(None))
}

/// `None` when it is no longer wanted: then it must not make the file again, which its holder has removed.
fn wait_for_lock(path: &Path, is_wanted: &AtomicBool) -> io::Result<Option<File>> {
    while is_wanted.load(Ordering::SeqCst) {
        let file = open_to_read_and_append(path)?;
        file.lock()?;
        if is_at(path, &file) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Locks a file, which is created if missing; `None` when another process has locked it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = open_to_read_and_append(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) if is_at(path, &file) => return Ok(Some(file)),
            Ok(()) => {}
        }
    }
}

/// Whether the file is still the one of that path: the previous holder of its lock may have removed it.
fn is_at(path: &Path, file: &File) -> bool {
    fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|ours| ours.ino() == there.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(disks: &[PathBuf], port: u16) -> Result<LocalFolders, TaskTrackerError> {
        LocalFolders::acquire(disks, port, &format!("tracker_h:{port}"), "alice", false, Duration::ZERO)
    }

    #[test]
    fn a_folder_has_one_owner_and_unowned_folders_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let disks = [scratch.path().join("a")];
        let first = take(&disks, 1).unwrap();
        let folder = first.next().to_owned();
        fs::write(folder.join("x"), "").unwrap();
        let refused = take(&disks, 1).unwrap_err().to_string();
        assert!(refused.contains("a/tasktracker-1") && refused.contains("mapred.local.dir"), "{refused}");
        // Another port is another tasktracker.
        let second = take(&disks, 2).unwrap();
        assert!(folder.join("x").exists());
        drop(first);
        fs::write(disks[0].join("tasktracker-x"), "no folder of ours").unwrap();
        // A process that another test starts keeps the lock until it runs its program.
        let third = (0..10_000).map(|_| take(&disks, 3).unwrap()).find(|_| !folder.exists()).unwrap();
        assert!(!lock_of(&folder).exists());
        assert!(second.next().exists() && disks[0].join("tasktracker-x").exists());
        third.remove();
        second.remove();
        let left: Vec<_> = fs::read_dir(&disks[0]).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["tasktracker-x"]);
    }

    #[test]
    fn killed_tasktrackers_are_named_and_a_lock_is_waited_for() {
        let scratch = tempfile::tempdir().unwrap();
        let disks = ["a", "b"].map(|name| scratch.path().join(name));
        let killed = take(&disks, 1).unwrap();
        assert_eq!(killed.replaced().count(), 0);
        drop(killed);
        let held = (0..10_000).map(|_| take(&disks, 2).unwrap()).find(|next| next.replaced().next().is_some()).unwrap();
        assert_eq!(held.replaced().collect::<Vec<_>>(), ["tracker_h:1"], "once, though it had two disks");
        let waiting = {
            let disks = disks.clone();
            std::thread::spawn(move || {
                LocalFolders::acquire(&disks, 2, "tracker_h:2", "alice", false, Duration::from_secs(60))
            })
        };
        drop(held);
        assert_eq!(waiting.join().unwrap().unwrap().all().count(), 2);
    }

    #[test]
    fn a_disk_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let open = scratch.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        // A good disk each: a process that another test starts may hold a lock for a moment longer than its taker.
        for (good, disk) in [("first", open.clone()), ("second", open.join("below"))] {
            let refused = take(&[scratch.path().join(good), disk], 1).unwrap_err().to_string();
            assert!(refused.contains("open") && refused.contains("mapred.local.dir"), "{refused}");
        }
        assert!(!open.join("tasktracker-1").exists() && !open.join("below/tasktracker-1").exists());
    }

    #[test]
    fn a_disk_that_the_users_of_jobs_cannot_reach_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let take = |name: &str| {
            LocalFolders::acquire(&[scratch.path().join(name)], 1, "tracker_h:1", "root", true, Duration::ZERO)
        };
        let set_mode = |mode| fs::set_permissions(scratch.path(), fs::Permissions::from_mode(mode)).unwrap();
        set_mode(0o700);
        let refused = take("closed").unwrap_err().to_string();
        assert!(refused.contains("chmod o+x") && refused.contains("jobtracker.worker.run-as"), "{refused}");
        set_mode(0o711);
        let folders = take("open").unwrap();
        let mode = fs::metadata(folders.next()).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o711);
    }

    #[test]
    fn disks_are_used_in_turn_and_bad_ones_left_out() {
        let scratch = tempfile::tempdir().unwrap();
        let [a, bad, b] = ["a", "bad", "b"].map(|name| scratch.path().join(name));
        fs::write(&bad, "no folder").unwrap();
        let folders = take(&[a.clone(), bad.clone(), b.clone()], 7).unwrap();
        let turns: Vec<&Path> = (0..4).map(|_| folders.next().parent().unwrap()).collect();
        assert_eq!(turns, [&a, &b, &a, &b]);
        assert_eq!((folders.all().count(), folders.failures()), (2, 1));
        assert!(folders.free_space().unwrap().bytes > 0);
        assert!(matches!(take(&[bad], 8), Err(TaskTrackerError::Folder { .. })));
    }
}
