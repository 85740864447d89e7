//! The attempts of a tracker and their slots, and the commands that follow from each action and event. No socket, file or clock. Invariant:
//! an ended attempt is reported until a heartbeat that reported it is answered, and then forgotten; map outputs are kept until the job is
//! over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind};
use crate::wire::{Action, Task, TaskStatus};

use super::attempt_handle::AttemptHandle;
use super::tracked_attempt::{AttemptOutcome, TrackedAttempt};

/// Diagnostics of attempts that the end of the worker ended.
const WORKER_ENDED: &str = "the worker was stopped";

/// What the tracker must do, after an action or an event.
#[derive(Debug)]
pub(crate) enum AttemptCommand {
    Start {
        task: Arc<Task>,
        /// Shared with its thread.
        handle: Arc<AttemptHandle>,
        launch: u64,
    },
    /// Stop serving the output of a map and remove its files.
    ForgetOutput(AttemptId),
    ForgetJob(JobId),
    /// Remove everything of all jobs; the tracker registers again.
    ForgetAll,
}

/// A report of an attempt's thread.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum AttemptEvent {
    /// The job's files are here and it runs.
    Running,
    /// Its output waits for permission to commit.
    CommitPending,
    Ended(AttemptOutcome),
}

/// An event with its attempt and launch number.
pub(crate) type AttemptMessage = (AttemptId, u64, AttemptEvent);

#[derive(Debug)]
pub(crate) struct AttemptTable {
    slots: PerKind<u32>,
    attempts: BTreeMap<AttemptId, TrackedAttempt>,
    /// Attempts that wait for a slot, in the order of their launches.
    queue: Vec<AttemptId>,
    /// Maps whose ends are acknowledged and whose outputs are served.
    served: BTreeMap<AttemptId, TrackedAttempt>,
    launch_count: u64,
    failure_count: i32,
    /// Attempts whose ends are in the heartbeat that is not answered yet.
    reported_ends: BTreeSet<AttemptId>,
}

impl AttemptTable {
    /// An empty table of a tracker with these slots.
    pub(crate) fn new(slots: PerKind<u32>) -> Self {
        Self {
            slots,
            attempts: BTreeMap::new(),
            queue: Vec::new(),
            served: BTreeMap::new(),
            launch_count: 0,
            failure_count: 0,
            reported_ends: BTreeSet::new(),
        }
    }

    pub(crate) fn failure_count(&self) -> i32 {
        self.failure_count
    }

    /// Whether a slot of any kind is free, as the JobTracker counts them.
    pub(crate) fn has_free_slot(&self) -> bool {
        Kind::ALL.into_iter().any(|kind| {
            let holders = self.attempts.values().filter(|tracked| tracked.kind() == kind && tracked.occupies_slot());
            let taken = holders.map(TrackedAttempt::slots).fold(0, u64::saturating_add);
            taken < u64::from(self.slots[kind])
        })
    }

    /// Notes the worker's health with which an attempt was started.
    pub(crate) fn set_wave(&mut self, attempt: AttemptId, wave: u64) {
        if let Some(tracked) = self.attempts.get_mut(&attempt) {
            tracked.wave = wave;
        }
    }

    /// That of a launch that has not ended.
    pub(crate) fn wave_of(&self, attempt: AttemptId, launch: u64) -> Option<u64> {
        let tracked =
            self.attempts.get(&attempt).filter(|tracked| tracked.launch == launch && !tracked.is_finished())?;
        Some(tracked.wave)
    }

    /// Of the slots, how many attempts hold that run, parts in a thousand.
    pub(crate) fn running_permille(&self) -> u32 {
        let running = self.attempts.values().filter(|tracked| tracked.state == AttemptState::Running);
        let held = running.map(TrackedAttempt::slots).fold(0, u64::saturating_add);
        let all = u64::from(self.slots.map) + u64::from(self.slots.reduce);
        u32::try_from(held.saturating_mul(1000).div_ceil(all.max(1))).unwrap_or(u32::MAX)
    }

    /// Number of attempts whose threads run.
    pub(crate) fn running_count(&self) -> usize {
        self.attempts.values().filter(|tracked| tracked.is_started && !tracked.is_finished()).count()
    }

    /// Applies the actions of an answer, which also acknowledges the ends in its heartbeat.
    pub(crate) fn apply_actions(&mut self, actions: Vec<Action>, wall_ms: i64) -> Vec<AttemptCommand> {
        let mut commands = Vec::new();
        for attempt in std::mem::take(&mut self.reported_ends) {
            if let Some(tracked) = self.attempts.remove(&attempt).filter(|tracked| tracked.has_served_output()) {
                self.served.insert(attempt, tracked);
            }
        }
        for action in actions {
            match action {
                Action::LaunchTask(task) => self.launch(*task),
                Action::KillTask(attempt) => commands.extend(self.kill(attempt, wall_ms)),
                Action::KillJob(job) => {
                    self.remove_attempts(|attempt| attempt.task.job == job);
                    commands.push(AttemptCommand::ForgetJob(job));
                }
                Action::ReinitTracker => {
                    self.remove_attempts(|_| true);
                    commands.push(AttemptCommand::ForgetAll);
                }
                Action::CommitTask(attempt) => {
                    if let Some(tracked) = self.attempts.get(&attempt) {
                        tracked.handle.grant_commit();
                    }
                }
            }
        }
        self.start_waiting(wall_ms, &mut commands);
        commands
    }

