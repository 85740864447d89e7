//! The file systems there are, and which of them a path lies on.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::hdfs::{Endpoint, HdfsClient, HdfsOptionError, HdfsOptions, ListBound};

use super::checked_file::Expected;
use super::error::FsError;
use super::file_uri::{FileUri, NameNodeAddress};
use super::folder::Folder;
use super::hdfs::{HdfsFileSystem, HdfsFolder};
use super::local::LocalFileSystem;
use super::open_file::{FileWriter, OpenFile};
use super::status::{BlockPlace, EntryKind, EntryOwner, EntryStatus, FolderEntry};
use super::trusted_folder::{Privacy, TrustedFolder};
use super::untrusted::open_behind_links;

/// Reaches all file systems as one user. Cheap to clone, for any thread; clones share connections.
#[derive(Clone, Debug)]
pub struct FileSystems {
    user: Arc<str>,
    namenodes: Arc<NameNodes>,
}

#[derive(Debug)]
struct NameNodes {
    options: Result<HdfsOptions, HdfsOptionError>,
    clients: Mutex<BTreeMap<NameNodeAddress, HdfsClient>>,
}

impl FileSystems {
    /// All file systems, as this user. On this machine the rights are those of the process, whatever the name. Where `options` are none,
    /// each use of a NameNode fails with the reason.
    pub(crate) fn new(user: &str, options: Result<HdfsOptions, HdfsOptionError>) -> Self {
        let namenodes = Arc::new(NameNodes { options, clients: Mutex::default() });
        Self { user: user.into(), namenodes }
    }

    pub fn with_defaults(user: &str) -> Self {
        Self::new(user, Ok(HdfsOptions::default()))
    }

    pub(crate) fn as_user(&self, user: &str) -> Self {
        Self { user: user.into(), namenodes: self.namenodes.clone() }
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    pub fn of(&self, path: &FileUri) -> FileSystem {
        match path.namenode() {
            None => FileSystem::Local(LocalFileSystem),
            Some(address) => FileSystem::Hdfs(HdfsFileSystem::new(self.client(address))),
        }
    }

    fn client(&self, address: &NameNodeAddress) -> Result<HdfsClient, HdfsOptionError> {
        let options = self.namenodes.options.as_ref().map_err(Clone::clone)?;
        let mut clients = self.namenodes.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let client = clients.entry(address.clone()).or_insert_with(|| {
            let endpoint = Endpoint { host: address.host().to_owned(), port: address.port() };
            HdfsClient::new(endpoint, &self.user, options.clone())
        });
        Ok(client.as_user(&self.user))
    }
}

/// A file system, reached as one user. Every path given to it lies on it.
#[derive(Clone, Debug)]
pub enum FileSystem {
    /// Files of this machine, or of a network file system that is mounted on it.
    Local(LocalFileSystem),
    Hdfs(HdfsFileSystem),
}

impl FileSystem {
    /// Opens a folder of this process's own user, made with `mode` if it is missing; see [`super::open_trusted_folder`].
    /// Errors: the folder or one on its path lets others decide what lies there, or the file system refuses.
    pub(crate) fn trusted_folder(
        &self,
        path: &FileUri,
        mode: u32,
        privacy: Privacy,
    ) -> Result<TrustedFolder<Folder>, FsError> {
        match self {
            FileSystem::Local(local) => local.trusted_folder(path.as_path(), mode, privacy),
            FileSystem::Hdfs(hdfs) => {
                let TrustedFolder { folder, warnings } = HdfsFolder::trusted(hdfs, path, mode, privacy)?;
                Ok(TrustedFolder { folder: Folder::hdfs(folder), warnings })
            }
        }
    }

    /// Opens a folder that the caller trusts: links on the way to it are followed. Errors: no folder, or the file system refuses.
    pub(crate) fn folder(&self, path: &FileUri) -> Result<Folder, FsError> {
        match self {
            FileSystem::Local(local) => local.folder(path.as_path()),
            FileSystem::Hdfs(hdfs) => HdfsFolder::open(hdfs, path).map(Folder::hdfs),
        }
    }

    /// Opens a file for reading, which may lie behind links of anybody, as in Hadoop. The file behind them is checked.
    /// Errors: no regular file, not as expected, or the file system refuses.
    pub(crate) fn open(&self, path: &FileUri, expected: &Expected) -> Result<OpenFile, FsError> {
        match self {
            FileSystem::Local(local) => local.open(path.as_path(), expected),
            FileSystem::Hdfs(hdfs) => hdfs.open(path, expected),
        }
    }

    /// Opens a file below `root`, which the caller trusts and to which links may lead; no link below it is followed.
    /// Errors: a link, a path elsewhere, no regular file, not as expected.
    pub(crate) fn open_below(&self, root: &FileUri, path: &FileUri, expected: &Expected) -> Result<OpenFile, FsError> {
        match self {
            FileSystem::Local(local) => local.open_below(root.as_path(), path.as_path(), expected),
            FileSystem::Hdfs(hdfs) => hdfs.open(path, expected),
        }
    }

    /// Makes a file in place of one that is there, with the permission bits that the umask leaves and with the checksums that readers of
    /// this file system expect.
    pub fn create(&self, path: &FileUri) -> Result<FileWriter, FsError> {
        match self {
            FileSystem::Local(local) => local.create(path.as_path()),
            FileSystem::Hdfs(hdfs) => hdfs.create(path),
        }
    }

