//! File systems: that of this machine, and those of NameNodes.
//!
//! Everything here blocks and is called from a pool of threads that may; no answer to a heartbeat waits for it.

mod accounts;
mod as_user;
mod checked_file;
pub mod checksummed;
mod error;
mod file_system;
pub mod file_uri;
mod file_writer;
mod folder;
mod folder_handle;
mod hdfs;
mod hdfs_folder;
pub mod local;
mod locked_file;
mod open_file;
mod others;
mod path_walk;
mod removal;
mod rights;
mod script;
mod status;
#[cfg(test)]
mod tests;
mod trusted_folder;
pub mod untrusted;

pub use crate::hdfs::ListBound;
pub use accounts::Account;
pub use as_user::{UserRights, as_user};
pub use checked_file::{CheckedFile, Expected};
pub use error::{FsError, is_permanent};
pub use file_system::{FileSystem, FileSystems};
pub use file_uri::{FileUri, FileUriError, NameNodeAddress};
pub use file_writer::FileWriter;
pub use folder::Folder;
pub use folder_handle::FolderHandle;
pub use hdfs::HdfsFileSystem;
pub use hdfs_folder::HdfsFolder;
pub use local::LocalFileSystem;
pub use locked_file::{FileAccess, LockedFile, replace_file, write_private_file};
pub use open_file::{HdfsFile, OpenFile};
pub use others::access_of_others;
pub use rights::FileRights;
pub use script::{ScriptFault, script_fault};
pub use status::{BlockHost, BlockPlace, Entry, EntryKind, EntryOwner, EntryStatus};
pub use trusted_folder::{Privacy, TrustedFolder, check_trusted_folder, open_trusted_folder};
pub use untrusted::{open_behind_links, open_below, open_folder_below, open_named_by_conf, remove_below};
