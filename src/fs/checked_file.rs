//! A file that is open for reading, after it was checked on its handle.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::error::{FsError, refused};
use super::path_walk::FoundEntry;

/// Never waits, never takes a terminal over, never follows a link that came in between.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
/// A file server's lease on a file is given back within moments; a lease that is held on purpose is not waited for.
const LEASE_TRIES: u32 = 5;
const LEASE_PAUSE: Duration = Duration::from_millis(20);
/// Most room that is made for a file before it is read.
const ROOM_BYTES: u64 = 1 << 20;

/// File systems whose files the kernel makes up (`linux/magic.h`).
const KERNEL_FILE_SYSTEMS: &[(u32, &str)] = &[
    (0x9fa0, "procfs"),
    (0x6265_6572, "sysfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0xcafe_4a11, "bpf"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x6165_676c, "pstore"),
    (0xde5e_81e4, "efivarfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6573_5543, "fusectl"),
    (0x6e73_6673, "nsfs"),
    (0x6759_6969, "rpc_pipefs"),
    (0x1980_0202, "mqueue"),
    (0x1cd1, "devpts"),
];

/// What a file of others must be before a byte of it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    owners: Option<Vec<u32>>,
    max_bytes: u64,
    is_single: bool,
}

/// A file that is open for reading and was found as expected.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    pub(crate) file: File,
    /// What it was when it was opened. It may grow or shrink since.
    pub(crate) metadata: Metadata,
    /// Where it lies, links resolved.
    pub(crate) path: PathBuf,
}

/// Opens what a walk has found, and looks at it once more on the handle.
pub(super) fn open_found(found: &FoundEntry<'_>, expected: &Expected) -> Result<CheckedFile, FsError> {
    let path = &found.path;
    let not_regular = || FsError::WrongKind { path: path.clone(), expected: "a regular file" };
    // Asked first: to open a device may set it in motion, to open a file of the kernel may have effects too.
    let name = found.name.as_ref().filter(|_| FileType::from_raw_mode(found.stat.st_mode) == FileType::RegularFile);
    let name = name.ok_or_else(not_regular)?;
    check_file_system(&found.entry, path)?;
    let refused = refused("read", path, "a readable file");
    let mut opened = rustix::fs::openat(&found.folder, name, READ, Mode::empty());
    for _ in 0..LEASE_TRIES {
        if !matches!(opened, Err(Errno::WOULDBLOCK)) {
            break;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a lease is given back in its own time; nothing can be waited for"
        )]
        std::thread::sleep(LEASE_PAUSE);
        opened = rustix::fs::openat(&found.folder, name, READ, Mode::empty());
    }
    let opened = match opened {
        // A link, or a device without a driver, that came in between.
        Err(Errno::LOOP | Errno::NXIO | Errno::NODEV) => return Err(not_regular()),
        opened => opened.map_err(&refused)?,
    };
    check_file_system(&opened, path)?;
    let file = File::from(opened);
    let metadata = file.metadata().map_err(|source| FsError::Refused {
        action: "read",
        path: path.clone(),
        expected: "a readable file",
        source,
    })?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    expected.check(path, &metadata)?;
    Ok(CheckedFile { file, metadata, path: path.clone() })
}

pub(super) fn check_file_system(file: impl AsFd, path: &Path) -> Result<(), FsError> {
    let found = rustix::fs::fstatfs(file).map_err(refused("read", path, "a readable file"))?.f_type;
    // The width and sign of the kernel's number depend on the machine.
    match KERNEL_FILE_SYSTEMS.iter().find(|(magic, _)| *magic == found as u32) {
        Some(&(_, file_system)) => Err(FsError::KernelFile { path: path.to_owned(), file_system }),
        None => Ok(()),
    }
}

impl Expected {
    /// A regular file that belongs to one of these users.
    pub(crate) fn file_of(owners: impl IntoIterator<Item = u32>) -> Self {
        Self { owners: Some(owners.into_iter().collect()), ..Self::file_of_any_owner() }
    }

    pub(crate) fn file_of_any_owner() -> Self {
        Self { owners: None, max_bytes: u64::MAX, is_single: false }
    }

    #[must_use]
    pub(crate) fn at_most(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// With one name only: no hard link to another user's file.
    #[must_use]
    pub(crate) fn with_one_link(self) -> Self {
        Self { is_single: true, ..self }
    }

    fn check(&self, path: &Path, metadata: &Metadata) -> Result<(), FsError> {
        if let Some(owners) = self.owners.as_ref().filter(|owners| !owners.contains(&metadata.uid())) {
            let (owner, expected) = (metadata.uid(), owners.clone());
            return Err(FsError::WrongOwner { path: path.to_owned(), owner, expected });
        }
        if self.is_single && metadata.nlink() > 1 {
            return Err(FsError::HardLinks { path: path.to_owned(), links: metadata.nlink() });
        }
        self.check_length(path, metadata.len())
    }

    pub(super) fn check_length(&self, path: &Path, bytes: u64) -> Result<(), FsError> {
        if bytes > self.max_bytes {
            return Err(FsError::TooLong { path: path.to_owned(), bytes, max_bytes: self.max_bytes });
        }
        Ok(())
    }
}

impl CheckedFile {
    /// The whole content, of at most `max_bytes`; never holds more than one byte beyond that in memory, however the file grows meanwhile.
    /// Errors: longer, or the system refuses.
    pub(crate) fn read_limited(mut self, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        let room_bytes = self.metadata.len().min(max_bytes).min(ROOM_BYTES);
        let mut bytes = Vec::with_capacity(room_bytes as usize + 1);
        let read = self.file.by_ref().take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
        if let Err(source) = read {
            return Err(FsError::Refused { action: "read", path: self.path, expected: "a readable file", source });
        }
        if bytes.len() as u64 > max_bytes {
            let bytes = self.metadata.len().max(bytes.len() as u64);
            return Err(FsError::TooLong { path: self.path, bytes, max_bytes });
        }
        Ok(bytes)
    }
}
