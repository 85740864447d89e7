//! The budget file on disk: read whole, replaced atomically.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::fs::{FsError, open_named_by_conf};
use crate::market::{BudgetFileError, BudgetLine, budget_file};
use crate::model::hex;
use crate::store::fault_point::FaultPoint;
use crate::store::folder::{beside, sync_folder};

use super::back_end::BudgetBackEndError;

/// Limit of a budget file: three times the size that the most queues need.
const LIMIT_BYTES: u64 = 64 << 20;

const NEW_FILE_MODE: u32 = 0o640;

/// A budget file's path, and the folder for files that cannot be written beside it.
#[derive(Debug)]
pub(super) struct BudgetFile {
    pub(super) path: PathBuf,
    pub(super) fallback_dir: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteMethod {
    /// As a new file that replaced the old one.
    Replaced,
    /// Into the file itself, since its folder accepts no new file.
    InPlace,
}

pub(super) fn hash(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

impl BudgetFile {
    /// The file at this path; for a symbolic link its target, so that the link stays.
    pub(super) fn at(path: &Path, fallback_dir: &Path) -> Self {
        Self { path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()), fallback_dir: fallback_dir.to_owned() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read_existing(&self) -> Result<Vec<u8>, BudgetBackEndError> {
        self.read()?.ok_or_else(|| BudgetBackEndError::Missing { path: self.path.clone() })
    }

    pub(super) fn parse(&self, content: &[u8]) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
        let (lines, errors) = self.parse_all(content)?;
        errors.into_iter().next().map_or(Ok(lines), |error| Err(error.into()))
    }

    /// All lines that are right, and what is wrong with the others.
    pub(super) fn parse_all(
        &self,
        content: &[u8],
    ) -> Result<(Vec<BudgetLine>, Vec<BudgetFileError>), BudgetBackEndError> {
        let text = std::str::from_utf8(content).map_err(|_| self.unreadable("not UTF-8"))?;
        Ok(budget_file::parse_all(text, &self.path.display().to_string()))
    }

    pub(super) fn unreadable(&self, reason: &'static str) -> BudgetBackEndError {
        BudgetBackEndError::Unreadable { path: self.path.clone(), reason }
    }

    /// The content, or `None` when there is no such file.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, BudgetBackEndError> {
        match open_named_by_conf(&self.path).and_then(|file| file.read_limited(LIMIT_BYTES)) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(FsError::WrongKind { .. }) => Err(self.unreadable("not a file")),
            Err(FsError::TooLong { .. }) => Err(self.unreadable("larger than 64 MiB, so no budget file")),
            Err(error) => Err(at("read", &self.path)(error.into())),
        }
    }

    pub(super) fn present(&self) -> Result<Vec<u8>, BudgetBackEndError> {
        self.read()?.ok_or_else(|| at("read", &self.path)(io::ErrorKind::NotFound.into()))
    }

    pub(super) fn replace_whole(&self, content: &[u8]) -> Result<(), BudgetBackEndError> {
        let new = self.beside(".new");
        let mode = fs::metadata(&self.path).map_or(NEW_FILE_MODE, |metadata| metadata.mode() & 0o777);
        let replaced = write_new(&new, mode, content)
            .and_then(|()| self.keep_previous())
            .and_then(|()| fs::rename(&new, &self.path).map_err(at("replace", &self.path)));
        if replaced.is_err() {
            // Frees space on a full disk.
            let _ = fs::remove_file(&new);
        }
        replaced?;
        FaultPoint::BudgetFileRenamed.pass();
        let folder = match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        sync_folder(folder).map_err(at("sync", folder))?;
        FaultPoint::BudgetFileReplaced.pass();
        Ok(())
    }

    /// Copies the present file to `NAME.rejected-<n>` with the first free number: beside it, or in the fallback
    /// directory. A copy, since the file may be written in place later.
    pub(super) fn set_aside(&self) -> Result<PathBuf, BudgetBackEndError> {
        match self.copy_aside(|ending| self.beside(ending)) {
            Err(error) if error.is_refusal() => self.copy_aside(|ending| self.in_fallback_dir(ending)),
            done => done,
        }
    }

    fn copy_aside(&self, place: impl Fn(&str) -> PathBuf) -> Result<PathBuf, BudgetBackEndError> {
        let mode = fs::metadata(&self.path).map_or(NEW_FILE_MODE, |metadata| metadata.mode() & 0o777);
        let content = self.present()?;
        let mut number = 1_u32;
        loop {
            let kept = place(&format!(".rejected-{number}"));
            match OpenOptions::new().write(true).create_new(true).mode(mode).open(&kept) {
                Ok(mut file) => {
                    FaultPoint::BudgetFileAsideMade.pass();
                    let written = FaultPoint::BudgetFileAsideTorn.write_all(&mut file, &content);
                    let copied = written.and_then(|()| file.sync_all());
                    if copied.is_err() {
                        let _ = fs::remove_file(&kept);
                    }
                    copied.map_err(at("keep the file aside as", &kept))?;
                    FaultPoint::BudgetFileAsideKept.pass();
                    return Ok(kept);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(at("keep the file aside as", &kept)(error)),
            }
        }
    }

    /// Links it under a temporary name and renames that, since a link cannot replace a file; copies it where links fail.
    fn keep_previous(&self) -> Result<(), BudgetBackEndError> {
        let (passing, previous) = (self.beside(".previous.new"), self.beside(".previous"));
        // A crash may have left it.
        let _ = fs::remove_file(&passing);
        let kept = fs::hard_link(&self.path, &passing).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Err(error),
            _ => copy_to_new(&self.path, &passing),
        });
        match kept {
            Ok(()) => {
                FaultPoint::BudgetFilePreviousLinked.pass();
                fs::rename(&passing, &previous).map_err(at("replace", &previous))?;
                FaultPoint::BudgetFilePreviousKept.pass();
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(at("create", &passing)(error)),
        }
    }

