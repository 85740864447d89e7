//! Reads of files for the web, on threads of a pool. The files of one job may hang, those of the others are read all the same.
//!
//! A job has at most an eighth of the threads that the others leave free. When none of a job's reads makes progress any more, its further
//! requests are refused at once, until one does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use crate::model::JobId;

/// Threads of the pool.
pub const READ_THREADS: usize = 256;
/// A job has this part of the threads that are free.
const SHARE_OF_FREE: usize = 8;
/// A job hangs when all of its reads take so long.
const HANGS_AFTER: Duration = Duration::from_secs(5);
/// So long an answer waits for one read. The thread waits on.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The reads under way, by job.
#[derive(Debug)]
pub struct ReadTurns {
    jobs: Mutex<BTreeMap<JobId, OfJob>>,
    threads: usize,
    /// A read has ended.
    ended: Notify,
}

#[derive(Debug)]
struct OfJob {
    reads: usize,
    /// When one of them began or ended last.
    progress: Instant,
}

/// One read; given back when dropped.
struct Turn {
    turns: Arc<ReadTurns>,
    job: JobId,
}

/// The files of a job do not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the files of {job} hang on this machine; try again later")]
pub struct FilesHang {
    /// The job.
    pub job: JobId,
}

// === impl ReadTurns ===

impl ReadTurns {
    /// For a pool of so many threads.
    pub fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { jobs: Mutex::default(), threads, ended: Notify::new() })
    }

    fn jobs(&self) -> MutexGuard<'_, BTreeMap<JobId, OfJob>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `work` reads of a job's files, on a thread of the pool.
    ///
    /// # Errors
    /// [`FilesHang`]; the thread is waited for no longer then.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        job: JobId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, FilesHang> {
        let turn = self.turn(job).await?;
        let reading = tokio::task::spawn_blocking(move || {
            let read = work();
            drop(turn);
            read
        });
        match timeout(READ_TIMEOUT, reading).await {
            Ok(Ok(read)) => Ok(read),
            // It panicked, or is still at it.
            Ok(Err(_)) | Err(_) => Err(FilesHang { job }),
        }
    }

    async fn turn(self: &Arc<Self>, job: JobId) -> Result<Turn, FilesHang> {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            // From here on no end is missed.
            ended.as_mut().enable();
            let hangs_from = match self.take(job) {
                Ok(turn) => return Ok(turn),
                Err(hangs_from) => hangs_from,
            };
            if Instant::now() >= hangs_from {
                return Err(FilesHang { job });
            }
            // Not heard of in time: looked at once more.
            let _ = timeout_at(hangs_from, ended).await;
        }
    }

    /// A turn, or when the job counts as hanging.
    fn take(self: &Arc<Self>, job: JobId) -> Result<Turn, Instant> {
        let mut jobs = self.jobs();
        let free = self.threads - jobs.values().map(|of_job| of_job.reads).sum::<usize>().min(self.threads);
        let now = Instant::now();
        let of_job = jobs.entry(job).or_insert(OfJob { reads: 0, progress: now });
        let most = free / SHARE_OF_FREE;
        if free == 0 || of_job.reads >= most.max(1) {
            return Err(of_job.progress + HANGS_AFTER);
        }
        if of_job.reads == 0 {
            of_job.progress = now;
        }
        of_job.reads += 1;
        Ok(Turn { turns: self.clone(), job })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut jobs = self.turns.jobs();
        if let Some(of_job) = jobs.get_mut(&self.job) {
            of_job.reads -= 1;
            of_job.progress = Instant::now();
            if of_job.reads == 0 {
                jobs.remove(&self.job);
            }
        }
        drop(jobs);
        self.turns.ended.notify_waiters();
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
        let turns = ReadTurns::new(64);
        let (answer, hangs) = mpsc::channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        let reads: Vec<_> = (0..520)
            .map(|_| {
                let (turns, hangs) = (turns.clone(), hangs.clone());
                let hang = move || drop(hangs.lock().map(|hangs| hangs.recv()));
                tokio::spawn(async move { turns.read(job(1), hang).await })
            })
            .collect();
        for _ in 0..100 {
            assert_eq!(turns.read(job(2), || 7).await, Ok(7));
        }
        assert!(turns.jobs()[&job(1)].reads <= 64 / SHARE_OF_FREE);
        tokio::time::advance(HANGS_AFTER).await;
        let asked = Instant::now();
        assert_eq!(turns.read(job(1), || 7).await, Err(FilesHang { job: job(1) }));
        assert_eq!(asked.elapsed(), Duration::ZERO);
        tokio::time::advance(READ_TIMEOUT).await;
        for read in reads {
            assert_eq!(read.await.unwrap(), Err(FilesHang { job: job(1) }));
        }
        // The files answer again.
        drop(answer);
        loop {
            let mut ended = std::pin::pin!(turns.ended.notified());
            ended.as_mut().enable();
            if !turns.jobs().contains_key(&job(1)) {
                break;
            }
            ended.await;
        }
        assert_eq!(turns.read(job(1), || 7).await, Ok(7));
    }
}
