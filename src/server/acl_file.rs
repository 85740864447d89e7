//! The list of users that may sign: what the file says, or the last list that could be read.
//!
//! A thread of its own looks at the file: when the watch of its folder tells, each second, and when somebody asks, who
//! then waits for it. So an edit counts from the next request on, also where a file system sends no events, and one
//! that hangs keeps nobody but this thread.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::fs::{FsError, access_of_others, open_named_by_conf};
use crate::market::{Acl, AclError};

/// Longest list that is read.
const MAX_BYTES: u64 = 64 << 20;
/// Looks where nobody asks for one and no event comes.
const POLL: Duration = Duration::from_secs(1);
/// Who asks waits so long for a look at a file system that is slow; then the list of before must do.
const LOOK_PATIENCE: Duration = Duration::from_millis(200);
/// Looks that wait for the one under way: where it hangs, who asks then waits for none.
const WAITING: usize = 4;

/// The list and the file it comes from. Shared by all who check signatures.
#[derive(Debug)]
pub struct AclFile {
    list: Arc<List>,
    looks: SyncSender<Look>,
    /// Who asks goes on in the order of asking: of two requests of a user the later one must not come first.
    order: tokio::sync::Mutex<()>,
}

/// A wish that the file be looked at, and who waits for it, if anybody does.
pub(crate) type Look = Option<oneshot::Sender<()>>;

#[derive(Debug)]
struct List {
    path: PathBuf,
    current: ArcSwap<Acl>,
    /// What was last seen of the file; held while it is looked at.
    seen: Mutex<Option<Mark>>,
    /// What is wrong with it.
    error: Mutex<Option<String>>,
}

/// What tells one content of a file from another without reading it. A content changed twice within the resolution of the
/// file system's clock still differs in its change time or size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Why the list cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AclFileError {
    /// The file is missing or unreadable.
    #[error("{0} (mapred.priority-scheduler.acl-file)")]
    File(#[from] FsError),
    /// It is not text.
    #[error("{}: expected UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// One of its lines is wrong.
    #[error("{0}")]
    Line(#[from] AclError),
    /// The system gives no thread.
    #[error("no thread to look at the ACL file: {0}")]
    Thread(io::Error),
}

// === impl AclFile ===

impl AclFile {
    /// Reads the file for the first time; it must be there and good.
    pub fn open(path: PathBuf) -> Result<Self, AclFileError> {
        let mark = Mark::of(&path);
        let acl = read(&path)?;
        let list = List { path, current: ArcSwap::from_pointee(acl), seen: Mutex::new(mark), error: Mutex::default() };
        let list = Arc::new(list);
        let (looks, asked) = sync_channel(WAITING);
        let theirs = Arc::clone(&list);
        let thread = std::thread::Builder::new().name("acl".to_owned());
        thread.spawn(move || theirs.look_when_asked(&asked)).map_err(AclFileError::Thread)?;
        Ok(Self { list, looks, order: tokio::sync::Mutex::default() })
    }

    /// Says so when other users of this machine can read the keys in the file, or put some of their own there.
    pub(crate) fn warn_of_others(&self) {
        let path = self.path().display();
        let access = std::fs::metadata(self.path()).ok().and_then(|metadata| access_of_others(&metadata));
        if let Some(access) = access {
            tracing::warn!(
                "{path} is {access} for others, who could sign with the keys of everybody: chmod o-rwx {path}"
            );
        }
    }

    /// The list in force.
    pub fn current(&self) -> Arc<Acl> {
        self.list.current.load_full()
    }

    /// The list after a look whether the file has changed. A bad change leaves the last good list in force; a file system
    /// that does not answer does, too.
    pub async fn latest(&self) -> Arc<Acl> {
        let _turn = self.order.lock().await;
        let (told, looked) = oneshot::channel();
        if self.looks.try_send(Some(told)).is_ok() {
            let _ = timeout(LOOK_PATIENCE, looked).await;
        }
        self.current()
    }

    /// Where looks are wished for.
    pub(crate) fn looks(&self) -> SyncSender<Look> {
        self.looks.clone()
    }

    /// Reads the file even if it looks unchanged, and waits for it. How many may sign.
    ///
    /// # Errors
    /// What is wrong with it; the last good list stays in force.
    pub fn read_anew(&self) -> Result<usize, String> {
        self.list.look(true);
        self.error().map_or_else(|| Ok(self.current().len()), Err)
    }

    /// What is wrong with the file, if anything.
    pub fn error(&self) -> Option<String> {
        self.list.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.list.path
    }
}

// === impl List ===

impl List {
    /// Until nobody can ask any more.
    fn look_when_asked(&self, asked: &Receiver<Look>) {
        loop {
            let first = match asked.recv_timeout(POLL) {
                Ok(look) => look,
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            // One look does for all that wait by now.
            let waiting: Vec<Look> = std::iter::once(first).chain(asked.try_iter()).collect();
            self.look(false);
            for told in waiting.into_iter().flatten() {
                // Who has lost patience hears nothing.
                let _ = told.send(());
            }
        }
    }

    fn look(&self, even_if_unchanged: bool) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = Mark::of(&self.path);
        let has_changed = mark.is_none() || mark != *seen;
        if !has_changed && !even_if_unchanged {
            return;
        }
        // Taken before reading: a change in between is seen next time.
        *seen = mark;
        let error = match read(&self.path) {
            Ok(acl) => {
                if has_changed {
                    tracing::info!("{}: {} users may sign", self.path.display(), acl.len());
                }
                self.current.store(Arc::new(acl));
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

// === impl Mark ===

impl Mark {
    fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata: Metadata| Self {
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

fn read(path: &Path) -> Result<Acl, AclFileError> {
    let bytes = open_named_by_conf(path)?.read_limited(MAX_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| AclFileError::NotText(path.to_owned()))?;
    Ok(Acl::parse(&text, &path.display().to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hadoop.acl");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[tokio::test]
    async fn an_edited_list_works_at_the_next_look() {
        let (_folder, path) = file("alice user k1\n");
        let acl = AclFile::open(path.clone()).unwrap();
        assert!(acl.latest().await.get("bob").is_none());
        std::fs::write(&path, "bob user k2\n").unwrap();
        assert!(acl.latest().await.get("bob").is_some());
        assert!(acl.current().get("alice").is_none(), "who is no longer in the file may no longer sign");
    }

    #[test]
    fn who_asks_while_a_look_hangs_gets_the_list_of_before() {
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
    async fn a_bad_edit_is_told_and_the_last_good_list_stays() {
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
