//! What the job.xml and the token of a job say, and the copies of its files (1.2.1 `TaskTracker.localizeJob`). Everything here happens on paths
//! that the job names: with the ids that its attempts run with.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Configuration, keys};
use crate::fs::{Expected, FileSystems, FileUri, open_below};
use crate::model::AttemptId;
use crate::streaming::committer::OutputCommitter;
use crate::streaming::failure::TaskFailure;
use crate::streaming::plan::StreamingPlan;
use crate::streaming::private_files::make_folder;
use crate::streaming::shuffle::signature::ShuffleSecret;
use crate::streaming::working_folder::{StopCheck, cache_entries, localize, unpack_jar};
use crate::wire::Task;

use super::job_file_source::JobFileSource;

/// The longest job.xml or token file that is read, bytes.
pub(super) const MAX_FILE_BYTES: u64 = 64 << 20;
/// The token in the folder of a job.
pub(super) const TOKEN_FILE: &str = "jobToken";

/// The splits of the job's maps, in its staging folder and where the JobTracker had to send them.
const SPLITS: &str = "job.split";

#[derive(Debug)]
pub(crate) struct JobDefinition {
    pub(crate) user: String,
    pub(crate) configuration: Configuration,
    /// The file systems, as its owner and by its configuration.
    pub(crate) files: FileSystems,
    /// Signs requests for its map output.
    pub(crate) secret: ShuffleSecret,
    pub(crate) source: JobFileSource,
    /// Whether the JobTracker had to send job.xml.
    is_sent: bool,
    plan: Result<StreamingPlan, String>,
    folder: PathBuf,
}

/// Files that only maps and reduces need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LocalJobFiles {
    pub(crate) jar: Option<PathBuf>,
    pub(crate) jar_content: Option<PathBuf>,
    /// Cache files, in the order of the job.
    pub(crate) cache_files: Vec<PathBuf>,
    pub(crate) cache_archives: Vec<PathBuf>,
    /// Names in the working directory, and their targets.
    pub(crate) links: Vec<(String, PathBuf)>,
}

pub(super) fn unusable(what: &str, reason: impl ToString) -> TaskFailure {
    TaskFailure::Unusable { what: what.to_owned(), reason: reason.to_string() }
}

/// `mapred.task.timeout` of a job, or of the cluster while the job is not known; `None`: no limit.
pub(crate) fn time_limit(configuration: &Configuration) -> Option<Duration> {
    // Elsewhere an invalid value is an error.
    configuration.limit(&keys::TASK_TIMEOUT, 1).ok().flatten().map(Duration::from_millis)
}

/// The secret in the content of a token file.
pub(super) fn secret_of(token: &[u8]) -> Result<ShuffleSecret, TaskFailure> {
    ShuffleSecret::of_token_file(token).ok_or_else(|| unusable("jobToken", "holds no job token"))
}

impl JobDefinition {
    /// Reads the job.xml that a task names. `folder` is for the files that its attempts share.
    pub(crate) fn read(
        task: &Task,
        secret: ShuffleSecret,
        folder: PathBuf,
        cluster: &Configuration,
        check_stop: &StopCheck<'_>,
    ) -> Result<Self, TaskFailure> {
        let job_file = cluster.resolve(&task.job_file).map_err(|error| unusable("job.xml", error))?;
        let id = task.status.attempt.task.job;
        let source = JobFileSource::new(cluster.file_systems(&task.user), id, secret.clone(), &job_file, cluster);
        let (job_xml, is_sent) = source.read(&job_file, MAX_FILE_BYTES, check_stop)?;
        let mut configuration = cluster.with_property("user.name", &task.user);
        configuration.add_job_xml(&job_file.to_string(), &job_xml).map_err(|error| unusable("job.xml", error))?;
        // A signature may submit further jobs: no command and no file of the tracker gets it.
        configuration.forget(&keys::JOB_SIGNATURE);
        configuration.forget(&keys::JOB_TIMESTAMP);
        let plan = StreamingPlan::read(&configuration).map_err(|error| error.to_string());
        let user = task.user.to_string();
        let files = configuration.file_systems(&user);
        Ok(Self { user, files, configuration, secret, source, is_sent, plan, folder })
    }

    /// The plan of its tasks. Errors: [`TaskFailure::Unusable`] when only a stock TaskTracker can run it.
    pub(crate) fn plan(&self) -> Result<&StreamingPlan, TaskFailure> {
        self.plan.as_ref().map_err(|reason| unusable("a built-in tasktracker cannot run this job", reason))
    }

    /// The committer of its output folder, if it has one; also for a job whose tasks only a stock TaskTracker can run.
    /// Errors: [`TaskFailure::Unusable`] when Java code commits its output.
    pub(crate) fn committer(&self) -> Result<Option<OutputCommitter>, TaskFailure> {
        OutputCommitter::of_job(&self.configuration, &self.files)
    }

    /// Whether a success writes `_SUCCESS`.
    pub(crate) fn marks_success(&self) -> bool {
        self.configuration.flag(&keys::MARK_SUCCESS).unwrap_or(true)
    }

    /// Longest time without progress of its tasks; `None`: no limit.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        time_limit(&self.configuration)
    }

    /// The content of a file with splits of the job, of at most `max_bytes`. The JobTracker sends them once for all maps here.
    pub(crate) fn splits(
        &self,
        attempt: AttemptId,
        file: &FileUri,
        max_bytes: u64,
        check_stop: &StopCheck<'_>,
    ) -> Result<Vec<u8>, TaskFailure> {
        if !(self.is_sent && file.name() == Some(SPLITS) && self.source.has(file)) {
            return self.source.read(file, max_bytes, check_stop).map(|(splits, _)| splits);
        }
        let here = self.folder.join(SPLITS);
        if !here.exists() {
            // Of two attempts that copy it at a time, either is as good.
            let copied = self.folder.join(format!("{SPLITS}.{attempt}"));
            self.source.copy(file, &copied, check_stop)?;
            fs::rename(&copied, &here).map_err(TaskFailure::file("write", &here))?;
        }
        let expected = Expected::file_of_any_owner().with_one_link().at_most(max_bytes);
        let splits =
            open_below(&self.folder, Path::new(SPLITS), &expected).and_then(|file| file.read_limited(max_bytes));
        splits.map_err(|error| TaskFailure::unusable("the splits of the job", &error))
    }

    /// Copies the jar and the cache. `check_stop` fails when the attempt is stopped.
    pub(crate) fn copy_files(&self, check_stop: &StopCheck<'_>) -> Result<LocalJobFiles, TaskFailure> {
        let mut files = LocalJobFiles::default();
        let unusable_jar = |error: &dyn std::fmt::Display| unusable(keys::JOB_JAR.name, error);
        let jar = self.configuration.text(&keys::JOB_JAR).map_err(|error| unusable_jar(&error))?;
        if let Some(jar) = jar {
            let source = self.configuration.resolve(jar.trim()).map_err(|error| unusable_jar(&error))?;
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

    /// The folder that the job's tasks on this machine share (`job.local.dir`).
    pub(crate) fn shared_folder(&self) -> PathBuf {
        self.folder.join("work")
    }

    pub(crate) fn token_file(&self) -> PathBuf {
        self.folder.join(TOKEN_FILE)
    }
}