    fn launch(&mut self, task: Task) {
        let attempt = task.status.attempt;
        self.launch_count += 1;
        self.served.remove(&attempt);
        let tracked = TrackedAttempt::new(task, self.launch_count);
        if let Some(before) = self.attempts.insert(attempt, tracked) {
            before.handle.kill();
        }
        self.queue.push(attempt);
    }

    fn kill(&mut self, attempt: AttemptId, wall_ms: i64) -> Option<AttemptCommand> {
        if self.served.remove(&attempt).is_some() {
            return Some(AttemptCommand::ForgetOutput(attempt));
        }
        let tracked = self.attempts.get_mut(&attempt)?;
        tracked.handle.kill();
        if !tracked.is_started {
            tracked.finish(AttemptOutcome::Killed(String::new()), wall_ms);
        }
        None
    }

    fn remove_attempts(&mut self, is_dropped: impl Fn(&AttemptId) -> bool) {
        self.attempts.retain(|attempt, tracked| {
            let stays = !is_dropped(attempt);
            if !stays {
                tracked.handle.kill();
            }
            stays
        });
        self.served.retain(|attempt, _| !is_dropped(attempt));
        self.queue.retain(|attempt| !is_dropped(attempt));
    }

    /// Starts waiting attempts while there are slots: an attempt that commits still has its own.
    fn start_waiting(&mut self, wall_ms: i64, commands: &mut Vec<AttemptCommand>) {
        let running = |attempts: &BTreeMap<AttemptId, TrackedAttempt>, kind| {
            attempts
                .values()
                .filter(|tracked| tracked.kind() == kind && tracked.is_started && !tracked.is_finished())
                .map(TrackedAttempt::slots)
                .fold(0, u64::saturating_add)
        };
        let mut free = PerKind::new(0, 0);
        for kind in Kind::ALL {
            free[kind] = u64::from(self.slots[kind]).saturating_sub(running(&self.attempts, kind));
        }
        self.queue.retain(|attempt| {
            let Some(tracked) = self.attempts.get_mut(attempt).filter(|tracked| !tracked.is_finished()) else {
                return false;
            };
            let kind = tracked.kind();
            // An attempt with more slots than the tracker has runs alone.
            let slots = tracked.slots().min(u64::from(self.slots[kind]));
            if free[kind] < slots.max(1) {
                return true;
            }
            free[kind] -= slots;
            tracked.mark_started(wall_ms);
            commands.push(AttemptCommand::Start {
                task: tracked.task.clone(),
                handle: tracked.handle.clone(),
                launch: tracked.launch,
            });
            false
        });
    }

    /// Applies an event; returns whether to report it to the JobTracker at once.
    pub(crate) fn apply_event(
        &mut self,
        attempt: AttemptId,
        launch: u64,
        event: AttemptEvent,
        wall_ms: i64,
    ) -> (bool, Vec<AttemptCommand>) {
        let mut commands = Vec::new();
        let Some(tracked) = self.attempts.get_mut(&attempt).filter(|tracked| tracked.launch == launch) else {
            return (false, commands);
        };
        let report_at_once = event != AttemptEvent::Running;
        match event {
            AttemptEvent::Running => tracked.mark_running(),
            AttemptEvent::CommitPending => tracked.mark_commit_pending(),
            AttemptEvent::Ended(outcome) => {
                tracked.finish(outcome, wall_ms);
                self.failure_count += i32::from(tracked.state == AttemptState::Failed && !tracked.task.task_cleanup);
                self.start_waiting(wall_ms, &mut commands);
            }
        }
        (report_at_once, commands)
    }

    /// Fails a map whose served output can no longer be read.
    pub(crate) fn on_output_lost(&mut self, attempt: AttemptId, why: &str) {
        // The running heartbeat reports success; the next one must report the failure.
        self.reported_ends.remove(&attempt);
        if let Some(tracked) = self.served.remove(&attempt) {
            self.attempts.insert(attempt, tracked);
        }
        if let Some(tracked) = self.attempts.get_mut(&attempt) {
            tracked.fail_for_lost_output(why);
        }
    }

    /// Builds the reports of a heartbeat. Call it again only after that heartbeat is answered.
    pub(crate) fn build_reports(&mut self, wall_ms: i64) -> Vec<TaskStatus> {
        self.reported_ends =
            self.attempts.iter().filter(|(_, tracked)| tracked.is_finished()).map(|(attempt, _)| *attempt).collect();
        self.attempts.values_mut().map(|tracked| tracked.build_report(wall_ms)).collect()
    }

    /// Ends what has not ended, for the last heartbeat: the process ends, and with it whatever its supervisors still run.
    pub(crate) fn finish_all(&mut self, wall_ms: i64) {
        for tracked in self.attempts.values_mut() {
            tracked.finish(AttemptOutcome::Killed(WORKER_ENDED.to_owned()), wall_ms);
        }
    }

    pub(crate) fn kill_all(&self) {
        self.attempts.values().for_each(|tracked| tracked.handle.kill());
    }
}

#[cfg(test)]
#[path = "tests/attempt_table.rs"]
mod tests;
