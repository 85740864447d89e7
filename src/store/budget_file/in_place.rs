//! The budget file is replaced; in a folder that accepts no new files, as `/etc` may, it is written in place, with complete copies elsewhere.
//!
//! A crash during the write leaves a torn file. Its hash is then neither that of the old nor that of the new content,
//! so the next start copies it and the ledger holds; the fallback directory has the old and the new content.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;

use crate::store::fault_point::FaultPoint;
use crate::store::folder::sync_folder;

use super::back_end::BudgetBackEndError;
use super::file::{BudgetFile, WriteMethod, at, write_new};

const COPY_MODE: u32 = 0o600;

impl BudgetFile {
    /// Overwrites the content, once the fallback directory has the old one as `NAME.previous` and the new one as `NAME.copy`.
    pub(super) fn write_in_place(&self, content: &[u8]) -> Result<(), BudgetBackEndError> {
        let mut file = open_for_writing(&self.path).map_err(at("write", &self.path))?;
        let old = self.present()?;
        self.keep_in_fallback_dir(".previous", &old)?;
        self.keep_in_fallback_dir(".copy", content)?;
        self.unlink_previous(&file)?;
        // A full disk reports an error here, before the file is touched.
        match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, content.len() as u64) {
            Err(error) if [Errno::NOSPC, Errno::DQUOT].contains(&error) => {
                return Err(at("make room for", &self.path)(error.into()));
            }
            // Not every file system supports it.
            _ => {}
        }
        FaultPoint::BudgetFileInPlaceDue.pass();
        FaultPoint::BudgetFileInPlaceTorn.write_all(&mut file, content).map_err(at("write", &self.path))?;
        FaultPoint::BudgetFileInPlaceWritten.pass();
        file.set_len(content.len() as u64).map_err(at("write", &self.path))?;
        FaultPoint::BudgetFileInPlaceCut.pass();
        file.sync_all().map_err(at("write", &self.path))?;
        FaultPoint::BudgetFileInPlaceDone.pass();
        Ok(())
    }

    fn keep_in_fallback_dir(&self, ending: &str, content: &[u8]) -> Result<(), BudgetBackEndError> {
        let (new, kept) = (self.in_fallback_dir(".new"), self.in_fallback_dir(ending));
        write_new(&new, COPY_MODE, content)?;
        fs::rename(&new, &kept).map_err(at("replace", &kept))?;
        FaultPoint::BudgetFileRefugeRenamed.pass();
        sync_folder(&self.fallback_dir).map_err(at("sync", &self.fallback_dir))?;
        FaultPoint::BudgetFileRefugeKept.pass();
        Ok(())
    }

    /// Removes a link to the file, made before its replacement failed: its content must not change too.
    fn unlink_previous(&self, file: &File) -> Result<(), BudgetBackEndError> {
        let previous = self.beside(".previous");
        let Ok(linked) = fs::symlink_metadata(&previous) else { return Ok(()) };
        let present = file.metadata().map_err(at("read", &self.path))?;
        if (linked.dev(), linked.ino()) != (present.dev(), present.ino()) {
            return Ok(());
        }
        fs::remove_file(&previous).map_err(at("remove", &previous))
    }

    /// Replaces the content. After a crash the file is completely the old or completely the new one. The old one stays
    /// as `NAME.previous`. Where the folder accepts no new files, the content is written into the file itself.
    pub(super) fn replace(&self, content: &[u8]) -> Result<WriteMethod, BudgetBackEndError> {
        match self.replace_whole(content) {
            Ok(()) => Ok(WriteMethod::Replaced),
            Err(error) if error.is_refusal() => self.write_in_place(content).map(|()| WriteMethod::InPlace),
            Err(error) => Err(error),
        }
    }
}

