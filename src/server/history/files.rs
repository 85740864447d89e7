//! All access of history to files: few calls, each as the daemon or as a user. Blocking: runs on the pool.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::accounts::{LoginUser, LookupError};
use crate::config::keys::HISTORY_COPY_NAMENODES;
use crate::fs::{
    EntryKind, FileSystem, FileSystems, FileUri, FileUriError, FsError, ListBound, Privacy, UserRights, as_user,
};

/// Of folders (1.2.1 `JobHistory.HISTORY_DIR_PERMISSION`).
const FOLDER_MODE: u32 = 0o755;
/// Of files in the done folder (1.2.1 `JobHistory.HISTORY_FILE_PERMISSION`).
const DONE_FILE_MODE: u32 = 0o744;
/// Of a user's files, as by a umask of 022.
const USER_FILE_MODE: u32 = 0o644;

/// Why files of history cannot be written, listed or removed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HistoryFileError {
    /// The file system says why.
    #[error(transparent)]
    File(#[from] FsError),
    /// Not a path that the daemon can write to.
    #[error(transparent)]
    Path(#[from] FileUriError),
    /// A NameNode that somebody chose.
    #[error("NameNode {0} is none of those that copies are written to; expected one that `{key}` lists", key = HISTORY_COPY_NAMENODES.name)]
    UnknownNameNode(String),
    /// Too late for it.
    #[error(transparent)]
    GateClosed(#[from] GateClosed),
    /// The user cannot be looked up.
    #[error("user {user:?} cannot be looked up: {source}")]
    Lookup { user: String, source: LookupError },
    /// The user's rights cannot be taken.
    #[error("the rights of user {user:?} cannot be taken: {source}")]
    Rights { user: String, source: io::Error },
}

pub(super) type WriteContent<'a> = &'a mut (dyn FnMut(&mut dyn Write) -> io::Result<()> + Send);

/// The files of history, as one user makes them.
#[derive(Clone, Debug)]
pub(super) struct HistoryFiles {
    files: FileSystems,
    mode: u32,
    /// Of copies: writes only while it is open.
    gate: Option<Arc<CopyGate>>,
    /// The rights on this machine that are taken for each work; `None`: those of the daemon, or none are needed.
    rights: Option<UserRights>,
}

/// Whether a process of `own` has the rights of a user on this machine.
fn has_rights_of(user: &str, own: &str, is_root: bool) -> bool {
    is_root || user == own
}

impl HistoryFiles {
    /// The daemon's, in its done folder.
    pub(super) fn done(files: FileSystems) -> Self {
        Self { files, mode: DONE_FILE_MODE, gate: None, rights: None }
    }

    /// The copies of a user in `folder`; none where this process cannot act as the user.
    pub(super) fn of_user(
        files: &FileSystems,
        user: &str,
        folder: &FileUri,
        gate: Arc<CopyGate>,
    ) -> Result<Option<Self>, HistoryFileError> {
        let is_root = rustix::process::geteuid().is_root();
        let rights = match folder.namenode() {
            // A NameNode goes by the name.
            Some(_) => None,
            None if is_root => {
                let found = LoginUser::find(user)
                    .map_err(|source| HistoryFileError::Lookup { user: user.to_owned(), source })?;
                let Some(found) = found else { return Ok(None) };
                Some(UserRights { uid: found.uid, gid: found.gid, groups: found.groups })
            }
            None if !has_rights_of(user, files.user(), is_root) => return Ok(None),
            None => None,
        };
        Ok(Some(Self { files: files.as_user(user), mode: USER_FILE_MODE, gate: Some(gate), rights }))
    }

    /// Makes the outermost folder of the daemon's files. One that other users own or may change is refused.
    pub(super) fn make_root(&self, folder: &FileUri) -> Result<(), HistoryFileError> {
        self.files.of(folder).trusted_folder(folder, FOLDER_MODE, Privacy::Private)?;
        Ok(())
    }

    /// Makes a folder, and those above it, unless it is there.
    pub(super) fn make_folder(&self, folder: &FileUri) -> Result<(), HistoryFileError> {
        let files = self.files.of(folder);
        self.with_rights(|| match files.kind_of(folder)? {
            Some(EntryKind::Folder) => Ok(()),
            _ => files.make_dir_all(folder, FOLDER_MODE),
        })
    }

    pub(super) fn has_folder(&self, folder: &FileUri) -> Result<bool, HistoryFileError> {
        let files = self.files.of(folder);
        self.with_rights(|| Ok(files.kind_of(folder)? == Some(EntryKind::Folder)))
    }

    /// Writes a file as a whole, in place of one that is there: a reader, or a crash, finds the old one or the new one. `block_bytes`:
    /// see [`FileSystem::create_with`](crate::fs::FileSystem::create_with).
    ///
    /// What earlier attempts have left under temporary names is removed: in the daemon's own folder any, each of which is a process's
    /// own, since its successor may write the same file; in a user's folder, where nothing is listed, the only one that there can be.
    /// A temporary name ends as configurations do, which readers of history pass over (1.2.1 `HistoryViewer`).
    pub(super) fn write(
        &self,
        folder: &FileUri,
        name: &str,
        block_bytes: Option<u64>,
        write: WriteContent<'_>,
    ) -> Result<(), HistoryFileError> {
        let (files, mode) = (self.files.of(folder), self.mode);
        let start = format!(".{name}.");
        let path = folder.join(name)?;
        let Some(gate) = self.gate.clone() else {
            let unnamed = folder.join(&format!("{start}{}.xml", std::process::id()))?;
            return self.with_rights(move || {
                remove_unnamed(&files, folder, &start)?;
                files.create_with(&unnamed, mode, block_bytes, write)?;
                files.rename_synced(&unnamed, &path)
            });
        };
        let unnamed = folder.join(&format!("{start}xml"))?;
        self.with_rights({
            let (files, unnamed, gate) = (files.clone(), unnamed.clone(), gate.clone());
            move || {
                files.remove_file(&unnamed)?;
                files
                    .create_with(&unnamed, mode, block_bytes, &mut |file| write(&mut GatedWriter { file, gate: &gate }))
            }
        })?;
        gate.check()?;
        self.with_rights(move || files.rename_synced(&unnamed, &path))
    }

    /// The names in a folder; none if it is not there.
    pub(super) fn names_in(&self, folder: &FileUri) -> Result<Vec<String>, HistoryFileError> {
        match self.files.of(folder).names_in(folder, ListBound::OWN) {
            Ok(names) => Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect()),
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// When a file was changed last, epoch ms.
    pub(super) fn modified_ms(&self, path: &FileUri) -> Result<Option<i64>, HistoryFileError> {
        Ok(self.files.of(path).modified_ms(path)?)
    }

    pub(super) fn remove(&self, path: &FileUri) -> Result<(), HistoryFileError> {
        let files = self.files.of(path);
        match files.kind_of(path)? {
            Some(EntryKind::Folder) => drop(files.remove_dir_all(path)?),
            Some(EntryKind::File) => drop(files.remove_file(path)?),
            None => {}
        }
        Ok(())
    }

    fn with_rights<T: Send>(&self, work: impl FnOnce() -> Result<T, FsError> + Send) -> Result<T, HistoryFileError> {
        self.gate.iter().try_for_each(|gate| gate.check())?;
        match &self.rights {
            None => Ok(work()?),
            Some(rights) => {
                let refused = |source| HistoryFileError::Rights { user: self.files.user().to_owned(), source };
                Ok(as_user(rights, work).map_err(refused)??)
            }
        }
    }
}

/// Removes files whose names begin so and end as temporary ones do.
fn remove_unnamed(files: &FileSystem, folder: &FileUri, start: &str) -> Result<(), FsError> {
    for left in files.names_in(folder, ListBound::OWN)? {
        let left = left.to_string_lossy();
        if left.starts_with(start)
            && left.ends_with(".xml")
            && let Ok(left) = folder.join(&left)
        {
            files.remove_file(&left)?;
        }
    }
    Ok(())
}

/// The end of the job is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the end of the job has been reported: nothing is written to its user's folders after it")]
pub(super) struct GateClosed;

/// Open until the end of a job is reported.
#[derive(Debug, Default)]
pub(super) struct CopyGate {
    is_closed: AtomicBool,
}

/// Writes while the gate is open.
pub(super) struct GatedWriter<'a> {
    pub(super) file: &'a mut dyn Write,
    pub(super) gate: &'a CopyGate,
}

impl CopyGate {
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn check(&self) -> Result<(), GateClosed> {
        if self.is_closed.load(Ordering::SeqCst) { Err(GateClosed) } else { Ok(()) }
    }
}

impl Write for GatedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gate.check().map_err(io::Error::other)?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdfs::tests::fake_hdfs::cluster::{BLOCK, CallFault, Cluster, PACKET, bytes};

    fn names(files: &HistoryFiles, folder: &FileUri) -> Vec<String> {
        files.names_in(folder).unwrap()
    }

    fn write(files: &HistoryFiles, folder: &FileUri, text: &str) -> Result<(), HistoryFileError> {
        files.write(folder, "job_1", None, &mut |file| file.write_all(text.as_bytes()))
    }

    /// A NameNode renames onto no file: between the two calls there is neither, and a daemon that dies there writes the file again.
    #[test]
    fn a_replacement_that_is_cut_off_is_made_up_for_by_the_next_one() {
        let cluster = Cluster::stock(&[None]);
        let files = HistoryFiles::done(FileSystems::with_defaults("mapred"));
        let folder = FileUri::parse(&format!("{}/done", cluster.uri())).unwrap();
        files.make_root(&folder).unwrap();
        write(&files, &folder, "first").unwrap();
        cluster.fail_calls(&[("rename", CallFault::Throws("java.io.IOException"))]);
        write(&files, &folder, "second").unwrap_err();
        assert_eq!(names(&files, &folder), [format!(".job_1.{}.xml", std::process::id())], "as a crash leaves it");
        // Another process has left one, too, and died with the lease of it.
        cluster.leave_open("mapred", "/done/.job_1.1.xml");
        cluster.add_file_of("mapred", "/done/.job_2.1.xml", b"of another job", 128);
        write(&files, &folder, "third").unwrap();
        assert_eq!(names(&files, &folder), [".job_2.1.xml", "job_1"]);
        assert_eq!(cluster.content("/done/job_1").as_deref(), Some(&b"third"[..]));
        assert_eq!(cluster.state.lock().files["/done/job_1"].mode, 0o744);
    }

    #[test]
    fn a_folder_that_may_not_be_written_is_named() {
        const DENIED: &str = "org.apache.hadoop.security.AccessControlException";
        let cluster = Cluster::stock(&[None]);
        let files = HistoryFiles::done(FileSystems::with_defaults("mapred"));
        let folder = FileUri::parse(&format!("{}/done", cluster.uri())).unwrap();
        cluster.refuse("mkdirs", "mapred", "/done", (DENIED, "Permission denied: user=mapred, access=WRITE"));
        let error = files.make_root(&folder).unwrap_err();
        assert!(error.to_string().contains("/done: NameNode 127.0.0.1:"), "{error}");
        assert!(error.to_string().contains("Permission denied: user=mapred"), "{error}");
    }

    #[test]
    fn there_is_no_copy_where_the_daemon_cannot_act_as_the_user() {
        let (files, here) = (FileSystems::with_defaults("mapred"), FileUri::parse("file:/tmp").unwrap());
        // Root: one that this machine does not know; another user: all but itself.
        let found = HistoryFiles::of_user(&files, "no-such-user-here", &here, Arc::default()).unwrap();
        assert!(found.is_none());
        assert!(has_rights_of("mapred", "mapred", false) && !has_rights_of("alice", "mapred", false));
        assert!(has_rights_of("alice", "root", true));
    }

    #[test]
    fn a_users_copy_is_the_users() {
        let cluster = Cluster::stock(&[None]);
        let folder = FileUri::parse(&format!("{}/out/_logs/history", cluster.uri())).unwrap();
        let files =
            HistoryFiles::of_user(&FileSystems::with_defaults("mapred"), "alice", &folder, Arc::default()).unwrap();
        let files = files.unwrap();
        files.make_folder(&folder).unwrap();
        write(&files, &folder, "text").unwrap();
        let state = cluster.state.lock();
        let file = &state.files["/out/_logs/history/job_1"];
        assert_eq!((&*file.owner, file.mode), ("alice", 0o644));
        let made = &state.directories["/out/_logs/history"];
        assert_eq!((&*made.owner, made.mode), ("alice", 0o755));
    }

    #[test]
    fn the_size_of_blocks_is_that_of_the_create_call() {
        let cluster = Cluster::start(&[None, None, None]);
        let files = HistoryFiles::done(FileSystems::new("h1", Ok(Cluster::options())));
        let folder = FileUri::parse(&format!("{}/done", cluster.uri())).unwrap();
        files.make_folder(&folder).unwrap();
        let content = bytes(3 * PACKET);
        for (name, block_bytes) in [("history", Some(PACKET as u64)), ("conf", None)] {
            files.write(&folder, name, block_bytes, &mut |file| file.write_all(&content)).unwrap();
        }
        let of = |name: &str| {
            let file = cluster.state.lock().files[&format!("/done/{name}")].clone();
            (file.block_bytes as usize, file.blocks.len(), cluster.content(&format!("/done/{name}")))
        };
        assert_eq!(of("history"), (PACKET, 3, Some(content.clone())));
        assert_eq!(of("conf"), (BLOCK, 1, Some(content.clone())), "without one, that of the configuration");
        cluster.check();
    }
}
