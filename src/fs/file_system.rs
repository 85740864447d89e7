//! The file systems there are, and which of them a path lies on.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::checked_file::Expected;
use super::error::FsError;
use super::file_uri::FileUri;
use super::file_writer::FileWriter;
use super::folder::Folder;
use super::local::LocalFileSystem;
use super::open_file::OpenFile;
use super::status::{BlockPlace, Entry, EntryKind, EntryOwner, EntryStatus};
use super::trusted_folder::{Privacy, TrustedFolder};

/// Reaches all file systems as one user. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub struct FileSystems {
    user: Arc<str>,
}

// === impl FileSystems ===

impl FileSystems {
    /// All file systems, as this user. On this machine the rights are those of the process, whatever the name.
    #[must_use]
    pub fn new(user: &str) -> Self {
        Self { user: user.into() }
    }

    /// The same, as another user.
    #[must_use]
    pub fn as_user(&self, user: &str) -> Self {
        Self { user: user.into() }
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The file system that a path lies on.
    #[must_use]
    pub fn of(&self, _path: &FileUri) -> FileSystem {
        FileSystem::Local(LocalFileSystem)
    }
}

/// A file system, reached as one user. Every path given to it lies on it.
#[derive(Clone, Debug)]
pub enum FileSystem {
    /// Files of this machine, or of a network file system that is mounted on it.
    Local(LocalFileSystem),
}

// === impl FileSystem ===

impl FileSystem {
    /// Opens a folder of this process's own user, made with `mode` if it is missing; see [`super::open_trusted_folder`].
    ///
    /// # Errors
    /// [`FsError`]: the folder or one on its path lets others decide what lies there, or the file system refuses.
    pub fn trusted_folder(
        &self,
        path: &FileUri,
        mode: u32,
        privacy: Privacy,
    ) -> Result<TrustedFolder<Folder>, FsError> {
        match self {
            FileSystem::Local(local) => local.trusted_folder(path.as_path(), mode, privacy),
        }
    }

    /// Opens a folder that the caller trusts: links on the way to it are followed.
    ///
    /// # Errors
    /// [`FsError`]: no folder, or the file system refuses.
    pub fn folder(&self, path: &FileUri) -> Result<Folder, FsError> {
        match self {
            FileSystem::Local(local) => local.folder(path.as_path()),
        }
    }

    /// Opens a file for reading, which may lie behind links of anybody, as in Hadoop. The file behind them is checked.
    ///
    /// # Errors
    /// [`FsError`]: no regular file, not as expected, or the file system refuses.
    pub fn open(&self, path: &FileUri, expected: &Expected) -> Result<OpenFile, FsError> {
        match self {
            FileSystem::Local(local) => local.open(path.as_path(), expected),
        }
    }

    /// Opens a file below `root`, which the caller trusts and to which links may lead; no link below it is followed.
    ///
    /// # Errors
    /// [`FsError`]: a link, a path elsewhere, no regular file, not as expected.
    pub fn open_below(&self, root: &FileUri, path: &FileUri, expected: &Expected) -> Result<OpenFile, FsError> {
        match self {
            FileSystem::Local(local) => local.open_below(root.as_path(), path.as_path(), expected),
        }
    }

    /// The whole content of a file of at most `max_bytes`.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn read_limited(&self, path: &FileUri, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        self.open(path, &Expected::file_of_any_owner().at_most(max_bytes))?.read_limited(max_bytes)
    }

    /// Makes a file in place of one that is there, with the permission bits that the umask leaves and with the checksums that readers of
    /// this file system expect.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn create(&self, path: &FileUri) -> Result<FileWriter, FsError> {
        match self {
            FileSystem::Local(local) => local.create(path.as_path()),
        }
    }

    /// Writes a file as a whole, with exactly these permission bits, in place of one that is there; readers see the old or the new one.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn write_new(&self, path: &FileUri, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.write_new(path.as_path(), bytes, mode),
        }
    }

    /// Writes a file that was not there, with exactly these permission bits. On a local disk it may be lost in a power failure: for what
    /// can be made again.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected; also when the file is there.
    pub fn write_unsynced(&self, path: &FileUri, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.write_unsynced(path.as_path(), bytes, mode),
        }
    }

    /// Copies a file of this machine to a name that is free, with exactly these permission bits.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn copy_in(&self, from: &Path, to: &FileUri, mode: u32) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.copy_in(from, to.as_path(), mode),
        }
    }

    /// Makes a folder and those above it; the folder itself has `mode` afterwards.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn make_dir_all(&self, path: &FileUri, mode: u32) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.make_dir_all(path.as_path(), mode),
        }
    }

    /// Removes a folder with all in it; `false` when there was none.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn remove_dir_all(&self, path: &FileUri) -> Result<bool, FsError> {
        match self {
            FileSystem::Local(local) => local.remove_dir_all(path.as_path()),
        }
    }

    /// The names of all that is in a folder, in order.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn names_in(&self, path: &FileUri) -> Result<Vec<OsString>, FsError> {
        match self {
            FileSystem::Local(local) => local.names_in(path.as_path()),
        }
    }

    /// All that is in a folder, in order of names; links are followed.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn entries(&self, path: &FileUri) -> Result<Vec<Entry>, FsError> {
        match self {
            FileSystem::Local(local) => local.entries(path.as_path()),
        }
    }

    /// Where the parts of a file of `length_bytes` lie, in order; none of an empty one.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn blocks(&self, path: &FileUri, length_bytes: u64) -> Result<Vec<BlockPlace>, FsError> {
        match self {
            FileSystem::Local(local) => Ok(local.blocks(path.as_path(), length_bytes)),
        }
    }

    /// The user that this file system is reached as; on this machine, that of the process.
    #[must_use]
    pub fn own_name(&self) -> EntryOwner {
        match self {
            FileSystem::Local(_) => EntryOwner::Uid(rustix::process::geteuid().as_raw()),
        }
    }

    /// Whether something belongs to that user.
    #[must_use]
    pub fn is_own(&self, owner: &EntryOwner) -> bool {
        *owner == self.own_name()
    }

    /// What stands under a path, links not followed; `None`: nothing.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn kind_of(&self, path: &FileUri) -> Result<Option<EntryKind>, FsError> {
        match self {
            FileSystem::Local(local) => local.kind_of(path.as_path()),
        }
    }

    /// The file or folder that a path leads to, through links; `None`: none.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn status(&self, path: &FileUri) -> Result<Option<EntryStatus>, FsError> {
        match self {
            FileSystem::Local(local) => local.status(path.as_path()),
        }
    }

    /// Renames a file or folder, in place of a file that is there, with its checksums.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn rename(&self, from: &FileUri, to: &FileUri) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.rename(from.as_path(), to.as_path()),
        }
    }
}
