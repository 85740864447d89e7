//! Files of local resources that the containers of one user share: each is kept once, by its SHA-256, and is linked into the folders of
//! containers. Every user has a folder of files of its own, made and read with its rights: who knows the SHA-256 of a file gets nothing
//! that it could not read itself. A file is checked again each time before it is used.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileTimes, Permissions};
use std::io;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{AtFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::accounts::LoginUser;
use crate::clock::wall_ms;
use crate::fs::{Expected, FolderHandle, FsError, ListBound};
use crate::model::hex;

use super::fault::ResourceFault;

/// On each disk, with a folder for each user.
const FOLDER: &str = "container-files";
/// Of it: users reach what is theirs, and see nothing else.
const REACHABLE_MODE: u32 = 0o711;
/// Of the folder of a user.
const USER_MODE: u32 = 0o700;
/// A user none of whose containers has come for so long, s, has gone.
const GONE_S: i64 = 7 * 86_400;
/// Most files of a user on a disk.
const MAX_FILES: usize = 10_000;
/// Hex digits of a SHA-256.
const DIGEST_DIGITS: usize = 64;
/// Most that is read of a user's folder: beyond it nothing more is kept there.
const LIST_BOUND: ListBound =
    ListBound { entries: 2 * MAX_FILES, name_bytes: 4 << 20, pages: 1, time: Duration::from_secs(5) };

/// The files of all users, on all disks of a worker.
#[derive(Debug)]
pub(crate) struct ResourceCaches {
    limit_bytes: u64,
}

/// Where the files of a user are on a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFiles {
    pub(crate) folder: PathBuf,
    /// Most bytes of them: the user's part of the disk's limit.
    pub(crate) limit_bytes: u64,
}

/// The files of one user on one disk.
#[derive(Debug)]
pub(crate) struct ResourceCache {
    folder: FolderHandle,
    limit_bytes: u64,
}

struct CachedFile {
    used: (i64, i64),
    bytes: u64,
    name: OsString,
}

impl ResourceCaches {
    /// On each disk at most so many bytes; 0: no file is kept.
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes }
    }

    /// Makes the folder on a disk for a user's files; the worker's own without a user. Each user has an equal part of the limit, so that
    /// none removes what is another's. None: no file is kept.
    pub(crate) fn folder_of(&self, disk: &Path, user: Option<&LoginUser>) -> Result<Option<SharedFiles>, FsError> {
        if self.limit_bytes == 0 {
            return Ok(None);
        }
        let all = FolderHandle::open(disk)?.make_folder(OsStr::new(FOLDER), REACHABLE_MODE)?;
        let uid = user.map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid);
        let folder = all.make_folder(OsStr::new(&uid.to_string()), USER_MODE)?;
        if let Some(user) = user {
            folder.give(user.uid, Some(user.gid))?;
        }
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        rustix::fs::utimensat(all.as_fd(), uid.to_string(), &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| refused_time(folder.path(), error))?;
        let users = count_users(&all, OsStr::new(&uid.to_string()))?;
        Ok(Some(SharedFiles { folder: folder.path().to_owned(), limit_bytes: self.limit_bytes / users.max(1) }))
    }
}

fn refused_time(folder: &Path, error: Errno) -> FsError {
    let (path, expected) = (folder.to_owned(), "a folder whose time this user may set");
    FsError::Refused { action: "set the time of", path, expected, source: error.into() }
}

/// Users who have a part of a disk's limit: the folders are made by this worker alone, one for each. Who has not come for long has
/// gone, and what is kept for them with them.
fn count_users(all: &FolderHandle, own: &OsStr) -> Result<u64, FsError> {
    let (now_s, mut users) = (wall_ms() / 1_000, 0);
    for name in all.names(ListBound::OWN)? {
        let used_s = all.stat_of(&name)?.map_or(0, |stat| stat.st_mtime);
        let has_gone = name != own && now_s.saturating_sub(used_s) > GONE_S;
        // What cannot be removed takes room as before.
        users += u64::from(!(has_gone && all.remove(&name).is_ok()));
    }
    Ok(users)
}

impl ResourceCache {
    /// The folder that [`ResourceCaches::folder_of`] has made, with the rights of its user.
    pub(crate) fn open(files: &SharedFiles) -> Result<Self, FsError> {
        Ok(Self { folder: FolderHandle::open(&files.folder)?, limit_bytes: files.limit_bytes })
    }