/// Opens an existing regular file: neither a link nor a pipe that replaced it.
fn open_for_writing(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NOBODY: u32 = 65_534;

    /// Runs a test on a thread without the rights of root, which no mode binds.
    fn as_nobody(test: impl FnOnce(&Path) + Send) {
        let scratch = tempfile::tempdir().unwrap();
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            std::os::unix::fs::chown(scratch.path(), Some(NOBODY), None).unwrap();
        }
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let nobody = rustix::process::Uid::from_raw(NOBODY);
                if is_root {
                    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                }
                test(scratch.path());
            });
            thread.join().unwrap();
        });
    }

    /// A budget file in a folder of its own, and a fallback directory.
    fn stage(scratch: &Path, content: &str) -> (BudgetFile, std::path::PathBuf) {
        let (folder, fallback_dir) = (scratch.join("etc"), scratch.join("state"));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&fallback_dir).unwrap();
        let path = folder.join("budget");
        fs::write(&path, content).unwrap();
        (BudgetFile::at(&path, &fallback_dir), folder)
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn read(path: impl AsRef<Path>) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn in_a_read_only_folder_the_file_is_written_in_place_and_copied() {
        as_nobody(|scratch| {
            let (file, folder) = stage(scratch, "the old one, which is longer");
            set_mode(&folder, 0o555);
            for (old, new) in [("the old one, which is longer", "new"), ("new", "newer and longer")] {
                assert_eq!(file.replace(new.as_bytes()).unwrap(), WriteMethod::InPlace);
                assert_eq!((read(&file.path), read(file.in_fallback_dir(".copy"))), (new.to_owned(), new.to_owned()));
                assert_eq!(read(file.in_fallback_dir(".previous")), old);
            }
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
            let kept = file.set_aside().unwrap();
            assert_eq!(kept, file.in_fallback_dir(".rejected-1"));
            file.replace(b"ours").unwrap();
            assert_eq!(read(kept), "newer and longer", "what is kept aside stays as it was");
            set_mode(&folder, 0o755);
        });
    }

    #[test]
    fn without_room_for_the_copies_the_file_is_not_touched() {
        as_nobody(|scratch| {
            let (file, folder) = stage(scratch, "old");
            set_mode(&folder, 0o555);
            // No file can be made in its place.
            fs::create_dir(file.in_fallback_dir(".new")).unwrap();
            let error = file.replace(b"new").unwrap_err().to_string();
            assert!(error.contains("cannot create") && error.contains("state"), "{error}");
            assert_eq!(read(&file.path), "old");
            set_mode(&folder, 0o755);
        });
    }

    #[test]
    fn a_read_only_file_is_replaced_where_its_folder_may_be_written() {
        as_nobody(|scratch| {
            let (file, _) = stage(scratch, "old");
            set_mode(&file.path, 0o444);
            assert_eq!(file.replace(b"new").unwrap(), WriteMethod::Replaced);
            assert_eq!((read(&file.path), read(file.beside(".previous"))), ("new".to_owned(), "old".to_owned()));
            assert_eq!(fs::metadata(&file.path).unwrap().mode() & 0o777, 0o444);
        });
    }

    #[test]
    fn a_read_only_file_in_a_read_only_folder_stays_and_is_reported() {
        as_nobody(|scratch| {
            let (file, folder) = stage(scratch, "old");
            set_mode(&file.path, 0o444);
            set_mode(&folder, 0o555);
            let error = file.replace(b"new").unwrap_err().to_string();
            assert!(error.contains("cannot write") && error.contains("Permission denied"), "{error}");
            assert_eq!(read(&file.path), "old");
            set_mode(&folder, 0o755);
        });
    }

    /// As in a folder where everybody may add and only the owner may replace.
    #[test]
    fn a_link_to_the_file_does_not_change_with_it() {
        as_nobody(|scratch| {
            let (file, _) = stage(scratch, "old");
            fs::hard_link(&file.path, file.beside(".previous")).unwrap();
            file.write_in_place(b"new").unwrap();
            assert!(!fs::exists(file.beside(".previous")).unwrap());
            assert_eq!(
                (read(&file.path), read(file.in_fallback_dir(".previous"))),
                ("new".to_owned(), "old".to_owned())
            );
        });
    }
}
