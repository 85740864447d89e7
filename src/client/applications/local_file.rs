//! A file of this machine, as a local resource of containers.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::client::file_digest::{FileDigest, open_file};
use crate::model::{BroughtResource, ResourceKind};

/// A file that workers bring, as it is now: if it changes, no container starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalFile {
    /// Where it is, its SHA-256 and length.
    pub(crate) resource: BroughtResource,
    /// Its lines; the last one need not end in a line break.
    pub(crate) lines: u64,
}

/// Any of the three bits that let a file be executed.
const EXECUTABLE: u32 = 0o111;

impl LocalFile {
    /// Reads a regular file by its absolute path, whose text is UTF-8. It may be executed if it may be here.
    ///
    /// # Errors
    /// No regular file, or the system's error.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let executable = open_file(path)?.metadata()?.permissions().mode() & EXECUTABLE != 0;
        let FileDigest { sha256, bytes, lines } = FileDigest::of(path)?;
        let resource = format!("file://{}", path.to_string_lossy());
        let resource = BroughtResource { resource, sha256, size: bytes, kind: ResourceKind::File, executable };
        Ok(Self { resource, lines })
    }
}
