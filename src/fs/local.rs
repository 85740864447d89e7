//! Files of this machine, in the way Hadoop's `LocalFileSystem` leaves them for Java readers.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::hdfs::ListBound;

use super::checked_file::Expected;
use super::checksummed::{ChecksummedFile, checksums_path};
use super::error::{FsError, refused};
use super::folder::Folder;
use super::folder_handle::FolderHandle;
use super::open_file::{FileWriter, OpenFile};
use super::status::{BlockHost, BlockPlace, EntryKind, EntryOwner, EntryStatus, FolderEntry, PERMISSION_BITS};
use super::trusted_folder::{Privacy, TrustedFolder, open_trusted_folder};
use super::untrusted::{open_behind_links, open_below};

/// What stock clients call the machine of a local file (1.2.1 `FileSystem.getFileBlockLocations`).
const LOCAL_HOST: &str = "localhost";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalFileSystem;

impl LocalFileSystem {
    /// A folder of our own; see [`open_trusted_folder`].
    pub(super) fn trusted_folder(
        &self,
        path: &Path,
        mode: u32,
        privacy: Privacy,
    ) -> Result<TrustedFolder<Folder>, FsError> {
        let TrustedFolder { folder, warnings } = open_trusted_folder(path, mode, privacy)?;
        Ok(TrustedFolder { folder: Folder::Local(folder), warnings })
    }

    /// A folder that the caller trusts.
    pub(super) fn folder(&self, path: &Path) -> Result<Folder, FsError> {
        FolderHandle::open(path).map(Folder::Local)
    }

    /// A file, open for reading, which may lie behind links.
    pub(super) fn open(&self, path: &Path, expected: &Expected) -> Result<OpenFile, FsError> {
        open_behind_links(path, expected).map(OpenFile::Local)
    }

    /// A file below `root`; no link below it is followed.
    pub(super) fn open_below(&self, root: &Path, path: &Path, expected: &Expected) -> Result<OpenFile, FsError> {
        open_below(root, path, expected).map(OpenFile::Local)
    }

    /// A file and its checksums, in place of what is there.
    pub(super) fn create(&self, path: &Path) -> Result<FileWriter, FsError> {
        let created = ChecksummedFile::create(path).map(FileWriter::Local);
        created.map_err(refused("write", path, "a folder that may be written to"))
    }

    /// The file or folder that a path leads to, through links.
    pub(super) fn status(&self, path: &Path) -> Result<Option<EntryStatus>, FsError> {
        look_at(path, fs::metadata(path).map(|metadata| status_of(&metadata)))
    }

    /// The whole content of a regular file of at most `max_bytes`, which may lie behind links. Never holds more than that in memory, and
    /// never waits for the writer of a pipe. Errors: [`FsError`]; a folder, pipe or device is [`FsError::WrongKind`].
    pub(crate) fn read_limited(&self, path: &Path, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        open_behind_links(path, &Expected::file_of_any_owner().at_most(max_bytes))?.read_limited(max_bytes)
    }

    /// Writes a file as a whole, with exactly these permission bits, in place of one that is there. Readers see the old file or the new
    /// one; after a crash too, for it is on disk before it gets its name. No `.NAME.crc` is written: Java reads such files unchecked. One
    /// that is there is removed, since the checksums of other content would make every Java reader fail.
    pub(crate) fn write_new(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        let refused = refused("write", path, "a folder that may be written to");
        let Some(name) = path.file_name() else {
            return Err(FsError::WrongKind { path: path.to_owned(), expected: "a file name" });
        };
        let unnamed = path.with_file_name(hidden(name, ".new"));
        unless_missing(fs::remove_file(&unnamed)).map_err(&refused)?;
        let written = (|| {
            let mut file = create(&unnamed, mode)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            remove_checksums(path, name)?;
            fs::rename(&unnamed, path)?;
            sync_folder_of(path)
        })();
        written.map_err(|error| {
            let _ = fs::remove_file(&unnamed);
            refused(error)
        })
    }

