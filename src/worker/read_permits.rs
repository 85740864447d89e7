//! Permits for file reads of the web, on a pool of threads. The files of one job may hang without blocking those of others. A job has at
//! most an eighth of the threads that the others leave free. When none of a job's reads makes progress, its further requests are rejected
//! at once, until one does.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use crate::model::{ApplicationId, JobId};

/// A job gets one in this many free threads.
const FREE_SHARE: usize = 8;
/// A job hangs when all its reads take this long.
const HANGS_AFTER: Duration = Duration::from_secs(5);
/// Longest wait of an answer for one read. The thread keeps waiting.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The running reads, by the owner of the files.
#[derive(Debug)]
pub(crate) struct ReadPermits {
    owners: Mutex<BTreeMap<ReadOwner, OwnerReads>>,
    threads: usize,
    ended: Notify,
}

#[derive(Debug)]
struct OwnerReads {
    reads: usize,
    /// When one of them last started or ended.
    progress: Instant,
}

/// Permit for one read; released when dropped.
struct ReadPermit {
    permits: Arc<ReadPermits>,
    owner: ReadOwner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReadOwner {
    Job(JobId),
    Application(ApplicationId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the files of {owner} hang on this machine; try again later")]
pub(crate) struct FilesHang {
    pub(crate) owner: ReadOwner,
}

impl fmt::Display for ReadOwner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(job) => job.fmt(out),
            Self::Application(application) => application.fmt(out),
        }
    }
}

impl From<JobId> for ReadOwner {
    fn from(job: JobId) -> Self {
        Self::Job(job)
    }
}

impl From<ApplicationId> for ReadOwner {
    fn from(application: ApplicationId) -> Self {
        Self::Application(application)
    }
}

impl ReadPermits {
    /// Permits for a pool of `threads`.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { owners: Mutex::default(), threads, ended: Notify::new() })
    }

    fn owners(&self) -> MutexGuard<'_, BTreeMap<ReadOwner, OwnerReads>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work`, which reads a job's files, on a thread of the pool. Errors: [`FilesHang`]; the thread is abandoned.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        owner: impl Into<ReadOwner>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, FilesHang> {
        let owner = owner.into();
        let permit = self.acquire(owner).await?;
        let reading = tokio::task::spawn_blocking(move || {
            let read = work();
            drop(permit);
            read
        });
        match timeout(READ_TIMEOUT, reading).await {
            Ok(Ok(read)) => Ok(read),
            // It panicked, or still runs.
            Ok(Err(_)) | Err(_) => Err(FilesHang { owner }),
        }
    }

    async fn acquire(self: &Arc<Self>, owner: ReadOwner) -> Result<ReadPermit, FilesHang> {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            // From here on no end is missed.
            ended.as_mut().enable();
            let hangs_from = match self.try_acquire(owner) {
                Ok(permit) => return Ok(permit),
                Err(hangs_from) => hangs_from,
            };
            if Instant::now() >= hangs_from {
                return Err(FilesHang { owner });
            }
            // After a timeout it is checked once more.
            let _ = timeout_at(hangs_from, ended).await;
        }
    }

    /// A permit, or the time from which the job counts as hanging.
    fn try_acquire(self: &Arc<Self>, owner: ReadOwner) -> Result<ReadPermit, Instant> {
        let mut owners = self.owners();
        let free = self.threads - owners.values().map(|reads| reads.reads).sum::<usize>().min(self.threads);
        let now = Instant::now();
        let reads = owners.entry(owner).or_insert(OwnerReads { reads: 0, progress: now });
        let most = free / FREE_SHARE;
        if free == 0 || reads.reads >= most.max(1) {
            return Err(reads.progress + HANGS_AFTER);
        }
        if reads.reads == 0 {
            reads.progress = now;
        }
        reads.reads += 1;
        Ok(ReadPermit { permits: self.clone(), owner })
    }
}

impl Drop for ReadPermit {
    fn drop(&mut self) {
        let mut owners = self.permits.owners();
        if let Some(reads) = owners.get_mut(&self.owner) {
            reads.reads -= 1;
            reads.progress = Instant::now();
            if reads.reads == 0 {
                owners.remove(&self.owner);
            }
        }
        drop(owners);
        self.permits.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn job(number: u32) -> JobId {
        format!("job_202611211027_{number:04}").parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn files_that_hang_take_no_thread_from_other_jobs() {
        let permits = ReadPermits::new(64);
        let (answer, hangs) = mpsc::channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        let reads: Vec<_> = (0..520)
            .map(|_| {
                let (permits, hangs) = (permits.clone(), hangs.clone());
                let hang = move || drop(hangs.lock().map(|hangs| hangs.recv()));
                tokio::spawn(async move { permits.read(job(1), hang).await })
            })
            .collect();
        for _ in 0..100 {
            assert_eq!(permits.read(job(2), || 7).await, Ok(7));
        }
        assert!(permits.owners()[&job(1).into()].reads <= 64 / FREE_SHARE);
        tokio::time::advance(HANGS_AFTER).await;
        let asked = Instant::now();
        assert_eq!(permits.read(job(1), || 7).await, Err(FilesHang { owner: job(1).into() }));
        assert_eq!(asked.elapsed(), Duration::ZERO);
        tokio::time::advance(READ_TIMEOUT).await;
        for read in reads {
            assert_eq!(read.await.unwrap(), Err(FilesHang { owner: job(1).into() }));
        }
        // The files answer again.
        drop(answer);
        loop {
            let mut ended = std::pin::pin!(permits.ended.notified());
            ended.as_mut().enable();
            if !permits.owners().contains_key(&job(1).into()) {
                break;
            }
            ended.await;
        }
        assert_eq!(permits.read(job(1), || 7).await, Ok(7));
    }
}
