//! Files of jobs of earlier runs: rewrites the tokens of unfinished jobs, and removes the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::ForeignState;
use crate::fs::FsError;
use crate::model::{Identifier, JobId};
use crate::store::{FaultPoint, LoadedState};

use super::Submissions;
use super::system_dir::SystemDir;
use super::system_dir_at_start::UnreadSystemDir;

/// Pause between two attempts while the file system fails.
const PAUSE: Duration = Duration::from_secs(10);

/// What should be in the system directory, and what earlier runs put there.
#[derive(Debug)]
pub(crate) struct Leftovers {
    unfinished: Vec<JobSystemDir>,
    /// Finished jobs, with the staging directory if it is to be removed.
    finished: BTreeMap<JobId, Option<String>>,
    /// Jobs whose files the engine removes once trackers have received the end of the job.
    owed: BTreeSet<JobId>,
    /// Identifiers of earlier runs. Directories of other JobTrackers' jobs are not touched.
    identifiers: BTreeSet<Identifier>,
    /// Jobs with a directory that were ours once, whichever JobTracker issued their ids.
    known: BTreeSet<JobId>,
    /// Jobs of another JobTracker to be adopted.
    pub(crate) found: BTreeSet<JobId>,
    /// A JobTracker of 1.2.1 has started there since our last run.
    pub(crate) was_another_here: bool,
    /// The system directory could not be read at the start.
    pub(super) unread: Option<UnreadSystemDir>,
}

/// The system directory of one job.
#[derive(Debug)]
struct JobSystemDir {
    job: JobId,
    user: String,
    submit_dir: String,
    token_file: Arc<[u8]>,
}

impl Leftovers {
    pub(crate) fn of(opened: &LoadedState, predecessors: &ForeignState, unread: Option<UnreadSystemDir>) -> Self {
        let unfinished = opened.jobs.unfinished.iter().filter_map(|job| {
            let accepted = &job.accepted;
            let token_file = match &predecessors.unfinished_jobs {
                // Another JobTracker has rewritten the token, or has ended the job.
                Some(tokens) => tokens.get(&accepted.id)?.as_ref().unwrap_or(&accepted.token_file),
                None => &accepted.token_file,
            };
            Some(JobSystemDir {
                job: accepted.id,
                user: accepted.spec.user.clone(),
                submit_dir: accepted.spec.submit_dir.clone(),
                token_file: token_file.clone(),
            })
        });
        let finished = opened.jobs.finished.iter().map(|job| {
            let staging = (!job.spec.keep_staging).then(|| job.spec.submit_dir.clone());
            (job.id, staging)
        });
        Self {
            unfinished: unfinished.collect(),
            finished: finished.collect(),
            owed: opened.pending_kill_jobs.iter().map(|(job, _)| *job).collect(),
            identifiers: opened.identifiers.clone(),
            known: opened.looked_for.clone(),
            found: predecessors.jobs.clone(),
            was_another_here: predecessors.unfinished_jobs.is_some(),
            unread,
        }
    }

    /// Writes what is missing; returns the jobs whose directories are not needed. Blocking.
    fn settle(&self, system: &SystemDir) -> Result<Vec<JobId>, FsError> {
        let mut needed: BTreeSet<JobId> = self.owed.union(&self.found).copied().collect();
        for job in &self.owed {
            system.remove_job_info(*job)?;
        }
        for JobSystemDir { job, user, submit_dir, token_file } in &self.unfinished {
            needed.insert(*job);
            if !system.is_whole(*job, token_file)? {
                system.write(*job, user, submit_dir, token_file)?;
                FaultPoint::LeftoversWritten.pass();
                tracing::info!("rewrote the system directory of {job}");
            }
        }
        let mut jobs = system.jobs()?;
        let was_ours = |job: &JobId| self.identifiers.contains(&job.identifier) || self.known.contains(job);
        jobs.retain(|job| was_ours(job) && !needed.contains(job));
        Ok(jobs)
    }
}

