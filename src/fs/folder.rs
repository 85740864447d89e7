//! An open folder of any file system, and what is done below it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use rustix::fs::FileType;

use crate::hdfs::ListBound;

use super::checked_file::Expected;
use super::error::FsError;
use super::folder_handle::FolderHandle;
use super::hdfs::HdfsFolder;
use super::open_file::OpenFile;
use super::status::{EntryKind, EntryOwner, EntryStatus, PERMISSION_BITS};

/// A folder. Names given to its methods are plain names; paths lie below it, and no link in them is followed.
#[derive(Debug)]
pub(crate) enum Folder {
    /// On this machine, held open: it stays the same one, whatever happens to its name.
    Local(FolderHandle),
    /// On a NameNode, by its path.
    Hdfs(Box<HdfsFolder>),
}

impl Folder {
    pub(super) fn hdfs(folder: HdfsFolder) -> Self {
        Folder::Hdfs(Box::new(folder))
    }

    /// Where it lies, for messages.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Folder::Local(folder) => folder.path(),
            Folder::Hdfs(folder) => folder.path(),
        }
    }

    pub(crate) fn owner(&self) -> Result<EntryOwner, FsError> {
        match self {
            Folder::Local(folder) => folder.owner().map(EntryOwner::Uid),
            Folder::Hdfs(folder) => Ok(folder.status().owner),
        }
    }

    pub(crate) fn mode(&self) -> Result<u32, FsError> {
        match self {
            Folder::Local(folder) => folder.mode(),
            Folder::Hdfs(folder) => Ok(folder.mode()),
        }
    }

    pub(crate) fn set_mode(&self, mode: u32) -> Result<(), FsError> {
        match self {
            Folder::Local(folder) => folder.set_mode(mode),
            Folder::Hdfs(folder) => folder.set_mode(mode),
        }
    }

    /// A folder below. Errors: a link, a `..`, no folder.
    pub(crate) fn folder(&self, path: &Path) -> Result<Self, FsError> {
        match self {
            Folder::Local(folder) => folder.folder(path).map(Folder::Local),
            Folder::Hdfs(folder) => folder.folder(path).map(Folder::hdfs),
        }
    }

    /// A regular file below, open for reading. Errors: a link, a `..`, no regular file, not as expected.
    pub(crate) fn file(&self, path: &Path, expected: &Expected) -> Result<OpenFile, FsError> {
        match self {
            Folder::Local(folder) => folder.file(path, expected).map(OpenFile::Local),
            Folder::Hdfs(folder) => folder.file(path, expected),
        }
    }

    /// Makes a folder in it with exactly these permission bits, or gives the one that is there these.
    /// Errors: a link or a file is there, or the file system refuses.
    pub(crate) fn make_folder(&self, name: &OsStr, mode: u32) -> Result<Self, FsError> {
        match self {
            Folder::Local(folder) => folder.make_folder(name, mode).map(Folder::Local),
            Folder::Hdfs(folder) => folder.make_folder(name, mode).map(Folder::hdfs),
        }
    }

    /// Writes a file that was not there, with these permission bits; on a local disk it may be lost in a power failure.
    /// Errors: something has that name, or the file system refuses.
    pub(crate) fn write_unsynced(&self, name: &OsStr, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        match self {
            Folder::Local(folder) => folder.write_unsynced(name, bytes, mode),
            Folder::Hdfs(folder) => folder.write_unsynced(name, bytes, mode),
        }
    }

    /// Removes what has that name in it, a folder with all in it; links are removed, not followed. `false`: nothing was there.
    pub(crate) fn remove(&self, name: &OsStr) -> Result<bool, FsError> {
        match self {
            Folder::Local(folder) => folder.remove(name),
            Folder::Hdfs(folder) => folder.remove(name),
        }
    }

    /// Removes a folder in it that is empty; `false` when it is not, or is not there. Errors: no folder, or the file system refuses.
    pub(crate) fn remove_empty_folder(&self, name: &OsStr) -> Result<bool, FsError> {
        match self {
            Folder::Local(folder) => folder.remove_empty_folder(name),
            Folder::Hdfs(folder) => folder.remove_empty_folder(name),
        }
    }

    /// The names of all that is in it, in order.
    pub(crate) fn names(&self, bound: ListBound) -> Result<Vec<OsString>, FsError> {
        match self {
            Folder::Local(folder) => folder.names(bound),
            Folder::Hdfs(folder) => folder.names(bound),
        }
    }

    /// What stands under a name in it, links not followed; `None`: nothing.
    pub(crate) fn status_of(&self, name: &OsStr) -> Result<Option<EntryStatus>, FsError> {
        match self {
            Folder::Local(folder) => Ok(folder.stat_of(name)?.map(|stat| EntryStatus {
                kind: match FileType::from_raw_mode(stat.st_mode) {
                    FileType::Directory => EntryKind::Folder,
                    _ => EntryKind::File,
                },
                length_bytes: u64::try_from(stat.st_size).unwrap_or(0),
                block_bytes: None,
                owner: EntryOwner::Uid(stat.st_uid),
                mode: stat.st_mode & PERMISSION_BITS,
            })),
            Folder::Hdfs(folder) => folder.status_of(name),
        }
    }
}
