//! Why something cannot be done with a file.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::hdfs::HdfsError;

use super::file_uri::FileUri;

/// What could not be done with a file, and what was expected of it.
#[derive(Debug, Error)]
pub enum FsError {
    #[error("cannot {action} {}: {source}; expected {expected}", path.display())]
    Refused { action: &'static str, path: PathBuf, expected: &'static str, source: io::Error },
    #[error("{}: expected at most {max_bytes} bytes", path.display())]
    TooLong { bytes: u64, path: PathBuf, max_bytes: u64 },
    #[error("{}: expected {expected}", path.display())]
    WrongKind { path: PathBuf, expected: &'static str },
    #[error("{} is a symbolic link; expected a path without links", path.display())]
    SymbolicLink { path: PathBuf },
    #[error("{} belongs to uid {owner}; expected {}", path.display(), uids(expected))]
    WrongOwner {
        path: PathBuf,
        owner: u32,
        /// The owners that would have been right.
        expected: Vec<u32>,
    },
    #[error("{} has {links} hard links; expected one", path.display())]
    HardLinks {
        path: PathBuf,
        /// Its names.
        links: u64,
    },
    /// A file is made up by the kernel: it may never end, and what it says depends on the reader.
    #[error("{} lies on {file_system}; expected a stored file", path.display())]
    KernelFile { path: PathBuf, file_system: &'static str },
    /// A part of a path lets others decide what the path leads to.
    #[error("{}: {} {reason}; {expected}", path.display(), part.display())]
    Untrusted {
        path: PathBuf,
        /// The folder, link or file on it.
        part: PathBuf,
        reason: String,
        /// What would have been right, and how to get there.
        expected: &'static str,
    },
}

impl FsError {
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, FsError::Refused { source, .. } if source.kind() == ErrorKind::NotFound)
    }

    /// Whether the cause is that this process may not do it.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, FsError::Refused { source, .. } if source.kind() == ErrorKind::PermissionDenied)
    }

    /// Whether the cause is a NameNode that cannot be reached, or that is in safe mode: a later try may succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        let FsError::Refused { source, .. } = self else { return false };
        source.get_ref().and_then(|source| source.downcast_ref::<HdfsError>()).is_some_and(HdfsError::is_temporary)
    }

    /// Whether another try would fail alike until a person acts.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            FsError::Refused { source, .. } => {
                match source.get_ref().and_then(|source| source.downcast_ref::<HdfsError>()) {
                    Some(error) => !error.is_temporary(),
                    None => is_permanent(source),
                }
            }
            FsError::TooLong { .. }
            | FsError::WrongKind { .. }
            | FsError::SymbolicLink { .. }
            | FsError::WrongOwner { .. }
            | FsError::HardLinks { .. }
            | FsError::KernelFile { .. }
            | FsError::Untrusted { .. } => true,
        }
    }

    pub(super) fn missing(action: &'static str, path: &FileUri, expected: &'static str) -> Self {
        let source = io::Error::new(ErrorKind::NotFound, "no such file or folder");
        FsError::Refused { action, path: path.shown_path(), expected, source }
    }

    /// For `map_err`: a file that was created could not be written to its end.
    pub(crate) fn of_writing(path: &FileUri) -> impl Fn(io::Error) -> Self + '_ {
        let path = path.shown_path();
        move |source| FsError::Refused {
            action: "write",
            path: path.clone(),
            expected: "a file system with room",
            source,
        }
    }

    /// Of a file that is not found: says that it was to be read.
    pub(super) fn at_reading(self) -> Self {
        match self {
            FsError::Refused { path, source, .. } => {
                FsError::Refused { action: "read", path, expected: "a readable file", source }
            }
            error => error,
        }
    }
}

/// Whether another try would fail alike until a person acts: names, owners and modes stay as they are, while room comes
/// back, disks answer again and other processes end.
pub(crate) fn is_permanent(error: &io::Error) -> bool {
    if let Some(error) = error.get_ref().and_then(|source| source.downcast_ref::<FsError>()) {
        return error.is_permanent();
    }
    matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidData
            | ErrorKind::InvalidFilename
            | ErrorKind::Unsupported
    )
}

impl From<FsError> for io::Error {
    /// What the system said, where it said something.
    fn from(error: FsError) -> Self {
        match error {
            FsError::Refused { source, .. } => source,
            error => io::Error::other(error),
        }
    }
}

fn uids(uids: &[u32]) -> String {
    uids.iter().map(|uid| format!("uid {uid}")).collect::<Vec<_>>().join(" or ")
}

/// For `map_err`: what was tried with which path.
pub(super) fn refused<'a, E: Into<io::Error>>(
    action: &'static str,
    path: &'a Path,
    expected: &'static str,
) -> impl Fn(E) -> FsError + 'a {
    move |source| FsError::Refused { action, path: path.to_owned(), expected, source: source.into() }
}
