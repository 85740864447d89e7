//! Brings the local resources of a container: checked for size and SHA-256 before anything starts, and read-only.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::AtFlags;
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::fs::{CheckedFile, Expected, FileUri, FolderHandle, open_behind_links};
use crate::model::{BroughtResource, LocalResource, ResourceKind, hex};

use super::archive::{ArchiveFormat, names_below, unpack};
use super::fault::ResourceFault;
use super::item_value::LineFinder;
use super::resource_cache::{ResourceCache, StopCheck, digest_of};

/// Of a file that is read-only.
const READ_MODE: u32 = 0o400;
/// Of one that may be executed too.
const EXECUTE_MODE: u32 = 0o500;
/// Of a folder on the way to a file.
const FOLDER_MODE: u32 = 0o700;
pub(crate) struct Destination<'a> {
    pub(crate) work_folder: FolderHandle,
    /// Whether it is the container's own, so that nothing was in it before.
    pub(crate) is_own: bool,
    /// A folder of the container's own, for what becomes no part of the working directory.
    pub(crate) own_folder: &'a FolderHandle,
    /// A name that no other container has.
    pub(crate) unique: String,
    /// Files that other containers of the user have too; none: each has its own.
    pub(crate) cache: Option<&'a ResourceCache>,
}

impl Destination<'_> {
    /// Brings a resource to its name in the working directory.
    pub(crate) fn bring(
        &self,
        name: &str,
        resource: &LocalResource,
        should_stop: &StopCheck<'_>,
    ) -> Result<(), ResourceFault> {
        let (folder, last) = self.place_of(name)?;
        match resource {
            LocalResource::Content(content) => {
                let bytes = STANDARD.decode(&content.content)?;
                let digest = hex(Sha256::digest(&bytes).as_slice());
                self.put_file(&folder, &last, content.executable, &digest, |file| write_all(file, &bytes, &last))
            }
            LocalResource::Brought(brought) if brought.kind == ResourceKind::File => {
                if self.link_cached(&folder, &last, brought, should_stop)? {
                    return Ok(());
                }
                self.put_file(&folder, &last, brought.executable, &brought.sha256, |file| {
                    copy_checked(brought, file, should_stop)
                })
            }
            LocalResource::Brought(brought) => self.unpack(&folder, &last, brought, should_stop),
        }
    }

    /// Links a file that containers share, in a folder that goes with the container: elsewhere its user may change it. Whether it did.
    fn link_cached(
        &self,
        folder: &FolderHandle,
        name: &OsStr,
        brought: &BroughtResource,
        should_stop: &StopCheck<'_>,
    ) -> Result<bool, ResourceFault> {
        let Some(cache) = self.cache.filter(|_| self.is_own) else { return Ok(false) };
        // It has to be there and readable, also when its content is kept.
        let source = open(brought)?;
        let kept = (brought.sha256.as_str(), mode_of(brought.executable));
        cache
            .link(kept, (folder, name), &self.unique, should_stop, |file| copy_from(source, brought, file, should_stop))
    }

    /// The folder for a resource, made where it is missing, and its last name.
    fn place_of(&self, name: &str) -> Result<(FolderHandle, OsString), ResourceFault> {
        let names = names_below(Path::new(name)).ok_or(ResourceFault::Name)?;
        let (last, above) = names.split_last().ok_or(ResourceFault::Name)?;
        let mut folder = self.work_folder.folder(Path::new(""))?;
        for part in above {
            folder = match folder.folder(Path::new(part)) {
                Err(error) if error.is_not_found() => folder.make_folder(part, FOLDER_MODE)?,
                there => there?,
            };
        }
        Ok((folder, last.clone()))
    }

    /// Writes a file under another name, and gives it its own once it is whole: other containers may work in the same folder. What
    /// is there already stays if it has this content.
    fn put_file(
        &self,
        folder: &FolderHandle,
        name: &OsStr,
        is_executable: bool,
        digest: &str,
        write: impl FnOnce(&mut File) -> Result<(), ResourceFault>,
    ) -> Result<(), ResourceFault> {
        let mode = mode_of(is_executable);
        if self.is_own {
            return write(&mut folder.create_file(name, mode)?);
        }
        if folder.stat_of(name)?.is_some() {
            return check_same(folder, name, digest);
        }
        let partial = OsString::from(format!(".{}.partial", self.unique));
        // Of an earlier resource that could not be brought.
        folder.remove(&partial)?;
        let written = folder.create_file(&partial, mode).map_err(ResourceFault::from);
        let named = written.and_then(|mut file| write(&mut file)).and_then(|()| {
            match rustix::fs::linkat(folder.as_fd(), &partial, folder.as_fd(), name, AtFlags::empty()) {
                Err(Errno::EXIST) => check_same(folder, name, digest),
                linked => linked.map_err(|error| written_badly(folder.path().join(name), error.into())),
            }
        });
        let removed = folder.remove(&partial);
        named?;
        Ok(removed.map(drop)?)
    }

    fn unpack(
        &self,
        folder: &FolderHandle,
        name: &OsStr,
        brought: &BroughtResource,
        should_stop: &StopCheck<'_>,
    ) -> Result<(), ResourceFault> {
        let format = ArchiveFormat::of_name(&brought.resource)
            .ok_or_else(|| ResourceFault::NoArchive { name: brought.resource.clone() })?;
        if folder.stat_of(name)?.is_some() {
            return Err(ResourceFault::Taken { path: folder.path().join(name) });
        }
        let packed = OsStr::new("packed");
        self.own_folder.remove(packed)?;
        let mut file = self.own_folder.open_own_file(packed, 0o600)?;
        copy_checked(brought, &mut file, should_stop)?;
        file.rewind().map_err(|source| written_badly(self.own_folder.path().join(packed), source))?;
        unpack(format, file, &folder.make_folder(name, FOLDER_MODE)?, should_stop)?;
        Ok(self.own_folder.remove(packed).map(drop)?)
    }
}

