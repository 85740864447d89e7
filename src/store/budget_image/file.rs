//! The budget file on disk: read whole, replaced atomically.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::BudgetImageError;
use crate::store::folder::sync_folder;

/// Larger files are no budget files: the most queues there can be take a third of it.
const LIMIT_BYTES: u64 = 64 << 20;

/// Mode of a budget file that was not there before.
const NEW_FILE_MODE: u32 = 0o640;

/// A budget file's place.
#[derive(Debug)]
pub(super) struct ImageFile {
    path: PathBuf,
}

/// The hash of a content, as hexadecimal text.
pub(super) fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

// === impl ImageFile ===

impl ImageFile {
    /// The file at that path; where that is a symbolic link, the file it leads to, so that the link stays.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The content, or `None` when there is no such file.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, BudgetImageError> {
        let file = match fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at("read", &self.path)(error)),
        };
        let mut content = Vec::new();
        file.take(LIMIT_BYTES + 1).read_to_end(&mut content).map_err(at("read", &self.path))?;
        if content.len() as u64 > LIMIT_BYTES {
            return Err(BudgetImageError::Unreadable {
                path: self.path.clone(),
                reason: "larger than 64 MiB, so no budget file",
            });
        }
        Ok(Some(content))
    }

    /// Replaces the content. At every moment of a crash the file is wholly the old or wholly the new one. The old one
    /// stays as `NAME.previous`.
    pub(super) fn replace(&self, content: &[u8]) -> Result<(), BudgetImageError> {
        let new = self.beside(".new");
        let mode = fs::metadata(&self.path).map_or(NEW_FILE_MODE, |metadata| metadata.mode() & 0o777);
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(mode).open(&new).map_err(at("create", &new))?;
        file.set_permissions(Permissions::from_mode(mode)).map_err(at("set the mode of", &new))?;
        file.write_all(content).and_then(|()| file.sync_all()).map_err(at("write", &new))?;
        self.keep_previous()?;
        fs::rename(&new, &self.path).map_err(at("replace", &self.path))?;
        let folder = match self.path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        sync_folder(folder).map_err(at("sync", folder))
    }

    /// Gives the present file a second name, `NAME.rejected-<n>` with the first free number, under which it stays.
    pub(super) fn set_aside(&self) -> Result<PathBuf, BudgetImageError> {
        let mut number = 1_u32;
        loop {
            let kept = self.beside(&format!(".rejected-{number}"));
            match fs::hard_link(&self.path, &kept) {
                Ok(()) => return Ok(kept),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(at("keep the file aside as", &kept)(error)),
            }
        }
    }

    /// A link made under a passing name and renamed, since a link cannot replace a file.
    fn keep_previous(&self) -> Result<(), BudgetImageError> {
        let (link, previous) = (self.beside(".previous.new"), self.beside(".previous"));
        // Left over from a crash.
        let _ = fs::remove_file(&link);
        match fs::hard_link(&self.path, &link) {
            Ok(()) => fs::rename(&link, &previous).map_err(at("replace", &previous)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(at("create", &link)(error)),
        }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = OsString::from(self.path.as_os_str());
        name.push(ending);
        PathBuf::from(name)
    }
}

fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BudgetImageError {
    let path = path.to_owned();
    move |source| BudgetImageError::File { action, path, source }
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
        let file = ImageFile::at(&path);
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
        ImageFile::at(&link).replace(b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "two");
    }

    #[test]
    fn files_set_aside_never_replace_one_another() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("budget");
        let file = ImageFile::at(&path);
        for (number, content) in [(1, "one"), (2, "two")] {
            fs::write(&path, content).unwrap();
            let kept = file.set_aside().unwrap();
            assert_eq!(kept, scratch.path().join(format!("budget.rejected-{number}")));
            file.replace(b"ours").unwrap();
            assert_eq!(fs::read_to_string(kept).unwrap(), content);
        }
    }
}
