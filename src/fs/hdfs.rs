//! Files of a NameNode, reached as one user.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::hdfs::{
    CreateOptions, ExceptionKind, HdfsClient, HdfsError, HdfsOptionError, HdfsPath, HdfsStatus, ListBound,
};

use super::checked_file::Expected;
use super::error::{FsError, refused};
use super::file_uri::FileUri;
use super::open_file::{FileWriter, HdfsFile, OpenFile};
use super::status::{BlockHost, BlockPlace, EntryKind, EntryOwner, EntryStatus, FolderEntry};
use super::trusted_folder::{Privacy, TrustedFolder};

/// Permission bits that a NameNode of 1.2.1 keeps; it has no sticky bit.
const PERMISSIONS: u32 = 0o777;
/// Before the umask, those of new files.
const NEW_FILE: u16 = 0o666;

#[derive(Clone, Debug)]
pub struct HdfsFileSystem {
    client: Result<HdfsClient, HdfsOptionError>,
}

impl HdfsFileSystem {
    /// Reaches them through `client`; if the configuration allows none, each use fails with the reason.
    pub(super) fn new(client: Result<HdfsClient, HdfsOptionError>) -> Self {
        Self { client }
    }

    /// For `map_err`: what was tried with which path.
    fn client(&self, path: &FileUri) -> Result<&HdfsClient, FsError> {
        self.client.as_ref().map_err(|error| {
            let source = io::Error::new(ErrorKind::InvalidInput, error.clone());
            refused("reach", &path.shown_path(), "a configuration of HDFS that can be used")(source)
        })
    }

    pub(super) fn open(&self, path: &FileUri, expected: &Expected) -> Result<OpenFile, FsError> {
        let failed = |error| fault("read", path, "a readable file", error);
        let status = self.status_of(path)?;
        let status = status.ok_or_else(|| FsError::missing("read", path, "a readable file"))?;
        if status.is_directory {
            return Err(FsError::WrongKind { path: path.shown_path(), expected: "a regular file" });
        }
        expected.check_length(&path.shown_path(), status.length_bytes)?;
        let reader = self.client(path)?.open(&hdfs_path(path)?).map_err(failed)?;
        let file = HdfsFile { reader, path: path.shown_path(), changed_ms: status.modified_ms };
        Ok(OpenFile::Hdfs(Box::new(file)))
    }

    pub(super) fn create(&self, path: &FileUri) -> Result<FileWriter, FsError> {
        let client = self.client(path)?;
        let mode = client.options().under_umask(NEW_FILE);
        let options = CreateOptions { mode, overwrite: true, create_parent: true, ..CreateOptions::default() };
        let failed = |error| fault("write", path, "a folder that may be written to", error);
        let at = hdfs_path(path)?;
        let writer = match client.create(&at, options) {
            // A writer that died has left it open: a NameNode keeps it for that one for a minute, but lets it be removed.
            Err(error) if error.exception_kind() == Some(ExceptionKind::AlreadyBeingCreated) => {
                client.delete(&at, false).map_err(failed)?;
                client.create(&at, options)
            }
            writer => writer,
        };
        writer.map(FileWriter::Hdfs).map_err(failed)
    }

    pub(super) fn write_unsynced(&self, path: &FileUri, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        self.write(path, &mut &*bytes, CreateOptions { mode: bits(mode), ..new_file() })
    }

    pub(super) fn copy_in(
        &self,
        from: &mut File,
        to: &FileUri,
        mode: u32,
        replication: Option<u16>,
    ) -> Result<(), FsError> {
        self.write(to, from, CreateOptions { mode: bits(mode), replication, ..new_file() })
    }

