//! Walks a path component by component on open handles, so that nothing is looked at under a name that somebody swaps meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

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
const WRITABLE_FOR_GROUP: u32 = 0o020;
const STICKY: u32 = 0o1000;
/// Of folders that are made on the way to another one.
const PARENT_MODE: u32 = 0o755;
/// What the first user namespace of a machine says of itself: every number stands for itself.
const WHOLE_UID_MAP: [&str; 3] = ["0", "0", "4294967295"];

/// What makes a path ours, in messages.
pub(super) const TRUSTED: &str = "expected root or the user of this process as owner of each folder and link on the path, and no \
     folder writable for others without the sticky bit (chown, chmod o-w)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Refused,
    Followed,
    /// It is followed where every part of the path belongs to root or to this process, so that no other user decides where it leads.
    FollowedIfTrusted,
    /// As before, and all of the path is asked for, with or without links: no other user decides where it leads, and what it is.
    FollowedAllTrusted {
        /// Missing folders are made, the last one with this mode.
        make: Option<u32>,
    },
}

/// An open folder: the caller's, or one that a walk has opened.
#[derive(Debug)]
pub(super) enum OpenFolder<'a> {
    Given(BorrowedFd<'a>),
    Opened(OwnedFd),
}

/// The place that a path leads to.
#[derive(Debug)]
pub(super) struct FoundEntry<'a> {
    pub(super) folder: OpenFolder<'a>,
    /// The entry's name in it; `None` for the start of the walk itself.
    pub(super) name: Option<OsString>,
    /// The entry: opened with `O_PATH`, never a link.
    pub(super) entry: OwnedFd,
    pub(super) stat: Stat,
    /// Where the entry lies, links resolved.
    pub(super) path: PathBuf,
    /// Folders on the way, if all were asked for, in which a group decides too.
    pub(super) group_writable: Vec<PathBuf>,
}

/// The owners that a path must have so that no other user decides where it leads.
#[derive(Debug)]
struct Trust<'a> {
    asked: &'a Path,
    uid: u32,
    /// The first part that somebody else can change.
    broken_at: Option<(PathBuf, String)>,
    /// Nothing by others is borne any more.
    is_strict: bool,
    /// Stands for owners that this user namespace does not know.
    unmapped_uid: Option<u32>,
    group_writable: Vec<PathBuf>,
}

/// The components of a path below `root`, given in full or from there. Errors: a `..`, or a full path that does not lie in `root`.
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
pub(super) fn walk_from_top(path: &Path, links: Links) -> Result<FoundEntry<'static>, FsError> {
    let (top, start) = if path.is_absolute() { ("/", Path::new("/")) } else { (".", Path::new("")) };
    walk(OpenFolder::Opened(open_root(Path::new(top))?), start, names_of(path).collect(), path, links)
}

