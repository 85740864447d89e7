//! An output directory that an earlier job left: whether a new job may replace it, and how.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a directory is not replaced.
#[derive(Debug, Error)]
pub enum OverwriteError {
    /// Another user owns it, or something in it.
    #[error("{} belongs to uid {owner}, not to uid {user}; --overwrite removes only the user's own output", path.display())]
    Foreign {
        /// The directory or file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        user: u32,
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
pub struct EarlierOutput {
    output: PathBuf,
    aside: PathBuf,
    is_removed: bool,
}

// === impl EarlierOutput ===

impl EarlierOutput {
    /// Renames `output` if it exists and a job of this user wrote it.
    ///
    /// # Errors
    /// [`OverwriteError`]; then nothing has changed.
    pub fn set_aside(output: &Path) -> Result<Option<Self>, OverwriteError> {
        match output.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(OverwriteError::Io { action: "read", path: output.to_owned(), source }),
            Ok(about) if !about.is_dir() => return Err(OverwriteError::Unknown { path: output.to_owned() }),
            Ok(about) => check_owner(output, about.uid())?,
        }
        for (path, name, owner) in entries(output)? {
            check_owner(&path, owner)?;
            if !is_of_a_job(&name) {
                return Err(OverwriteError::Unknown { path });
            }
        }
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        let aside = output.with_file_name(format!(".{name}.before-{}", std::process::id()));
        let failed = |source| OverwriteError::Io { action: "rename", path: output.to_owned(), source };
        std::fs::rename(output, &aside).map_err(failed)?;
        Ok(Some(Self { output: output.to_owned(), aside, is_removed: false }))
    }

    /// Removes it: the new job is accepted.
    ///
    /// # Errors
    /// [`OverwriteError::Io`]; then part of it may be left.
    pub fn remove(mut self) -> Result<(), OverwriteError> {
        self.is_removed = true;
        let failed = |source| OverwriteError::Io { action: "remove", path: self.aside.clone(), source };
        std::fs::remove_dir_all(&self.aside).map_err(failed)
    }
}

impl Drop for EarlierOutput {
    fn drop(&mut self) {
        if !self.is_removed {
            // It keeps its other name if something new has its own.
            let _ = std::fs::rename(&self.aside, &self.output);
        }
    }
}

/// Whether an unfinished job has left files that look like its result.
pub fn has_parts(output: &Path) -> bool {
    entries(output).is_ok_and(|entries| entries.iter().any(|(_, name, _)| name.starts_with("part-")))
}

fn entries(folder: &Path) -> Result<Vec<(PathBuf, String, u32)>, OverwriteError> {
    let failed = |source| OverwriteError::Io { action: "read", path: folder.to_owned(), source };
    let read = std::fs::read_dir(folder).map_err(failed)?;
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.path(), entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.uid()))
    };
    read.map(entry).collect::<io::Result<_>>().map_err(failed)
}

fn check_owner(path: &Path, owner: u32) -> Result<(), OverwriteError> {
    let user = rustix::process::geteuid().as_raw();
    match owner == user {
        true => Ok(()),
        false => Err(OverwriteError::Foreign { path: path.to_owned(), owner, user }),
    }
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
        assert!(EarlierOutput::set_aside(&output).unwrap().is_none());
        std::fs::create_dir(&output).unwrap();
        for name in ["part-00000", ".part-00000.crc", "_SUCCESS", "._SUCCESS.crc"] {
            std::fs::write(output.join(name), name).unwrap();
        }
        assert!(has_parts(&output));
        let earlier = EarlierOutput::set_aside(&output).unwrap().unwrap();
        assert!(!output.exists());
        drop(earlier);
        assert!(has_parts(&output));
        std::fs::write(output.join("thesis.txt"), "").unwrap();
        let refused = EarlierOutput::set_aside(&output).unwrap_err();
        assert!(refused.to_string().contains("thesis.txt is not the output of a job"), "{refused}");
        std::fs::remove_file(output.join("thesis.txt")).unwrap();
        EarlierOutput::set_aside(&output).unwrap().unwrap().remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(&output, "").unwrap();
        assert!(matches!(EarlierOutput::set_aside(&output), Err(OverwriteError::Unknown { .. })));
    }

    #[test]
    fn what_another_user_owns_stays() {
        // Not ours, unless the tests run as root.
        let refused = EarlierOutput::set_aside(Path::new("/proc")).unwrap_err();
        assert!(matches!(refused, OverwriteError::Foreign { .. } | OverwriteError::Unknown { .. }), "{refused}");
    }
}