/// The line of that number of a resource, which is checked like any other. Errors: [`ResourceFault`]; inside, why there is no such line.
pub(crate) fn line_of(
    resource: &LocalResource,
    number: u32,
    should_stop: &StopCheck<'_>,
) -> Result<Result<String, String>, ResourceFault> {
    let mut finder = LineFinder::new(number);
    match resource {
        LocalResource::Content(content) => finder.take(&STANDARD.decode(&content.content)?),
        LocalResource::Brought(brought) => {
            read_checked(brought, should_stop, |piece| {
                finder.take(piece);
                Ok(())
            })?;
        }
    }
    Ok(finder.finish())
}

fn mode_of(is_executable: bool) -> u32 {
    if is_executable { EXECUTE_MODE } else { READ_MODE }
}

fn open(brought: &BroughtResource) -> Result<CheckedFile, ResourceFault> {
    let uri = FileUri::parse(&brought.resource)?;
    let path = uri.local_path().ok_or_else(|| ResourceFault::NotLocal { resource: brought.resource.clone() })?;
    let found = open_behind_links(path, &Expected::file_of_any_owner()).map_err(|error| {
        if error.is_not_found() { ResourceFault::NotHere { path: path.to_owned() } } else { error.into() }
    })?;
    check_size(&found.path, found.metadata.len(), brought)?;
    Ok(found)
}

fn check_size(path: &Path, found: u64, brought: &BroughtResource) -> Result<(), ResourceFault> {
    let expected = brought.size;
    if found == expected { Ok(()) } else { Err(ResourceFault::Size { path: path.to_owned(), found, expected }) }
}

/// Copies a resource with the rights of this process.
fn copy_checked(brought: &BroughtResource, to: &mut File, should_stop: &StopCheck<'_>) -> Result<(), ResourceFault> {
    copy_from(open(brought)?, brought, to, should_stop)
}

fn copy_from(
    source: CheckedFile,
    brought: &BroughtResource,
    to: &mut File,
    should_stop: &StopCheck<'_>,
) -> Result<(), ResourceFault> {
    read_from(source, brought, should_stop, |piece| write_all(to, piece, OsStr::new(&brought.resource)))
}

/// Reads a resource, and checks its length and SHA-256.
fn read_checked(
    brought: &BroughtResource,
    should_stop: &StopCheck<'_>,
    take: impl FnMut(&[u8]) -> Result<(), ResourceFault>,
) -> Result<(), ResourceFault> {
    read_from(open(brought)?, brought, should_stop, take)
}

fn read_from(
    source: CheckedFile,
    brought: &BroughtResource,
    should_stop: &StopCheck<'_>,
    take: impl FnMut(&[u8]) -> Result<(), ResourceFault>,
) -> Result<(), ResourceFault> {
    let CheckedFile { mut file, path, .. } = source;
    let (found, bytes) = digest_of(&mut file, &path, should_stop, take)?;
    // It may have grown since it was opened.
    check_size(&path, bytes, brought)?;
    check_digest(&path, found, &brought.sha256)
}

fn check_digest(path: &Path, found: String, expected: &str) -> Result<(), ResourceFault> {
    if found == expected {
        return Ok(());
    }
    Err(ResourceFault::Digest { path: path.to_owned(), found, expected: expected.to_owned() })
}

/// Whether what has the name of a resource has its content too.
fn check_same(folder: &FolderHandle, name: &OsStr, digest: &str) -> Result<(), ResourceFault> {
    let taken = || ResourceFault::Taken { path: folder.path().join(name) };
    let mut there = folder.file(Path::new(name), &Expected::file_of_any_owner()).map_err(|_| taken())?;
    let (found, _) = digest_of(&mut there.file, &there.path, &|| false, |_| Ok(()))?;
    if found == digest { Ok(()) } else { Err(taken()) }
}

fn write_all(file: &mut File, bytes: &[u8], name: &OsStr) -> Result<(), ResourceFault> {
    file.write_all(bytes).map_err(|source| written_badly(PathBuf::from(name), source))
}

fn written_badly(path: PathBuf, source: io::Error) -> ResourceFault {
    ResourceFault::Copy { action: "write", path, source }
}
