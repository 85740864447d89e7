//! What a file system says of files and folders.

use std::ffi::OsString;

/// The part of a mode that says who may do what.
pub(super) const PERMISSION_BITS: u32 = 0o7777;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    File,
}

/// The owner of a file or folder, as its file system names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryOwner {
    Uid(u32),
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryStatus {
    pub(crate) kind: EntryKind,
    /// Its length; of a folder nothing that means anything.
    pub(crate) length_bytes: u64,
    /// The block size that the file system keeps for it, bytes; `None` where it keeps none.
    pub(crate) block_bytes: Option<u64>,
    pub(crate) owner: EntryOwner,
    pub(crate) mode: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FolderEntry {
    pub(crate) name: OsString,
    pub(crate) status: EntryStatus,
}

/// A part of a file, and the machines that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    pub(crate) offset_bytes: u64,
    pub(crate) length_bytes: u64,
    pub(crate) hosts: Vec<BlockHost>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockHost {
    /// Its name, which is compared with those of trackers.
    pub(crate) host: String,
    /// Where it stands in the network: its rack and `address:port`, separated by a slash. Empty: unknown.
    pub(crate) topology: String,
}

impl std::fmt::Display for EntryOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EntryOwner::Uid(uid) => write!(f, "uid {uid}"),
            EntryOwner::Name(name) => f.write_str(name),
        }
    }
}
