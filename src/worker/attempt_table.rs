//! The attempts of a tracker and their slots, and the commands that follow from each action and event. No socket, file or clock.
//!
//! Invariant: an ended attempt is reported until a heartbeat that reported it is answered, and then forgotten; map outputs are kept until
//! the job is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind};
use crate::wire::{Action, Task, TaskStatus};

use super::attempt_handle::AttemptHandle;
use super::tracked_attempt::{Ending, HeldAttempt};

/// What the tracker must do, after an action or an event.
#[derive(Debug)]
pub enum Deed {
    /// Start the attempt's thread.
    Start {
        task: Arc<Task>,
        /// Shared with its thread.
        handle: Arc<AttemptHandle>,
        /// Identifies this launch in its events.
        launch: u64,
    },
    /// Stop serving the output of a map and remove its files.
    ForgetOutput(AttemptId),
    /// Remove everything of a job.
    ForgetJob(JobId),
    /// Remove everything of all jobs; the tracker registers again.
    ForgetAll,
}

/// A report of an attempt's thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEvent {
    /// The job's files are here and it runs.
    Runs,
    /// Its output waits for permission to commit.
    WaitsForCommit,
    /// It has ended.
    Ended(Ending),
}

/// An event with its attempt and launch number.
pub type Told = (AttemptId, u64, AttemptEvent);

/// The attempts of a tracker.
#[derive(Debug)]
pub struct AttemptBook {
    slots: PerKind<u32>,
    attempts: BTreeMap<AttemptId, HeldAttempt>,
    /// Attempts that wait for a slot, in the order of their launches.
    queue: Vec<AttemptId>,
    /// Maps whose ends are acknowledged and whose outputs are served.
    served: BTreeMap<AttemptId, HeldAttempt>,
    launches: u64,
    failures: i32,
    /// Attempts whose ends are in the heartbeat that is not answered yet.
    told: BTreeSet<AttemptId>,
}

// === impl AttemptBook ===

impl AttemptBook {
    /// An empty table of a tracker with these slots.
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

    /// Whether a slot of any kind is free, as the JobTracker counts them.
    pub fn has_free_slot(&self) -> bool {
        Kind::ALL.into_iter().any(|kind| {
            let taken = self.attempts.values().filter(|held| held.kind() == kind && held.takes_slot()).count();
            (taken as u64) < u64::from(self.slots[kind])
        })
    }

    /// Number of attempts whose threads run.
    pub fn started(&self) -> usize {
        self.attempts.values().filter(|held| held.is_started && !held.is_over()).count()
    }

    /// Applies the actions of an answer, which also acknowledges the ends in its heartbeat.
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

    /// Starts waiting attempts while there are slots: an attempt that commits still has its own.
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

    /// Applies an event; returns whether to report it to the JobTracker at once.
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

    /// Fails a map whose served output can no longer be read.
    pub fn lose_output(&mut self, attempt: AttemptId, why: &str) {
        // The running heartbeat reports success; the next one must report the failure.
        self.told.remove(&attempt);
        if let Some(held) = self.served.remove(&attempt) {
            self.attempts.insert(attempt, held);
        }
        if let Some(held) = self.attempts.get_mut(&attempt) {
            held.lose_output(why);
        }
    }

    /// Builds the reports of a heartbeat. Call it again only after that heartbeat is answered.
    pub fn reports(&mut self, wall_ms: i64) -> Vec<TaskStatus> {
        self.told = self.attempts.iter().filter(|(_, held)| held.is_over()).map(|(attempt, _)| *attempt).collect();
        self.attempts.values_mut().map(|held| held.report(wall_ms)).collect()
    }

    /// Kills all attempts.
    pub fn kill_all(&self) {
        self.attempts.values().for_each(|held| held.handle.kill());
    }
}

#[cfg(test)]
#[path = "tests/attempt_table.rs"]
mod tests;
