//! Users of this machine that live as long as a test needs them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::daemon::skip::{report_skipped, skip_without_root};

/// Two users with an id that is free, one more than the other.
pub struct Users {
    pub alice: TestUser,
    pub bob: TestUser,
}

/// A user, removed when dropped.
pub struct TestUser {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

/// Of all tests of this process.
static USERS: Mutex<Weak<Users>> = Mutex::new(Weak::new());

impl Users {
    /// The users, made if no other test has them; none where they cannot be made.
    pub fn of_test(test: &str) -> Option<Arc<Self>> {
        if skip_without_root(test) {
            return None;
        }
        if !["useradd", "userdel"].iter().all(|program| Path::new("/usr/sbin").join(program).exists()) {
            report_skipped(test, "there is no useradd");
            return None;
        }
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let there = users.upgrade();
        Some(there.unwrap_or_else(|| {
            let made = Arc::new(Self { alice: TestUser::new("jta"), bob: TestUser::new("jtb") });
            *users = Arc::downgrade(&made);
            made
        }))
    }
}

impl TestUser {
    /// With a name that no other run of the tests has, of the further group `users`.
    fn new(prefix: &str) -> Self {
        let name = format!("{prefix}{}", std::process::id());
        run("useradd", &["--no-create-home", "--home-dir", "/nonexistent", "--user-group", "--groups", "users", &name]);
        let number = |option: &str| {
            let printed = Command::new("id").args([option, "--", &name]).output().unwrap();
            String::from_utf8(printed.stdout).unwrap().trim().parse().unwrap()
        };
        Self { uid: number("-u"), gid: number("-g"), name }
    }

    /// Gives a file or folder to this user, with this mode.
    pub fn owns(&self, path: &Path, mode: u32) {
        give(path, (self.uid, self.gid), mode);
    }
}

impl Drop for TestUser {
    fn drop(&mut self) {
        // Processes of a failed test may still be there.
        run("userdel", &["--force", &self.name]);
    }
}

/// Gives a file or folder to a user and a group.
pub fn give(path: &Path, (uid, gid): (u32, u32), mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::os::unix::fs::chown(path, Some(uid), Some(gid)).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn run(program: &str, arguments: &[&str]) {
    let ran = Command::new(Path::new("/usr/sbin").join(program)).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
