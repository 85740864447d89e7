//! Permits for file reads of the web, on a pool of threads. The files of one job may hang without blocking those of others.
//!
//! A job has at most an eighth of the threads that the others leave free. When none of a job's reads makes progress,
//! its further requests are rejected at once, until one does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use crate::model::JobId;

/// Threads of the pool.
pub const READ_THREADS: usize = 256;
/// A job gets one in this many free threads.
const FREE_SHARE: usize = 8;
/// A job hangs when all its reads take this long.
const HANGS_AFTER: Duration = Duration::from_secs(5);
/// Longest wait of an answer for one read. The thread keeps waiting.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The running reads, by job.
#[derive(Debug)]
pub struct ReadPermits {
    jobs: Mutex<BTreeMap<JobId, JobReads>>,
    threads: usize,
    /// A read has ended.
    ended: Notify,
}

#[derive(Debug)]
struct JobReads {
    reads: usize,
    /// When one of them last started or ended.
    progress: Instant,
}

/// Permit for one read; released when dropped.
struct ReadPermit {
    permits: Arc<ReadPermits>,
    job: JobId,
}

/// The files of a job do not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the files of {job} hang on this machine; try again later")]
pub struct FilesHang {
    /// The job.
    pub job: JobId,
}

// === impl ReadPermits ===

impl ReadPermits {
    /// Permits for a pool of `threads`.
    pub fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { jobs: Mutex::default(), threads, ended: Notify::new() })
    }

    fn jobs(&self) -> MutexGuard<'_, BTreeMap<JobId, JobReads>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work`, which reads a job's files, on a thread of the pool.
    ///
    /// # Errors
    /// [`FilesHang`]; the thread is abandoned.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        job: JobId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, FilesHang> {
        let permit = self.acquire(job).await?;
        let reading = tokio::task::spawn_blocking(move || {
            let read = work();
            drop(permit);
            read
        });
        match timeout(READ_TIMEOUT, reading).await {
            Ok(Ok(read)) => Ok(read),
            // It panicked, or still runs.
            Ok(Err(_)) | Err(_) => Err(FilesHang { job }),
        }
    }

    async fn acquire(self: &Arc<Self>, job: JobId) -> Result<ReadPermit, FilesHang> {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            // From here on no end is missed.
            ended.as_mut().enable();
            let hangs_from = match self.try_acquire(job) {
                Ok(permit) => return Ok(permit),
                Err(hangs_from) => hangs_from,
            };
            if Instant::now() >= hangs_from {
                return Err(FilesHang { job });
            }
            // After a timeout it is checked once more.
            let _ = timeout_at(hangs_from, ended).await;
        }
    }

    /// A permit, or the time from which the job counts as hanging.
    fn try_acquire(self: &Arc<Self>, job: JobId) -> Result<ReadPermit, Instant> {
        let mut jobs = self.jobs();
        let free = self.threads - jobs.values().map(|reads_of_job| reads_of_job.reads).sum::<usize>().min(self.threads);
        let now = Instant::now();
        let reads_of_job = jobs.entry(job).or_insert(JobReads { reads: 0, progress: now });
        let most = free / FREE_SHARE;
        if free == 0 || reads_of_job.reads >= most.max(1) {
            return Err(reads_of_job.progress + HANGS_AFTER);
        }
        if reads_of_job.reads == 0 {
            reads_of_job.progress = now;
        }
        reads_of_job.reads += 1;
        Ok(ReadPermit { permits: self.clone(), job })
    }
}

impl Drop for ReadPermit {
    fn drop(&mut self) {
        let mut jobs = self.permits.jobs();
        if let Some(reads_of_job) = jobs.get_mut(&self.job) {
            reads_of_job.reads -= 1;
            reads_of_job.progress = Instant::now();
            if reads_of_job.reads == 0 {
                jobs.remove(&self.job);
            }
        }
        drop(jobs);
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
        assert!(permits.jobs()[&job(1)].reads <= 64 / FREE_SHARE);
        tokio::time::advance(HANGS_AFTER).await;
        let asked = Instant::now();
        assert_eq!(permits.read(job(1), || 7).await, Err(FilesHang { job: job(1) }));
        assert_eq!(asked.elapsed(), Duration::ZERO);
        tokio::time::advance(READ_TIMEOUT).await;
        for read in reads {
            assert_eq!(read.await.unwrap(), Err(FilesHang { job: job(1) }));
        }
        // The files answer again.
        drop(answer);
        loop {
            let mut ended = std::pin::pin!(permits.ended.notified());
            ended.as_mut().enable();
            if !permits.jobs().contains_key(&job(1)) {
                break;
            }
            ended.await;
        }
        assert_eq!(permits.read(job(1), || 7).await, Ok(7));
    }
}
