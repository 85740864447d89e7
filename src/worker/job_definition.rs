//! What the job.xml and the token of a job say, and the copies of its files (1.2.1 `TaskTracker.localizeJob`). Everything here happens on paths
//! that the job names: with the ids that its attempts run with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Configuration, keys};
use crate::fs::{Expected, FileUri, FsError, open_below};
use crate::model::JobId;
use crate::streaming::committer::OutputCommitter;
use crate::streaming::failure::TaskFailure;
use crate::streaming::plan::StreamingPlan;
use crate::streaming::private_files::make_folder;
use crate::streaming::shuffle::signature::ShuffleSecret;
use crate::streaming::working_folder::{StopCheck, cache_entries, copy, localize, open_input, unpack_jar};
use crate::wire::Task;

/// The longest job.xml or token file that is read, bytes.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 20;
/// The token in the folder of a job.
pub(super) const TOKEN_FILE: &str = "jobToken";

/// A job as its attempts run it.
#[derive(Debug)]
pub struct JobDefinition {
    /// The job.
    pub id: JobId,
    /// Its owner.
    pub user: String,
    /// job.xml over the tracker's configuration.
    pub configuration: Configuration,
    /// Signs requests for its map output.
    pub secret: ShuffleSecret,
    plan: Result<StreamingPlan, String>,
    /// Its shared files on this machine.
    folder: PathBuf,
}

/// Files that only maps and reduces need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

pub(super) fn unusable(what: &str, reason: impl ToString) -> TaskFailure {
    TaskFailure::Unusable { what: what.to_owned(), reason: reason.to_string() }
}

/// `mapred.task.timeout` of a job, or of the cluster while the job is not known; `None`: no limit.
pub fn time_limit(configuration: &Configuration) -> Option<Duration> {
    // Elsewhere an invalid value is an error.
    configuration.limit(&keys::TASK_TIMEOUT, 1).ok().flatten().map(Duration::from_millis)
}

/// The folder below which no link to a job's file is followed: the parent of `USER` for `USER/.staging/JOB/job.xml`,
/// else the parent of the job's folder.
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

/// The secret in the content of a token file.
///
/// # Errors
/// [`TaskFailure::Unusable`]: no job token is in it.
pub(super) fn secret_of(token: &[u8]) -> Result<ShuffleSecret, TaskFailure> {
    ShuffleSecret::of_token_file(token).ok_or_else(|| unusable("jobToken", "holds no job token"))
}

// === impl JobDefinition ===

impl JobDefinition {
    /// Reads the job.xml that a task names. `folder` is for the files that its attempts share.
    ///
    /// # Errors
    /// [`TaskFailure`]: it cannot be read.
    pub fn read(
        task: &Task,
        secret: ShuffleSecret,
        folder: PathBuf,
        cluster: &Configuration,
    ) -> Result<Self, TaskFailure> {
        let job_file = FileUri::parse(&task.job_file).map_err(|error| unusable("job.xml", error))?;
        let job_xml = read_job_file(staging_root(job_file.as_path()), &job_file, MAX_FILE_BYTES)
            .map_err(|error| unusable("a file of the job", error))?;
        let mut configuration = cluster.with_property("user.name", &task.user);
        configuration.add_job_xml(&job_file.to_string(), &job_xml).map_err(|error| unusable("job.xml", error))?;
        // A signature may submit further jobs: no command and no file of the tracker gets it.
        configuration.forget(&keys::JOB_SIGNATURE);
        configuration.forget(&keys::JOB_TIMESTAMP);
        let plan = StreamingPlan::read(&configuration).map_err(|error| error.to_string());
        Ok(Self { id: task.status.attempt.task.job, user: task.user.to_string(), configuration, secret, plan, folder })
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

    /// Copies the jar and the cache. `check_stop` fails when the attempt is stopped.
    ///
    /// # Errors
    /// [`TaskFailure`]
    pub fn copy_files(&self, check_stop: &StopCheck<'_>) -> Result<JobFiles, TaskFailure> {
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

    /// The folder that the job's tasks on this machine share (`job.local.dir`).
    pub fn shared_folder(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// The job's tokens.
    pub fn token_file(&self) -> PathBuf {
        self.folder.join(TOKEN_FILE)
    }
}
