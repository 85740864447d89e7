//! Durable facts on their way from the writer to the views. The writer never waits: beyond a limit the feed takes no more,
//! and its reader loads from the database again.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::engine::Fact;
use crate::mapreduce::JobFact;
use crate::market::MarketFact;
use crate::model::FactNumber;

/// Facts of one call to the store: they are durable together.
#[derive(Debug)]
pub struct FactBatch {
    pub first: FactNumber,
    /// Numbered upwards from there, without a gap.
    pub facts: Vec<Fact>,
}

#[derive(Debug)]
pub struct FactFeed(Arc<SharedFeed>);

/// The end of who follows.
#[derive(Debug)]
pub struct FactFollower(Arc<SharedFeed>);

/// Makes a follower look: [`FactFollower::next`] returns, though there may be no facts.
#[derive(Clone, Debug)]
pub(crate) struct FollowerWaker(Arc<SharedFeed>);

/// What [`FactFollower::next`] found.
#[derive(Debug)]
pub struct FollowedFacts {
    pub batches: VecDeque<FactBatch>,
    /// Facts are missing after these, and the next ones follow what is durable now.
    pub is_overflown: bool,
    /// None will come: the store is closed.
    pub is_closed: bool,
}

#[derive(Debug, Default)]
struct SharedFeed {
    state: Mutex<FeedState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct FeedState {
    /// Without a follower nothing is kept.
    is_followed: bool,
    batches: VecDeque<FactBatch>,
    bytes: usize,
    is_overflown: bool,
    is_closed: bool,
    is_woken: bool,
}

/// Most facts that wait, bytes.
const LIMIT_BYTES: usize = 64 << 20;

impl FactFeed {
    /// Both ends. Nothing is kept before the other one [begins](FactFollower::begin).
    pub fn new() -> (Self, FactFollower) {
        let shared = Arc::new(SharedFeed::default());
        (Self(shared.clone()), FactFollower(shared))
    }

    /// Hands durable facts on. Holds no lock that is held for longer than it takes to move a list.
    pub fn forward(&self, batches: VecDeque<FactBatch>) {
        let bytes: usize = batches.iter().map(bytes_of).sum();
        let mut state = self.0.lock();
        if !state.is_followed || state.is_overflown {
            return;
        }
        if state.bytes + bytes > LIMIT_BYTES {
            state.is_overflown = true;
        } else {
            state.bytes += bytes;
            state.batches.extend(batches);
        }
        drop(state);
        self.0.changed.notify_one();
    }
}

impl Drop for FactFeed {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_one();
    }
}

impl FactFollower {
    /// Facts that become durable from now on are kept for this follower.
    pub fn begin(&self) {
        self.0.lock().is_followed = true;
    }

    pub(crate) fn waker(&self) -> FollowerWaker {
        FollowerWaker(self.0.clone())
    }

    /// Waits for facts, the end, an overflow or a waker, at most so long, and takes what is there.
    pub fn next(&self, timeout: Option<Duration>) -> FollowedFacts {
        let is_idle = |state: &mut FeedState| {
            state.batches.is_empty() && !state.is_overflown && !state.is_closed && !state.is_woken
        };
        let state = self.0.lock();
        let waited = match timeout {
            None => self.0.changed.wait_while(state, is_idle),
            Some(timeout) => match self.0.changed.wait_timeout_while(state, timeout, is_idle) {
                Ok((state, _)) => Ok(state),
                Err(poisoned) => Ok(poisoned.into_inner().0),
            },
        };
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        state.is_woken = false;
        FollowedFacts {
            batches: std::mem::take(&mut state.batches),
            is_overflown: std::mem::take(&mut state.is_overflown),
            is_closed: state.is_closed,
        }
    }
}

impl FollowerWaker {
    /// Wakes it. Never waits for what it does.
    pub(crate) fn wake(&self) {
        self.0.lock().is_woken = true;
        self.0.changed.notify_one();
    }
}

impl Drop for FactFollower {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_followed = false;
        let waiting = std::mem::take(&mut state.batches);
        drop(state);
        drop(waiting);
    }
}

impl SharedFeed {
    fn lock(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Approximate memory of facts, bytes.
fn bytes_of(batch: &FactBatch) -> usize {
    let beside = |fact: &Fact| match fact {
        Fact::Job(JobFact::Accepted(job)) => usize::try_from(job.bytes()).unwrap_or(usize::MAX) + job.job_xml.len(),
        Fact::Job(JobFact::AttemptEnded(ended)) => {
            256 + ended.diagnostics.len() + ended.state_text.len() + COUNTERS_BYTES
        }
        Fact::Job(JobFact::AttemptReported { diagnostics, failed_fetches, .. }) => {
            diagnostics.len() + size_of_val(&failed_fetches[..])
        }
        Fact::Job(JobFact::Ended { failure_info, .. }) => failure_info.len() + COUNTERS_BYTES,
        Fact::LaunchAnswer { answer, .. } => answer.len(),
        Fact::KillJobPending { trackers, .. } => size_of_val(&trackers[..]),
        Fact::JobsCharged { jobs, .. } => size_of_val(&jobs[..]),
        Fact::Market(MarketFact::Tick(tick)) => 512 * tick.queue_ticks.len() + size_of_val(&tick.laid[..]),
        Fact::Market(MarketFact::Metered(metered)) => size_of_val(&metered.changes[..]),
        Fact::Applications(changes) => 1_024 * changes.len(),
        _ => 0,
    };
    batch.facts.iter().map(|fact| size_of::<Fact>() + beside(fact)).sum()
}

/// Values of an attempt's counters; their names are shared.
const COUNTERS_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(first: u64, answer_bytes: usize) -> VecDeque<FactBatch> {
        let answer = vec![0; answer_bytes].into();
        let fact = Fact::LaunchAnswer { tracker: "t".into(), response_id: 1, answer };
        [FactBatch { first: FactNumber(first), facts: vec![fact] }].into()
    }

    fn numbers(followed: &FollowedFacts) -> Vec<u64> {
        followed.batches.iter().map(|batch| batch.first.0).collect()
    }

    #[test]
    fn a_follower_that_hangs_costs_a_bounded_memory_and_learns_that_facts_are_missing() {
        let (feed, follower) = FactFeed::new();
        feed.forward(batch(1, 1));
        follower.begin();
        assert_eq!(numbers(&follower.next(Some(Duration::ZERO))), [0; 0], "of before it followed");
        feed.forward(batch(2, LIMIT_BYTES / 2));
        feed.forward(batch(3, LIMIT_BYTES / 4));
        feed.forward(batch(4, LIMIT_BYTES / 2));
        feed.forward(batch(5, 1));
        let found = follower.next(None);
        assert_eq!((numbers(&found), found.is_overflown, found.is_closed), (vec![2, 3], true, false));
        feed.forward(batch(6, LIMIT_BYTES / 2));
        let found = follower.next(None);
        assert_eq!((numbers(&found), found.is_overflown), (vec![6], false));
        drop(feed);
        assert!(follower.next(None).is_closed);
    }

    #[test]
    fn nothing_is_kept_once_the_follower_is_gone() {
        let (feed, follower) = FactFeed::new();
        follower.begin();
        feed.forward(batch(1, 1));
        drop(follower);
        feed.forward(batch(2, 1));
        assert!(feed.0.lock().batches.is_empty());
    }
}