/// The names of a path as they are walked, `..` among them.
fn names_of(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Walks from an open folder, which lies at `start`. `asked` is the path that errors name where they name the whole.
pub(super) fn walk<'a>(
    mut folder: OpenFolder<'a>,
    start: &Path,
    mut names: Vec<OsString>,
    asked: &Path,
    links: Links,
) -> Result<FoundEntry<'a>, FsError> {
    names.reverse();
    let mut at = start.to_owned();
    let is_trust_asked = matches!(links, Links::FollowedIfTrusted | Links::FollowedAllTrusted { .. });
    let mut trust = Trust::new(asked, links, is_trust_asked);
    let mut links_left = MAX_LINKS;
    loop {
        let Some(name) = names.pop() else {
            let entry = folder.as_fd().try_clone_to_owned().map_err(find(asked))?;
            let stat = rustix::fs::fstat(&entry).map_err(find(&at))?;
            return Ok(FoundEntry { folder, name: None, entry, stat, path: at, group_writable: trust.group_writable });
        };
        let is_last = names.is_empty();
        if is_trust_asked {
            trust.look_at_folder(&at, &rustix::fs::fstat(&folder).map_err(find(&at))?)?;
        }
        let path = at.join(&name);
        let entry = open_or_make(&folder, &name, &path, is_last, links)?;
        let stat = rustix::fs::fstat(&entry).map_err(find(&path))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if links == Links::Refused => return Err(FsError::SymbolicLink { path }),
            FileType::Symlink => {
                if links_left == 0 {
                    return Err(find(&path)(Errno::LOOP));
                }
                links_left -= 1;
                if is_trust_asked {
                    trust.follow(&path, &stat)?;
                }
                let target = target_of(&entry).map_err(find(&path))?;
                if target.is_absolute() {
                    (folder, at) = (OpenFolder::Opened(open_root(Path::new("/"))?), PathBuf::from("/"));
                }
                names.extend(names_of(&target).rev());
            }
            _ if is_last => {
                if is_trust_asked {
                    trust.look_at_end(&path, &stat)?;
                }
                let group_writable = trust.group_writable;
                return Ok(FoundEntry { folder, name: Some(name), entry, stat, path, group_writable });
            }
            FileType::Directory => {
                folder = OpenFolder::Opened(entry);
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

/// Opens the entry of that name at `path`, which is made where `links` ask for it.
fn open_or_make(
    folder: &OpenFolder<'_>,
    name: &OsStr,
    path: &Path,
    is_last: bool,
    links: Links,
) -> Result<OwnedFd, FsError> {
    match (open_entry(folder, name), links) {
        (Err(Errno::NOENT), Links::FollowedAllTrusted { make: Some(mode) }) => {
            make_folder(folder, name, if is_last { mode } else { PARENT_MODE }).map_err(make(path))
        }
        (opened, _) => opened.map_err(find(path)),
    }
}

fn target_of(link: &OwnedFd) -> Result<PathBuf, Errno> {
    let target = rustix::fs::readlinkat(link, "", Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// Makes a folder with exactly that mode, and opens it. Another process may have been faster.
fn make_folder(folder: &OpenFolder<'_>, name: &OsStr, mode: u32) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(mode)) {
        Err(Errno::EXIST) => return open_entry(folder, name),
        made => made?,
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    // Once more, for the umask has taken bits away.
    rustix::fs::fchmod(&made, Mode::from_raw_mode(mode))?;
    Ok(made)
}

/// For `map_err`: a folder cannot be made.
fn make<E: Into<io::Error>>(path: &Path) -> impl Fn(E) -> FsError {
    refused("make folder", path, "a path whose folders may be made")
}

/// For `map_err`: the walk ends at that path.
fn find<E: Into<io::Error>>(path: &Path) -> impl Fn(E) -> FsError {
    refused("find", path, "a path whose folders may be searched")
}

/// An entry that may be anything, links included. Folders are asked for first, since only that mounts what is mounted at its first use.
fn open_entry(folder: &OpenFolder<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => rustix::fs::openat(folder, name, ENTRY, Mode::empty()),
        opened => opened,
    }
}

/// The number under which this user namespace shows all users that it does not know, if there are such: of a container without rights,
/// root of the machine is one.
fn unmapped_uid() -> Option<u32> {
    // The map of a namespace is written once.
    static UNMAPPED_UID: OnceLock<Option<u32>> = OnceLock::new();
    *UNMAPPED_UID.get_or_init(|| {
        let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
        if map.split_whitespace().eq(WHOLE_UID_MAP) {
            return None;
        }
        std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok()
    })
}

impl AsFd for OpenFolder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Given(folder) => *folder,
            Self::Opened(folder) => folder.as_fd(),
        }
    }
}

impl<'a> Trust<'a> {
    fn new(asked: &'a Path, links: Links, is_asked: bool) -> Self {
        Self {
            asked,
            uid: geteuid().as_raw(),
            broken_at: None,
            is_strict: matches!(links, Links::FollowedAllTrusted { .. }),
            unmapped_uid: if is_asked { unmapped_uid() } else { None },
            group_writable: Vec::new(),
        }
    }

    fn look_at_folder(&mut self, path: &Path, stat: &Stat) -> Result<(), FsError> {
        self.look_at_end(path, stat)?;
        if stat.st_mode & WRITABLE_FOR_OTHERS != 0 {
            // Below, an owner who is not known may be any user of the machine. Above, it is the maker of the container.
            self.unmapped_uid = None;
        }
        if stat.st_mode & WRITABLE_FOR_GROUP != 0 && stat.st_mode & STICKY == 0 {
            self.group_writable.push(path.to_owned());
        }
        Ok(())
    }

    fn follow(&mut self, path: &Path, stat: &Stat) -> Result<(), FsError> {
        self.is_strict = true;
        // The bits of a link mean nothing; who may replace it, its folder says.
        self.record_weakness(path, self.foreign_owner(stat))
    }

    fn look_at_end(&mut self, path: &Path, stat: &Stat) -> Result<(), FsError> {
        let is_shared = stat.st_mode & WRITABLE_FOR_OTHERS != 0 && stat.st_mode & STICKY == 0;
        let shared = is_shared.then(|| format!("is writable for others (mode {:o})", stat.st_mode & 0o7777));
        self.record_weakness(path, self.foreign_owner(stat).or(shared))
    }

    fn foreign_owner(&self, stat: &Stat) -> Option<String> {
        let owner = stat.st_uid;
        let is_trusted = owner == 0 || owner == self.uid || Some(owner) == self.unmapped_uid;
        (!is_trusted).then(|| format!("belongs to uid {owner}"))
    }

    /// Without a link others may own the path of a file to be read: they decide what it says, but not which file it is.
    fn record_weakness(&mut self, path: &Path, weakness: Option<String>) -> Result<(), FsError> {
        if let Some(reason) = weakness {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            self.broken_at.get_or_insert_with(|| (path.to_owned(), reason));
        }
        match &self.broken_at {
            Some((part, reason)) if self.is_strict => Err(FsError::Untrusted {
                path: self.asked.to_owned(),
                part: part.clone(),
                reason: reason.clone(),
                expected: TRUSTED,
            }),
            _ => Ok(()),
        }
    }
}
