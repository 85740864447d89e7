//! What a NameNode says of files and directories.

use crate::wire::fields::fields;
use crate::wire::{Decode, Encode, Reader, Text, WireError, Writer};

/// A file or directory (1.2.1 `HdfsFileStatus`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// The last part of its path, UTF-8; empty in the answer to getFileInfo, and for the file that a listing was asked of.
    pub name: Vec<u8>,
    /// Bytes; 0 for a directory, and for a file until it is closed.
    pub length_bytes: i64,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Wanted replicas; 0 for a directory.
    pub replication: i16,
    /// Bytes of a block; 0 for a directory.
    pub block_bytes: i64,
    /// Last change, epoch ms.
    pub modified_ms: i64,
    /// Last read, epoch ms; 0 for a directory.
    pub accessed_ms: i64,
    /// Permission bits.
    pub permission: FsPermission,
    /// Owner.
    pub owner: Text,
    /// Group.
    pub group: Text,
}

/// A part of a listing (1.2.1 `DirectoryListing`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryListing {
    /// Entries in byte order of their names.
    pub entries: Vec<FileStatus>,
    /// Entries behind the last one.
    pub remaining: i32,
}

/// Sums over a file or a tree (1.2.1 `ContentSummary`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentSummary {
    /// Bytes of all files.
    pub length_bytes: i64,
    /// Files.
    pub files: i64,
    /// Directories.
    pub directories: i64,
    /// Most names; -1: no quota.
    pub quota: i64,
    /// Bytes of all replicas.
    pub space_bytes: i64,
    /// Most bytes of all replicas; -1: no quota.
    pub space_quota_bytes: i64,
}

impl Decode for FileStatus {
    const MIN_BYTES: usize = 4 + 8 + 1 + 2 + 8 + 8 + 8 + FsPermission::MIN_BYTES + 1 + 1;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let length = reader.i32("length of a file name")?;
        let length = reader.length(length, "length of a file name")?;
        Ok(Self {
            name: reader.take(length, "file name")?.to_vec(),
            length_bytes: reader.i64("length of a file")?,
            is_directory: reader.bool("kind of a file")?,
            replication: reader.i16("replication of a file")?,
            block_bytes: reader.i64("block size of a file")?,
            modified_ms: reader.i64("modification time of a file")?,
            accessed_ms: reader.i64("access time of a file")?,
            permission: FsPermission::decode(reader)?,
            owner: reader.text("owner of a file")?,
            group: reader.text("group of a file")?,
        })
    }
}

impl Encode for FileStatus {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.count(self.name.len());
        writer.bytes(&self.name);
        writer.i64(self.length_bytes);
        writer.bool(self.is_directory);
        writer.i16(self.replication);
        writer.i64(self.block_bytes);
        writer.i64(self.modified_ms);
        writer.i64(self.accessed_ms);
        self.permission.encode(writer);
        writer.text(&self.owner);
        writer.text(&self.group);
    }
}

fields! {
    DirectoryListing, 8;
    entries: &list "number of entries",
    remaining: i32 "number of remaining entries",
}

fields! {
    ContentSummary, 48;
    length_bytes: i64 "length of a tree",
    files: i64 "files of a tree",
    directories: i64 "directories of a tree",
    quota: i64 "quota of a tree",
    space_bytes: i64 "space of a tree",
    space_quota_bytes: i64 "space quota of a tree",
}

/// Permission bits (1.2.1 `FsPermission`), such as `0o755`. A 1.2.1 NameNode keeps no sticky bit, and no x bits of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsPermission(pub u16);

fields! {
    FsPermission, 2;
    0: u16 "permission",
}