    pub(super) fn create_with(
        &self,
        path: &FileUri,
        mode: u32,
        block_bytes: Option<u64>,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FsError> {
        self.write_with(path, write, CreateOptions { mode: bits(mode), block_bytes, ..new_file() })
    }

    fn write(&self, path: &FileUri, content: &mut dyn io::Read, options: CreateOptions) -> Result<(), FsError> {
        self.write_with(path, &mut |mut file| io::copy(content, &mut file).map(drop), options)
    }

    fn write_with(
        &self,
        path: &FileUri,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
        options: CreateOptions,
    ) -> Result<(), FsError> {
        let expected = "a name that is free, in a folder that may be written to";
        let client = self.client(path)?;
        let mut writer =
            client.create(&hdfs_path(path)?, options).map_err(|error| fault("write", path, expected, error))?;
        // A writer that is dropped removes its file.
        write(&mut writer).map_err(refused("write", &path.shown_path(), expected))?;
        writer.finish().map(drop).map_err(|error| fault("write", path, expected, error))
    }

    pub(super) fn make_dir_all(&self, path: &FileUri, mode: u32) -> Result<(), FsError> {
        let failed = |error| fault("make folder", path, "a path whose folders may be made", error);
        let (client, at) = (self.client(path)?, hdfs_path(path)?);
        let wrong = || FsError::WrongKind { path: path.shown_path(), expected: "a folder" };
        if self.status_of(path)?.is_some_and(|found| !found.is_directory) {
            return Err(wrong());
        }
        if !client.make_dirs(&at, bits(mode)).map_err(failed)? {
            return Err(wrong());
        }
        // One that was there keeps its mode.
        match client.status(&at).map_err(failed)? {
            Some(found) if found.mode != bits(mode) => client.set_permission(&at, bits(mode)).map_err(failed),
            Some(_) => Ok(()),
            None => Err(FsError::missing("make folder", path, "a folder that nothing removes meanwhile")),
        }
    }

    pub(super) fn set_mode(&self, path: &FileUri, mode: u32) -> Result<(), FsError> {
        let set = self.client(path)?.set_permission(&hdfs_path(path)?, bits(mode));
        set.map_err(|error| fault("change the mode of", path, "a folder of the user it is reached as", error))
    }

    /// Removes a file, or a folder with all in it; `false` when there is none.
    pub(super) fn remove(&self, path: &FileUri) -> Result<bool, FsError> {
        if path.parent().is_none() {
            return Err(FsError::WrongKind { path: path.shown_path(), expected: "a folder below the root" });
        }
        let removed = self.client(path)?.delete(&hdfs_path(path)?, true);
        removed.map_err(|error| fault("remove", path, "a folder that may be removed", error))
    }

    pub(super) fn remove_empty_folder(&self, path: &FileUri) -> Result<bool, FsError> {
        let client = self.client(path)?;
        let is_empty = client.is_empty(&hdfs_path(path)?);
        if !is_empty.map_err(|error| fault("list", path, "a folder that may be read", error))? {
            return Ok(false);
        }
        let removed = client.delete(&hdfs_path(path)?, false);
        removed.map_err(|error| fault("remove", path, "a folder that may be removed", error))
    }

    pub(super) fn names_in(&self, path: &FileUri, bound: ListBound) -> Result<Vec<OsString>, FsError> {
        Ok(self.entries(path, bound)?.into_iter().map(|entry| entry.name).collect())
    }

    pub(super) fn entries(&self, path: &FileUri, bound: ListBound) -> Result<Vec<FolderEntry>, FsError> {
        let expected = "a folder that may be read";
        let listed = self.client(path)?.list(&hdfs_path(path)?, bound);
        let listed = listed.map_err(|error| fault("list", path, expected, error))?;
        let listed = listed.ok_or_else(|| FsError::missing("list", path, expected))?;
        if let [only] = listed.as_slice()
            && !only.is_directory
            && Some(only.name.as_str()) == path.name()
            && self.status_of(path)?.is_some_and(|found| !found.is_directory)
        {
            return Err(FsError::WrongKind { path: path.shown_path(), expected: "a folder" });
        }
        Ok(listed
            .iter()
            .map(|found| FolderEntry { name: OsString::from(&found.name), status: entry_status(found) })
            .collect())
    }

    pub(super) fn blocks(&self, path: &FileUri, length_bytes: u64) -> Result<Vec<BlockPlace>, FsError> {
        if length_bytes == 0 {
            return Ok(Vec::new());
        }
        let places = self.client(path)?.block_places(&hdfs_path(path)?, 0, length_bytes);
        let places = places.map_err(|error| fault("find the blocks of", path, "a readable file", error))?;
        let places = places.ok_or_else(|| FsError::missing("find the blocks of", path, "a readable file"))?;
        let place = |place: crate::hdfs::BlockLocation| BlockPlace {
            offset_bytes: place.offset_bytes,
            length_bytes: place.length_bytes,
            hosts: place
                .replicas
                .into_iter()
                .map(|node| BlockHost { host: node.host, topology: node.topology })
                .collect(),
        };
        Ok(places.into_iter().map(place).collect())
    }

    pub(super) fn status(&self, path: &FileUri) -> Result<Option<EntryStatus>, FsError> {
        Ok(self.status_of(path)?.as_ref().map(entry_status))
    }

    pub(super) fn kind_of(&self, path: &FileUri) -> Result<Option<EntryKind>, FsError> {
        Ok(self.status(path)?.map(|status| status.kind))
    }

    pub(super) fn status_of(&self, path: &FileUri) -> Result<Option<HdfsStatus>, FsError> {
        let found = self.client(path)?.status(&hdfs_path(path)?);
        found.map_err(|error| fault("look at", path, "a folder that may be searched", error))
    }

    /// Renames a file or folder, in place of a file that is there: for a moment there is neither.
    pub(super) fn rename(&self, from: &FileUri, to: &FileUri) -> Result<(), FsError> {
        let expected = "a source, and a target in a folder that may be written to and that no folder is called";
        let client = self.client(from)?;
        let failed = |error| fault("rename", from, expected, error);
        if self.status_of(from)?.is_none() {
            return Err(FsError::missing("rename", from, expected));
        }
        match self.kind_of(to)? {
            // A NameNode would move it into that folder.
            Some(EntryKind::Folder) => {
                return Err(FsError::WrongKind { path: to.shown_path(), expected: "a name that no folder has" });
            }
            Some(EntryKind::File) if from != to => drop(client.delete(&hdfs_path(to)?, false).map_err(failed)?),
            _ => {}
        }
        match client.rename(&hdfs_path(from)?, &hdfs_path(to)?).map_err(failed)? {
            true => Ok(()),
            false if self.status_of(from)?.is_none() => Err(FsError::missing("rename", from, expected)),
            false => Err(refused("rename", &from.shown_path(), expected)(io::Error::other("the NameNode refuses it"))),
        }
    }

    pub(super) fn is_writable(&self, path: &FileUri) -> Result<bool, FsError> {
        let is_safe = self.client(path)?.is_in_safe_mode();
        let is_safe = is_safe.map_err(|error| fault("ask the NameNode of", path, "a NameNode that answers", error))?;
        Ok(!is_safe)
    }

    pub(super) fn own_name(&self) -> EntryOwner {
        EntryOwner::Name(self.client.as_ref().map(|client| client.user().to_owned()).unwrap_or_default())
    }
}

fn new_file() -> CreateOptions {
    CreateOptions { overwrite: false, create_parent: true, ..CreateOptions::default() }
}

pub(super) fn bits(mode: u32) -> u16 {
    (mode & PERMISSIONS) as u16
}

fn entry_status(status: &HdfsStatus) -> EntryStatus {
    EntryStatus {
        kind: if status.is_directory { EntryKind::Folder } else { EntryKind::File },
        length_bytes: status.length_bytes,
        block_bytes: (!status.is_directory).then_some(status.block_bytes).filter(|bytes| *bytes > 0),
        owner: EntryOwner::Name(status.owner.clone()),
        mode: status.mode.into(),
    }
}

fn hdfs_path(path: &FileUri) -> Result<HdfsPath, FsError> {
    HdfsPath::parse(path.path()).map_err(|error| fault("reach", path, "a path that HDFS takes", error.into()))
}

/// The path of an entry, by a plain name.
fn entry_of(folder: &FileUri, name: &OsStr) -> Result<FileUri, FsError> {
    let wrong = || FsError::WrongKind { path: folder.shown_path().join(name), expected: "a plain name" };
    folder.join(name.to_str().ok_or_else(wrong)?).map_err(|_| wrong())
}

/// The path of what lies below, by plain names.
fn path_below(folder: &FileUri, path: &Path) -> Result<FileUri, FsError> {
    let mut found = folder.clone();
    for part in path.components() {
        found = entry_of(&found, part.as_os_str())?;
    }
    Ok(found)
}

/// What the NameNode or a DataNode refuses; `expected` of the path, where the error says nothing of a better cause.
fn fault(action: &'static str, path: &FileUri, expected: &'static str, error: HdfsError) -> FsError {
    let path: PathBuf = path.shown_path();
    let expected = match error.exception_kind() {
        Some(ExceptionKind::SafeMode) => "a NameNode that is out of safe mode",
        Some(ExceptionKind::Quota) => "a quota with room",
        _ if error.is_temporary() => "a NameNode that answers",
        _ => expected,
    };
    FsError::Refused { action, path, expected, source: error.into() }
}

const WRITABLE_FOR_OTHERS: u16 = 0o002;

/// A folder as it was found. Later uses go by its path: a NameNode holds nothing open.
#[derive(Debug)]
pub(crate) struct HdfsFolder {
    files: HdfsFileSystem,
    uri: FileUri,
    shown_path: PathBuf,
    found: HdfsStatus,
}

impl HdfsFolder {
    pub(super) fn open(files: &HdfsFileSystem, uri: &FileUri) -> Result<Self, FsError> {
        let shown_path = uri.shown_path();
        match files.status_of(uri)? {
            Some(found) if found.is_directory => Ok(Self { files: files.clone(), uri: uri.clone(), shown_path, found }),
            Some(_) => Err(FsError::WrongKind { path: shown_path, expected: "a folder" }),
            None => Err(FsError::missing("open", uri, "a folder")),
        }
    }

