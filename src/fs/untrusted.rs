//! Opens files that other users made: job files, inputs, cache files, logs, files that a configuration names.
//!
//! Which function when:
//!
//! - [`open_below`], [`open_folder_below`], [`remove_below`]: all that lies below a folder of ours (staging root, system directory, local
//!   and log folders). No link is followed below that folder.
//!   `open_below(staging_root, "alice/.staging/job_1/job.xml", &Expected::file_of([uid_of_alice, 0]).at_most(limit))`
//! - [`open_behind_links`]: inputs and cache files of jobs, which may lie behind links as in Hadoop.
//!   `open_behind_links(input, &Expected::file_of_any_owner())`
//! - [`open_named_by_conf`]: files that our own configuration names. Links count only where they are root's or our own user's.
//! - [`crate::fs::FolderHandle`]: several things below one folder, also making and removing.
//!
//! No open waits for the other end of a pipe, and no file of procfs and the like is read, but a file system that hangs (a dead NFS
//! server, FUSE) hangs its callers: callers keep their own deadlines.

use std::path::{Path, PathBuf};

use super::checked_file::{CheckedFile, Expected, open_found};
use super::error::FsError;
use super::folder_handle::FolderHandle;
use super::path_walk::{Links, OpenFolder, components_below, open_root, walk, walk_from_top};

/// Opens a regular file below `root`, which the caller trusts and to which links may lead. `path`: in full or from `root`; no link in it is
/// followed. Errors: a link, a `..`, no regular file, not as expected.
pub(crate) fn open_below(root: &Path, path: &Path, expected: &Expected) -> Result<CheckedFile, FsError> {
    let names = components_below(root, path)?;
    let root_folder = OpenFolder::Opened(open_root(root)?);
    open_found(&walk(root_folder, root, names, path, Links::Refused).map_err(FsError::at_reading)?, expected)
}

/// Opens a folder below `root`, as [`open_below`] opens a file. An empty path is `root` itself. Errors: a link, a `..`, no folder.
pub(crate) fn open_folder_below(root: &Path, path: &Path) -> Result<FolderHandle, FsError> {
    FolderHandle::open(root)?.folder(path)
}

/// Removes a file, or a folder with all in it, below `root`. No link is followed: links are removed. `false` when there is nothing.
/// Errors: a link above the last name, a `..`, the root itself, what the system refuses.
pub(crate) fn remove_below(root: &Path, path: &Path) -> Result<bool, FsError> {
    let names = components_below(root, path)?;
    let Some((name, above)) = names.split_last() else {
        return Err(FsError::WrongKind { path: path.to_owned(), expected: "a path below its root, without `..`" });
    };
    match FolderHandle::open(root).and_then(|folder| folder.folder(&above.iter().collect::<PathBuf>())) {
        Err(error) if error.is_not_found() => Ok(false),
        folder => folder?.remove(name),
    }
}

/// Opens an input or a cache file, whose path may lead through links of anybody, as in Hadoop. The file behind them is checked.
/// Errors: no regular file, not as expected.
pub(crate) fn open_behind_links(path: &Path, expected: &Expected) -> Result<CheckedFile, FsError> {
    open_found(&walk_from_top(path, Links::Followed).map_err(FsError::at_reading)?, expected)
}

/// Opens a file that a configuration of ours names. Links are followed where each of them, and each folder before and after it, belongs
/// to root or to the user of this process and is writable by no other user: `/etc/hadoop` often is one.
/// Errors: no regular file; links that another user could point elsewhere.
pub(crate) fn open_named_by_conf(path: &Path) -> Result<CheckedFile, FsError> {
    let found = walk_from_top(path, Links::FollowedIfTrusted).map_err(FsError::at_reading)?;
    open_found(&found, &Expected::file_of_any_owner())
}
