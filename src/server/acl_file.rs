//! The users that may sign: the ACL file, or the last version of it that could be read.
//!
//! A dedicated thread checks the file: on events of its folder, each second, and for each signed request, which waits
//! for the check. So an edit counts from the next request on, even if the file system sends no events, and a file
//! system that hangs blocks only this thread.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::clock::wall_ms;
use crate::config::keys;
use crate::engine::{AuditEntry, UNKNOWN_USER};
use crate::fs::{FsError, access_of_others, open_named_by_conf};
use crate::market::{Acl, AclError, RetiringKey};

use super::audit_log::write_audit_line;

const MAX_BYTES: u64 = 64 << 20;
/// Interval of checks without a request or an event.
const POLL: Duration = Duration::from_secs(1);
/// Maximum wait of a request for a check; then the previous list counts, and no request waits until that check ends.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Queued checks.
const WAITING: usize = 4;

/// The list and its file. Shared by all that check signatures.
#[derive(Debug)]
pub struct AclFile {
    list: Arc<List>,
    check_requests: SyncSender<CheckRequest>,
    /// Keeps requests in order: the later of two requests of a user must not overtake the earlier one.
    order: tokio::sync::Mutex<()>,
}

/// A request to check the file, with the waiter to notify, if any.
type CheckRequest = Option<oneshot::Sender<()>>;

#[derive(Debug)]
struct List {
    path: PathBuf,
    /// The configuration key that names it.
    key: &'static str,
    current: ArcSwap<Acl>,
    /// The last known marks of the file and of that of old keys; locked during a check.
    seen: Mutex<Marks>,
    error: Mutex<Option<String>>,
    /// Whether a check has outlasted the patience of its request.
    is_stuck: AtomicBool,
    /// Whether a check is queued that no request waits for.
    is_due: AtomicBool,
}

/// Identifies a file's content without reading it. Two changes within the file system's clock resolution still differ
/// in change time or size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileMark {
    inode: u64,
    size_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Of the file and of that of old keys.
type Marks = (Option<FileMark>, Option<FileMark>);

/// Why the list cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AclFileError {
    /// The file is missing or unreadable.
    #[error("{source} ({key})")]
    File {
        source: FsError,
        /// The configuration key that names the file.
        key: &'static str,
    },
    #[error("{}: expected UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error("{0}")]
    Line(#[from] AclError),
    /// The thread could not be started.
    #[error("cannot start the thread that checks the ACL file: {0}")]
    Thread(io::Error),
}

impl AclFile {
    /// Reads the file of the market for the first time; a bad file is an error.
    ///
    /// # Errors
    /// [`AclFileError`]
    pub fn open(path: PathBuf) -> Result<Self, AclFileError> {
        Self::open_named_by(path, keys::ACL_FILE.name)
    }

    /// Reads the file for the first time that this configuration key names; a bad file is an error.
    pub(crate) fn open_named_by(path: PathBuf, key: &'static str) -> Result<Self, AclFileError> {
        let marks = marks_of(&path);
        let acl = read(&path, key)?;
        let list = Arc::new(List {
            path,
            key,
            current: ArcSwap::from_pointee(acl),
            seen: Mutex::new(marks),
            error: Mutex::default(),
            is_stuck: AtomicBool::new(false),
            is_due: AtomicBool::new(false),
        });
        let (check_requests, requests) = sync_channel(WAITING);
        let theirs = Arc::clone(&list);
        let thread = std::thread::Builder::new().name("acl".to_owned());
        thread.spawn(move || theirs.run_checks(&requests)).map_err(AclFileError::Thread)?;
        Ok(Self { list, check_requests, order: tokio::sync::Mutex::default() })
    }

    /// Warns if other users of this machine can read or change the keys in the file.
    pub(crate) fn warn_of_others(&self) {
        for path in [self.path().to_owned(), retiring_path(self.path())] {
            let access = std::fs::metadata(&path).ok().and_then(|metadata| access_of_others(&metadata));
            let path = path.display();
            if let Some(access) = access {
                tracing::warn!("{path} is {access} for others, who could sign with the keys in it: chmod o-rwx {path}");
            }
        }
    }