    /// Writes a file that was not there with what `write` writes; it is on disk afterwards, or on its DataNodes, and after an error it is
    /// gone. `block_bytes`: the size of its blocks on a file system that has blocks, else as its client always asks for.
    /// Errors: [`FsError`] with the path and what was expected; also when the file is there, and what `write` returns.
    pub(crate) fn create_with(
        &self,
        path: &FileUri,
        mode: u32,
        block_bytes: Option<u64>,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.create_with(path.as_path(), mode, write),
            FileSystem::Hdfs(hdfs) => hdfs.create_with(path, mode, block_bytes, write),
        }
    }

    /// As [`Self::rename`]; the new name is on disk afterwards.
    pub(crate) fn rename_synced(&self, from: &FileUri, to: &FileUri) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.rename_synced(from.as_path(), to.as_path()),
            FileSystem::Hdfs(hdfs) => hdfs.rename(from, to),
        }
    }

    /// When a file was changed last, epoch ms; `None`: it is not there.
    pub(crate) fn modified_ms(&self, path: &FileUri) -> Result<Option<i64>, FsError> {
        match self {
            FileSystem::Local(local) => local.modified_ms(path.as_path()),
            FileSystem::Hdfs(hdfs) => Ok(hdfs.status_of(path)?.map(|status| status.modified_ms)),
        }
    }

    pub(crate) fn remove_file(&self, path: &FileUri) -> Result<bool, FsError> {
        match self {
            FileSystem::Local(local) => local.remove_file(path.as_path()),
            FileSystem::Hdfs(hdfs) => hdfs.remove(path),
        }
    }

    /// Copies a file of this machine to a name that is free, with exactly these permission bits; `replication`: how many copies a file
    /// system that makes copies is to keep, else as many as its client always asks for.
    pub(crate) fn copy_in(
        &self,
        from: &Path,
        to: &FileUri,
        mode: u32,
        replication: Option<u16>,
    ) -> Result<(), FsError> {
        let mut source = open_behind_links(from, &Expected::file_of_any_owner())?.file;
        match self {
            FileSystem::Local(local) => local.copy_in(&mut source, to.as_path(), mode),
            FileSystem::Hdfs(hdfs) => hdfs.copy_in(&mut source, to, mode, replication),
        }
    }

    /// Makes a folder and those above it; the folder itself has `mode` afterwards.
    pub fn make_dir_all(&self, path: &FileUri, mode: u32) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.make_dir_all(path.as_path(), mode),
            FileSystem::Hdfs(hdfs) => hdfs.make_dir_all(path, mode),
        }
    }

    /// Removes a folder with all in it; `false` when there was none.
    pub(crate) fn remove_dir_all(&self, path: &FileUri) -> Result<bool, FsError> {
        match self {
            FileSystem::Local(local) => local.remove_dir_all(path.as_path()),
            FileSystem::Hdfs(hdfs) => hdfs.remove(path),
        }
    }

    /// The names of all that is in a folder, in order.
    pub(crate) fn names_in(&self, path: &FileUri, bound: ListBound) -> Result<Vec<OsString>, FsError> {
        match self {
            FileSystem::Local(local) => local.names_in(path.as_path(), bound),
            FileSystem::Hdfs(hdfs) => hdfs.names_in(path, bound),
        }
    }

    /// All that is in a folder, in order of names; links are followed.
    pub(crate) fn entries(&self, path: &FileUri, bound: ListBound) -> Result<Vec<FolderEntry>, FsError> {
        match self {
            FileSystem::Local(local) => local.entries(path.as_path(), bound),
            FileSystem::Hdfs(hdfs) => hdfs.entries(path, bound),
        }
    }

    /// Where the parts of a file of `length_bytes` lie, in order; none of an empty one.
    pub(crate) fn blocks(&self, path: &FileUri, length_bytes: u64) -> Result<Vec<BlockPlace>, FsError> {
        match self {
            FileSystem::Local(local) => Ok(local.blocks(path.as_path(), length_bytes)),
            FileSystem::Hdfs(hdfs) => hdfs.blocks(path, length_bytes),
        }
    }

    /// The user that this file system is reached as; on this machine, that of the process.
    pub(crate) fn own_name(&self) -> EntryOwner {
        match self {
            FileSystem::Local(_) => EntryOwner::Uid(rustix::process::geteuid().as_raw()),
            FileSystem::Hdfs(hdfs) => hdfs.own_name(),
        }
    }

    /// Whether files can be written to where `path` lies: its NameNode answers and is not in safe mode. Errors: it does not answer.
    pub(crate) fn is_writable(&self, path: &FileUri) -> Result<bool, FsError> {
        match self {
            FileSystem::Local(_) => Ok(true),
            FileSystem::Hdfs(hdfs) => hdfs.is_writable(path),
        }
    }

    /// Whether something belongs to that user.
    pub(crate) fn is_own(&self, owner: &EntryOwner) -> bool {
        *owner == self.own_name()
    }

    /// What stands under a path, links not followed; `None`: nothing.
    pub(crate) fn kind_of(&self, path: &FileUri) -> Result<Option<EntryKind>, FsError> {
        match self {
            FileSystem::Local(local) => local.kind_of(path.as_path()),
            FileSystem::Hdfs(hdfs) => hdfs.kind_of(path),
        }
    }

    /// The file or folder that a path leads to, through links; `None`: none.
    pub(crate) fn status(&self, path: &FileUri) -> Result<Option<EntryStatus>, FsError> {
        match self {
            FileSystem::Local(local) => local.status(path.as_path()),
            FileSystem::Hdfs(hdfs) => hdfs.status(path),
        }
    }

    /// Renames a file or folder, in place of a file that is there, with its checksums.
    pub(crate) fn rename(&self, from: &FileUri, to: &FileUri) -> Result<(), FsError> {
        match self {
            FileSystem::Local(local) => local.rename(from.as_path(), to.as_path()),
            FileSystem::Hdfs(hdfs) => hdfs.rename(from, to),
        }
    }
}
