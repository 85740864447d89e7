//! Files of jobs of earlier runs: rewrites the tokens of unfinished jobs, and removes the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::ForeignState;
use crate::fs::{FileUri, FsError};
use crate::model::{Identifier, JobId};
use crate::store::{FaultPoint, Opened};

use super::{Submissions, system_dir};

/// Pause between two attempts while the file system fails.
const PAUSE: Duration = Duration::from_secs(10);

/// What should be in the system directory, and what earlier runs put there.
#[derive(Debug)]
pub struct Leftovers {
    unfinished: Vec<JobFiles>,
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
}

/// The system directory of one job.
#[derive(Debug)]
struct JobFiles {
    job: JobId,
    user: String,
    submit_dir: String,
    token_file: Arc<[u8]>,
}

// === impl Leftovers ===

impl Leftovers {
    /// The leftovers in the loaded state.
    pub fn of(opened: &Opened, predecessors: &ForeignState) -> Self {
        let unfinished = opened.jobs.unfinished.iter().filter_map(|job| {
            let accepted = &job.accepted;
            let token_file = match &predecessors.unfinished_jobs {
                // Another JobTracker has rewritten the token, or has ended the job.
                Some(tokens) => tokens.get(&accepted.id)?.as_ref().unwrap_or(&accepted.token_file),
                None => &accepted.token_file,
            };
            Some(JobFiles {
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
            owed: opened.kill_debts.iter().map(|(job, _)| *job).collect(),
            identifiers: opened.identifiers.clone(),
            known: opened.looked_for.clone(),
            found: predecessors.jobs.clone(),
            was_another_here: predecessors.unfinished_jobs.is_some(),
        }
    }

    /// Writes what is missing; returns the jobs whose directories are not needed. Blocking.
    fn settle(&self, system: &FileUri) -> Result<Vec<JobId>, FsError> {
        let mut needed: BTreeSet<JobId> = self.owed.union(&self.found).copied().collect();
        for job in &self.owed {
            system_dir::remove_job_info(system, *job)?;
        }
        for JobFiles { job, user, submit_dir, token_file } in &self.unfinished {
            needed.insert(*job);
            if !system_dir::is_whole(system, *job, token_file) {
                system_dir::write(system, *job, user, submit_dir, token_file)?;
                FaultPoint::LeftoversWritten.pass();
                tracing::info!("rewrote the system directory of {job}");
            }
        }
        let mut jobs = system_dir::jobs(system)?;
        let was_ours = |job: &JobId| self.identifiers.contains(&job.identifier) || self.known.contains(job);
        jobs.retain(|job| was_ours(job) && !needed.contains(job));
        Ok(jobs)
    }
}

// === impl Submissions ===

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::LocalFileSystem;

    fn id(text: &str) -> JobId {
        text.parse().unwrap()
    }

    #[test]
    fn tokens_are_there_and_nothing_else_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let system = FileUri::parse(&format!("file:{}", folder.path().display())).unwrap();
        let directory = |job: &str| folder.path().join(job);
        for job in ["job_7_0001", "job_7_0002", "job_7_0003", "job_8_0001", "odd"] {
            LocalFileSystem.make_dir_all(&directory(job), 0o700).unwrap();
        }
        std::fs::write(directory("job_7_0001").join("jobToken"), "").unwrap();
        for name in ["job-info", ".job-info.crc", "jobToken"] {
            std::fs::write(directory("job_7_0002").join(name), "").unwrap();
        }
        let files = |job: &str| JobFiles {
            job: id(job),
            user: "alice".into(),
            submit_dir: "file:/staging/job".into(),
            token_file: Arc::from(&b"secret"[..]),
        };
        let leftovers = Leftovers {
            unfinished: vec![files("job_7_0001"), files("job_7_0009")],
            finished: BTreeMap::new(),
            owed: BTreeSet::from([id("job_7_0002")]),
            identifiers: BTreeSet::from(["7".parse().unwrap()]),
            known: BTreeSet::new(),
            found: BTreeSet::new(),
            was_another_here: false,
        };
        for _ in 0..2 {
            assert_eq!(leftovers.settle(&system).unwrap(), [id("job_7_0003")], "8 is none of ours");
            let left = LocalFileSystem.names_in(&directory("job_7_0002")).unwrap();
            assert_eq!(left, ["jobToken"], "trackers may still read it, and no other JobTracker takes the job in");
            for job in ["job_7_0001", "job_7_0009"] {
                assert_eq!(std::fs::read(directory(job).join("jobToken")).unwrap(), b"secret");
                assert!(directory(job).join("job-info").exists());
            }
        }
    }
}
