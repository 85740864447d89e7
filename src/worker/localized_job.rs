//! A job on this machine: its configuration, its secret, its files (1.2.1 `TaskTracker.localizeJob`). Its folder is
//! removed with the last reference.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::config::{Configuration, keys};
use crate::fs::{FileUri, LocalFileSystem};
use crate::model::{AttemptId, JobId};
use crate::streaming::committer::OutputCommitter;
use crate::streaming::failure::TaskFailure;
use crate::streaming::plan::StreamingPlan;
use crate::streaming::private_files::{make_folder, write_file};
use crate::streaming::shuffle::signature::ShuffleSecret;
use crate::streaming::working_folder::{StopCheck, WorkStep, cache_entries, localize, unpack_jar};
use crate::wire::Task;

use super::attempt_handle::AttemptHandle;
use super::job_file_source::{JobFileSource, read_job_file};
use super::local_folders::LocalFolders;

/// The longest job.xml or token file that is read, bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The splits of the job's maps, in its staging folder and where the JobTracker had to send them.
const SPLITS: &str = "job.split";

/// Interval between two checks for a stop while waiting for files that another attempt copies.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Files that one attempt copies for all attempts of its job.
#[derive(Debug)]
pub(super) enum Localization<T> {
    /// This attempt copies them.
    InProgress(Arc<AttemptHandle>),
    /// They are here.
    Done(T),
}

/// What all attempts of a job share.
#[derive(Debug)]
pub struct LocalizedJob {
    /// The job.
    pub id: JobId,
    /// Its owner.
    pub user: String,
    /// Its shared files on this machine.
    folder: PathBuf,
    /// Each of these disks may have a folder of this name.
    folders: Arc<LocalFolders>,
    name: String,
    /// job.xml over the tracker's configuration.
    pub configuration: Configuration,
    /// Signs requests for its map output.
    pub secret: ShuffleSecret,
    /// Where its files come from.
    pub source: JobFileSource,
    /// Its splits, if the JobTracker had to send them: once for all of its maps here.
    splits: Option<PathBuf>,
    plan: Result<StreamingPlan, String>,
    files: Mutex<Option<Localization<JobFiles>>>,
    /// The localization of its files succeeded or failed.
    localized: Condvar,
}

/// Files that only maps and reduces need.
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
    /// Names in the working directory, and their targets.
    pub links: Vec<(String, PathBuf)>,
}

fn unusable(what: &str, reason: impl ToString) -> TaskFailure {
    TaskFailure::Unusable { what: what.to_owned(), reason: reason.to_string() }
}

/// `mapred.task.timeout` of a job, or of the cluster while the job is not known; `None`: no limit.
pub fn time_limit(configuration: &Configuration) -> Option<Duration> {
    // Elsewhere an invalid value is an error.
    configuration.limit(&keys::TASK_TIMEOUT, 1).ok().flatten().map(Duration::from_millis)
}

// === impl LocalizedJob ===