    /// Writes a file that was not there, with exactly these permission bits and what `write` writes, which need not be in memory. It is on
    /// disk afterwards. After an error it is gone. Errors: also when the file is there, and what `write` returns.
    pub(crate) fn create_with(
        &self,
        path: &Path,
        mode: u32,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FsError> {
        let refused = refused("write", path, "a name that is free, in a folder that may be written to, with room");
        let mut file = BufWriter::new(create(path, mode).map_err(&refused)?);
        let written =
            write(&mut file).and_then(|()| file.into_inner().map_err(Into::into)).and_then(|file| file.sync_all());
        written.map_err(|error| {
            let _ = fs::remove_file(path);
            refused(error)
        })
    }

    /// Writes a file that was not there, with exactly these permission bits. Readers that learn of it afterwards see it whole, but not on
    /// disk: for what can be made again. Errors: also when the file is there.
    pub(crate) fn write_unsynced(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), FsError> {
        let written = create(path, mode).and_then(|mut file| file.write_all(bytes));
        written.map_err(refused("write", path, "a name that is free, in a folder that may be written to"))
    }

    /// Copies a file to a name that is free, with exactly these permission bits. Errors: also when something has the name.
    pub(super) fn copy_in(&self, from: &mut File, to: &Path, mode: u32) -> Result<(), FsError> {
        let copied = create(to, mode).and_then(|mut target| io::copy(from, &mut target));
        copied.map(drop).map_err(refused("write", to, "a name that is free, in a folder that may be written to"))
    }

    /// Makes a folder and those above it. The folder itself has `mode` afterwards, also when it was there; folders above
    /// are made with 0755.
    pub(crate) fn make_dir_all(&self, path: &Path, mode: u32) -> Result<(), FsError> {
        let refused = refused("make folder", path, "a path whose folders may be made");
        if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o755).create(above).map_err(&refused)?;
        }
        match DirBuilder::new().mode(mode).create(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(refused(error)),
            _ => {}
        }
        let found = FolderHandle::open(path).map_err(|error| match error {
            FsError::Refused { source, .. } if source.kind() == ErrorKind::NotADirectory => {
                FsError::WrongKind { path: path.to_owned(), expected: "a folder" }
            }
            error => error,
        })?;
        if found.mode()? == mode { Ok(()) } else { found.set_mode(mode) }
    }

    /// The names of all that is in a folder, in order.
    pub(crate) fn names_in(&self, path: &Path, bound: ListBound) -> Result<Vec<OsString>, FsError> {
        let read = || -> io::Result<Vec<OsString>> {
            let (mut names, mut count) = (Vec::new(), bound.begin());
            for entry in fs::read_dir(path)? {
                let name = entry?.file_name();
                count.add_entry(name.len()).map_err(io::Error::other)?;
                names.push(name);
            }
            Ok(names)
        };
        let mut names = read().map_err(refused("list", path, "a folder that may be read"))?;
        names.sort_unstable();
        Ok(names)
    }

    /// All that is in a folder, in order; links are followed, and what a dangling one names is left out.
    pub(super) fn entries(&self, path: &Path, bound: ListBound) -> Result<Vec<FolderEntry>, FsError> {
        let mut entries = Vec::new();
        for name in self.names_in(path, bound)? {
            if let Some(status) = self.status(&path.join(&name))? {
                entries.push(FolderEntry { name, status });
            }
        }
        Ok(entries)
    }

    /// One part, on this machine (1.2.1 `FileSystem.getFileBlockLocations`).
    pub(super) fn blocks(&self, _path: &Path, length_bytes: u64) -> Vec<BlockPlace> {
        let hosts = vec![BlockHost { host: LOCAL_HOST.to_owned(), topology: String::new() }];
        let whole = BlockPlace { offset_bytes: 0, length_bytes, hosts };
        if length_bytes > 0 { vec![whole] } else { Vec::new() }
    }

    /// What stands under a path, links not followed; `None`: nothing.
    pub(crate) fn kind_of(&self, path: &Path) -> Result<Option<EntryKind>, FsError> {
        look_at(path, fs::symlink_metadata(path).map(|metadata| kind_of(&metadata)))
    }

    /// Removes a folder with all in it; links in it are removed, not followed. `false` when there was none.
    /// Errors: [`FsError`]; the root is refused.
    pub(crate) fn remove_dir_all(&self, path: &Path) -> Result<bool, FsError> {
        if path.parent().is_none() {
            return Err(FsError::WrongKind { path: path.to_owned(), expected: "a folder below the root" });
        }
        let removed = unless_missing(fs::remove_dir_all(path)).map(|removed| removed.is_some());
        removed.map_err(refused("remove", path, "a folder that may be removed"))
    }

    /// As [`Self::rename`]; the new name is on disk afterwards.
    pub(crate) fn rename_synced(&self, from: &Path, to: &Path) -> Result<(), FsError> {
        self.rename(from, to)?;
        sync_folder_of(to).map_err(refused("rename", from, "a folder that may be read"))
    }

    /// When a file was changed last, epoch ms; `None`: it is not there.
    pub(crate) fn modified_ms(&self, path: &Path) -> Result<Option<i64>, FsError> {
        look_at(path, fs::symlink_metadata(path).map(|metadata| metadata.mtime().saturating_mul(1_000)))
    }

    /// Removes a file, with its checksums; `false` when there was none.
    pub(crate) fn remove_file(&self, path: &Path) -> Result<bool, FsError> {
        let removed = path.file_name().map_or(Ok(()), |name| remove_checksums(path, name));
        let removed = unless_missing(removed.and_then(|()| fs::remove_file(path))).map(|removed| removed.is_some());
        removed.map_err(refused("remove", path, "a file in a folder that may be written to"))
    }

    /// Renames a file or folder, in place of a file that is there. Checksums go with their file; at no time are there some of another one.
    /// Not on disk afterwards, as what is renamed need not be.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> Result<(), FsError> {
        let refused = refused("rename", from, "two paths on one file system");
        if let Some(name) = to.file_name() {
            remove_checksums(to, name).map_err(&refused)?;
        }
        fs::rename(from, to).map_err(&refused)?;
        let (Some(old), Some(new)) = (checksums_path(from), checksums_path(to)) else { return Ok(()) };
        unless_missing(fs::rename(old, new)).map(drop).map_err(refused)
    }
}

