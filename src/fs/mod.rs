//! File systems: local (and later `hdfs://`).
//!
//! Everything here blocks and is called from a pool of threads that may; no answer to a heartbeat waits for it.

mod accounts;
mod as_user;
mod checked_file;
pub mod checksummed;
mod error;
pub mod file_uri;
mod folder_handle;
pub mod local;
mod locked_file;
mod others;
mod path_walk;
mod removal;
mod rights;
#[cfg(test)]
mod tests;
mod trusted_folder;
pub mod untrusted;

pub use accounts::Account;
pub use as_user::{UserRights, as_user};
pub use checked_file::{CheckedFile, Expected};
pub use error::FsError;
pub use file_uri::{FileUri, FileUriError};
pub use folder_handle::FolderHandle;
pub use local::{EntryKind, LocalFileSystem};
pub use locked_file::{FileAccess, LockedFile, replace_file, write_private_file};
pub use others::access_of_others;
pub use rights::FileRights;
pub use trusted_folder::{Privacy, TrustedFolder, open_trusted_folder};
pub use untrusted::{open_behind_links, open_below, open_folder_below, open_named_by_conf, remove_below};

use std::ffi::OsString;
use std::io::{self, Write};

/// The file systems there are. `hdfs://` becomes a second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// Files of this machine, or of a network file system that is mounted on it.
    Local(LocalFileSystem),
}

impl FileSystem {
    /// The file system a path lies on.
    #[must_use]
    pub fn of(_path: &FileUri) -> Self {
        FileSystem::Local(LocalFileSystem)
    }

    /// The whole content of a file of at most `max_bytes`.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn read_limited(&self, path: &FileUri, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        match self {
            FileSystem::Local(local) => local.read_limited(path.as_path(), max_bytes),
        }
    }

    /// Writes a file as a whole, in place of one that is there; readers see the old or the new one.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn write_new(&self, path: &FileUri, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.write_new(path.as_path(), bytes, mode),
        }
    }

    /// Writes a file that was not there with what `write` writes; it is on disk afterwards, and after an error it is gone.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected; also when the file is there, and what `write` returns.
    pub fn create_with(
        &self,
        path: &FileUri,
        mode: u32,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.create_with(path.as_path(), mode, write),
        }
    }

    /// As [`Self::rename`]; the new name is on disk afterwards.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn rename_synced(&self, from: &FileUri, to: &FileUri) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.rename_synced(from.as_path(), to.as_path()),
        }
    }

    /// When a file was changed last, epoch ms; `None`: it is not there.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn modified_ms(&self, path: &FileUri) -> Result<Option<i64>, FsError> {
        match self {
            FileSystem::Local(local) => local.modified_ms(path.as_path()),
        }
    }

    /// Removes a file; `false` when there was none.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn remove_file(&self, path: &FileUri) -> Result<bool, FsError> {
        match self {
            FileSystem::Local(local) => local.remove_file(path.as_path()),
        }
    }

    /// Writes a file that was not there, with the permission bits that the umask leaves; readers that learn of it afterwards see it
    /// whole, but it is not synced.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected; also when the file is there.
    pub fn write_under_umask(&self, path: &FileUri, bytes: &[u8]) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.write_under_umask(path.as_path(), bytes),
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

    /// What stands under a path, links not followed; `None`: nothing.
    ///
    /// # Errors
    /// [`FsError`] with the path and what was expected.
    pub fn kind_of(&self, path: &FileUri) -> Result<Option<EntryKind>, FsError> {
        match self {
            FileSystem::Local(local) => local.kind_of(path.as_path()),
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