    /// Removes those that were used least recently while they are too many or too large. Containers that have one keep it.
    fn trim(&self, limit_bytes: u64, limit_files: usize) -> Result<(), FsError> {
        let mut kept = Vec::new();
        for name in self.folder.names(LIST_BOUND)? {
            // Another container may have removed it meanwhile.
            let Some(stat) = self.folder.stat_of(&name)? else { continue };
            let (used, bytes) =
                ((stat.st_mtime, stat.st_mtime_nsec.cast_signed()), stat.st_size.max(0).cast_unsigned());
            kept.push(CachedFile { used, bytes, name });
        }
        kept.sort_by_key(|file| file.used);
        let (mut bytes, mut files) = (kept.iter().map(|file| file.bytes).sum::<u64>(), kept.len());
        for file in kept {
            if bytes <= limit_bytes && files <= limit_files {
                break;
            }
            self.folder.remove(&file.name)?;
            bytes = bytes.saturating_sub(file.bytes);
            files -= 1;
        }
        Ok(())
    }

    /// Links the file with this SHA-256 and mode to a name in a folder, and returns true. Without one that is whole, `bring` writes
    /// it first, checked. `false`: it cannot be linked to that place, or the digest is none. `unique`: of the container.
    /// Errors: those of `bring`; or the files cannot be read or written.
    pub(crate) fn link(
        &self,
        (sha256, mode): (&str, u32),
        (to, name): (&FolderHandle, &OsStr),
        unique: &str,
        should_stop: &StopCheck<'_>,
        bring: impl FnOnce(&mut File) -> Result<(), ResourceFault>,
    ) -> Result<bool, ResourceFault> {
        if sha256.len() != DIGEST_DIGITS || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(false);
        }
        // Links share their mode.
        let kept = OsString::from(format!("{sha256}-{mode:o}"));
        if !self.has(&kept, sha256, mode, should_stop)? {
            // Where its user keeps other things, containers have files of their own.
            if self.trim(self.limit_bytes, MAX_FILES).is_err() {
                return Ok(false);
            }
            self.bring(&kept, mode, unique, bring)?;
        }
        match rustix::fs::linkat(self.folder.as_fd(), &kept, to.as_fd(), name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            // Another file system; too many links; it was just removed.
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::NOENT) => Ok(false),
            Err(error) => Err(written_badly(to.path().join(name), error)),
        }
    }

    /// Whether a file is there and whole. One that is not is removed.
    fn has(&self, kept: &OsStr, sha256: &str, mode: u32, should_stop: &StopCheck<'_>) -> Result<bool, ResourceFault> {
        let own = rustix::process::geteuid().as_raw();
        let found = match self.folder.file(Path::new(kept), &Expected::file_of_any_owner()) {
            Err(error) if error.is_not_found() => return Ok(false),
            // A link or a folder of its user's.
            Err(_) => None,
            Ok(found) => Some(found).filter(|found| found.metadata.uid() == own),
        };
        if let Some(mut found) = found {
            let (digest, _) = digest_of(&mut found.file, &found.path, should_stop, |_| Ok(()))?;
            let is_as_wanted = found.metadata.mode() & 0o7777 == mode
                || found.file.set_permissions(Permissions::from_mode(mode)).is_ok();
            if digest == sha256 && is_as_wanted {
                // Those that were used least recently go first.
                let now = UNIX_EPOCH + Duration::from_millis(wall_ms().max(0).cast_unsigned());
                let _ = found.file.set_times(FileTimes::new().set_modified(now));
                return Ok(true);
            }
        }
        self.folder.remove(kept)?;
        Ok(false)
    }

    fn bring(
        &self,
        kept: &OsStr,
        mode: u32,
        unique: &str,
        bring: impl FnOnce(&mut File) -> Result<(), ResourceFault>,
    ) -> Result<(), ResourceFault> {
        let partial = OsString::from(format!(".{unique}.partial"));
        self.folder.remove(&partial)?;
        let written = self.folder.create_file(&partial, mode).map_err(ResourceFault::from);
        let named = written.and_then(|mut file| bring(&mut file)).and_then(|()| {
            match rustix::fs::linkat(self.folder.as_fd(), &partial, self.folder.as_fd(), kept, AtFlags::empty()) {
                // Another container has brought it meanwhile.
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(written_badly(self.folder.path().join(kept), error)),
            }
        });
        let removed = self.folder.remove(&partial);
        named?;
        Ok(removed.map(drop)?)
    }
}

