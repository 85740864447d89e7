//! Unpacks an archive into a folder, which nothing of it leaves: no entry leads out, no link points out, none is written through.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::EntryType;
use zip::ZipArchive;

use crate::fs::{Expected, FolderHandle, FsError};

use super::fault::ResourceFault;

/// Of folders: the container's end has to remove what is in them.
const FOLDER_MODE: u32 = 0o700;
/// Of files, which are read-only.
const READ_MODE: u32 = 0o400;
/// Of files that may be executed.
const EXECUTE_MODE: u32 = 0o500;
/// Written at once, bytes.
const PIECE_BYTES: usize = 128 << 10;
/// Longest target of a link, bytes.
const MAX_TARGET_BYTES: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArchiveFormat {
    /// `.zip`
    Zip,
    /// `.tar`
    Tar,
    /// `.tar.gz`, `.tgz`
    TarGz,
}

/// Most entries of an archive, and bytes of what they become: a small archive may hold a disk's worth of zeros.
const MAX_ENTRIES: u64 = 500_000;
const MAX_UNPACKED_BYTES: u64 = 64 << 30;

#[derive(Debug)]
struct Left {
    entries: Cell<u64>,
    bytes: Cell<u64>,
}

struct Unpacking<'a> {
    left: Left,
    folder: &'a FolderHandle,
    should_stop: &'a dyn Fn() -> bool,
}

impl ArchiveFormat {
    /// That of a file of this name; none if it is not unpacked.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let ends = [(".zip", Self::Zip), (".tar", Self::Tar), (".tar.gz", Self::TarGz), (".tgz", Self::TarGz)];
        ends.into_iter().find_map(|(end, format)| name.ends_with(end).then_some(format))
    }
}

/// Unpacks an archive into a folder of our own.
/// Errors: an entry that leads out, one that is no file, folder or link, a damaged archive, what the system refuses.
pub(crate) fn unpack(
    format: ArchiveFormat,
    packed: File,
    folder: &FolderHandle,
    should_stop: &dyn Fn() -> bool,
) -> Result<(), ResourceFault> {
    let left = Left { entries: Cell::new(MAX_ENTRIES), bytes: Cell::new(MAX_UNPACKED_BYTES) };
    unpack_within(left, format, packed, folder, should_stop)
}

fn unpack_within(
    left: Left,
    format: ArchiveFormat,
    packed: File,
    folder: &FolderHandle,
    should_stop: &dyn Fn() -> bool,
) -> Result<(), ResourceFault> {
    let unpacking = Unpacking { left, folder, should_stop };
    match format {
        ArchiveFormat::Zip => unpacking.zip(packed),
        ArchiveFormat::Tar => unpacking.tar(io::BufReader::with_capacity(PIECE_BYTES, packed)),
        ArchiveFormat::TarGz => unpacking.tar(GzDecoder::new(io::BufReader::with_capacity(PIECE_BYTES, packed))),
    }
}

fn damaged(error: impl ToString) -> ResourceFault {
    ResourceFault::Archive(error.to_string())
}

fn bad_entry(path: &Path, reason: &'static str) -> ResourceFault {
    ResourceFault::Entry { entry: path.display().to_string(), reason }
}

/// The names on the way down to an entry; none for the folder itself.
fn names_of(path: &Path) -> Result<Vec<OsString>, ResourceFault> {
    names_below(path).ok_or_else(|| bad_entry(path, "leads out of it"))
}

/// Whether a link so many folders below the top stays below it. `..` is only counted at the start: behind a name, which may be
/// a link itself, it would lead somewhere else than it seems to.
fn stays_inside(target: &Path, depth: usize) -> bool {
    let is_up = |part: &Component<'_>| *part == Component::ParentDir;
    let parts = target.components().filter(|part| *part != Component::CurDir);
    let up = parts.clone().take_while(is_up).count();
    up <= depth && parts.skip(up).all(|part| matches!(part, Component::Normal(_)))
}

impl Left {
    fn take_entry(&self) -> Result<(), ResourceFault> {
        take(&self.entries, 1, || format!("it has more than {MAX_ENTRIES} entries"))
    }

    fn take_bytes(&self, bytes: usize) -> Result<(), ResourceFault> {
        take(&self.bytes, bytes as u64, || format!("it holds more than {MAX_UNPACKED_BYTES} bytes"))
    }
}

fn take(left: &Cell<u64>, count: u64, why: impl Fn() -> String) -> Result<(), ResourceFault> {
    left.set(left.get().checked_sub(count).ok_or_else(|| ResourceFault::Archive(why()))?);
    Ok(())
}

