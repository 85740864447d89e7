//! Blocking work on users' files, which may hang: a share per user, a deadline per run, and a bound on stuck threads.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, oneshot};

/// Users with a share in memory; beyond it idle ones are removed.
const REMEMBERED_USERS: usize = 1_000;

/// Permits of which one user cannot hold all.
#[derive(Debug)]
pub(super) struct FairShares {
    all: Arc<Semaphore>,
    share: usize,
    users: RefCell<BTreeMap<Arc<str>, UserShare>>,
}

#[derive(Clone, Debug)]
struct UserShare {
    permits: Arc<Semaphore>,
    stuck: Rc<Cell<usize>>,
}

#[derive(Debug)]
pub(super) struct FairPermit {
    of_all: OwnedSemaphorePermit,
    of_share: OwnedSemaphorePermit,
}

impl FairShares {
    /// `all` permits, of which one user may hold `share`.
    pub(super) fn new(all: usize, share: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), share, users: RefCell::default() }
    }

    /// Waits for a permit. Users queue only with the permits of their share, so a wait is never longer than one share
    /// of each other user.
    pub(super) async fn acquire(&self, user: &Arc<str>) -> Result<FairPermit, AcquireError> {
        let of_share = self.share_of(user).permits.acquire_owned().await?;
        Ok(FairPermit { of_all: self.all.clone().acquire_owned().await?, of_share })
    }

    /// A permit, if this user can have one now.
    pub(super) fn try_acquire(&self, user: &Arc<str>) -> Option<FairPermit> {
        let of_share = self.share_of(user).permits.try_acquire_owned().ok()?;
        Some(FairPermit { of_all: self.all.clone().try_acquire_owned().ok()?, of_share })
    }

    fn share_of(&self, user: &Arc<str>) -> UserShare {
        let mut users = self.users.borrow_mut();
        if let Some(share) = users.get(user) {
            return share.clone();
        }
        // Names come from clients: they must not fill the memory.
        if users.len() >= REMEMBERED_USERS {
            users.retain(|_, share| Arc::strong_count(&share.permits) > 1);
        }
        let share = UserShare { permits: Arc::new(Semaphore::new(self.share)), stuck: Rc::default() };
        users.insert(user.clone(), share.clone());
        share
    }
}

/// The number of stuck threads, readable on any thread.
#[derive(Clone, Debug)]
pub(crate) struct StuckThreads {
    stuck: Arc<AtomicUsize>,
    most: usize,
}

impl StuckThreads {
    #[cfg(test)]
    pub(super) fn of(stuck: usize, most: usize) -> Self {
        Self { stuck: Arc::new(AtomicUsize::new(stuck)), most }
    }

    /// The stuck threads and their limit, if any are stuck.
    #[must_use]
    pub(crate) fn stuck(&self) -> Option<(usize, usize)> {
        let stuck = self.stuck.load(Ordering::Relaxed);
        (stuck > 0).then_some((stuck, self.most))
    }

    /// Whether all threads are stuck.
    #[must_use]
    pub(crate) fn are_all(&self) -> bool {
        self.stuck.load(Ordering::Relaxed) >= self.most
    }
}

/// A pool of blocking threads with shares per user.
#[derive(Debug)]
pub(super) struct FairPool {
    permits: FairShares,
    deadline: Duration,
    stuck: StuckThreads,
}