impl LocalizedJob {
    /// Copies what all attempts of the task's job share into a new folder of this name.
    ///
    /// # Errors
    /// [`TaskFailure`]: a file of the job cannot be read.
    pub fn localize(
        task: &Task,
        (folders, name): (Arc<LocalFolders>, String),
        system: &FileUri,
        cluster: &Configuration,
    ) -> Result<Self, TaskFailure> {
        let folder = folders.next().join(&name);
        let job = task.status.attempt.task.job;
        let token_path = system.join(&job.to_string()).and_then(|folder| folder.join("jobToken"));
        let token_path = token_path.map_err(|error| unusable("jobToken", error))?;
        let token = read_job_file(system.as_path(), &token_path, MAX_FILE_BYTES);
        let token = token.map_err(|error| unusable("a file of the job", error))?;
        let secret = ShuffleSecret::of_token_file(&token).ok_or_else(|| unusable("jobToken", "holds no job token"))?;
        let job_file = FileUri::parse(&task.job_file).map_err(|error| unusable("job.xml", error))?;
        let source = JobFileSource::new(job, secret.clone(), &job_file, cluster);
        let mut configuration = cluster.with_property("user.name", &task.user);
        let (job_xml, is_sent) = source.read(&job_file, MAX_FILE_BYTES, &|_| Ok(()))?;
        configuration.add_job_xml(&job_file.to_string(), &job_xml).map_err(|error| unusable("job.xml", error))?;
        // A signature may submit further jobs: no command and no file of the tracker gets it.
        configuration.forget(&keys::JOB_SIGNATURE);
        configuration.forget(&keys::JOB_TIMESTAMP);
        make_folder(&folder).map_err(TaskFailure::file("make", &folder))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            write_file(&path, bytes).map_err(TaskFailure::file("write", &path))
        };
        write("jobToken", &token)?;
        let splits = is_sent.then(|| source.copy_beside(SPLITS, &folder)).transpose()?;
        let plan = StreamingPlan::read(&configuration).map_err(|error| error.to_string());
        Ok(Self {
            id: job,
            user: task.user.to_string(),
            folder,
            folders,
            name,
            configuration,
            secret,
            source,
            splits,
            plan,
            files: Mutex::default(),
            localized: Condvar::new(),
        })
    }

    /// The plan of its tasks.
    ///
    /// # Errors
    /// [`TaskFailure::Unusable`] when only a stock TaskTracker can run it.
    pub fn plan(&self) -> Result<&StreamingPlan, TaskFailure> {
        self.plan.as_ref().map_err(|reason| unusable("a built-in tasktracker cannot run this job", reason))
    }

    /// The committer of its output folder, if it has one; also for a job whose tasks only a stock TaskTracker can run.
    ///
    /// # Errors
    /// [`TaskFailure::Unusable`] when Java code commits its output.
    pub fn committer(&self) -> Result<Option<OutputCommitter>, TaskFailure> {
        OutputCommitter::of_job(&self.configuration)
    }

    /// Whether a success writes `_SUCCESS`.
    pub fn marks_success(&self) -> bool {
        self.configuration.flag(&keys::MARK_SUCCESS).unwrap_or(true)
    }

    /// Longest time without progress of its tasks; `None`: no limit.
    pub fn time_limit(&self) -> Option<Duration> {
        time_limit(&self.configuration)
    }

    /// The content of a file with splits of the job, of at most `max_bytes`.
    ///
    /// # Errors
    /// [`TaskFailure::Unusable`]
    pub fn splits(&self, file: &FileUri, max_bytes: u64) -> Result<Vec<u8>, TaskFailure> {
        match &self.splits {
            Some(splits) if file.as_path().ends_with(SPLITS) && self.source.has(file) => {
                let read = LocalFileSystem.read_limited(splits, max_bytes);
                read.map_err(|error| unusable("a file of the job", error))
            }
            _ => self.source.read(file, max_bytes, &|_| Ok(())).map(|(splits, _)| splits),
        }
    }

    /// The jar and the cache: the first attempt copies them, the others wait.
    ///
    /// # Errors
    /// [`TaskFailure`]; the next attempt retries. Also when the attempt is stopped, or the one that copies the files hangs.
    pub fn files(&self, attempt: AttemptId, handle: &Arc<AttemptHandle>) -> Result<JobFiles, TaskFailure> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*files {
                Some(Localization::Done(files)) => return Ok(files.clone()),
                Some(Localization::InProgress(other)) if other.is_localizing()? => {}
                Some(Localization::InProgress(_)) | None => break,
            }
            handle.check(attempt)?;
            (files, _) = self.localized.wait_timeout(files, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        }
        *files = Some(Localization::InProgress(handle.clone()));
        drop(files);
        let localized = self.localize_files(&|step| {
            if step == WorkStep::Advanced {
                handle.record_activity();
            }
            handle.check(attempt)
        });
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        *files = localized.as_ref().ok().map(|localized| Localization::Done(localized.clone()));
        drop(files);
        self.localized.notify_all();
        localized
    }

    /// `check_stop` fails when the attempt is stopped.
    fn localize_files(&self, check_stop: &StopCheck<'_>) -> Result<JobFiles, TaskFailure> {
        let mut files = JobFiles::default();
        let unusable_jar = |error: &dyn std::fmt::Display| unusable(keys::JOB_JAR.name, error);
        let jar = self.configuration.text(&keys::JOB_JAR).map_err(|error| unusable_jar(&error))?;
        if let Some(jar) = jar {
            let source = FileUri::parse(jar.trim()).map_err(|error| unusable_jar(&error))?;
            let content = self.folder.join("jars");
            let local = content.join("job.jar");
            make_folder(&content).map_err(TaskFailure::file("make", &content))?;
            self.source.copy(&source, &local, check_stop)?;
            unpack_jar(&local, &content, check_stop)?;
            (files.jar, files.jar_content) = (Some(local), Some(content));
        }
        for (at, entry) in cache_entries(&self.configuration)?.into_iter().enumerate() {
            let copy_file = |file: &FileUri, to: &Path| self.source.copy(file, to, check_stop);
            let folder = self.folder.join("distcache").join(at.to_string());
            let local = localize(&entry, &folder, &copy_file, check_stop)?;
            files.links.extend(entry.link.map(|link| (link, local.clone())));
            if entry.is_archive { &mut files.cache_archives } else { &mut files.cache_files }.push(local);
        }
        let shared = self.shared_folder();
        make_folder(&shared).map_err(TaskFailure::file("make", &shared))?;
        Ok(files)
    }

    /// The path of a folder for an attempt, on the next disk. Not created yet.
    pub fn attempt_folder(&self, attempt: AttemptId) -> PathBuf {
        self.folders.next().join(&self.name).join(attempt.to_string())
    }

    /// The folder that the job's tasks on this machine share (`job.local.dir`).
    pub fn shared_folder(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The job's tokens.
    pub fn token_file(&self) -> PathBuf {
        self.folder.join("jobToken")
    }
}

impl Drop for LocalizedJob {
    fn drop(&mut self) {
        for folder in self.folders.all() {
            // The next start removes the rest.
            let _ = fs::remove_dir_all(folder.join(&self.name));
        }
    }
}
