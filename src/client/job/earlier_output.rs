//! An output directory that an earlier job left: whether a new job may replace it, and how.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::fs::{EntryKind, EntryOwner, FileSystem, FileSystems, FileUri, FolderEntry, FsError, ListBound};

/// Why a directory is not replaced.
#[derive(Debug, Error)]
pub enum OverwriteError {
    /// Another user owns it, or something in it.
    #[error("{} belongs to {owner}, not to {user}; --overwrite removes only the user's own output", path.display())]
    Foreign {
        /// The directory or file.
        path: PathBuf,
        /// Its owner.
        owner: EntryOwner,
        /// The user it is reached as.
        user: EntryOwner,
    },
    /// Something in it is not what jobs write.
    #[error("{} is not the output of a job; --overwrite removes a directory with part files, _SUCCESS and _logs only", path.display())]
    Unknown {
        /// The file or directory.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

/// An output directory under another name beside its own. It returns on drop, unless it is removed.
#[derive(Debug)]
pub(crate) struct EarlierOutput {
    files: FileSystem,
    output: FileUri,
    aside: FileUri,
    is_removed: bool,
}

impl EarlierOutput {
    /// Renames `output` if it exists and a job of this user wrote it. Errors: [`OverwriteError`]; then nothing has changed.
    pub(crate) fn set_aside(files: &FileSystems, output: &FileUri) -> Result<Option<Self>, OverwriteError> {
        let files = files.of(output);
        let unknown = |path: &FileUri| OverwriteError::Unknown { path: path.shown_path() };
        match files.status(output).map_err(failed("read", output))? {
            None => return Ok(None),
            Some(status) if status.kind == EntryKind::File => return Err(unknown(output)),
            Some(status) => check_owner(&files, output, &status.owner)?,
        }
        for FolderEntry { name, status } in files.entries(output, ListBound::OF_USER).map_err(failed("read", output))? {
            let name = name.to_string_lossy();
            let path = output.join(&name).map_err(|_| unknown(output))?;
            check_owner(&files, &path, &status.owner)?;
            if !is_of_a_job(&name) {
                return Err(unknown(&path));
            }
        }
        let (Some(above), Some(name)) = (output.parent(), output.name()) else { return Err(unknown(output)) };
        let aside = above.join(&format!(".{name}.before-{}", std::process::id())).map_err(|_| unknown(output))?;
        files.rename(output, &aside).map_err(failed("rename", output))?;
        Ok(Some(Self { files, output: output.clone(), aside, is_removed: false }))
    }

    /// Removes it: the new job is accepted. Errors: [`OverwriteError::Io`]; then part of it may be left.
    pub(crate) fn remove(mut self) -> Result<(), OverwriteError> {
        self.is_removed = true;
        self.files.remove_dir_all(&self.aside).map(drop).map_err(failed("remove", &self.aside))
    }
}

impl Drop for EarlierOutput {
    fn drop(&mut self) {
        if !self.is_removed {
            // It keeps its other name if something new has its own.
            let _ = self.files.rename(&self.aside, &self.output);
        }
    }
}

/// Whether an unfinished job has left files that look like its result.
pub(crate) fn has_parts(files: &FileSystems, output: &FileUri) -> bool {
    let names = files.of(output).names_in(output, ListBound::OF_USER);
    names.is_ok_and(|names| names.iter().any(|name| name.to_string_lossy().starts_with("part-")))
}

/// Whether a job that ended early has left a directory: no job has completed there, and none is at work.
pub(crate) fn is_left_over(files: &FileSystems, output: &FileUri) -> bool {
    let names = files.of(output).names_in(output, ListBound::OF_USER);
    names.is_ok_and(|names| names.iter().all(|name| !matches!(&*name.to_string_lossy(), "_SUCCESS" | "_temporary")))
}

/// For `map_err`: what was tried with which path.
fn failed<'a>(action: &'static str, path: &'a FileUri) -> impl Fn(FsError) -> OverwriteError + use<'a> {
    move |error| OverwriteError::Io { action, path: path.shown_path(), source: error.into() }
}

fn check_owner(files: &FileSystem, path: &FileUri, owner: &EntryOwner) -> Result<(), OverwriteError> {
    if files.is_own(owner) {
        return Ok(());
    }
    let (owner, user) = (owner.clone(), files.own_name());
    Err(OverwriteError::Foreign { path: path.shown_path(), owner, user })
}

/// Names that 1.2.1 `FileOutputCommitter` and the local file system write.
fn is_of_a_job(name: &str) -> bool {
    let without_checksum = name.strip_prefix('.').and_then(|name| name.strip_suffix(".crc")).unwrap_or(name);
    let is_part =
        without_checksum.strip_prefix("part-").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_part || matches!(without_checksum, "_SUCCESS" | "_logs" | "_temporary")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_job_wrote_is_set_aside_and_it_returns_unless_removed() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let uri = FileUri::parse(output.to_str().unwrap()).unwrap();
        let files = FileSystems::with_defaults("alice");
        assert!(EarlierOutput::set_aside(&files, &uri).unwrap().is_none());
        std::fs::create_dir(&output).unwrap();
        for name in ["part-00000", ".part-00000.crc", "_SUCCESS", "._SUCCESS.crc"] {
            std::fs::write(output.join(name), name).unwrap();
        }
        assert!(has_parts(&files, &uri) && !is_left_over(&files, &uri));
        std::fs::remove_file(output.join("_SUCCESS")).unwrap();
        assert!(is_left_over(&files, &uri));
        std::fs::create_dir(output.join("_temporary")).unwrap();
        assert!(!is_left_over(&files, &uri), "a job is at work there");
        std::fs::remove_dir(output.join("_temporary")).unwrap();
        let earlier = EarlierOutput::set_aside(&files, &uri).unwrap().unwrap();
        assert!(!output.exists());
        drop(earlier);
        assert!(has_parts(&files, &uri));
        std::fs::write(output.join("thesis.txt"), "").unwrap();
        let refused = EarlierOutput::set_aside(&files, &uri).unwrap_err();
        assert!(refused.to_string().contains("thesis.txt is not the output of a job"), "{refused}");
        std::fs::remove_file(output.join("thesis.txt")).unwrap();
        EarlierOutput::set_aside(&files, &uri).unwrap().unwrap().remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(&output, "").unwrap();
        assert!(matches!(EarlierOutput::set_aside(&files, &uri), Err(OverwriteError::Unknown { .. })));
    }

    #[test]
    fn what_another_user_owns_stays() {
        // Not ours, unless the tests run as root.
        let refused = EarlierOutput::set_aside(&FileSystems::with_defaults("alice"), &FileUri::parse("/proc").unwrap())
            .unwrap_err();
        assert!(matches!(refused, OverwriteError::Foreign { .. } | OverwriteError::Unknown { .. }), "{refused}");
    }
}
