//! What a file system says of a file or folder.

/// What may stand under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// Anything else.
    File,
}

/// A file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryStatus {
    /// Which of the two.
    pub kind: EntryKind,
    /// Its length; of a folder nothing that means anything.
    pub length_bytes: u64,
}
