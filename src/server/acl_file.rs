//! The list of users that may sign: always what the file says, or the last list that could be read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use crate::fs::{FsError, open_named_by_conf};
use crate::market::{Acl, AclError};

/// Longest list that is read.
const MAX_BYTES: u64 = 64 << 20;

/// The list and the file it comes from. Shared by all who check signatures; blocking, but only for a look at the file.
#[derive(Debug)]
pub struct AclFile {
    path: PathBuf,
    current: ArcSwap<Acl>,
    seen: Mutex<Seen>,
}

/// What was last seen of the file.
#[derive(Debug, Default)]
struct Seen {
    mark: Option<Mark>,
    error: Option<String>,
}

/// What tells one content of a file from another without reading it. A content changed twice within the resolution of the
/// file system's clock still differs in its change time or size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Why the list cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AclFileError {
    /// The file is missing or unreadable.
    #[error("{0} (mapred.priority-scheduler.acl-file)")]
    File(#[from] FsError),
    /// It is not text.
    #[error("{}: expected UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// One of its lines is wrong.
    #[error("{0}")]
    Line(#[from] AclError),
}

// === impl AclFile ===

impl AclFile {
    /// Reads the file for the first time; it must be there and good.
    pub fn open(path: PathBuf) -> Result<Self, AclFileError> {
        let mark = Mark::of(&path);
        let acl = read(&path)?;
        let seen = Mutex::new(Seen { mark, error: None });
        Ok(Self { path, current: ArcSwap::from_pointee(acl), seen })
    }

    /// The list, after a look whether the file has changed. A bad change leaves the last good list in force.
    pub fn current(&self) -> Arc<Acl> {
        self.look(false);
        self.current.load_full()
    }

    /// Reads the file even if it looks unchanged. How many may sign.
    ///
    /// # Errors
    /// What is wrong with it; the last good list stays in force.
    pub fn read_anew(&self) -> Result<usize, String> {
        self.look(true);
        self.error().map_or_else(|| Ok(self.current.load().len()), Err)
    }

    fn look(&self, even_if_unchanged: bool) {
        let mark = Mark::of(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let has_changed = mark.is_none() || mark != seen.mark;
        if has_changed || even_if_unchanged {
            // Taken before reading: a change in between is seen next time.
            seen.mark = mark;
            match read(&self.path) {
                Ok(acl) => {
                    if has_changed {
                        tracing::info!("{}: {} users may sign", self.path.display(), acl.len());
                    }
                    self.current.store(Arc::new(acl));
                    seen.error = None;
                }
                Err(error) => {
                    let text = format!("{error}; the last good list stays in force");
                    if seen.error.as_ref() != Some(&text) {
                        tracing::warn!("{text}");
                    }
                    seen.error = Some(text);
                }
            }
        }
    }

    /// What is wrong with the file now, if anything.
    pub fn error(&self) -> Option<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).error.clone()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

// === impl Mark ===

impl Mark {
    fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata: Metadata| Self {
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

fn read(path: &Path) -> Result<Acl, AclFileError> {
    let bytes = open_named_by_conf(path)?.read_limited(MAX_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| AclFileError::NotText(path.to_owned()))?;
    Ok(Acl::parse(&text, &path.display().to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hadoop.acl");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn an_edited_list_works_at_the_next_look() {
        let (_folder, path) = file("alice user k1\n");
        let acl = AclFile::open(path.clone()).unwrap();
        assert!(acl.current().get("bob").is_none());
        std::fs::write(&path, "bob user k2\n").unwrap();
        assert!(acl.current().get("bob").is_some());
        assert!(acl.current().get("alice").is_none(), "who is no longer in the file may no longer sign");
    }

    #[test]
    fn a_bad_edit_is_told_and_the_last_good_list_stays() {
        let (_folder, path) = file("alice user k1\n");
        let acl = AclFile::open(path.clone()).unwrap();
        std::fs::write(&path, "alice user k1\ncarol user\n").unwrap();
        assert!(acl.current().get("alice").is_some());
        let error = acl.error().unwrap();
        assert!(error.contains("hadoop.acl") && error.contains('2'), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert!(acl.current().get("alice").is_some());
        assert!(acl.error().unwrap().contains("hadoop.acl"));
        std::fs::write(&path, "dave admin k4\n").unwrap();
        assert!(acl.current().get("dave").is_some());
        assert_eq!(acl.error(), None);
    }

    #[test]
    fn a_list_that_was_never_good_is_refused() {
        let (_folder, path) = file("alice\n");
        assert!(matches!(AclFile::open(path.clone()), Err(AclFileError::Line(_))));
        let missing = AclFile::open(path.with_file_name("none")).unwrap_err();
        assert!(missing.to_string().contains("mapred.priority-scheduler.acl-file"), "{missing}");
    }
}
