//! Users that only the processes of a test know: tables of users of their own, in a mount namespace. The machine's tables stay as they
//! are, which other tests bind others over.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::daemon::skip::{report_skipped, skip_without_root};

/// Ids from here on are no real user's.
const FIRST_UID: u32 = 200_000;

/// Two users with ids that no other test has.
pub struct Users {
    pub alice: TestUser,
    pub bob: TestUser,
    tables: TempDir,
}

/// A user.
pub struct TestUser {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

impl Users {
    /// None where there can be none.
    pub fn of_test(test: &str) -> Option<Arc<Self>> {
        if skip_without_root(test) {
            return None;
        }
        let unshared = Command::new("unshare").args(["--mount", "true"]).stderr(Stdio::null()).status();
        if !unshared.is_ok_and(|status| status.success()) {
            report_skipped(test, "no mount namespace can be made");
            return None;
        }
        let tables = tempfile::tempdir().unwrap();
        give(tables.path(), (0, 0), 0o755);
        let (alice, bob) = (TestUser::new("jta"), TestUser::new("jtb"));
        let mut passwd = std::fs::read_to_string("/etc/passwd").unwrap();
        let mut group = String::new();
        for line in std::fs::read_to_string("/etc/group").unwrap().lines() {
            group += line;
            if line.starts_with("users:") {
                group += if line.ends_with(':') { "" } else { "," };
                group += &format!("{},{}", alice.name, bob.name);
            }
            group.push('\n');
        }
        for TestUser { name, uid, gid } in [&alice, &bob] {
            passwd += &format!("{name}:x:{uid}:{gid}::/nonexistent:/bin/sh\n");
            group += &format!("{name}:x:{gid}:\n");
        }
        for (name, text) in [("passwd", passwd), ("group", group)] {
            let path = tables.path().join(name);
            std::fs::write(&path, text).unwrap();
            give(&path, (0, 0), 0o644);
        }
        Some(Arc::new(Self { alice, bob, tables }))
    }

    /// A command that runs its arguments, a program first, where these users are known, after a shell has run `first`.
    pub fn known_to(&self, first: &str) -> Command {
        let bind = |name: &str| format!("mount --bind {0}/{name} /etc/{name}", self.tables.path().display());
        let script = format!("{} && {} && {first} && exec \"$@\"", bind("passwd"), bind("group"));
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, "sh"]);
        command
    }
}

impl TestUser {
    /// Of the further group `users`.
    fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let uid = FIRST_UID + std::process::id() % 100_000 * 100 + COUNT.fetch_add(1, Ordering::Relaxed) % 100;
        Self { uid, gid: uid, name: format!("{name}{uid}") }
    }

    /// Gives a file or folder to this user, with this mode.
    pub fn owns(&self, path: &Path, mode: u32) {
        give(path, (self.uid, self.gid), mode);
    }
}

/// Gives a file or folder to a user and a group.
pub fn give(path: &Path, (uid, gid): (u32, u32), mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::os::unix::fs::chown(path, Some(uid), Some(gid)).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