impl Unpacking<'_> {
    /// One more entry, unless it is beyond the bound or the container is to end.
    fn next_entry(&self) -> Result<(), ResourceFault> {
        if (self.should_stop)() { Err(ResourceFault::Stopped) } else { self.left.take_entry() }
    }

    fn zip(&self, packed: File) -> Result<(), ResourceFault> {
        let mut archive = ZipArchive::new(packed).map_err(damaged)?;
        for at in 0..archive.len() {
            self.next_entry()?;
            let mut entry = archive.by_index(at).map_err(damaged)?;
            let path = PathBuf::from(&*entry.name().map_err(damaged)?);
            if entry.is_dir() {
                self.make_folders(&names_of(&path)?)?;
            } else if entry.is_symlink() {
                let mut target = String::new();
                entry.by_ref().take(MAX_TARGET_BYTES).read_to_string(&mut target).map_err(damaged)?;
                self.link(&path, Path::new(&target))?;
            } else {
                let is_executable = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
                self.file(&path, &mut entry, is_executable)?;
            }
        }
        Ok(())
    }

    fn tar(&self, packed: impl Read) -> Result<(), ResourceFault> {
        let mut archive = tar::Archive::new(packed);
        for entry in archive.entries().map_err(damaged)? {
            self.next_entry()?;
            let mut entry = entry.map_err(damaged)?;
            let path = entry.path().map_err(damaged)?.into_owned();
            let target = entry.link_name().map_err(damaged)?.map(std::borrow::Cow::into_owned);
            match (entry.header().entry_type(), target) {
                (EntryType::Directory, _) => drop(self.make_folders(&names_of(&path)?)?),
                (EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse, _) => {
                    let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
                    self.file(&path, &mut entry, is_executable)?;
                }
                (EntryType::Symlink, Some(target)) => self.link(&path, &target)?,
                (EntryType::Link, Some(target)) => self.copy_of(&path, &target)?,
                // What describes entries is no entry.
                (EntryType::XGlobalHeader, _) => {}
                _ => return Err(bad_entry(&path, "is no file, folder or link")),
            }
        }
        Ok(())
    }

    fn make_folders(&self, names: &[OsString]) -> Result<FolderHandle, ResourceFault> {
        let top = self.folder.folder(Path::new(""))?;
        let made = names.iter().try_fold(top, |folder, name| folder.make_folder(name, FOLDER_MODE));
        Ok(made?)
    }

    /// The folder of an entry, made if need be, and the entry's name, which is free.
    fn place_of<'n>(&self, path: &Path, names: &'n [OsString]) -> Result<(FolderHandle, &'n OsStr), ResourceFault> {
        let (name, above) = names.split_last().ok_or_else(|| bad_entry(path, "has no name"))?;
        let folder = self.make_folders(above)?;
        // A later entry counts.
        folder.remove(name)?;
        Ok((folder, name))
    }

    fn file(&self, path: &Path, content: &mut impl Read, is_executable: bool) -> Result<(), ResourceFault> {
        let names = names_of(path)?;
        let (folder, name) = self.place_of(path, &names)?;
        let mut file = folder.create_file(name, if is_executable { EXECUTE_MODE } else { READ_MODE })?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            if (self.should_stop)() {
                return Err(ResourceFault::Stopped);
            }
            let bytes = content.read(&mut piece).map_err(damaged)?;
            if bytes == 0 {
                return Ok(());
            }
            self.left.take_bytes(bytes)?;
            file.write_all(&piece[..bytes]).map_err(|source| self.written_badly(path, source))?;
        }
    }

    fn link(&self, path: &Path, target: &Path) -> Result<(), ResourceFault> {
        let names = names_of(path)?;
        if !stays_inside(target, names.len().saturating_sub(1)) {
            return Err(bad_entry(path, "is a link that leads out of it"));
        }
        let (folder, name) = self.place_of(path, &names)?;
        let made = rustix::fs::symlinkat(target, folder.as_fd(), name);
        made.map_err(|error| self.written_badly(path, error.into()))
    }

    /// A hard link, as a copy of the file that was unpacked before.
    fn copy_of(&self, path: &Path, target: &Path) -> Result<(), ResourceFault> {
        let below: PathBuf = names_of(target)?.iter().collect();
        let mut source = self.folder.file(&below, &Expected::file_of_any_owner())?;
        let is_executable = source.metadata.mode() & 0o100 != 0;
        self.file(path, &mut source.file, is_executable)
    }

    fn written_badly(&self, path: &Path, source: io::Error) -> ResourceFault {
        let path = self.folder.path().join(path);
        FsError::Refused { action: "write", path, expected: "a file system with room", source }.into()
    }
}

/// The names on the way down a relative path, none of them `..`; empty for the folder itself. None: it leads out.
pub(crate) fn names_below(path: &Path) -> Option<Vec<OsString>> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(names)
}

#[cfg(test)]
#[path = "tests/archive.rs"]
mod tests;