fn written_badly(path: PathBuf, error: Errno) -> ResourceFault {
    ResourceFault::Copy { action: "write", path, source: error.into() }
}

/// Copied at once, bytes.
const PIECE_BYTES: usize = 128 << 10;

/// Whether the container is to end, which ends the copying.
pub(crate) type StopCheck<'a> = dyn Fn() -> bool + 'a;

/// Reads a file to its end; returns its SHA-256 in hex, and its length.
pub(crate) fn digest_of(
    file: &mut File,
    path: &Path,
    should_stop: &StopCheck<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), ResourceFault>,
) -> Result<(String, u64), ResourceFault> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        if should_stop() {
            return Err(ResourceFault::Stopped);
        }
        let read = match file.read(&mut piece) {
            Ok(0) => return Ok((hex(digest.finalize().as_slice()), bytes)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|source| ResourceFault::Copy { action: "read", path: path.to_owned(), source })?,
        };
        digest.update(&piece[..read]);
        bytes += read as u64;
        take(&piece[..read])?;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::io::Write;

    use sha2::{Digest, Sha256};

    use super::*;
    use crate::model::hex;

    struct Bench {
        scratch: tempfile::TempDir,
        cache: ResourceCache,
        folder: PathBuf,
        brought: Cell<u32>,
    }

    #[test]
    fn users_who_have_not_come_for_long_take_no_part_of_the_limit() {
        let (scratch, caches) = (tempfile::tempdir().unwrap(), ResourceCaches::new(1 << 20));
        let limit = || caches.folder_of(scratch.path(), None).unwrap().unwrap().limit_bytes;
        assert_eq!(limit(), 1 << 20);
        for (uid, days) in [("70001", 1), ("70002", 8)] {
            let folder = scratch.path().join(FOLDER).join(uid);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("file"), "x").unwrap();
            let used =
                UNIX_EPOCH + Duration::from_millis(wall_ms().cast_unsigned()) - Duration::from_secs(days * 86_400);
            File::open(&folder).unwrap().set_times(FileTimes::new().set_modified(used)).unwrap();
        }
        assert_eq!(limit(), (1 << 20) / 2);
        assert!(
            !scratch.path().join(FOLDER).join("70002").exists() && scratch.path().join(FOLDER).join("70001").exists()
        );
    }

    impl Bench {
        fn new() -> Self {
            let scratch = tempfile::tempdir().unwrap();
            let files = ResourceCaches::new(1 << 20).folder_of(scratch.path(), None).unwrap().unwrap();
            let cache = ResourceCache::open(&files).unwrap();
            Self { scratch, cache, folder: files.folder, brought: Cell::new(0) }
        }

        fn link(&self, content: &[u8], mode: u32, name: &str) -> Result<bool, ResourceFault> {
            let to = FolderHandle::open(self.scratch.path()).unwrap();
            let digest = hex(Sha256::digest(content).as_slice());
            self.cache.link((&digest, mode), (&to, OsStr::new(name)), "c1", &|| false, |file| {
                self.brought.set(self.brought.get() + 1);
                file.write_all(content).unwrap();
                Ok(())
            })
        }

        fn read(&self, name: &str) -> (Vec<u8>, u32, u64) {
            let path = self.scratch.path().join(name);
            let metadata = fs::metadata(&path).unwrap();
            (fs::read(path).unwrap(), metadata.mode() & 0o777, metadata.ino())
        }

        fn kept(&self) -> Vec<PathBuf> {
            fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path()).collect()
        }
    }

    #[test]
    fn a_file_is_brought_once_and_linked_then() {
        let bench = Bench::new();
        assert!(bench.link(b"data", 0o400, "one").unwrap());
        assert!(bench.link(b"data", 0o400, "two").unwrap());
        assert_eq!(bench.brought.get(), 1);
        let (one, two) = (bench.read("one"), bench.read("two"));
        assert_eq!((&one, &one.0[..], one.1), (&two, &b"data"[..], 0o400));
        assert!(bench.link(b"data", 0o500, "run").unwrap());
        assert_eq!((bench.brought.get(), bench.read("run").1, bench.read("one").1), (2, 0o500, 0o400));
        assert_eq!(bench.kept().len(), 2, "and nothing partial");
    }

    #[test]
    fn what_is_kept_is_checked_again_and_brought_again_when_it_was_changed() {
        let bench = Bench::new();
        bench.link(b"data", 0o400, "one").unwrap();
        let kept = bench.kept().remove(0);
        fs::remove_file(&kept).unwrap();
        fs::write(&kept, "evil").unwrap();
        assert!(bench.link(b"data", 0o400, "two").unwrap());
        assert_eq!((bench.read("two").0, bench.brought.get()), (b"data".to_vec(), 2));
        fs::remove_file(&kept).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &kept).unwrap();
        assert!(bench.link(b"data", 0o400, "three").unwrap());
        assert_eq!((bench.read("three").0, bench.brought.get()), (b"data".to_vec(), 3));
        fs::set_permissions(&kept, Permissions::from_mode(0o666)).unwrap();
        assert!(bench.link(b"data", 0o400, "four").unwrap());
        assert_eq!((bench.read("four").1, bench.brought.get()), (0o400, 3));
    }

    #[test]
    fn a_file_that_cannot_be_brought_is_not_kept() {
        let bench = Bench::new();
        let to = FolderHandle::open(bench.scratch.path()).unwrap();
        let digest = "a".repeat(DIGEST_DIGITS);
        let refused = bench.cache.link((&digest, 0o400), (&to, OsStr::new("x")), "c1", &|| false, |file| {
            file.write_all(b"half").unwrap();
            Err(ResourceFault::Stopped)
        });
        assert!(matches!(refused, Err(ResourceFault::Stopped)));
        assert!(bench.kept().is_empty() && !bench.scratch.path().join("x").exists());
        for digest in ["", "../../x", &"g".repeat(DIGEST_DIGITS)] {
            let linked =
                bench.cache.link((digest, 0o400), (&to, OsStr::new("x")), "c1", &|| false, |_| panic!("brought"));
            assert!(!linked.unwrap(), "{digest}");
        }
    }

    #[test]
    fn those_used_least_recently_go_while_there_is_too_much() {
        let bench = Bench::new();
        for (age_s, content) in [(10, "a"), (40, "b"), (30, "c"), (20, "d")] {
            bench.link(content.repeat(100).as_bytes(), 0o400, content).unwrap();
            let digest = hex(Sha256::digest(content.repeat(100)).as_slice());
            let file = File::open(bench.folder.join(format!("{digest}-400"))).unwrap();
            let used = UNIX_EPOCH + Duration::from_secs(1_000 - age_s);
            file.set_times(FileTimes::new().set_modified(used)).unwrap();
        }
        let left = |limit_bytes, limit_files| {
            bench.cache.trim(limit_bytes, limit_files).unwrap();
            bench.kept().iter().map(|path| fs::read(path).unwrap()[0]).collect::<std::collections::BTreeSet<u8>>()
        };
        assert_eq!(left(400, 10), b"abcd".iter().copied().collect());
        assert_eq!(left(399, 10), b"acd".iter().copied().collect());
        assert_eq!(left(400, 2), b"ad".iter().copied().collect());
        // Used again just now.
        bench.link("d".repeat(100).as_bytes(), 0o400, "again").unwrap();
        assert_eq!(left(100, 2), b"d".iter().copied().collect());
        assert_eq!(bench.read("b").0, "b".repeat(100).as_bytes(), "a container keeps what it has");
    }

    #[test]
    fn without_room_no_file_is_kept() {
        let scratch = tempfile::tempdir().unwrap();
        assert_eq!(ResourceCaches::new(0).folder_of(scratch.path(), None).unwrap(), None);
    }

    #[test]
    fn names_without_end_cost_their_user_the_cache_and_nobody_else() {
        let bench = Bench::new();
        for number in 0..LIST_BOUND.entries + 1 {
            File::create(bench.folder.join(number.to_string())).unwrap();
        }
        assert!(!bench.link(b"data", 0o400, "one").unwrap(), "the container has a file of its own");
        let other = LoginUser { name: "x".to_owned(), uid: 12_345, gid: 12_345, groups: vec![], home: "/".to_owned() };
        if rustix::process::geteuid().is_root() {
            let files = ResourceCaches::new(100).folder_of(bench.scratch.path(), Some(&other)).unwrap().unwrap();
            assert_eq!(files.limit_bytes, 50, "an equal part for each of two");
        }
    }
}
