//! Files and folders that only the worker's own user may read, whatever the umask: tokens, map output and logs.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Of folders, and of files that may be executed.
pub(crate) const FOLDER_MODE: u32 = 0o700;
pub(crate) const FILE_MODE: u32 = 0o600;

/// Makes a folder, and those above it that are missing. The folder itself has [`FOLDER_MODE`] afterwards, also when it was there.
/// Errors: those of the system; a link or a file in the folder's place.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)?;
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits();
    let folder = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    set_mode(&folder, FOLDER_MODE)
}

/// A new, empty file in place of one that is there. Errors: those of the system; a link in the file's place.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().write(true).create(true).truncate(true))
}

/// A file that is read and appended to, created if missing.
pub(crate) fn open_to_read_and_append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true).append(true).create(true))
}

/// A file that was not there. Errors: as [`create_file`]; also when something is there.
pub(crate) fn create_new_file(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().write(true).create_new(true))
}

/// A file with this content, in place of one that is there.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut create_file(path)?, bytes)
}

/// Opens a file without following a link or waiting for the other end of a pipe.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    let file = options.mode(FILE_MODE).custom_flags(flags.cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is no regular file"));
    }
    set_mode(&file, FILE_MODE)?;
    Ok(file)
}

/// On the open file: no other can take its place in between.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_was_open_to_others_is_not_afterwards() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
        fs::create_dir(at("folder")).unwrap();
        fs::set_permissions(at("folder"), Permissions::from_mode(0o777)).unwrap();
        make_folder(&at("folder")).unwrap();
        make_folder(&at("a/b/c")).unwrap();
        assert_eq!([mode("folder"), mode("a"), mode("a/b"), mode("a/b/c")], [0o700; 4]);
        for name in ["created", "appended"] {
            fs::write(at(name), "old").unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(0o666)).unwrap();
        }
        drop(create_file(&at("created")).unwrap());
        drop(open_to_read_and_append(&at("appended")).unwrap());
        drop(create_new_file(&at("new")).unwrap());
        assert_eq!([mode("created"), mode("appended"), mode("new")], [0o600; 3]);
        assert_eq!((fs::read(at("created")).unwrap(), fs::read(at("appended")).unwrap()), (vec![], b"old".to_vec()));
    }

    #[test]
    fn neither_links_nor_pipes_are_written_to() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("victim"), "kept").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink(at("victim"), at("link")).unwrap();
        symlink(at("folder"), at("folder-link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for name in ["link", "pipe", "folder"] {
            assert!(create_file(&at(name)).is_err() && open_to_read_and_append(&at(name)).is_err(), "{name}");
        }
        assert!(make_folder(&at("folder-link")).is_err() && make_folder(&at("victim")).is_err());
        assert_eq!(fs::read(at("victim")).unwrap(), b"kept");
    }
}
