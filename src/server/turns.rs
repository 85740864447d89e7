//! Turns for work that may hang on somebody's files: a share for each user, a deadline for each turn, and a bound on what is stuck.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, oneshot};

/// Users whose shares are remembered before those that hold nothing are forgotten.
const REMEMBERED_USERS: usize = 1_000;

/// Places of which one user cannot hold all.
#[derive(Debug)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    share: usize,
    users: RefCell<BTreeMap<Arc<str>, Share>>,
}

/// What one user may hold.
#[derive(Clone, Debug)]
struct Share {
    places: Arc<Semaphore>,
    stuck: Rc<Cell<usize>>,
}

/// A place that is held.
#[derive(Debug)]
pub(super) struct Place {
    of_all: OwnedSemaphorePermit,
    of_share: OwnedSemaphorePermit,
}

// === impl Places ===

impl Places {
    /// So many places, of which one user holds at most `share`.
    pub(super) fn new(all: usize, share: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), share, users: RefCell::default() }
    }

    /// A place, when the user has one left and one is free. Users wait in line only with what their share allows, so nobody
    /// waits behind more than a share of each other user.
    pub(super) async fn acquire(&self, user: &Arc<str>) -> Result<Place, AcquireError> {
        let of_share = self.share_of(user).places.acquire_owned().await?;
        Ok(Place { of_all: self.all.clone().acquire_owned().await?, of_share })
    }

    /// A place, if there is one for this user now.
    pub(super) fn try_acquire(&self, user: &Arc<str>) -> Option<Place> {
        let of_share = self.share_of(user).places.try_acquire_owned().ok()?;
        Some(Place { of_all: self.all.clone().try_acquire_owned().ok()?, of_share })
    }

    fn share_of(&self, user: &Arc<str>) -> Share {
        let mut users = self.users.borrow_mut();
        if let Some(share) = users.get(user) {
            return share.clone();
        }
        // Names come from clients: they must not fill the memory.
        if users.len() >= REMEMBERED_USERS {
            users.retain(|_, share| Arc::strong_count(&share.places) > 1);
        }
        let share = Share { places: Arc::new(Semaphore::new(self.share)), stuck: Rc::default() };
        users.insert(user.clone(), share.clone());
        share
    }
}

/// How many turns hang, for any thread.
#[derive(Clone, Debug)]
pub struct StuckTurns {
    stuck: Arc<AtomicUsize>,
    most: usize,
}

// === impl StuckTurns ===

impl StuckTurns {
    #[cfg(test)]
    pub(super) fn of(stuck: usize, most: usize) -> Self {
        Self { stuck: Arc::new(AtomicUsize::new(stuck)), most }
    }

    /// What hangs, once something does: how many turns, and how many may.
    #[must_use]
    pub fn stuck(&self) -> Option<(usize, usize)> {
        let stuck = self.stuck.load(Ordering::Relaxed);
        (stuck > 0).then_some((stuck, self.most))
    }

    /// Whether no turn is left.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.stuck.load(Ordering::Relaxed) >= self.most
    }
}

/// Turns on threads.
#[derive(Debug)]
pub(super) struct Turns {
    places: Places,
    deadline: Duration,
    stuck: StuckTurns,
}