/// Why work gave no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum FairPoolError {
    #[error(
        "all {0} threads for files of jobs are stuck on files that do not answer: ask the administrator to check \
         the file system"
    )]
    AllHang(usize),
    #[error(
        "{0} threads are stuck on files of this user that do not answer, the limit per user: try again when they do"
    )]
    UserHangs(usize),
    /// No thread became free.
    #[error("no thread for files of jobs became free within {} s because earlier ones are stuck: try again soon", .0.as_secs())]
    NoThread(Duration),
    /// The work missed its deadline; the receiver completes when it ends.
    #[error("files of the job have not answered within {} s: try again when they do", .0.as_secs())]
    Overdue(Duration, oneshot::Receiver<()>),
    /// The work panicked, or the daemon stops.
    #[error("the JobTracker failed internally: {0}")]
    Failed(#[from] tokio::task::JoinError),
    /// The daemon stops.
    #[error("the JobTracker is stopping: {0}")]
    Closed(#[from] AcquireError),
}

impl FairPool {
    /// `all` threads, `share` of one user. After `deadline` a thread counts as stuck and its permit is released; with
    /// `most_stuck` stuck threads, work is rejected.
    pub(super) fn new(all: usize, share: usize, deadline: Duration, most_stuck: usize) -> Self {
        let stuck = StuckThreads { stuck: Arc::default(), most: most_stuck };
        Self { permits: FairShares::new(all, share), deadline, stuck }
    }

    pub(super) fn stuck(&self) -> StuckThreads {
        self.stuck.clone()
    }

    /// Runs blocking work for a user. Requires a `LocalSet` or a local runtime.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        user: &Arc<str>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, FairPoolError> {
        let share = self.permits.share_of(user);
        self.check(&share)?;
        // Earlier runs have deadlines too, so this is enough unless they are stuck.
        let permit = tokio::time::timeout(self.deadline * 2, self.permits.acquire(user)).await;
        let FairPermit { of_all, of_share } = permit.map_err(|_| FairPoolError::NoThread(self.deadline * 2))??;
        self.check(&share)?;
        let mut working = tokio::task::spawn_blocking(work);
        if let Ok(ended) = tokio::time::timeout(self.deadline, &mut working).await {
            return Ok(ended?);
        }
        drop(of_all);
        let (ended, end) = oneshot::channel();
        self.stuck.stuck.fetch_add(1, Ordering::Relaxed);
        share.stuck.set(share.stuck.get() + 1);
        let stuck = self.stuck.stuck.clone();
        tokio::task::spawn_local(async move {
            // The late result is discarded.
            let _ = working.await;
            stuck.fetch_sub(1, Ordering::Relaxed);
            share.stuck.set(share.stuck.get().saturating_sub(1));
            drop(of_share);
            let _ = ended.send(());
        });
        Err(FairPoolError::Overdue(self.deadline, end))
    }

    fn check(&self, share: &UserShare) -> Result<(), FairPoolError> {
        if self.stuck.are_all() {
            return Err(FairPoolError::AllHang(self.stuck.most));
        }
        match share.stuck.get() {
            stuck if stuck >= self.permits.share => Err(FairPoolError::UserHangs(stuck)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use tokio::task::LocalSet;

    const DEADLINE: Duration = Duration::from_millis(20);

    /// Work that hangs until its sender is dropped.
    fn hang() -> (mpsc::Sender<()>, impl FnOnce() + Send + 'static) {
        let (sender, receiver) = mpsc::channel::<()>();
        let hang = move || {
            let _ = receiver.recv();
        };
        (sender, hang)
    }

    fn user(name: &str) -> Arc<str> {
        name.into()
    }

    #[tokio::test]
    async fn stuck_work_releases_its_permit() {
        LocalSet::new()
            .run_until(async {
                let pool = FairPool::new(1, 1, DEADLINE, 2);
                let (first, work) = hang();
                let Err(FairPoolError::Overdue(_, ended)) = pool.run(&user("alice"), work).await else {
                    panic!("it hangs")
                };
                assert_eq!(pool.stuck().stuck(), Some((1, 2)));
                assert_eq!(pool.run(&user("bob"), || 7).await.unwrap(), 7, "the only permit is free again");
                let error = pool.run(&user("alice"), || 7).await.unwrap_err();
                assert!(matches!(error, FairPoolError::UserHangs(1)), "{error}");
                let (second, work) = hang();
                assert!(pool.run(&user("carol"), work).await.is_err());
                let error = pool.run(&user("bob"), || 7).await.unwrap_err();
                assert!(matches!(error, FairPoolError::AllHang(2)) && pool.stuck().are_all(), "{error}");
                drop(first);
                ended.await.unwrap();
                assert_eq!(pool.run(&user("alice"), || 7).await.unwrap(), 7);
                drop(second);
            })
            .await;
    }

    #[tokio::test]
    async fn one_user_leaves_places_to_others() {
        let permits = FairShares::new(4, 2);
        let held = [permits.try_acquire(&user("alice")), permits.try_acquire(&user("alice"))];
        assert!(held.iter().all(Option::is_some));
        assert!(permits.try_acquire(&user("alice")).is_none());
        assert!(permits.try_acquire(&user("bob")).is_some());
        drop(held);
        assert!(permits.try_acquire(&user("alice")).is_some());
    }

    #[tokio::test]
    async fn names_of_users_do_not_fill_the_memory() {
        let permits = FairShares::new(10_000, 1);
        let held = permits.try_acquire(&user("alice"));
        for number in 0..3 * REMEMBERED_USERS {
            drop(permits.try_acquire(&user(&format!("u{number}"))));
        }
        assert!(permits.users.borrow().len() <= REMEMBERED_USERS + 1);
        assert!(permits.try_acquire(&user("alice")).is_none(), "what is held is not forgotten");
        drop(held);
    }
}