    pub(crate) fn current(&self) -> Arc<Acl> {
        let acl = self.list.current.load_full();
        // An old key ends at its time, whether or not the file can be read then.
        acl.without_expired(wall_ms()).map_or(acl, Arc::new)
    }

    /// The list after a check for changes. A bad edit, or a file system that does not answer, leaves the last good list
    /// in force.
    pub(crate) async fn latest(&self) -> Arc<Acl> {
        let _order = self.order.lock().await;
        let (done, checked) = oneshot::channel();
        let can_wait = !self.list.is_stuck.load(Ordering::Relaxed);
        if can_wait
            && self.check_requests.try_send(Some(done)).is_ok()
            && timeout(CHECK_TIMEOUT, checked).await.is_err()
        {
            self.list.is_stuck.store(true, Ordering::Relaxed);
        }
        self.current()
    }

    /// Has the file checked soon. Any number of these take one place in the queue, which requests must find open.
    pub(crate) fn check_soon(&self) -> impl Fn() + Send + 'static {
        let (list, check_requests) = (Arc::clone(&self.list), self.check_requests.clone());
        move || {
            if !list.is_due.swap(true, Ordering::Relaxed) {
                // A full queue means that a check is due anyway.
                let _ = check_requests.try_send(None);
            }
        }
    }

    /// Reloads the file even if it looks unchanged, and waits for it. Returns the number of users.
    pub(crate) fn reload(&self) -> Result<usize, String> {
        self.list.check(true);
        self.error().map_or_else(|| Ok(self.current().len()), Err)
    }

    pub(crate) fn error(&self) -> Option<String> {
        self.list.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.list.path
    }
}

impl List {
    /// Runs until all senders are dropped.
    fn run_checks(&self, requests: &Receiver<CheckRequest>) {
        loop {
            let first = match requests.recv_timeout(POLL) {
                Ok(request) => request,
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            // One check serves all requests queued by now.
            let waiting: Vec<CheckRequest> = std::iter::once(first).chain(requests.try_iter()).collect();
            self.is_due.store(false, Ordering::Relaxed);
            self.check(false);
            self.is_stuck.store(false, Ordering::Relaxed);
            for done in waiting.into_iter().flatten() {
                // The waiter may have timed out.
                let _ = done.send(());
            }
        }
    }

    fn check(&self, even_if_unchanged: bool) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = marks_of(&self.path);
        let has_changed = marks.0.is_none() || marks != *seen;
        if !has_changed && !even_if_unchanged {
            return;
        }
        // Taken before reading: a change in between shows at the next check.
        *seen = marks;
        let error = match read(&self.path, self.key) {
            Ok(acl) => {
                if has_changed {
                    let (path, users, admins) = (self.path.display(), acl.len(), acl.admins());
                    let old = match acl.retiring().len() {
                        0 => String::new(),
                        old => format!("; {old} old keys are valid for a while"),
                    };
                    tracing::info!("{path}: {users} users may sign ({admins} administrators){old}");
                }
                let acl = Arc::new(acl);
                let before = self.current.swap(Arc::clone(&acl));
                for entry in edits(&before, &acl, &self.path) {
                    write_audit_line(&entry.to_string());
                }
                None
            }
            Err(wrong) => Some(format!("{wrong}; the last good list stays in force")),
        };
        let before = std::mem::replace(&mut *self.error.lock().unwrap_or_else(PoisonError::into_inner), error.clone());
        if let Some(text) = error.filter(|text| before.as_ref() != Some(text)) {
            tracing::warn!("{text}");
        }
    }
}

/// What an edit has changed. Who edited the file is unknown; no key is named.
fn edits(before: &Acl, after: &Acl, path: &Path) -> Vec<AuditEntry> {
    let entry = |verb, user: &str| AuditEntry::new(verb, UNKNOWN_USER).with("name", user);
    let removed = before.users().filter(|user| after.get(user).is_none());
    let mut edits: Vec<AuditEntry> = removed.map(|user| entry("user-remove", user)).collect();
    for user in after.users() {
        let (Some(is), was) = (after.get(user), before.get(user)) else { continue };
        let role = is.role;
        match was {
            None => edits.push(entry("user-add", user).with("role", role)),
            Some(was) => {
                if was.role != is.role {
                    edits.push(entry("user-role", user).with("role", role));
                }
                let retiring = |acl: &Acl| acl.keys_of(user).skip(1).cloned().collect::<Vec<_>>();
                if was.key != is.key {
                    edits.push(entry("user-key", user).with("old-keys", retiring(after).len()));
                } else if retiring(before).iter().any(|old| !retiring(after).contains(old)) {
                    edits.push(entry("user-key-end", user).with("old-keys", retiring(after).len()));
                }
            }
        }
    }
    edits.into_iter().map(|entry| entry.with("file", path.display())).collect()
}

