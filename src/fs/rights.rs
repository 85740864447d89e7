//! Rights on files: those of this process beyond modes, those of other users, and work with the rights of another user.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

const DAC_OVERRIDE: u32 = 1;
const DAC_READ_SEARCH: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileRights {
    pub(crate) reads_all: bool,
    pub(crate) writes_all: bool,
}

impl FileRights {
    pub(crate) fn of_process() -> Self {
        std::fs::read_to_string("/proc/self/status")
            .ok()
            .and_then(|status| Self::of_status(&status))
            .unwrap_or_default()
    }

    fn of_status(status: &str) -> Option<Self> {
        let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        let effective = u64::from_str_radix(line.trim(), 16).ok()?;
        let has = |number: u32| effective & (1 << number) != 0;
        Some(Self { reads_all: has(DAC_OVERRIDE) || has(DAC_READ_SEARCH), writes_all: has(DAC_OVERRIDE) })
    }
}

/// What others may do with a regular file: read it, write to it; none where neither, or where it is something else.
pub(crate) fn access_of_others(metadata: &Metadata) -> Option<&'static str> {
    const READ: u32 = 0o004;
    const WRITE: u32 = 0o002;
    match (metadata.is_file(), metadata.mode() & (READ | WRITE)) {
        (false, _) => None,
        (true, READ) => Some("readable"),
        (true, WRITE) => Some("writable"),
        (true, 0) => None,
        (true, _) => Some("readable and writable"),
    }
}

/// A user of this machine whose rights a process of root takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserRights {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The numbers of all groups of the user.
    pub(crate) groups: Vec<u32>,
}

/// Does the work with the rights of a user, on a thread of its own that ends with it. A process that is not root's does it with its own
/// rights. Blocks. Only the effective ids of that thread change: the user can send it no signal. Errors: the system starts no thread, or
/// the rights cannot be taken; no work is done then.
pub(crate) fn as_user<T: Send>(user: &UserRights, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    if !rustix::process::geteuid().is_root() || user.uid == 0 {
        return Ok(work());
    }
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    std::thread::scope(|scope| {
        let with_rights = move || -> io::Result<T> {
            // The user last: it may not change groups.
            set_thread_groups(&groups)?;
            set_thread_res_gid(None::<Gid>, gid, None::<Gid>)?;
            set_thread_res_uid(None::<Uid>, uid, None::<Uid>)?;
            Ok(work())
        };
        let started = std::thread::Builder::new().name("as user".to_owned()).spawn_scoped(scope, with_rights)?;
        started.join().unwrap_or_else(|_| Err(io::Error::other("the thread with the user's rights has panicked")))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn capabilities_decide_not_the_user() {
        let rights = |line: &str| FileRights::of_status(&format!("Name:\tx\n{line}\nUid:\t0\n"));
        let expected = |reads_all, writes_all| Some(FileRights { reads_all, writes_all });
        assert_eq!(rights("CapEff:\t000001ffffffffff"), expected(true, true));
        assert_eq!(rights("CapEff:\t0000000000000000"), expected(false, false));
        assert_eq!(rights("CapEff:\t0000000000000004"), expected(true, false));
        assert_eq!(rights("CapEff:\tx"), None);
        assert_eq!(rights("CapPrm:\t0"), None);
    }

    #[test]
    fn only_the_last_three_bits_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "k").unwrap();
        let access = |mode| {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            access_of_others(&std::fs::metadata(&path).unwrap())
        };
        assert_eq!([0o600, 0o640, 0o670, 0o601].map(access), [None; 4]);
        assert_eq!(
            [0o644, 0o602, 0o666].map(access),
            [Some("readable"), Some("writable"), Some("readable and writable")]
        );
        assert_eq!(access_of_others(&std::fs::metadata(folder.path()).unwrap()), None);
    }

    /// Only root can show more.
    #[test]
    fn files_are_the_users_and_rights_do_not_outlast_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let us = rustix::process::geteuid();
        let user = if us.is_root() { (12_345, 12_346) } else { (us.as_raw(), 0) };
        let user = UserRights { uid: user.0, gid: user.1, groups: vec![user.1] };
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (open, closed) = (folder.path().join("open"), folder.path().join("closed"));
        for (path, mode) in [(&open, 0o777), (&closed, 0o700)] {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        as_user(&user, || fs::write(open.join("theirs"), "x")).unwrap().unwrap();
        assert_eq!(fs::metadata(open.join("theirs")).unwrap().uid(), user.uid);
        assert_eq!(as_user(&user, || fs::write(closed.join("theirs"), "x")).unwrap().is_err(), us.is_root());
        fs::write(closed.join("ours"), "x").unwrap();
        assert_eq!(fs::metadata(closed.join("ours")).unwrap().uid(), us.as_raw());
    }
}
