//! An open folder, and what is done below it without following links.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use crate::hdfs::ListBound;

use super::checked_file::{CheckedFile, Expected, open_found};
use super::error::{FsError, refused};
use super::path_walk::{FOLDER, Links, OpenFolder, components_below, open_root, walk};

/// A folder that is open: it stays the same one, whatever happens to its name. Names given to its methods are plain names; paths lie below
/// it, and no link in them is followed.
#[derive(Debug)]
pub(crate) struct FolderHandle {
    /// Opened with `O_PATH`.
    folder: OwnedFd,
    path: PathBuf,
}

impl FolderHandle {
    /// Opens a folder that the caller trusts: links on the way to it are followed. Errors: no folder, or the system refuses.
    pub(crate) fn open(path: &Path) -> Result<Self, FsError> {
        Ok(Self { folder: open_root(path)?, path: path.to_owned() })
    }

    /// Of a folder that is open, in whatever way.
    pub(super) fn new(folder: OwnedFd, path: PathBuf) -> Result<Self, FsError> {
        let folder = rustix::fs::openat(&folder, ".", FOLDER, Mode::empty());
        let folder = folder.map_err(refused("open", &path, "a folder that may be searched"))?;
        Ok(Self { folder, path })
    }

    /// Where it lay when it was opened.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn owner(&self) -> Result<u32, FsError> {
        Ok(self.stat()?.st_uid)
    }

    pub(crate) fn mode(&self) -> Result<u32, FsError> {
        Ok(self.stat()?.st_mode & 0o7777)
    }

    pub(crate) fn set_mode(&self, mode: u32) -> Result<(), FsError> {
        let refused = refused("change the mode of", &self.path, "a folder of the user of this process");
        rustix::fs::fchmod(self.readable()?, Mode::from_raw_mode(mode)).map_err(refused)
    }

    /// Sets the permission bits of what has that name in it, such as a socket. Errors: a link stands there, or the system refuses.
    pub(crate) fn set_mode_of_entry(&self, name: &OsStr, mode: u32) -> Result<(), FsError> {
        let path = self.path_of(name)?;
        let is_link = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        if self.stat_of(name)?.as_ref().is_some_and(is_link) {
            return Err(FsError::SymbolicLink { path });
        }
        rustix::fs::chmodat(&self.folder, name, Mode::from_raw_mode(mode), AtFlags::empty()).map_err(refused(
            "change the mode of",
            &path,
            "an entry of the user of this process",
        ))
    }

    /// Gives it to another user, and to a group unless it keeps its own. Only root may.
    pub(crate) fn give(&self, uid: u32, gid: Option<u32>) -> Result<(), FsError> {
        let given = rustix::fs::fchown(self.readable()?, Some(Uid::from_raw(uid)), gid.map(Gid::from_raw));
        given.map_err(refused("change the owner of", &self.path, "a folder that may be given to another user"))
    }

    /// Gives what has that name in it to another user; a link itself, not its target. Only root may.
    pub(crate) fn give_entry(&self, name: &OsStr, uid: u32, gid: u32) -> Result<(), FsError> {
        let path = self.path_of(name)?;
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        let given = rustix::fs::chownat(&self.folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW);
        given.map_err(refused("change the owner of", &path, "a file that may be given to another user"))
    }

    /// A folder below. Errors: a link, a `..`, no folder.
    pub(crate) fn folder(&self, path: &Path) -> Result<Self, FsError> {
        let names = components_below(&self.path, path)?;
        let found = walk(OpenFolder::Given(self.as_fd()), &self.path, names, path, Links::Refused)?;
        match FileType::from_raw_mode(found.stat.st_mode) {
            FileType::Directory => Ok(Self { folder: found.entry, path: found.path }),
            _ => Err(FsError::WrongKind { path: found.path, expected: "a folder" }),
        }
    }

    /// A regular file below, open for reading. Errors: a link, a `..`, no regular file, not as expected.
    pub(crate) fn file(&self, path: &Path, expected: &Expected) -> Result<CheckedFile, FsError> {
        let names = components_below(&self.path, path)?;
        let found = walk(OpenFolder::Given(self.as_fd()), &self.path, names, path, Links::Refused)
            .map_err(FsError::at_reading)?;
        open_found(&found, expected)
    }

    /// Makes a folder in it with exactly these permission bits, or opens the one that is there and gives it these.
    /// Errors: a link or a file is there, or the system refuses.
    pub(crate) fn make_folder(&self, name: &OsStr, mode: u32) -> Result<Self, FsError> {
        let path = self.path_of(name)?;
        let refused = refused("make folder", &path, "a folder that may be written to");
        match rustix::fs::mkdirat(&self.folder, name, Mode::from_raw_mode(mode)) {
            Err(error) if error != Errno::EXIST => return Err(refused(error)),
            _ => {}
        }
        let made = self.folder(Path::new(name))?;
        if made.mode()? != mode {
            made.set_mode(mode)?;
        }
        Ok(made)
    }

    /// Makes a file in it that was not there, open for writing, with exactly these permission bits.
    /// Errors: something has that name, or the system refuses.
    pub(crate) fn create_file(&self, name: &OsStr, mode: u32) -> Result<File, FsError> {
        let path = self.path_of(name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let refused = refused("write", &path, "a name that is free, in a folder that may be written to");
        let file = rustix::fs::openat(&self.folder, name, flags, Mode::from_raw_mode(mode)).map_err(&refused)?;
        // Once more, for the umask has taken bits away.
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(refused)?;
        Ok(file.into())
    }

    /// Opens a file of our own for reading and writing, made with `mode` if it is missing: a lock, a database.
    /// Errors: a link, no regular file, one with further names, one of another user, or the system refuses.
    pub(crate) fn open_own_file(&self, name: &OsStr, mode: u32) -> Result<File, FsError> {
        let path = self.path_of(name)?;
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = match rustix::fs::openat(&self.folder, name, flags, Mode::from_raw_mode(mode)) {
            Err(Errno::LOOP) => return Err(FsError::SymbolicLink { path }),
            opened => opened.map_err(refused("open", &path, "a file of our own"))?,
        };
        let file = File::from(opened);
        let metadata = file.metadata().map_err(refused("open", &path, "a file of our own"))?;
        if !metadata.is_file() {
            return Err(FsError::WrongKind { path, expected: "a regular file" });
        }
        let (owner, ours) = (metadata.uid(), vec![rustix::process::geteuid().as_raw(), 0]);
        if !ours.contains(&owner) {
            return Err(FsError::WrongOwner { path, owner, expected: ours });
        }
        if metadata.nlink() > 1 {
            return Err(FsError::HardLinks { path, links: metadata.nlink() });
        }
        Ok(file)
    }

    /// Writes a file that was not there, with exactly these permission bits; not on disk afterwards.
    /// Errors: something has that name, or the system refuses.
    pub(crate) fn write_unsynced(&self, name: &OsStr, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        let written = self.create_file(name, mode)?.write_all(bytes);
        written.map_err(refused("write", &self.path.join(name), "a file system with room"))
    }

    /// Renames a file in it, in place of a file that has the new name. Errors: a folder has the new name, or the system refuses.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> Result<(), FsError> {
        let (from_path, _) = (self.path_of(from)?, self.path_of(to)?);
        rustix::fs::renameat(&self.folder, from, &self.folder, to).map_err(refused(
            "rename",
            &from_path,
            "a name that no folder has",
        ))
    }

    /// Removes a folder in it that is empty; `false` when it is not, or is not there. Errors: no folder, or the system refuses.
    pub(crate) fn remove_empty_folder(&self, name: &OsStr) -> Result<bool, FsError> {
        let path = self.path_of(name)?;
        match rustix::fs::unlinkat(&self.folder, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => Ok(false),
            removed => removed.map(|()| true).map_err(refused("remove", &path, "a folder that may be removed")),
        }
    }

    /// The room on its file system for users without privileges, bytes.
    pub(crate) fn free_bytes(&self) -> Result<u64, FsError> {
        let found = rustix::fs::fstatvfs(self.readable()?);
        let found = found.map_err(refused("look at the file system of", &self.path, "a folder that may be read"))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// The names of all that is in it, in order.
    pub(crate) fn names(&self, bound: ListBound) -> Result<Vec<OsString>, FsError> {
        let failed = refused("list", &self.path, "a folder that may be read");
        let (mut names, mut count) = (Vec::new(), bound.begin());
        for entry in Dir::new(self.readable()?).map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                let counted = count.add_entry(name.len()).map_err(io::Error::other);
                counted.map_err(refused("list", &self.path, "a folder with less in it"))?;
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// What stands under a name in it, links not followed; `None`: nothing.
    pub(crate) fn stat_of(&self, name: &OsStr) -> Result<Option<Stat>, FsError> {
        let path = self.path_of(name)?;
        match rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            stat => Ok(Some(stat.map_err(refused("look at", &path, "a folder that may be searched"))?)),
        }
    }

    /// Makes the names in it durable.
    pub(crate) fn sync(&self) -> Result<(), FsError> {
        rustix::fs::fsync(self.readable()?).map_err(refused("sync", &self.path, "a folder that may be read"))
    }

    pub(super) fn stat(&self) -> Result<Stat, FsError> {
        rustix::fs::fstat(&self.folder).map_err(refused("look at", &self.path, "a folder"))
    }

    /// The folder once more, as one can list, sync and change it.
    pub(super) fn readable(&self) -> Result<OwnedFd, FsError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, ".", flags, Mode::empty()).map_err(refused(
            "open",
            &self.path,
            "a folder that may be read",
        ))
    }

    pub(super) fn path_of(&self, name: &OsStr) -> Result<PathBuf, FsError> {
        if name.is_empty() || name == "." || name == ".." || name.as_bytes().contains(&b'/') {
            return Err(FsError::WrongKind { path: self.path.join(name), expected: "a plain name" });
        }
        Ok(self.path.join(name))
    }
}

impl AsFd for FolderHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }
}
