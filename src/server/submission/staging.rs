//! The staging directory of a job: which one it must be, and its owners.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{Settings, excerpt};
use crate::fs::{EntryKind, EntryOwner, Expected, FileSystems, FileUri, Folder, FsError, ListBound, OpenFile, Privacy};
use crate::model::JobId;
use crate::server::accounts::Accounts;

use super::error::SubmissionError;

/// Name of a user's folder for the directories of jobs.
pub(super) const AREA: &str = ".staging";

/// As Hadoop's own staging root: each user makes a folder, and can rename only that one.
const ROOT_MODE: u32 = 0o1777;

/// Makes the staging root, at the start. One that other users own or may change is refused.
/// One that cannot be made is only logged, since clients may make it.
pub(crate) fn make_staging_root(settings: &Settings) -> Result<(), FsError> {
    let root = &settings.directories.staging_root;
    let files = settings.files.of(root);
    match files.trusted_folder(root, ROOT_MODE, Privacy::Shared) {
        Ok(found) => found.warnings.iter().for_each(|warning| tracing::warn!("{warning}")),
        Err(error @ FsError::Refused { .. }) => {
            tracing::warn!("no job can be staged until the staging root exists: {error}")
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Where clients put the files of their jobs: `<root>/<user>/.staging/<job>`.
#[derive(Clone, Debug)]
pub(super) struct StagingRoot {
    files: FileSystems,
    root: FileUri,
    accounts: Arc<Accounts>,
}

/// The open directory of one job, whose files belong to the submitter, root or the daemon's user.
#[derive(Debug)]
pub(super) struct JobDirectory {
    uri: FileUri,
    folder: Folder,
    owners: Vec<u32>,
}

impl StagingRoot {
    pub(super) fn new(settings: &Settings) -> Self {
        let files = settings.files.clone();
        Self { files, root: settings.directories.staging_root.clone(), accounts: Arc::new(Accounts::new()) }
    }

    #[cfg(test)]
    pub(super) fn at(root: FileUri) -> Self {
        Self { files: FileSystems::with_defaults("alice"), root, accounts: Arc::new(Accounts::new()) }
    }

    /// Opens the directory that a client named for its job. Blocking.
    ///
    /// No link is followed below the root. The directory and its parent must belong to the submitter, if this machine
    /// knows the name, else to the owner of `<root>/<user>`; root and the daemon's user are allowed in any case.
    pub(super) fn open(&self, user: &str, job: JobId, named: &str) -> Result<JobDirectory, SubmissionError> {
        let uri = self.root.resolve(named).map_err(|source| {
            // The same error about a text that may be repeated.
            let source = self.root.resolve(&excerpt(named)).err().unwrap_or(source);
            SubmissionError::Directory { job, source }
        })?;
        if self.job_directory(user, job).as_ref() != Some(&uri) {
            let (directory, expected) = (excerpt(named), format!("{}/{}/{AREA}/{job}", self.root, excerpt(user)));
            return Err(SubmissionError::OtherDirectory { job, directory, expected });
        }
        let (_, folder, owners) = self.find(user, job)?;
        Ok(JobDirectory { uri, folder, owners })
    }

    /// Removes the directory of a completed or rejected job; `false` if it does not exist, or is outside the root and
    /// stays. Blocking.
    pub(super) fn remove(&self, job: JobId, named: &str) -> Result<bool, FsError> {
        let Some(user) = self.root.resolve(named).ok().and_then(|uri| self.user_of(job, &uri)) else {
            tracing::warn!("not removing the directory of {job}: expected one in {}/USER/{AREA}", self.root);
            return Ok(false);
        };
        let removed = self.find(&user, job).and_then(|(area, _, _)| {
            let is_removed = area.remove(job.to_string().as_ref())?;
            self.remove_empty_home(&user, &area)?;
            Ok(is_removed)
        });
        match removed {
            Err(error) if error.is_not_found() => Ok(false),
            removed => removed,
        }
    }

    /// Removes the folders of a user that the daemon has made for handed-over files, when no job is left in them: the user's
    /// own client would refuse to stage there.
    fn remove_empty_home(&self, user: &str, area: &Folder) -> Result<(), FsError> {
        let ours = rustix::process::geteuid();
        if ours.is_root() || area.owner()? != EntryOwner::Uid(ours.as_raw()) {
            return Ok(());
        }
        let root = self.folder(user)?;
        let home = root.folder(Path::new(user))?;
        if home.owner()? == EntryOwner::Uid(ours.as_raw()) && home.remove_empty_folder(AREA.as_ref())? {
            root.remove_empty_folder(user.as_ref())?;
        }
        Ok(())
    }

    /// The innermost folder of a job that can be seen, and its permission bits: the one that is closed to a process that may not
    /// read what lies in it.
    pub(super) fn closed_folder(&self, user: &str, job: JobId) -> Option<(PathBuf, u32)> {
        let directory = self.job_directory(user, job)?;
        directory.local_path()?.ancestors().take(3).find_map(|folder| {
            let metadata = std::fs::symlink_metadata(folder).ok()?;
            Some((folder.to_owned(), metadata.mode() & 0o7777))
        })
    }

    pub(super) fn uri(&self) -> &FileUri {
        &self.root
    }

    /// The root, as a user.
    fn folder(&self, user: &str) -> Result<Folder, FsError> {
        self.files.as_user(user).of(&self.root).folder(&self.root)
    }

    /// The number of a user, if this machine knows the name.
    pub(super) fn uid_of(&self, user: &str) -> Option<u32> {
        self.accounts.uid_of(user)
    }

    /// The length of all files of a job, bytes; 0 for what cannot be read. Blocking.
    pub(super) fn size_of(&self, user: &str, job: JobId) -> u64 {
        let Ok((_, directory, _)) = self.find(user, job) else { return 0 };
        size_of(&directory, 0, &mut ListBound::OWN.clone()).unwrap_or(0)
    }

    /// The directory of a job; `None` if the user's name cannot be a folder's.
    pub(super) fn job_directory(&self, user: &str, job: JobId) -> Option<FileUri> {
        self.root.join(user).ok()?.join(AREA).ok()?.join(&job.to_string()).ok()
    }

    /// The user to whose job the directory belongs.
    fn user_of(&self, job: JobId, directory: &FileUri) -> Option<String> {
        let user = directory.below(&self.root)?.split('/').next()?.to_owned();
        (self.job_directory(&user, job)? == *directory).then_some(user)
    }

    /// The user's staging folder, the job's directory in it, and the allowed owners of both and of the files.
    fn find(&self, user: &str, job: JobId) -> Result<(Folder, Folder, Vec<u32>), FsError> {
        let home = self.folder(user)?.folder(Path::new(user))?;
        let area = home.folder(Path::new(AREA))?;
        let directory = area.folder(Path::new(&job.to_string()))?;
        let found = [area.owner()?, directory.owner()?];
        let mut owners = vec![0, rustix::process::geteuid().as_raw()];
        owners.dedup();
        // The name is looked up only if the files have another owner.
        if found.iter().any(|owner| matches!(owner, EntryOwner::Uid(uid) if !owners.contains(uid))) {
            let known = self.accounts.uid_of(user).map(EntryOwner::Uid);
            if let EntryOwner::Uid(owner) = known.map_or_else(|| home.owner(), Ok)? {
                owners.insert(0, owner);
            }
        }
        for (folder, owner) in [&area, &directory].into_iter().zip(found) {
            let path = folder.path().to_owned();
            match owner {
                EntryOwner::Uid(owner) if !owners.contains(&owner) => {
                    return Err(FsError::WrongOwner { path, owner, expected: owners });
                }
                // Where any user may make and rename folders in the root, another one may have put it there.
                EntryOwner::Name(owner) if owner != user => {
                    let (part, reason) = (path.clone(), format!("belongs to {owner}"));
                    return Err(FsError::Untrusted {
                        path,
                        part,
                        reason,
                        expected: "expected a folder of the submitter",
                    });
                }
                _ => {}
            }
        }
        Ok((area, directory, owners))
    }
}

/// The length of all files below a folder.
fn size_of(folder: &Folder, level: usize, bound: &mut ListBound) -> Result<u64, FsError> {
    const MAX_LEVEL: usize = 16;
    let mut bytes = 0_u64;
    for name in folder.names(*bound)? {
        // Of the whole, not of each folder: they are a user's.
        bound.entries = bound.entries.saturating_sub(1);
        let Some(status) = folder.status_of(&name)? else { continue };
        bytes = bytes.saturating_add(match status.kind {
            EntryKind::Folder if level < MAX_LEVEL => size_of(&folder.folder(Path::new(&name))?, level + 1, bound)?,
            _ => status.length_bytes,
        });
    }
    Ok(bytes)
}

impl JobDirectory {
    pub(super) fn uri(&self) -> &FileUri {
        &self.uri
    }

    /// The path of a file of the job, for messages.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.uri.shown_path().join(name)
    }

    /// Opens a file of the job, also in a folder below. Blocking.
    pub(super) fn open_file(&self, name: &Path) -> Result<OpenFile, FsError> {
        let expected = Expected::file_of(self.owners.iter().copied()).with_one_link();
        self.folder.file(name, &expected)
    }

    /// Reads a file of the job of at most `max_bytes`. Blocking, without a timeout.
    pub(super) fn read(&self, name: &str, max_bytes: u64) -> Result<Vec<u8>, FsError> {
        let expected = Expected::file_of(self.owners.iter().copied()).at_most(max_bytes).with_one_link();
        self.folder.file(Path::new(name), &expected)?.read_limited(max_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    /// Users that no machine has.
    const SUBMITTER: u32 = 54_321;
    const NEIGHBOUR: u32 = 54_322;

    struct Area {
        _scratch: tempfile::TempDir,
        root: PathBuf,
        staging: StagingRoot,
        job: JobId,
    }

    impl Area {
        /// A directory of the job of user `u-1`, which no machine has.
        fn new() -> Self {
            let scratch = tempfile::tempdir().unwrap();
            let root = scratch.path().canonicalize().unwrap().join("staging");
            let uri = FileUri::parse(root.to_str().unwrap()).unwrap();
            let staging = StagingRoot::at(uri);
            let area = Self { _scratch: scratch, root, staging, job: "job_7_0001".parse().unwrap() };
            fs::create_dir_all(area.path("u-1/.staging/job_7_0001")).unwrap();
            fs::write(area.path("u-1/.staging/job_7_0001/job.xml"), "text").unwrap();
            area
        }

        fn path(&self, path: &str) -> PathBuf {
            self.root.join(path)
        }

        fn open(&self, user: &str) -> Result<JobDirectory, SubmissionError> {
            let named = self.path(&format!("{user}/.staging/{}", self.job));
            self.staging.open(user, self.job, named.to_str().unwrap())
        }

        fn read(&self) -> Result<String, String> {
            let directory = self.open("u-1").map_err(|error| error.to_string())?;
            let bytes = directory.read("job.xml", 100).map_err(|error| error.to_string())?;
            Ok(String::from_utf8(bytes).unwrap())
        }

        fn remove(&self, path: &str) -> Result<bool, FsError> {
            self.staging.remove(self.job, self.path(path).to_str().unwrap())
        }
    }

    #[test]
    fn no_link_leads_to_files_or_away_from_what_is_removed() {
        let place = Area::new();
        fs::rename(place.path("u-1"), place.path("u-2")).unwrap();
        fs::create_dir(place.path("u-1")).unwrap();
        for (link, target) in [
            ("u-1", "u-2"),
            ("u-1/.staging", "../u-2/.staging"),
            ("u-1/.staging/job_7_0001", "../../u-2/.staging/job_7_0001"),
        ] {
            let _ = fs::remove_dir_all(place.path("u-1"));
            fs::create_dir_all(place.path(link).parent().unwrap()).unwrap();
            symlink(target, place.path(link)).unwrap();
            assert!(place.read().unwrap_err().contains("is a symbolic link"), "{link}");
            assert!(place.remove("u-1/.staging/job_7_0001").is_err(), "{link}");
            assert!(place.path("u-2/.staging/job_7_0001/job.xml").exists(), "{link}");
            let _ = fs::remove_file(place.path("u-1"));
        }
    }

    #[test]
    fn nothing_else_is_removed() {
        let place = Area::new();
        fs::create_dir_all(place.path("u-1/.staging/job_7_0002")).unwrap();
        fs::create_dir_all(place.path("u-1/job_7_0001")).unwrap();
        fs::create_dir_all(place.path("u-1/.staging/deep/job_7_0001")).unwrap();
        for path in
            ["", "u-1", "u-1/.staging", "u-1/.staging/job_7_0002", "u-1/job_7_0001", "u-1/.staging/deep/job_7_0001"]
        {
            assert!(!place.remove(path).unwrap(), "{path}");
            assert!(place.path(path).exists(), "{path}");
        }
        assert!(place.remove("u-1/.staging/job_7_0001").unwrap());
        assert!(!place.remove("u-1/.staging/job_7_0001").unwrap());
        assert!(!place.remove("u-3/.staging/job_7_0001").unwrap());
        assert!(!place.staging.remove(place.job, "/etc/.staging/job_7_0001").unwrap());
    }

    #[test]
    fn a_file_with_a_second_name_is_refused() {
        let place = Area::new();
        assert_eq!(place.read().unwrap(), "text");
        fs::hard_link(place.path("u-1/.staging/job_7_0001/job.xml"), place.path("twice")).unwrap();
        assert!(place.read().unwrap_err().contains("2 hard links"));
    }

    /// The allowed owners of the directory, for a user that the machine knows and one that it does not.
    #[test]
    fn directory_and_files_are_the_submitters_or_ours() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = Area::new();
        let give = |path: &str, uid: u32| chown(place.path(path), Some(uid), None).unwrap();
        let (home, area, job, file) =
            ("u-1", "u-1/.staging", "u-1/.staging/job_7_0001", "u-1/.staging/job_7_0001/job.xml");
        let cases = [
            ([0, 0, 0, 0], true),
            // The user's client made all of it.
            ([SUBMITTER, SUBMITTER, SUBMITTER, SUBMITTER], true),
            // A client that root ran under the user's name.
            ([SUBMITTER, SUBMITTER, 0, 0], true),
            ([0, 0, 0, SUBMITTER], false),
            ([SUBMITTER, SUBMITTER, SUBMITTER, NEIGHBOUR], false),
            ([SUBMITTER, SUBMITTER, NEIGHBOUR, NEIGHBOUR], false),
            ([SUBMITTER, NEIGHBOUR, NEIGHBOUR, NEIGHBOUR], false),
            ([0, NEIGHBOUR, NEIGHBOUR, NEIGHBOUR], false),
        ];
        for (owners, is_good) in cases {
            [home, area, job, file].into_iter().zip(owners).for_each(|(path, uid)| give(path, uid));
            assert_eq!(place.read().is_ok(), is_good, "{owners:?}: {:?}", place.read());
        }
        give(area, SUBMITTER);
        assert!(place.remove(job).is_err(), "its directory is the neighbour's");
        assert!(place.path(file).exists());
        // The machine knows the id of `daemon`, whichever user made the folder.
        fs::rename(place.path("u-1"), place.path("daemon")).unwrap();
        let Some(known) = place.staging.accounts.uid_of("daemon") else { return };
        for (uid, is_good) in [(known, true), (NEIGHBOUR, false)] {
            for path in ["daemon", "daemon/.staging", "daemon/.staging/job_7_0001"] {
                give(path, uid);
            }
            assert_eq!(place.open("daemon").is_ok(), is_good);
        }
    }

    /// On a NameNode the submitter's rights count, and owners are names.
    #[test]
    fn on_a_namenode_a_job_is_reached_as_its_submitter_and_belongs_to_it() {
        use crate::hdfs::tests::fake_hdfs::cluster::Cluster;

        const DENIED: &str = "org.apache.hadoop.security.AccessControlException";
        let cluster = Cluster::stock(&[None]);
        let root = FileUri::parse(&format!("{}/user", cluster.uri())).unwrap();
        let files = FileSystems::with_defaults("mapred");
        let staging = StagingRoot { files, root: root.clone(), accounts: Arc::new(Accounts::new()) };
        let job: JobId = "job_7_0001".parse().unwrap();
        for (user, owner) in [("alice", "alice"), ("bob", "mallory")] {
            cluster.add_file_of(owner, &format!("/user/{user}/.staging/{job}/job.xml"), b"text", 128);
        }
        cluster.refuse("", "mapred", "/user", (DENIED, "Permission denied: user=mapred"));
        let open = |user: &str| staging.open(user, job, &format!("{root}/{user}/.staging/{job}"));
        assert_eq!(open("alice").unwrap().read("job.xml", 4).unwrap(), b"text");
        assert_eq!(staging.size_of("alice", job), 4);
        let error = open("bob").unwrap_err().to_string();
        assert!(error.contains("/bob/.staging belongs to mallory; expected a folder of the submitter"), "{error}");
        let named = |user: &str| format!("{root}/{user}/.staging/{job}");
        assert!(staging.remove(job, &named("bob")).is_err());
        assert!(staging.remove(job, &named("alice")).unwrap() && !staging.remove(job, &named("alice")).unwrap());
        let kept = |path: &str| cluster.state.lock().directories.contains_key(path);
        assert!(kept("/user/bob/.staging/job_7_0001") && !kept("/user/alice/.staging/job_7_0001"));
        cluster.refuse("", "alice", "/user/alice", (DENIED, "Permission denied: user=alice"));
        let error = open("alice").unwrap_err();
        assert!(error.to_string().contains("Permission denied: user=alice") && !error.is_temporary(), "{error}");
    }
}
