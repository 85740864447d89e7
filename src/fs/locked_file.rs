//! A small file that people and programs edit: replaced as a whole, by one editor at a time, with its mode and owner.

use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use super::FsError;

/// Another editor holds the lock for a moment only.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_BYTES: u64 = 64 << 20;
const PRIVATE: u32 = 0o600;

/// The file, locked against other editors that use this until it is dropped.
#[derive(Debug)]
pub(crate) struct LockedFile {
    path: PathBuf,
    file: File,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FileAccess {
    mode: u32,
    uid: u32,
    gid: u32,
}

impl LockedFile {
    /// Opens and locks a file that exists; behind a link the file that it leads to.
    /// Errors: [`FsError`]; a lock that another editor holds for longer than five seconds.
    pub(crate) fn open(path: &Path) -> Result<Self, FsError> {
        let unreadable = |source| refused("edit", path, "a file that this user may read and write", source);
        let path = std::fs::canonicalize(path).map_err(unreadable)?;
        loop {
            let file = File::open(&path).map_err(unreadable)?;
            if !file.metadata().map_err(unreadable)?.is_file() {
                return Err(FsError::WrongKind { path, expected: "a regular file" });
            }
            lock(&file).map_err(|source| refused("edit", &path, "one editor at a time; try again", source))?;
            // Another editor may have replaced it before it was locked.
            if is_same(&file, &path) {
                return Ok(Self { path, file });
            }
        }
    }

    /// The same, where a missing file is first created, empty and for its owner only. Returns whether it was.
    pub(crate) fn open_or_create(path: &Path) -> Result<(Self, bool), FsError> {
        let created = File::options().write(true).create_new(true).mode(PRIVATE).open(path);
        match created {
            Ok(_) => Ok((Self::open(path)?, true)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((Self::open(path)?, false)),
            Err(source) => Err(refused("create", path, "a folder that this user may write", source)),
        }
    }

    /// The file, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The text, from its beginning at each call. Errors: [`FsError`], also for what is no UTF-8 text.
    pub(crate) fn text(&self) -> Result<String, FsError> {
        let mut text = String::new();
        let read = (&self.file).rewind().and_then(|()| (&self.file).take(MAX_BYTES).read_to_string(&mut text));
        read.map_err(|source| refused("read", &self.path, "UTF-8 text", source))?;
        Ok(text)
    }

    pub(crate) fn access(&self) -> Result<FileAccess, FsError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|source| refused("look at", &self.path, "a file", source))?;
        Ok(FileAccess { mode: metadata.mode() & 0o7777, uid: metadata.uid(), gid: metadata.gid() })
    }

    /// Replaces the text. Readers see the old text or the new one, also after a crash. Errors: [`FsError`]; the old text stays.
    pub(crate) fn replace(&self, text: &str) -> Result<(), FsError> {
        replace_file(&self.path, text, self.access()?)
    }
}

/// Replaces a file, or creates it, with that mode and owner. Errors: [`FsError`]; a file that was there stays as it was.
pub(crate) fn replace_file(path: &Path, text: &str, access: FileAccess) -> Result<(), FsError> {
    let failed = |source| refused("replace", path, "a folder and an owner that this user may write", source);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let write = || {
        let mut file = File::options().write(true).create_new(true).mode(PRIVATE).open(&new)?;
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (access.uid, access.gid) {
            fchown(&file, Some(access.uid), Some(access.gid))?;
        }
        file.set_permissions(Permissions::from_mode(access.mode))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    if let Err(error) = write() {
        // Nothing else can be done about what is left over.
        let _ = std::fs::remove_file(&new);
        return Err(failed(error));
    }
    // The new name is durable once the folder is; a file system that cannot sync folders loses nothing else.
    if let Some(folder) = path.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

/// Writes a file that must not exist, for its owner only.
pub(crate) fn write_private_file(path: &Path, text: &str) -> Result<(), FsError> {
    let expected = "a path where nothing exists yet, in a folder that this user may write";
    let file = File::options().write(true).create_new(true).mode(PRIVATE).open(path);
    let mut file = file.map_err(|source| refused("create", path, expected, source))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|source| {
        let _ = std::fs::remove_file(path);
        refused("write", path, "a file system with room", source)
    })
}

/// Waits on a thread of its own, which is abandoned at the timeout. The lock belongs to the open file, not to the thread.
fn lock(file: &File) -> io::Result<()> {
    let (done, locked) = sync_channel(1);
    let theirs = file.try_clone()?;
    std::thread::Builder::new().name("lock".to_owned()).spawn(move || drop(done.send(theirs.lock())))?;
    locked.recv_timeout(LOCK_TIMEOUT).unwrap_or_else(|_| Err(io::Error::other("another program edits it")))
}

fn is_same(file: &File, path: &Path) -> bool {
    let id = |metadata: &std::fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(held), Ok(named)) if id(&held) == id(&named))
}

fn refused(action: &'static str, path: &Path, expected: &'static str, source: io::Error) -> FsError {
    FsError::Refused { action, path: path.to_owned(), expected, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_replaced_file_keeps_mode_and_link_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("acl"), folder.path().join("link"));
        std::fs::write(&path, "one").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let locked = LockedFile::open(&link).unwrap();
        assert_eq!(locked.text().unwrap(), "one");
        locked.replace("two").unwrap();
        drop(locked);
        assert_eq!(std::fs::read_to_string(&link).unwrap(), "two");
        assert_eq!(mode(&path), 0o640);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn two_editors_lose_no_edit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acl");
        std::fs::write(&path, "").unwrap();
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..10 {
                        let locked = LockedFile::open(path).unwrap();
                        let text = locked.text().unwrap();
                        locked.replace(&format!("{text}{name}")).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&path).unwrap().len(), 40);
    }

    #[test]
    fn a_private_file_is_new_and_a_missing_one_is_created_only_where_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_private_file(&path, "k\n").unwrap();
        assert_eq!(mode(&path), 0o600);
        let again = write_private_file(&path, "k\n").unwrap_err().to_string();
        assert!(again.contains("File exists") && again.contains("expected a path where nothing exists yet"), "{again}");
        let missing = folder.path().join("acl");
        assert!(LockedFile::open(&missing).unwrap_err().is_not_found());
        assert!(LockedFile::open_or_create(&missing).unwrap().1);
        assert_eq!(mode(&missing), 0o600);
        assert!(!LockedFile::open_or_create(&missing).unwrap().1);
        assert!(LockedFile::open(folder.path()).unwrap_err().to_string().ends_with("expected a regular file"));
    }
}