impl FileMark {
    fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata: Metadata| Self {
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

fn marks_of(path: &Path) -> Marks {
    (FileMark::of(path), FileMark::of(&retiring_path(path)))
}

/// The file of old keys: beside the ACL file, or beside what that links to.
pub(crate) fn retiring_path(acl_file: &Path) -> PathBuf {
    let mut name = std::fs::canonicalize(acl_file).unwrap_or_else(|_| acl_file.to_owned()).into_os_string();
    name.push(".retiring");
    PathBuf::from(name)
}

fn read(path: &Path, key: &'static str) -> Result<Acl, AclFileError> {
    let (acl, errors) = read_all_users(path, key)?;
    errors.into_iter().next().map_or(Ok(acl), |error| Err(error.into()))
}

/// The users and keys of the ACL file and of that of old keys, with all lines that do not count. Errors name the
/// configuration key that names the file.
/// The file of old keys may be missing.
pub(crate) fn read_all_users(path: &Path, key: &'static str) -> Result<(Acl, Vec<AclError>), AclFileError> {
    let (acl, mut errors) = Acl::parse_all(&read_text(path, key)?, &path.display().to_string());
    let retiring = retiring_path(path);
    let text = match read_text(&retiring, key) {
        Err(AclFileError::File { source, .. }) if source.is_not_found() => return Ok((acl, errors)),
        text => text?,
    };
    let (keys, of_old_keys) = RetiringKey::parse_all(&text, &retiring.display().to_string());
    errors.extend(of_old_keys);
    Ok((acl.with_retiring(keys), errors))
}

fn read_text(path: &Path, key: &'static str) -> Result<String, AclFileError> {
    let refused = |source| AclFileError::File { source, key };
    let bytes = open_named_by_conf(path).and_then(|file| file.read_limited(MAX_BYTES)).map_err(refused)?;
    String::from_utf8(bytes).map_err(|_| AclFileError::NotText(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::market::Key;

    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hadoop.acl");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[tokio::test]
    async fn an_edited_list_is_in_force_after_the_next_check() {
        let (_folder, path) = file("alice user k1\n");
        let acl = AclFile::open(path.clone()).unwrap();
        assert!(acl.latest().await.get("bob").is_none());
        std::fs::write(&path, "bob user k2\n").unwrap();
        assert!(acl.latest().await.get("bob").is_some());
        assert!(acl.current().get("alice").is_none(), "who is no longer in the file may no longer sign");
    }

    #[tokio::test(start_paused = true)]
    #[allow(clippy::await_holding_lock, reason = "a check that hangs holds it, and no task waits for it")]
    async fn a_file_system_that_hangs_holds_one_request_up_and_no_more() {
        let (_folder, path) = file("alice user k1\n");
        let acl = AclFile::open(path.clone()).unwrap();
        let began = tokio::time::Instant::now();
        let hanging = acl.list.seen.lock().unwrap();
        std::fs::write(&path, "bob user k2\n").unwrap();
        for _ in 0..10 {
            assert!(acl.latest().await.get("bob").is_none());
        }
        assert_eq!(began.elapsed().as_secs(), CHECK_TIMEOUT.as_secs());
        drop(hanging);
        while acl.list.is_stuck.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        assert!(acl.latest().await.get("bob").is_some());
    }

    #[tokio::test]
    async fn a_request_waits_for_its_check_however_many_events_came_before() {
        let (_folder, path) = file("alice user k1\n");
        let acl = AclFile::open(path.clone()).unwrap();
        let check_soon = acl.check_soon();
        for user in 0..50 {
            std::fs::write(&path, format!("bob{user} user k2\n")).unwrap();
            (0..10 * WAITING).for_each(|_| check_soon());
            assert!(acl.latest().await.get(&format!("bob{user}")).is_some());
        }
    }

    #[tokio::test]
    async fn old_keys_are_read_beside_the_list_and_end_at_their_time() {
        let (_folder, path) = file("alice user new\n");
        let acl = AclFile::open(path.clone()).unwrap();
        let keys = |acl: Arc<Acl>| acl.keys_of("alice").count();
        assert_eq!(keys(acl.latest().await), 1);
        let hour_ms = 3_600_000;
        let lines = |until_ms: i64| format!("alice {until_ms} old\nbob {until_ms} gone\n");
        std::fs::write(retiring_path(&path), lines(wall_ms() + hour_ms)).unwrap();
        assert_eq!(keys(acl.latest().await), 2);
        std::fs::write(retiring_path(&path), lines(wall_ms() - 1)).unwrap();
        assert_eq!(keys(acl.latest().await), 1);
        std::fs::write(retiring_path(&path), "alice soon old\n").unwrap();
        acl.latest().await;
        assert!(acl.error().unwrap().contains("hadoop.acl.retiring:1: "), "{:?}", acl.error());
        std::fs::remove_file(retiring_path(&path)).unwrap();
        assert_eq!(keys(acl.latest().await), 1);
        assert_eq!(acl.error(), None);
    }

    #[test]
    fn each_edited_user_is_a_line_of_the_audit_log_and_no_key_is_in_it() {
        let old_key = |user: &str| RetiringKey { user: user.to_owned(), until_ms: 9, key: Key::new("secret0") };
        let acl = |text: &str| Acl::parse(text, "acl").unwrap();
        let before = acl("alice user secret1\nbob user secret2\ncarol user secret3\ndave user secret4\n");
        let before = before.with_retiring([old_key("dave")]);
        let after = acl("alice user new-secret\nbob admin secret2\ndave user secret4\nerin user secret5\n");
        let after = after.with_retiring([old_key("alice")]);
        let lines: Vec<String> = edits(&before, &after, Path::new("/a")).iter().map(ToString::to_string).collect();
        let expected = [
            "user-remove user=- name=carol file=/a",
            "user-key user=- name=alice old-keys=1 file=/a",
            "user-role user=- name=bob role=admin file=/a",
            "user-key-end user=- name=dave old-keys=0 file=/a",
            "user-add user=- name=erin role=user file=/a",
        ];
        assert_eq!(lines, expected);
        assert!(edits(&after, &after, Path::new("/a")).is_empty());
    }

    #[test]
    fn a_request_during_a_hanging_check_gets_the_previous_list() {
        let (_folder, path) = file("alice user k1\n");
        let acl = AclFile::open(path.clone()).unwrap();
        let hangs = acl.list.seen.lock().unwrap();
        std::fs::write(&path, "bob user k2\n").unwrap();
        let runtime =
            |is_paused| tokio::runtime::Builder::new_current_thread().enable_time().start_paused(is_paused).build();
        let hurried = runtime(true).unwrap();
        for _ in 0..10 * WAITING {
            assert!(hurried.block_on(acl.latest()).get("alice").is_some());
        }
        assert_eq!(acl.error(), None, "nor does health wait");
        drop(hangs);
        let patient = runtime(false).unwrap();
        while patient.block_on(acl.latest()).get("bob").is_none() {}
    }

    #[tokio::test]
    async fn a_bad_edit_is_reported_and_the_last_good_list_stays() {
        let (_folder, path) = file("alice user k1\n");
        let acl = AclFile::open(path.clone()).unwrap();
        std::fs::write(&path, "alice user k1\ncarol user\n").unwrap();
        assert!(acl.latest().await.get("alice").is_some());
        let error = acl.error().unwrap();
        assert!(error.contains("hadoop.acl") && error.contains('2'), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert!(acl.latest().await.get("alice").is_some());
        assert!(acl.error().unwrap().contains("hadoop.acl"));
        std::fs::write(&path, "dave admin k4\n").unwrap();
        assert!(acl.latest().await.get("dave").is_some());
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
