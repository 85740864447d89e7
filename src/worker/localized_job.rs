//! A job on this machine: its configuration, its secret, its files (1.2.1 `TaskTracker.localizeJob`). The folder goes with the last
//! who holds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::config::{Configuration, keys};
use crate::fs::{Expected, FileUri, FsError, open_below};
use crate::model::{AttemptId, JobId};
use crate::streaming::committer::OutputCommitter;
use crate::streaming::failure::TaskFailure;
use crate::streaming::plan::StreamingPlan;
use crate::streaming::private_files::{make_folder, write_file};
use crate::streaming::shuffle::signature::ShuffleSecret;
use crate::streaming::working_folder::{StopCheck, WorkStep, cache_entries, copy, localize, open_input, unpack_jar};
use crate::wire::Task;

use super::attempt_handle::AttemptHandle;
use super::local_folders::LocalFolders;
use super::localization::{Brought, LOOK};

/// The longest job.xml or token file that is read, bytes.
const LONGEST_FILE_BYTES: u64 = 64 << 20;

/// What every attempt of a job needs.
#[derive(Debug)]
pub struct JobPlace {
    /// The job.
    pub job: JobId,
    /// Its owner.
    pub user: String,
    /// All of it that is on this machine, but for its attempts.
    folder: PathBuf,
    /// On each of these disks there may be a folder of this name.
    folders: Arc<LocalFolders>,
    name: String,
    /// job.xml over the tracker's values.
    pub configuration: Configuration,
    /// Who may fetch its map output.
    pub secret: ShuffleSecret,
    plan: Result<StreamingPlan, String>,
    files: Mutex<Option<Brought<JobFiles>>>,
    /// The files were brought, or could not be.
    brought: Condvar,
}

/// What only maps and reduces need.
#[derive(Clone, Debug, Default)]
pub struct JobFiles {
    /// The job's jar.
    pub jar: Option<PathBuf>,
    /// Its content.
    pub jar_content: Option<PathBuf>,
    /// Cache files, in the order of the job.
    pub cache_files: Vec<PathBuf>,
    /// Unpacked cache archives.
    pub cache_archives: Vec<PathBuf>,
    /// Names in the working directory, and what they stand for.
    pub links: Vec<(String, PathBuf)>,
}

fn unusable(what: &str, reason: impl ToString) -> TaskFailure {
    TaskFailure::Unusable { what: what.to_owned(), reason: reason.to_string() }
}

/// `mapred.task.timeout` as a job has it, or the cluster for jobs that are not known yet; `None`: no limit.
pub fn time_limit(configuration: &Configuration) -> Option<Duration> {
    // A value that cannot be read is refused elsewhere.
    configuration.limit(&keys::TASK_TIMEOUT, 1).ok().flatten().map(Duration::from_millis)
}

/// The folder from which no link is followed to a job's file: that of all users for `USER/.staging/JOB/job.xml`, else the one that the
/// job's folder lies in.
pub fn staging_root(job_file: &Path) -> &Path {
    let above = |levels| job_file.ancestors().nth(levels).unwrap_or(Path::new("/"));
    above(if above(2).ends_with(".staging") { 4 } else { 2 })
}

/// The content of a job's file, found without following links below `root`.
///
/// # Errors
/// [`FsError`]: a link, no regular file, one with further names, or too long.
pub fn read_job_file(root: &Path, path: &FileUri, max_bytes: u64) -> Result<Vec<u8>, FsError> {
    let expected = Expected::file_of_any_owner().with_one_link().at_most(max_bytes);
    open_below(root, path.as_path(), &expected)?.read_limited(max_bytes)
}

// === impl JobPlace ===