    /// Opens a folder of the user that the files are reached as, made with `mode` if it is missing.
    pub(super) fn trusted(
        files: &HdfsFileSystem,
        path: &FileUri,
        mode: u32,
        privacy: Privacy,
    ) -> Result<TrustedFolder<Self>, FsError> {
        if files.status_of(path)?.is_none() {
            files.make_dir_all(path, mode)?;
        }
        let folder = Self::open(files, path)?;
        if privacy == Privacy::Private {
            let owner = folder.status().owner;
            let reason = match owner {
                owner if owner != files.own_name() => Some(format!("belongs to {owner}")),
                _ if bits(folder.mode()) & WRITABLE_FOR_OTHERS != 0 => {
                    Some(format!("is writable for others (mode {:o})", folder.mode()))
                }
                _ => None,
            };
            if let Some(reason) = reason {
                let path = path.shown_path();
                let expected = "expected a folder of the JobTracker's own user that no other may write to";
                return Err(FsError::Untrusted { part: path.clone(), path, reason, expected });
            }
        }
        Ok(TrustedFolder { folder, warnings: Vec::new() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.shown_path
    }

    pub(super) fn status(&self) -> EntryStatus {
        entry_status(&self.found)
    }

    /// Its permission bits when it was found.
    pub(super) fn mode(&self) -> u32 {
        self.found.mode.into()
    }

    pub(super) fn set_mode(&self, mode: u32) -> Result<(), FsError> {
        self.files.set_mode(&self.uri, mode)
    }

    pub(super) fn folder(&self, path: &Path) -> Result<Self, FsError> {
        Self::open(&self.files, &path_below(&self.uri, path)?)
    }

    pub(super) fn file(&self, path: &Path, expected: &Expected) -> Result<OpenFile, FsError> {
        self.files.open(&path_below(&self.uri, path)?, expected)
    }

    pub(super) fn make_folder(&self, name: &OsStr, mode: u32) -> Result<Self, FsError> {
        let path = entry_of(&self.uri, name)?;
        self.files.make_dir_all(&path, mode)?;
        Self::open(&self.files, &path)
    }

    pub(super) fn write_unsynced(&self, name: &OsStr, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        self.files.write_unsynced(&entry_of(&self.uri, name)?, bytes, mode)
    }

    pub(super) fn remove(&self, name: &OsStr) -> Result<bool, FsError> {
        self.files.remove(&entry_of(&self.uri, name)?)
    }

    pub(super) fn remove_empty_folder(&self, name: &OsStr) -> Result<bool, FsError> {
        self.files.remove_empty_folder(&entry_of(&self.uri, name)?)
    }

    pub(super) fn names(&self, bound: ListBound) -> Result<Vec<std::ffi::OsString>, FsError> {
        self.files.names_in(&self.uri, bound)
    }

    pub(super) fn status_of(&self, name: &OsStr) -> Result<Option<EntryStatus>, FsError> {
        self.files.status(&entry_of(&self.uri, name)?)
    }
}
