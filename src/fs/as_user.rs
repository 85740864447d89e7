//! Work on files with the rights of another user: the system checks each access as if that user made it.

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// A user of this machine whose rights a process of root takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserRights {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The numbers of all groups of the user.
    pub(crate) groups: Vec<u32>,
}

/// Does the work with the rights of a user, on a thread of its own that ends with it. A process that is not
/// root's does it with its own rights. Blocks.
///
/// Only the effective ids of that thread change: the user can send it no signal.
///
/// # Errors
/// The system starts no thread, or the rights cannot be taken; no work is done then.
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
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

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
