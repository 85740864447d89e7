//! Walks a path component by component on open handles, so that nothing is looked at under a name that somebody swaps meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::error::{FsError, refused};

/// How a folder is held while its entries are looked up: search permission is enough.
pub(super) const FOLDER: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const ENTRY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// As many links as the kernel follows in one path.
const MAX_LINKS: u32 = 40;
const WRITABLE_FOR_OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// What happens at a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// It is refused.
    Refused,
    /// It is followed.
    Followed,
    /// It is followed where every part of the path belongs to root or to this process, so that no other user decides where it leads.
    FollowedIfTrusted,
}

/// The place that a path leads to.
#[derive(Debug)]
pub(super) struct Found {
    /// The folder of the entry.
    pub(super) folder: OwnedFd,
    /// The entry's name in it; `None` for the start of the walk itself.
    pub(super) name: Option<OsString>,
    /// The entry: opened with `O_PATH`, never a link.
    pub(super) entry: OwnedFd,
    /// What the entry is.
    pub(super) stat: Stat,
    /// Where the entry lies, links resolved.
    pub(super) path: PathBuf,
}

/// Who a path must belong to so that nobody else decides what it leads to.
#[derive(Debug)]
struct Trust<'a> {
    asked: &'a Path,
    uid: u32,
    /// The first part that somebody else can change.
    broken_at: Option<(PathBuf, String)>,
    is_link_followed: bool,
}

/// The components of a path below `root`, given in full or from there.
///
/// # Errors
/// A `..`, or a full path that does not lie in `root`.
pub(super) fn components_below(root: &Path, path: &Path) -> Result<Vec<OsString>, FsError> {
    let wrong = || FsError::WrongKind { path: path.to_owned(), expected: "a path below its root, without `..`" };
    let relative = if path.is_absolute() { path.strip_prefix(root).map_err(|_| wrong())? } else { path };
    relative
        .components()
        .map(|component| match component {
            Component::Normal(name) => Ok(name.to_owned()),
            _ => Err(wrong()),
        })
        .collect()
}

/// Opens a folder that the caller trusts, to walk from there. Links on the way are followed.
pub(super) fn open_root(root: &Path) -> Result<OwnedFd, FsError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(root, flags, Mode::empty()).map_err(refused("open", root, "a folder that may be searched"))
}

/// Walks a whole path from `/` or from the working folder.
pub(super) fn walk_from_top(path: &Path, links: Links) -> Result<Found, FsError> {
    let (top, start) = if path.is_absolute() { ("/", Path::new("/")) } else { (".", Path::new("")) };
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    walk(open_root(Path::new(top))?, start, names.collect(), path, links)
}

/// Walks from an open folder, which lies at `start`. `asked` is the path that errors name where they name the whole.
pub(super) fn walk(
    mut folder: OwnedFd,
    start: &Path,
    mut names: Vec<OsString>,
    asked: &Path,
    links: Links,
) -> Result<Found, FsError> {
    names.reverse();
    let mut at = start.to_owned();
    let mut trust = Trust { asked, uid: geteuid().as_raw(), broken_at: None, is_link_followed: false };
    let mut links_left = MAX_LINKS;
    loop {
        let Some(name) = names.pop() else {
            let entry = folder.try_clone().map_err(find(asked))?;
            let stat = rustix::fs::fstat(&entry).map_err(find(&at))?;
            return Ok(Found { folder, name: None, entry, stat, path: at });
        };
        let is_last = names.is_empty();
        if links == Links::FollowedIfTrusted {
            trust.look_at_folder(&at, &rustix::fs::fstat(&folder).map_err(find(&at))?)?;
        }
        let path = at.join(&name);
        let entry = open_entry(&folder, &name).map_err(find(&path))?;
        let stat = rustix::fs::fstat(&entry).map_err(find(&path))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if links == Links::Refused => return Err(FsError::SymbolicLink { path }),
            FileType::Symlink => {
                if links_left == 0 {
                    return Err(find(&path)(Errno::LOOP));
                }
                links_left -= 1;
                if links == Links::FollowedIfTrusted {
                    trust.follow(&path, &stat)?;
                }
                let target = rustix::fs::readlinkat(&entry, "", Vec::new()).map_err(find(&path))?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    (folder, at) = (open_root(Path::new("/"))?, PathBuf::from("/"));
                }
                let parts = target.components().rev().filter_map(|component| match component {
                    Component::Normal(name) => Some(name.to_owned()),
                    Component::ParentDir => Some(OsString::from("..")),
                    Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
                });
                names.extend(parts);
            }
            _ if is_last => {
                if links == Links::FollowedIfTrusted {
                    trust.look_at_end(&path, &stat)?;
                }
                return Ok(Found { folder, name: Some(name), entry, stat, path });
            }
            FileType::Directory => {
                folder = entry;
                if name == ".." {
                    at.pop();
                } else {
                    at = path;
                }
            }
            _ => return Err(FsError::WrongKind { path, expected: "a folder" }),
        }
    }
}

/// For `map_err`: the walk ends at that path.
fn find<E: Into<io::Error>>(path: &Path) -> impl Fn(E) -> FsError {
    refused("find", path, "a path whose folders may be searched")
}

/// An entry that may be anything, links included. Folders are asked for first, since only that mounts what is mounted at its first use.
fn open_entry(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => rustix::fs::openat(folder, name, ENTRY, Mode::empty()),
        opened => opened,
    }
}

/// Why somebody other than root and `uid` decides what a folder holds, if it is so.
pub(super) fn folder_weakness(stat: &Stat, uid: u32) -> Option<String> {
    let is_shared = stat.st_mode & WRITABLE_FOR_OTHERS != 0 && stat.st_mode & STICKY == 0;
    match stat.st_uid {
        owner if owner != 0 && owner != uid => Some(format!("belongs to uid {owner}")),
        _ if is_shared => Some(format!("is writable for others (mode {:o})", stat.st_mode & 0o7777)),
        _ => None,
    }
}

// === impl Trust ===

impl Trust<'_> {
    fn look_at_folder(&mut self, path: &Path, stat: &Stat) -> Result<(), FsError> {
        self.note(path, folder_weakness(stat, self.uid))
    }

    fn follow(&mut self, path: &Path, stat: &Stat) -> Result<(), FsError> {
        self.is_link_followed = true;
        // The bits of a link mean nothing; who may replace it, its folder says.
        let owner = stat.st_uid;
        self.note(path, (owner != 0 && owner != self.uid).then(|| format!("belongs to uid {owner}")))
    }

    fn look_at_end(&mut self, path: &Path, stat: &Stat) -> Result<(), FsError> {
        self.note(path, folder_weakness(stat, self.uid))
    }

    /// Without a link others may own the path: they decide what it says, but not which file is read.
    fn note(&mut self, path: &Path, weakness: Option<String>) -> Result<(), FsError> {
        if let Some(reason) = weakness {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            self.broken_at.get_or_insert_with(|| (path.to_owned(), reason));
        }
        match &self.broken_at {
            Some((part, reason)) if self.is_link_followed => Err(FsError::Untrusted {
                path: self.asked.to_owned(),
                part: part.clone(),
                reason: reason.clone(),
                expected: "a path with symbolic links is followed only where all of it belongs to root or to the user of this process",
            }),
            _ => Ok(()),
        }
    }
}
