//! What a tracker holds: its attempts, their slots, and what follows from each order and each event. No socket, file or clock.
//!
//! Invariant: what has ended is reported until a heartbeat that told it is answered, and then forgotten, but for map outputs, which
//! are kept until the job is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind};
use crate::wire::{Action, Task, TaskStatus};

use super::attempt_handle::AttemptHandle;
use super::tracked_attempt::{Ending, HeldAttempt};

/// What to do, after an order or an event.
#[derive(Debug)]
pub enum Deed {
    /// Start the attempt's thread.
    Start {
        /// As it was launched.
        task: Arc<Task>,
        /// Shared with its thread.
        handle: Arc<AttemptHandle>,
        /// Stands in its events.
        launch: u64,
    },
    /// The output of a map is no longer served, its files may go.
    ForgetOutput(AttemptId),
    /// All that is kept of a job may go.
    ForgetJob(JobId),
    /// All that is kept of any job may go; the tracker registers anew.
    ForgetAll,
}

/// What an attempt's thread tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEvent {
    /// It has the job's files and runs.
    Runs,
    /// Its output waits for leave to commit.
    WaitsForCommit,
    /// It is over.
    Ended(Ending),
}

/// What an event of a thread is about.
pub type Told = (AttemptId, u64, AttemptEvent);

/// The attempts of a tracker.
#[derive(Debug)]
pub struct AttemptBook {
    slots: PerKind<u32>,
    attempts: BTreeMap<AttemptId, HeldAttempt>,
    /// In the order of their launches: they wait for a slot.
    queue: Vec<AttemptId>,
    /// Maps whose ends are told and whose outputs are served.
    served: BTreeMap<AttemptId, HeldAttempt>,
    launches: u64,
    failures: i32,
    /// What the heartbeat that is under way tells the end of.
    told: BTreeSet<AttemptId>,
}

// === impl AttemptBook ===

impl AttemptBook {
    /// Of a tracker with so many slots.
    pub fn new(slots: PerKind<u32>) -> Self {
        Self {
            slots,
            attempts: BTreeMap::new(),
            queue: Vec::new(),
            served: BTreeMap::new(),
            launches: 0,
            failures: 0,
            told: BTreeSet::new(),
        }
    }

    /// Attempts that failed since the start.
    pub fn failures(&self) -> i32 {
        self.failures
    }

    /// Whether a slot of some kind is free in the eyes of the JobTracker.
    pub fn has_free_slot(&self) -> bool {
        Kind::ALL.into_iter().any(|kind| {
            let taken = self.attempts.values().filter(|held| held.kind() == kind && held.takes_slot()).count();
            (taken as u64) < u64::from(self.slots[kind])
        })
    }

    /// Attempts whose threads run.
    pub fn started(&self) -> usize {
        self.attempts.values().filter(|held| held.is_started && !held.is_over()).count()
    }

    /// Takes the orders of an answer; the heartbeat that it answers has been received.
    pub fn obey(&mut self, actions: Vec<Action>, wall_ms: i64) -> Vec<Deed> {
        let mut deeds = Vec::new();
        for attempt in std::mem::take(&mut self.told) {
            if let Some(held) = self.attempts.remove(&attempt).filter(|held| held.output_is_kept()) {
                self.served.insert(attempt, held);
            }
        }
        for action in actions {
            match action {
                Action::LaunchTask(task) => self.launch(*task),
                Action::KillTask(attempt) => deeds.extend(self.kill(attempt, wall_ms)),
                Action::KillJob(job) => {
                    self.drop_attempts(|attempt| attempt.task.job == job);
                    deeds.push(Deed::ForgetJob(job));
                }
                Action::ReinitTracker => {
                    self.drop_attempts(|_| true);
                    deeds.push(Deed::ForgetAll);
                }
                Action::CommitTask(attempt) => {
                    if let Some(held) = self.attempts.get(&attempt) {
                        held.handle.allow_commit();
                    }
                }
            }
        }
        self.start_waiting(wall_ms, &mut deeds);
        deeds
    }