    pub(super) fn beside(&self, ending: &str) -> PathBuf {
        beside(&self.path, ending)
    }

    pub(super) fn in_fallback_dir(&self, ending: &str) -> PathBuf {
        beside(&self.fallback_dir.join(self.path.file_name().unwrap_or_default()), ending)
    }
}

fn copy_to_new(from: &Path, to: &Path) -> io::Result<()> {
    let content = open_named_by_conf(from)?.read_limited(LIMIT_BYTES)?;
    let mode = fs::metadata(from)?.mode() & 0o777;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?.write_all(&content)
}

/// Writes and syncs a file for a later rename. A file of that name was left by a crash or is a trap, so it is removed.
pub(super) fn write_new(path: &Path, mode: u32, content: &[u8]) -> Result<(), BudgetBackEndError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at("create", path)(error)),
        _ => {}
    }
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let file = opened.map_err(at("create", path))?;
    FaultPoint::BudgetFileNewMade.pass();
    fill(file, mode, content, path)
}

fn fill(mut file: fs::File, mode: u32, content: &[u8], path: &Path) -> Result<(), BudgetBackEndError> {
    FaultPoint::BudgetFileNewTorn.write_all(&mut file, content).map_err(at("write", path))?;
    FaultPoint::BudgetFileNewWritten.pass();
    file.sync_all().map_err(at("write", path))?;
    FaultPoint::BudgetFileNewSynced.pass();
    file.set_permissions(Permissions::from_mode(mode)).map_err(at("set the mode of", path))
}

pub(super) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BudgetBackEndError {
    let path = path.to_owned();
    move |source| BudgetBackEndError::File { action, path, source }
}

impl BudgetBackEndError {
    /// The folder or the mount refuses this process.
    pub(super) fn is_refusal(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
        // Busy: the file alone is mounted, as containers do.
        let refusals = [PermissionDenied, ReadOnlyFilesystem, ResourceBusy];
        matches!(self, Self::File { source, .. } if refusals.contains(&source.kind()))
    }
}

/// Reads the lines of a budget file; nothing follows from them.
pub(crate) fn read_budgets(path: &Path) -> Result<Vec<BudgetLine>, BudgetBackEndError> {
    let file = BudgetFile::at(path, Path::new(""));
    file.parse(&file.read_existing()?)
}

/// The lines of a budget file that are right, and all errors of the others.
pub(crate) fn read_all_budgets(path: &Path) -> Result<(Vec<BudgetLine>, Vec<BudgetFileError>), BudgetBackEndError> {
    let file = BudgetFile::at(path, Path::new(""));
    file.parse_all(&file.read_existing()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_keeps_its_mode_and_its_former_content() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("budget");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        let file = BudgetFile::at(&path, scratch.path());
        file.replace(b"two").unwrap();
        file.replace(b"three").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o604);
        let mut names: Vec<_> = fs::read_dir(scratch.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["budget", "budget.previous"]);
        assert_eq!(fs::read_to_string(scratch.path().join("budget.previous")).unwrap(), "two");
    }

    #[test]
    fn a_link_stays_a_link() {
        let scratch = tempfile::tempdir().unwrap();
        let (target, link) = (scratch.path().join("target"), scratch.path().join("link"));
        fs::write(&target, "one").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        BudgetFile::at(&link, scratch.path()).replace(b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "two");
    }

    #[test]
    fn files_set_aside_never_replace_one_another() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("budget");
        let file = BudgetFile::at(&path, scratch.path());
        for (number, content) in [(1, "one"), (2, "two")] {
            fs::write(&path, content).unwrap();
            let kept = file.set_aside().unwrap();
            assert_eq!(kept, scratch.path().join(format!("budget.rejected-{number}")));
            file.replace(b"ours").unwrap();
            assert_eq!(fs::read_to_string(kept).unwrap(), content);
        }
    }

    #[test]
    fn a_full_disk_leaves_the_old_content() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("budget");
        fs::write(&path, "one").unwrap();
        let file = BudgetFile::at(&path, scratch.path());
        // Takes no byte, as a full disk.
        let full = fill(OpenOptions::new().write(true).open("/dev/full").unwrap(), 0o600, b"two", &file.beside(".new"));
        let error = full.unwrap_err().to_string();
        assert!(error.contains("budget.new") && error.contains("No space left"), "{error}");
        fs::create_dir(file.beside(".new")).unwrap();
        assert!(file.replace(b"two").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        fs::remove_dir(file.beside(".new")).unwrap();
        file.replace(b"two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }

    #[test]
    fn a_link_beside_the_file_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let (path, secret) = (scratch.path().join("budget"), scratch.path().join("secret"));
        fs::write(&path, "one").unwrap();
        fs::write(&secret, "secret").unwrap();
        let file = BudgetFile::at(&path, scratch.path());
        for ending in [".new", ".previous", ".previous.new", ".rejected-1"] {
            std::os::unix::fs::symlink(&secret, file.beside(ending)).unwrap();
        }
        file.replace(b"two").unwrap();
        assert_eq!(file.set_aside().unwrap(), file.beside(".rejected-2"));
        assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    }

    #[test]
    fn what_is_no_file_is_neither_read_nor_waited_for() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = BudgetFile::at(scratch.path(), scratch.path()).read().unwrap_err().to_string();
        assert!(folder.contains("not a file"), "{folder}");
        let pipe = scratch.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let pipe = BudgetFile::at(&pipe, scratch.path()).read().unwrap_err().to_string();
        assert!(pipe.contains("not a file"), "{pipe}");
    }
}
