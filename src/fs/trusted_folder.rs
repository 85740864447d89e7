//! Folders of our own: state, system directory, staging root, local and log folders. Before one is used, its whole path is looked at.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, FileType};

use super::checked_file::check_file_system;
use super::error::{FsError, refused};
use super::folder_handle::FolderHandle;
use super::path_walk::{FoundEntry, Links, TRUSTED, walk_from_top};

const WRITABLE_FOR_OTHERS: u32 = 0o002;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// Only this user: what is opened in it by its name must be ours.
    Private,
    /// Others too, if the sticky bit keeps them from each other's: the staging root.
    Shared,
}

/// A folder of which root and the user of this process alone decide where its path leads.
#[derive(Debug)]
pub(crate) struct TrustedFolder<F = FolderHandle> {
    /// The folder, open; its path has no links.
    pub(crate) folder: F,
    /// What an operator should know of it, one line for each folder: a group decides too.
    pub(crate) warnings: Vec<String>,
}

/// Opens a folder of our own, made with `mode` if it is missing, those above it with 755. The mode of one that is there stays.
///
/// Each folder and link on the path must belong to root or to the user of this process, and no folder may be writable for others unless its
/// sticky bit is set, as that of `/tmp` is. In a user namespace that does not know the machine's root (a container without rights), folders
/// above the first one that is writable for others may belong to an unknown user too: the maker of the container.
///
/// Called at start, with: `open_trusted_folder(state_dir, 0o700, Privacy::Private)?`. What lies in it is then opened through
/// [`FolderHandle`]. Errors: [`FsError::Untrusted`] names the folder or link at fault; else what the system refuses.
pub(crate) fn open_trusted_folder(path: &Path, mode: u32, privacy: Privacy) -> Result<TrustedFolder, FsError> {
    trusted(path, walk_from_top(path, Links::FollowedAllTrusted { make: Some(mode) })?, privacy)
}

/// Looks whether [`open_trusted_folder`] would succeed, and makes nothing: the folder as it is, or none where it would be made.
/// Errors: as that; or this user could not write to the folder, or not make it.
pub(crate) fn check_trusted_folder(path: &Path, privacy: Privacy) -> Result<Option<TrustedFolder>, FsError> {
    match walk_from_top(path, Links::FollowedAllTrusted { make: None }) {
        Ok(found) => {
            let found = trusted(path, found, privacy)?;
            check_writable(found.folder.path())?;
            Ok(Some(found))
        }
        Err(error) if error.is_not_found() => match path.parent() {
            Some(above) => check_place(above).map(|()| None),
            None => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Whether a folder could be made below the nearest folder of `above` that is there.
fn check_place(above: &Path) -> Result<(), FsError> {
    match walk_from_top(above, Links::FollowedAllTrusted { make: None }) {
        Ok(found) if FileType::from_raw_mode(found.stat.st_mode) != FileType::Directory => {
            Err(FsError::WrongKind { path: found.path, expected: "a folder" })
        }
        Ok(found) => {
            check_file_system(&found.entry, &found.path)?;
            check_writable(&found.path)
        }
        Err(error) if error.is_not_found() => match above.parent() {
            Some(next) => check_place(next),
            None => Err(error),
        },
        Err(error) => Err(error),
    }
}

fn check_writable(folder: &Path) -> Result<(), FsError> {
    let may = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK);
    may.map_err(refused("write to", folder, "a folder that this user may write to"))
}

/// A folder that a walk has found.
fn trusted(path: &Path, found: FoundEntry<'static>, privacy: Privacy) -> Result<TrustedFolder, FsError> {
    if FileType::from_raw_mode(found.stat.st_mode) != FileType::Directory {
        return Err(FsError::WrongKind { path: found.path, expected: "a folder" });
    }
    let us = rustix::process::geteuid().as_raw();
    let untrusted =
        |reason: String, part: PathBuf| FsError::Untrusted { path: path.to_owned(), part, reason, expected: TRUSTED };
    let (owner, found_mode) = (found.stat.st_uid, found.stat.st_mode & 0o7777);
    if owner != 0 && owner != us {
        return Err(untrusted(format!("belongs to uid {owner}"), found.path));
    }
    if privacy == Privacy::Private && found_mode & WRITABLE_FOR_OTHERS != 0 {
        return Err(untrusted(format!("is writable for others (mode {found_mode:o})"), found.path));
    }
    let folder = FolderHandle::new(found.entry, found.path)?;
    let warning = |above: &PathBuf| {
        format!(
            "{}: {} is writable for its group, which thereby decides what lies there (chmod g-w)",
            path.display(),
            above.display()
        )
    };
    let mut warnings: Vec<String> = found.group_writable.iter().map(warning).collect();
    if found_mode & 0o1020 == 0o020 {
        warnings.push(warning(&folder.path().to_owned()));
    }
    Ok(TrustedFolder { folder, warnings })
}
