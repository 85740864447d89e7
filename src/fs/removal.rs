//! Removes a tree that others made, on open handles: nothing outside of it is ever touched, whatever is swapped meanwhile.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::error::{FsError, refused};
use super::folder_handle::FolderHandle;

/// Each level holds one handle. What lies deeper is moved up first: no tree can be too deep to be removed.
const MAX_DEPTH: usize = 64;

/// A folder that is being emptied.
struct EmptiedFolder {
    name: CString,
    folder: OwnedFd,
    entries: Dir,
}

impl FolderHandle {
    /// Removes a file, a link, or a folder with all in it, whose links are not followed. `false` when there is nothing.
    /// Errors: what the system refuses, or another file system is mounted in it; what came before is removed then.
    pub(crate) fn remove(&self, name: &OsStr) -> Result<bool, FsError> {
        remove(self, name, &self.path_of(name)?)
    }
}

/// Removes what has that name in `parent`. `path` is for errors.
fn remove(parent: &FolderHandle, name: &OsStr, path: &Path) -> Result<bool, FsError> {
    let refused = refused("remove", path, "a folder that may be removed");
    let Some(stat) = parent.stat_of(name)? else { return Ok(false) };
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(false),
            removed => removed.map(|()| true).map_err(refused),
        };
    }
    let name = CString::new(name.as_encoded_bytes()).map_err(|_| refused(Errno::INVAL))?;
    let device = parent.stat()?.st_dev;
    let mut levels = vec![open_level(parent, name, device).map_err(&refused)?];
    // Folders that were moved up into the first level since its entries were read.
    let (mut moved, mut moved_count) = (false, 0_u64);
    while let Some(level) = levels.last_mut() {
        let Some(entry) = level.entries.read() else {
            let Some(done) = levels.pop() else { break };
            let is_first = levels.is_empty();
            let above = levels.last().map_or_else(|| parent.as_fd(), |level| level.folder.as_fd());
            match rustix::fs::unlinkat(above, &done.name, AtFlags::REMOVEDIR) {
                Err(Errno::NOENT) => {}
                Err(Errno::NOTEMPTY | Errno::EXIST) if is_first && std::mem::take(&mut moved) => {
                    levels.push(open_level(parent, done.name, device).map_err(&refused)?);
                }
                removed => removed.map_err(&refused)?,
            }
            continue;
        };
        let entry = entry.map_err(&refused)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        // Tried as a file first: what it is cannot change between a look and the removal.
        match rustix::fs::unlinkat(&level.folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => continue,
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(refused(error)),
        }
        let name = name.to_owned();
        if let ([first, .., level], true) = (&levels[..], levels.len() == MAX_DEPTH) {
            move_up(&level.folder, &name, &first.folder, &mut moved_count).map_err(&refused)?;
            moved = true;
        } else if let Some(level) = levels.last() {
            let deeper = open_level(&level.folder, name, device).map_err(&refused)?;
            levels.push(deeper);
        }
    }
    Ok(true)
}

/// Moves a folder up, under a name that is free there.
fn move_up(from: &OwnedFd, name: &CStr, to: &OwnedFd, moved_count: &mut u64) -> Result<(), Errno> {
    loop {
        *moved_count += 1;
        match rustix::fs::renameat_with(from, name, to, format!(".deeper-{moved_count}"), RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            // Removed by another.
            Err(Errno::NOENT) => return Ok(()),
            moved => return moved,
        }
    }
}

fn open_level(parent: impl AsFd, name: CString, device: u64) -> Result<EmptiedFolder, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(parent, &name, flags, Mode::empty())?;
    if rustix::fs::fstat(&folder)?.st_dev != device {
        return Err(Errno::XDEV);
    }
    let entries = Dir::read_from(&folder)?;
    Ok(EmptiedFolder { name, folder, entries })
}
