//! File systems: that of this machine, and those of NameNodes. Everything here blocks and is called from a pool of threads that may; no
//! answer to a heartbeat waits for it.

mod accounts;
mod checked_file;
pub(crate) mod checksummed;
mod error;
mod file_system;
pub(crate) mod file_uri;
mod folder;
mod folder_handle;
mod hdfs;
pub(crate) mod local;
mod locked_file;
mod open_file;
mod path_walk;
mod removal;
mod rights;
mod script;
mod status;
#[cfg(test)]
mod tests;
mod trusted_folder;
pub(crate) mod untrusted;

pub(crate) use crate::hdfs::ListBound;
pub use accounts::Account;
pub(crate) use checked_file::{CheckedFile, Expected};
pub(crate) use error::{FsError, is_permanent};
pub(crate) use file_system::FileSystem;
pub use file_system::FileSystems;
pub use file_uri::FileUri;
pub(crate) use file_uri::{FileUriError, NameNodeAddress};
pub(crate) use folder::Folder;
pub(crate) use folder_handle::FolderHandle;
pub(crate) use local::LocalFileSystem;
pub(crate) use locked_file::{LockedFile, replace_file, write_private_file};
pub(crate) use open_file::{FileWriter, OpenFile};
pub(crate) use rights::{FileRights, UserRights, access_of_others, as_user};
pub(crate) use script::{ScriptFault, script_fault};
pub(crate) use status::{BlockHost, BlockPlace, EntryKind, EntryOwner, EntryStatus, FolderEntry};
pub(crate) use trusted_folder::{Privacy, TrustedFolder, check_trusted_folder, open_trusted_folder};
pub(crate) use untrusted::{open_behind_links, open_below, open_folder_below, open_named_by_conf, remove_below};