impl JobPlace {
    /// Brings what all attempts of the task's job need into a folder of this name, which is new.
    ///
    /// # Errors
    /// [`TaskFailure`]: a file of the job cannot be read.
    pub fn make(
        task: &Task,
        (folders, name): (Arc<LocalFolders>, String),
        system: &FileUri,
        cluster: &Configuration,
    ) -> Result<Self, TaskFailure> {
        let folder = folders.next().join(&name);
        let job = task.status.attempt.task.job;
        let read = |root: &Path, path: &FileUri| {
            read_job_file(root, path, LONGEST_FILE_BYTES).map_err(|error| unusable("a file of the job", error))
        };
        let job_file = FileUri::parse(&task.job_file).map_err(|error| unusable("job.xml", error))?;
        let mut configuration = cluster.with_property("user.name", &task.user);
        let job_xml = read(staging_root(job_file.as_path()), &job_file)?;
        configuration.add_job_xml(&job_file.to_string(), &job_xml).map_err(|error| unusable("job.xml", error))?;
        // It submits a job where it may be used more than once: no command and no file of ours has it.
        configuration.forget(&keys::JOB_SIGNATURE);
        configuration.forget(&keys::JOB_TIMESTAMP);
        let token = read(system.as_path(), &system.join(&job.to_string())?.join("jobToken")?)?;
        let secret = ShuffleSecret::of_token_file(&token).ok_or_else(|| unusable("jobToken", "holds no job token"))?;
        make_folder(&folder).map_err(TaskFailure::file("make", &folder))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            write_file(&path, bytes).map_err(TaskFailure::file("write", &path))
        };
        write("jobToken", &token)?;
        let plan = StreamingPlan::read(&configuration).map_err(|error| error.to_string());
        Ok(Self {
            job,
            user: task.user.to_string(),
            folder,
            folders,
            name,
            configuration,
            secret,
            plan,
            files: Mutex::default(),
            brought: Condvar::new(),
        })
    }

    /// What its tasks do.
    ///
    /// # Errors
    /// [`TaskFailure::Unusable`] when only a stock TaskTracker can run it.
    pub fn plan(&self) -> Result<&StreamingPlan, TaskFailure> {
        self.plan.as_ref().map_err(|reason| unusable("a built-in tasktracker cannot run this job", reason))
    }

    /// Its output folder, if it has one; also that of a job whose maps and reduces only a stock TaskTracker can run.
    ///
    /// # Errors
    /// [`TaskFailure::Unusable`] when its output is committed by Java code.
    pub fn committer(&self) -> Result<Option<OutputCommitter>, TaskFailure> {
        OutputCommitter::of_job(&self.configuration)
    }

    /// Whether success is marked in the output folder.
    pub fn marks_success(&self) -> bool {
        self.configuration.flag(&keys::MARK_SUCCESS).unwrap_or(true)
    }

    /// Time in which its tasks must get on; `None`: no limit.
    pub fn time_limit(&self) -> Option<Duration> {
        time_limit(&self.configuration)
    }

    /// The jar and the cache, brought here by the attempt that asks first; others wait for it.
    ///
    /// # Errors
    /// [`TaskFailure`]; the attempt that asks next tries again. Also when the attempt is to end, or the one that brings the files hangs.
    pub fn files(&self, attempt: AttemptId, handle: &Arc<AttemptHandle>) -> Result<JobFiles, TaskFailure> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*files {
                Some(Brought::Here(files)) => return Ok(files.clone()),
                Some(Brought::Coming(other)) if other.is_awaited()? => {}
                Some(Brought::Coming(_)) | None => break,
            }
            handle.check(attempt)?;
            (files, _) = self.brought.wait_timeout(files, LOOK).unwrap_or_else(PoisonError::into_inner);
        }
        *files = Some(Brought::Coming(handle.clone()));
        drop(files);
        let brought = self.bring_files(&|step| {
            if step == WorkStep::Advanced {
                handle.note_life();
            }
            handle.check(attempt)
        });
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        *files = brought.as_ref().ok().map(|brought| Brought::Here(brought.clone()));
        drop(files);
        self.brought.notify_all();
        brought
    }

    /// `check_stop` fails when there is to be an end.
    fn bring_files(&self, check_stop: &StopCheck<'_>) -> Result<JobFiles, TaskFailure> {
        let mut files = JobFiles::default();
        let unusable_jar = |error: &dyn std::fmt::Display| unusable(keys::JOB_JAR.name, error);
        let jar = self.configuration.text(&keys::JOB_JAR).map_err(|error| unusable_jar(&error))?;
        if let Some(jar) = jar {
            let source = FileUri::parse(jar.trim()).map_err(|error| unusable_jar(&error))?;
            let content = self.folder.join("jars");
            let local = content.join("job.jar");
            make_folder(&content).map_err(TaskFailure::file("make", &content))?;
            copy(open_input(source.as_path())?, &local, check_stop)?;
            unpack_jar(&local, &content, check_stop)?;
            (files.jar, files.jar_content) = (Some(local), Some(content));
        }
        for (at, entry) in cache_entries(&self.configuration)?.into_iter().enumerate() {
            let local = localize(&entry, &self.folder.join("distcache").join(at.to_string()), check_stop)?;
            files.links.extend(entry.link.map(|link| (link, local.clone())));
            if entry.is_archive { &mut files.cache_archives } else { &mut files.cache_files }.push(local);
        }
        let shared = self.shared_folder();
        make_folder(&shared).map_err(TaskFailure::file("make", &shared))?;
        Ok(files)
    }

    /// A folder for an attempt, on the disk whose turn it is. Not made yet.
    pub fn folder_for(&self, attempt: AttemptId) -> PathBuf {
        self.folders.next().join(&self.name).join(attempt.to_string())
    }

    /// Shared by the job's tasks here (`job.local.dir`).
    pub fn shared_folder(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The job's tokens.
    pub fn token_file(&self) -> PathBuf {
        self.folder.join("jobToken")
    }
}

impl Drop for JobPlace {
    fn drop(&mut self) {
        for folder in self.folders.all() {
            // What cannot be removed now goes at the next start.
            let _ = fs::remove_dir_all(folder.join(&self.name));
        }
    }
}