impl Submissions {
    /// Cleans up the system directory, as soon as its file system answers.
    pub(crate) async fn settle(self: Rc<Self>, leftovers: Leftovers) {
        let leftovers = Arc::new(leftovers);
        let mut is_logged = false;
        loop {
            let (system, wanted) = (self.system.clone(), leftovers.clone());
            match self.on_pool(move || wanted.settle(&system)).await {
                Ok(Ok(unneeded)) => {
                    for job in unneeded {
                        FaultPoint::LeftoversFound.pass();
                        tracing::info!("removing the system directory of {job}, which does not run");
                        self.remove_files(job, leftovers.finished.get(&job).cloned().flatten()).await;
                    }
                    self.remove_rewritten(&leftovers).await;
                    self.is_settled.send_replace(true);
                    return;
                }
                Ok(Err(error)) if !is_logged => tracing::warn!("trackers may miss tokens of jobs, retrying: {error}"),
                Ok(Err(_)) => {}
                Err(error) => tracing::warn!("trackers may miss tokens of jobs, retrying: {}", error.message),
            }
            is_logged = true;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Removes the directories of jobs that ended before they were rewritten.
    async fn remove_rewritten(&self, leftovers: &Leftovers) {
        let removed = self.removed_early.take();
        for JobSystemDir { job, .. } in leftovers.unfinished.iter().filter(|files| removed.contains(&files.job)) {
            self.remove_system_dir(*job).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::*;
    use crate::clock::Clock;
    use crate::config::{Environment, LoadOptions, Settings};
    use crate::engine::{Engine, Fact, Restored};
    use crate::fs::{FileSystems, FileUri, LocalFileSystem};
    use crate::hdfs::HdfsOptions;
    use crate::model::FactNumber;
    use crate::server::engine_config;
    use crate::server::owner::Owner;
    use crate::server::rack_resolver::RackResolver;
    use crate::store::{Durable, FactReceiver, FactSender};

    fn id(text: &str) -> JobId {
        text.parse().unwrap()
    }

    fn files(job: &str) -> JobSystemDir {
        JobSystemDir {
            job: id(job),
            user: "alice".into(),
            submit_dir: "file:/staging/job".into(),
            token_file: Arc::from(&b"secret"[..]),
        }
    }

    /// Leftovers of the run with identifier 7.
    fn leftovers(unfinished: Vec<JobSystemDir>, owed: BTreeSet<JobId>) -> Leftovers {
        Leftovers {
            unfinished,
            finished: BTreeMap::new(),
            owed,
            identifiers: BTreeSet::from(["7".parse().unwrap()]),
            known: BTreeSet::new(),
            found: BTreeSet::new(),
            was_another_here: false,
            unread: None,
        }
    }

    #[derive(Debug)]
    struct NoStore;

    impl FactReceiver for NoStore {
        fn receive(&self, _first: FactNumber, _facts: Vec<Fact>) -> bool {
            true
        }

        fn waiting_facts(&self) -> u64 {
            0
        }
    }

    #[tokio::test]
    async fn a_job_that_ends_before_its_directory_is_rewritten_leaves_none() {
        let folder = tempfile::tempdir().unwrap();
        let overrides = vec![format!("hadoop.tmp.dir={}", folder.path().display())];
        let environment = Environment { conf_dir: None, properties: BTreeMap::new() };
        let (settings, _) = Settings::load(&LoadOptions { conf_dir: None, overrides, environment }).unwrap();
        let clock = Clock::start();
        let config = engine_config(&settings, &BTreeSet::new(), clock.now().wall_ms, String::new()).unwrap();
        let (_durable, watcher) = watch::channel(Durable::default());
        let engine = Engine::new(config, Restored::default(), clock.now());
        let (owner, _effects) = Owner::new(engine, FactSender::new(Arc::new(NoStore), watcher, 1_000), clock, 1 << 20);
        let submissions = Submissions::new(owner, RackResolver::new(&settings.trackers), &settings, None, None);
        SystemDir::new(&settings).make().unwrap();
        let leftovers = leftovers(vec![files("job_7_0001"), files("job_7_0002")], BTreeSet::new());
        submissions.expect_leftovers(&leftovers);
        submissions.remove_files(id("job_7_0001"), None).await;
        submissions.settle(leftovers).await;
        let left = LocalFileSystem
            .names_in(settings.directories.system.local_path().unwrap(), crate::fs::ListBound::OWN)
            .unwrap();
        assert_eq!(left, ["job_7_0002"]);
    }

    #[test]
    fn whether_tokens_are_there_is_not_known_while_their_namenode_is_away() {
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // Nothing listens on a port that is bound elsewhere.
        let uri = FileUri::parse(&format!("hdfs://127.0.0.2:{}/system", closed.local_addr().unwrap().port())).unwrap();
        let options = HdfsOptions { connect_retries: 0, ..HdfsOptions::default() };
        let system = SystemDir::at(FileSystems::new("alice", Ok(options)).of(&uri), uri);
        let error = system.is_whole(id("job_7_0001"), b"secret").unwrap_err();
        assert!(error.is_temporary(), "{error}");
    }

    #[test]
    fn tokens_are_there_and_nothing_else_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let uri = FileUri::parse(&format!("file:{}", folder.path().display())).unwrap();
        let system = SystemDir::at(FileSystems::with_defaults("alice").of(&uri), uri);
        let directory = |job: &str| folder.path().join(job);
        for job in ["job_7_0001", "job_7_0002", "job_7_0003", "job_8_0001", "odd"] {
            LocalFileSystem.make_dir_all(&directory(job), 0o700).unwrap();
        }
        std::fs::write(directory("job_7_0001").join("jobToken"), "").unwrap();
        for name in ["job-info", ".job-info.crc", "jobToken"] {
            std::fs::write(directory("job_7_0002").join(name), "").unwrap();
        }
        let leftovers = leftovers(vec![files("job_7_0001"), files("job_7_0009")], BTreeSet::from([id("job_7_0002")]));
        for _ in 0..2 {
            assert_eq!(leftovers.settle(&system).unwrap(), [id("job_7_0003")], "8 is none of ours");
            let left = LocalFileSystem.names_in(&directory("job_7_0002"), crate::fs::ListBound::OWN).unwrap();
            assert_eq!(left, ["jobToken"], "trackers may still read it, and no other JobTracker takes the job in");
            for job in ["job_7_0001", "job_7_0009"] {
                assert_eq!(std::fs::read(directory(job).join("jobToken")).unwrap(), b"secret");
                assert!(directory(job).join("job-info").exists());
            }
        }
    }
}