/// Why a piece of work gave no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum TurnError {
    /// Too much of everybody hangs.
    #[error(
        "no turn is left for files of jobs, for all {0} hang on files that do not answer: ask the administrator to look at the file system"
    )]
    AllHang(usize),
    /// Too much of the user's hangs.
    #[error(
        "{0} turns of this user hang on files that do not answer, the most that one user may hold: try again when they do"
    )]
    UserHangs(usize),
    /// None came free.
    #[error("no turn for files of jobs came free within {} s, for those before hang: try again soon", .0.as_secs())]
    NoTurn(Duration),
    /// The work itself takes too long; the receiver completes when it has ended.
    #[error("files of the job have not answered within {} s: try again when they do", .0.as_secs())]
    Overdue(Duration, oneshot::Receiver<()>),
    /// The work has panicked, or the daemon ends.
    #[error("the JobTracker failed at it: {0}")]
    Failed(#[from] tokio::task::JoinError),
    /// The daemon ends.
    #[error("the JobTracker is stopping: {0}")]
    Closed(#[from] AcquireError),
}

// === impl Turns ===

impl Turns {
    /// `all` turns at one time, `share` of one user. After `deadline` a turn is given back, whether its work has ended or
    /// not; while `most_stuck` have not, there is none.
    pub(super) fn new(all: usize, share: usize, deadline: Duration, most_stuck: usize) -> Self {
        let stuck = StuckTurns { stuck: Arc::default(), most: most_stuck };
        Self { places: Places::new(all, share), deadline, stuck }
    }

    /// How many hang.
    pub(super) fn stuck(&self) -> StuckTurns {
        self.stuck.clone()
    }

    /// Runs blocking work for a user on a thread when it is his turn. Must run where local tasks can be spawned.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        user: &Arc<str>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TurnError> {
        let share = self.places.share_of(user);
        self.check(&share)?;
        // Those before have their deadlines too, so this is long enough for all who do not hang.
        let place = tokio::time::timeout(self.deadline * 2, self.places.acquire(user)).await;
        let Place { of_all, of_share } = place.map_err(|_| TurnError::NoTurn(self.deadline * 2))??;
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
            // Whatever it says, nobody waits for it any more.
            let _ = working.await;
            stuck.fetch_sub(1, Ordering::Relaxed);
            share.stuck.set(share.stuck.get().saturating_sub(1));
            drop(of_share);
            let _ = ended.send(());
        });
        Err(TurnError::Overdue(self.deadline, end))
    }

    fn check(&self, share: &Share) -> Result<(), TurnError> {
        if self.stuck.are_all() {
            return Err(TurnError::AllHang(self.stuck.most));
        }
        match share.stuck.get() {
            stuck if stuck >= self.places.share => Err(TurnError::UserHangs(stuck)),
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
    async fn work_that_hangs_gives_its_turn_back() {
        LocalSet::new()
            .run_until(async {
                let turns = Turns::new(1, 1, DEADLINE, 2);
                let (first, work) = hang();
                let Err(TurnError::Overdue(_, ended)) = turns.run(&user("alice"), work).await else {
                    panic!("it hangs")
                };
                assert_eq!(turns.stuck().stuck(), Some((1, 2)));
                assert_eq!(turns.run(&user("bob"), || 7).await.unwrap(), 7, "the only turn is free again");
                let error = turns.run(&user("alice"), || 7).await.unwrap_err();
                assert!(matches!(error, TurnError::UserHangs(1)), "{error}");
                let (second, work) = hang();
                assert!(turns.run(&user("carol"), work).await.is_err());
                let error = turns.run(&user("bob"), || 7).await.unwrap_err();
                assert!(matches!(error, TurnError::AllHang(2)) && turns.stuck().are_all(), "{error}");
                drop(first);
                ended.await.unwrap();
                assert_eq!(turns.run(&user("alice"), || 7).await.unwrap(), 7);
                drop(second);
            })
            .await;
    }

    #[tokio::test]
    async fn one_user_leaves_places_to_others() {
        let places = Places::new(4, 2);
        let held = [places.try_acquire(&user("alice")), places.try_acquire(&user("alice"))];
        assert!(held.iter().all(Option::is_some));
        assert!(places.try_acquire(&user("alice")).is_none());
        assert!(places.try_acquire(&user("bob")).is_some());
        drop(held);
        assert!(places.try_acquire(&user("alice")).is_some());
    }

    #[tokio::test]
    async fn names_of_users_do_not_fill_the_memory() {
        let places = Places::new(10_000, 1);
        let held = places.try_acquire(&user("alice"));
        for number in 0..3 * REMEMBERED_USERS {
            drop(places.try_acquire(&user(&format!("u{number}"))));
        }
        assert!(places.users.borrow().len() <= REMEMBERED_USERS + 1);
        assert!(places.try_acquire(&user("alice")).is_none(), "what is held is not forgotten");
        drop(held);
    }
}