    fn launch(&mut self, task: Task) {
        let attempt = task.status.attempt;
        self.launches += 1;
        self.served.remove(&attempt);
        let held = HeldAttempt::new(task, self.launches);
        if let Some(before) = self.attempts.insert(attempt, held) {
            before.handle.kill();
        }
        self.queue.push(attempt);
    }

    fn kill(&mut self, attempt: AttemptId, wall_ms: i64) -> Option<Deed> {
        if self.served.remove(&attempt).is_some() {
            return Some(Deed::ForgetOutput(attempt));
        }
        let held = self.attempts.get_mut(&attempt)?;
        held.handle.kill();
        if !held.is_started {
            held.end(Ending::Killed(String::new()), wall_ms);
        }
        None
    }

    fn drop_attempts(&mut self, goes: impl Fn(&AttemptId) -> bool) {
        self.attempts.retain(|attempt, held| {
            let stays = !goes(attempt);
            if !stays {
                held.handle.kill();
            }
            stays
        });
        self.served.retain(|attempt, _| !goes(attempt));
        self.queue.retain(|attempt| !goes(attempt));
    }

    /// Starts what waits while there are slots: one that commits still has its own.
    fn start_waiting(&mut self, wall_ms: i64, deeds: &mut Vec<Deed>) {
        let at_work = |attempts: &BTreeMap<AttemptId, HeldAttempt>, kind| {
            attempts.values().filter(|held| held.kind() == kind && held.is_started && !held.is_over()).count() as u64
        };
        let mut free = PerKind::new(0, 0);
        for kind in Kind::ALL {
            free[kind] = u64::from(self.slots[kind]).saturating_sub(at_work(&self.attempts, kind));
        }
        self.queue.retain(|attempt| {
            let Some(held) = self.attempts.get_mut(attempt).filter(|held| !held.is_over()) else { return false };
            let kind = held.kind();
            if free[kind] == 0 {
                return true;
            }
            free[kind] -= 1;
            held.start(wall_ms);
            deeds.push(Deed::Start { task: held.task.clone(), handle: held.handle.clone(), launch: held.launch });
            false
        });
    }

    /// Takes what a thread tells; says whether the JobTracker is to hear of it at once.
    pub fn take_event(
        &mut self,
        attempt: AttemptId,
        launch: u64,
        event: AttemptEvent,
        wall_ms: i64,
    ) -> (bool, Vec<Deed>) {
        let mut deeds = Vec::new();
        let Some(held) = self.attempts.get_mut(&attempt).filter(|held| held.launch == launch) else {
            return (false, deeds);
        };
        let tells_at_once = event != AttemptEvent::Runs;
        match event {
            AttemptEvent::Runs => held.run(),
            AttemptEvent::WaitsForCommit => held.wait_for_commit(),
            AttemptEvent::Ended(ending) => {
                held.end(ending, wall_ms);
                self.failures += i32::from(held.state == AttemptState::Failed && !held.task.task_cleanup);
                self.start_waiting(wall_ms, &mut deeds);
            }
        }
        (tells_at_once, deeds)
    }

    /// A map output that was served cannot be read any more: the map is reported failed.
    pub fn lose_output(&mut self, attempt: AttemptId, why: &str) {
        // What the heartbeat under way says of it is no longer the last word.
        self.told.remove(&attempt);
        if let Some(held) = self.served.remove(&attempt) {
            self.attempts.insert(attempt, held);
        }
        if let Some(held) = self.attempts.get_mut(&attempt) {
            held.lose_output(why);
        }
    }

    /// The reports of a heartbeat. It is sent until it is answered: only then may this be called again.
    pub fn reports(&mut self, wall_ms: i64) -> Vec<TaskStatus> {
        self.told = self.attempts.iter().filter(|(_, held)| held.is_over()).map(|(attempt, _)| *attempt).collect();
        self.attempts.values_mut().map(|held| held.report(wall_ms)).collect()
    }

    /// Tells everything to end.
    pub fn kill_all(&self) {
        self.attempts.values().for_each(|held| held.handle.kill());
    }
}

#[cfg(test)]
#[path = "tests/attempt_table.rs"]
mod tests;
