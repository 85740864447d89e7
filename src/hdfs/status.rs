//! What a client says of files, in plain numbers and texts.

use crate::wire::hdfs::FileStatus;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HdfsStatus {
    /// The last part of its path; malformed UTF-8 shows as U+FFFD.
    pub name: String,
    /// Bytes; 0 for a directory, and for a file until it is closed.
    pub length_bytes: u64,
    pub is_directory: bool,
    /// Wanted replicas; 0 for a directory.
    pub replication: u16,
    /// Bytes of a block; 0 for a directory.
    pub block_bytes: u64,
    /// Last change, epoch ms.
    pub modified_ms: i64,
    /// Last read, epoch ms; 0 for a directory.
    pub accessed_ms: i64,
    pub mode: u16,
    pub owner: String,
    pub group: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLocation {
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// Its replicas in the NameNode's order: the nearest to the caller first.
    pub replicas: Vec<ReplicaPlace>,
    /// Whether no replica is good.
    pub is_corrupt: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaPlace {
    /// Its host, as locality goes by it.
    pub host: String,
    /// Its place in the network: the rack and `address:port`, such as `/default-rack/10.0.0.7:50010`.
    pub topology: String,
}

impl HdfsStatus {
    /// The status of what is called `name`.
    pub(super) fn of(name: &str, status: FileStatus) -> Self {
        let name =
            if status.name.is_empty() { name.to_owned() } else { String::from_utf8_lossy(&status.name).into_owned() };
        Self {
            name,
            length_bytes: u64::try_from(status.length_bytes).unwrap_or_default(),
            is_directory: status.is_directory,
            replication: u16::try_from(status.replication).unwrap_or_default(),
            block_bytes: u64::try_from(status.block_bytes).unwrap_or_default(),
            modified_ms: status.modified_ms,
            accessed_ms: status.accessed_ms,
            mode: status.permission.0,
            owner: status.owner.0,
            group: status.group.0,
        }
    }
}