/// What was found; none: there is nothing.
fn unless_missing<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

fn look_at<T>(path: &Path, found: io::Result<T>) -> Result<Option<T>, FsError> {
    unless_missing(found).map_err(refused("look at", path, "a folder that may be searched"))
}

fn kind_of(metadata: &Metadata) -> EntryKind {
    if metadata.is_dir() { EntryKind::Folder } else { EntryKind::File }
}

fn status_of(metadata: &Metadata) -> EntryStatus {
    EntryStatus {
        kind: kind_of(metadata),
        length_bytes: metadata.len(),
        block_bytes: None,
        owner: EntryOwner::Uid(metadata.uid()),
        mode: metadata.mode() & PERMISSION_BITS,
    }
}

fn create(path: &Path, mode: u32) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    // Once more, for the umask has taken bits away.
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// `.NAME` with an ending.
fn hidden(name: &OsStr, ending: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(ending);
    hidden
}

fn remove_checksums(path: &Path, name: &OsStr) -> io::Result<()> {
    unless_missing(fs::remove_file(path.with_file_name(hidden(name, ".crc")))).map(drop)
}

/// A name is on disk only when its folder is.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent().filter(|above| !above.as_os_str().is_empty()) {
        Some(above) => File::open(above)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: LocalFileSystem = LocalFileSystem;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_rewritten_file_loses_its_stale_checksums() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jobToken");
        fs::write(&file, "old").unwrap();
        fs::write(folder.path().join(".jobToken.crc"), "stale").unwrap();
        fs::write(folder.path().join(".jobToken.new"), "left by a crash").unwrap();
        LOCAL.write_new(&file, b"new", 0o600).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["jobToken"]);
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn permission_bits_do_not_depend_on_the_umask() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("open");
        LOCAL.write_new(&file, b"", 0o666).unwrap();
        assert_eq!(mode(&file), 0o666);
        let system = folder.path().join("a/b/system");
        LOCAL.make_dir_all(&system, 0o700).unwrap();
        assert_eq!((mode(&system), mode(&folder.path().join("a"))), (0o700, 0o755));
        LOCAL.make_dir_all(&system, 0o733).unwrap();
        assert_eq!(mode(&system), 0o733);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("taken/inside")).unwrap();
        assert!(LOCAL.write_new(&folder.path().join("taken"), b"x", 0o600).is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn reading_stops_at_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("job.xml");
        fs::write(&file, "12345").unwrap();
        assert_eq!(LOCAL.read_limited(&file, 5).unwrap(), b"12345");
        assert!(matches!(LOCAL.read_limited(&file, 4), Err(FsError::TooLong { bytes: 5, max_bytes: 4, .. })));
    }

    #[test]
    fn folders_are_removed_once_and_links_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (job, kept) = (folder.path().join("job"), folder.path().join("kept"));
        fs::create_dir_all(&job).unwrap();
        fs::write(&kept, "kept").unwrap();
        std::os::unix::fs::symlink(&kept, job.join("link")).unwrap();
        assert!(LOCAL.remove_dir_all(&job).unwrap());
        assert!(!LOCAL.remove_dir_all(&job).unwrap());
        assert_eq!(names(folder.path()), ["kept"]);
        assert!(LOCAL.remove_dir_all(Path::new("/")).is_err());
    }

    #[test]
    fn renaming_replaces_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, "new").unwrap();
        fs::write(&to, "old").unwrap();
        fs::write(folder.path().join(".to.crc"), "stale").unwrap();
        LOCAL.rename(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["to"]);
        fs::write(folder.path().join(".to.crc"), "its own").unwrap();
        LOCAL.rename(&to, &from).unwrap();
        assert_eq!(names(folder.path()), [".from.crc", "from"]);
    }

    #[test]
    fn what_stands_under_a_path_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        assert_eq!(LOCAL.kind_of(&path).unwrap(), None);
        std::os::unix::fs::symlink(folder.path(), &path).unwrap();
        assert_eq!(LOCAL.kind_of(&path).unwrap(), Some(EntryKind::File));
        assert_eq!(LOCAL.kind_of(folder.path()).unwrap(), Some(EntryKind::Folder));
        assert!(LOCAL.kind_of(&path.join("x/x/y")).unwrap().is_none());
    }

    #[test]
    fn errors_name_the_path_and_what_was_expected() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display().to_string();
        let missing = folder.path().join("missing");
        let error = LOCAL.read_limited(&missing, 10).unwrap_err();
        assert!(error.is_not_found());
        let texts = [
            error.to_string(),
            LOCAL.read_limited(folder.path(), 10).unwrap_err().to_string(),
            LOCAL.write_new(&missing.join("x"), b"", 0o600).unwrap_err().to_string(),
            LOCAL.rename(&missing, &folder.path().join("x")).unwrap_err().to_string(),
            LOCAL.remove_dir_all(Path::new("/")).unwrap_err().to_string(),
        ];
        insta::assert_snapshot!(texts.join("\n").replace(&here, "HERE"), @"
        cannot read HERE/missing: No such file or directory (os error 2); expected a readable file
        HERE: expected a regular file
        cannot write HERE/missing/x: No such file or directory (os error 2); expected a folder that may be written to
        cannot rename HERE/missing: No such file or directory (os error 2); expected two paths on one file system
        /: expected a folder below the root
        ");
    }
}
