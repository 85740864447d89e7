//! A folder of a NameNode.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::hdfs::{HdfsStatus, ListBound};

use super::checked_file::Expected;
use super::error::FsError;
use super::file_uri::FileUri;
use super::hdfs::{HdfsFileSystem, bits, entry_of, entry_status, path_below};
use super::open_file::OpenFile;
use super::status::EntryStatus;
use super::trusted_folder::{Privacy, TrustedFolder};

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
