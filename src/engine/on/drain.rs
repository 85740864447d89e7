//! Drained workers: they get no new tasks, keep what runs on them and serve what they have, until they are resumed. Their slots
//! count as little as those of an unhealthy tracker.

use std::sync::Arc;

use crate::engine::core::{Engine, Reply, Wait};
use crate::engine::state::{Caller, Drain, Fact, LogLevel, MAX_DRAINS, Refusal, Tracker};
use crate::market::{Answer, MarketError, Operation};
use crate::model::{Now, PerKind, TrackerId};
use crate::wire::worker_name;

impl Engine {
    /// Drains a worker, or resumes it, in the name of a caller who is believed: administrators of the cluster may.
    pub(super) fn on_drain_worker(&mut self, worker: &str, is_on: bool, caller: &Caller, now: Now) -> (Reply, Wait) {
        if !self.is_administrator(caller) {
            let text = format!("{} is not authorized to drain or resume workers", caller.user);
            return (Reply::Refused(Refusal::AccessDenied(text)), Wait::Nothing);
        }
        let answer = self.drain_worker(worker, is_on, &caller.user, now);
        (Reply::Market(answer), Wait::All)
    }

    /// Performs what the market permits of drains; passes other answers through.
    pub(super) fn perform_drain(&mut self, answer: Answer, now: Now) -> Result<Answer, MarketError> {
        match answer {
            Answer::Permitted(Operation::Drain { worker, is_on, by }) => self.drain_worker(&worker, is_on, &by, now),
            other => Ok(other),
        }
    }

    pub(crate) fn drained_workers(&self) -> impl Iterator<Item = &Arc<str>> {
        self.trackers.drains.iter().map(|drain| &drain.worker)
    }

    /// Drains or resumes a worker; no change if it is so already.
    fn drain_worker(&mut self, named: &str, is_on: bool, user: &str, now: Now) -> Result<Answer, MarketError> {
        // A worker with a name of its own is known by that, even if it is named by its tracker.
        let worker: Arc<str> = worker_name(named).into();
        let is_drained = self.trackers.drains.get(&worker).is_some();
        let mut expected = self.trackers.names().chain(self.trackers.presences.names());
        let is_known = is_drained || expected.any(|tracker| worker_name(tracker) == &*worker);
        drop(expected);
        if !is_known {
            return Err(MarketError::UnknownWorker(named.chars().take(256).collect()));
        }
        if is_on && !is_drained {
            if self.trackers.drains.is_full() {
                return Err(MarketError::TooManyDrains(MAX_DRAINS));
            }
            let drain = Drain { worker: worker.clone(), user: user.into(), since_ms: now.wall_ms };
            self.trackers.drains.add(drain.clone());
            self.outbox.record(Fact::WorkerDrained(drain));
            self.outbox.log_line(LogLevel::Info, format!("{user} drains {worker}: it gets no new tasks"));
        } else if !is_on && self.trackers.drains.remove(&worker) {
            self.outbox.record(Fact::WorkerResumed { worker: worker.clone() });
            self.outbox.log_line(LogLevel::Info, format!("{user} resumes {worker}"));
        }
        self.apply_drain(&worker, is_on, now);
        let used = self.trackers_of(&worker).map(|tracker| self.slots_in_use(tracker));
        let used = used.map(|used| u64::from(used.map) + u64::from(used.reduce)).sum();
        Ok(Answer::Worker { used, worker: worker.to_string(), is_draining: is_on })
    }

    /// Counts the slots of a worker, or counts them no more.
    fn apply_drain(&mut self, worker: &str, is_on: bool, now: Now) {
        let ids: Vec<TrackerId> = self.trackers_of(worker).map(|tracker| tracker.id).collect();
        for id in ids {
            let Some(tracker) = self.trackers.get_mut(id) else { continue };
            tracker.is_drained = is_on;
            let counts = tracker.healthy && !is_on;
            let slots = if counts { tracker.reported_slots } else { PerKind::default() };
            if tracker.slots != slots {
                self.count_slots(id, slots, now);
            }
        }
    }

    fn trackers_of(&self, worker: &str) -> impl Iterator<Item = &Tracker> {
        self.trackers.iter().filter(move |tracker| worker_name(&tracker.name) == worker)
    }
}
