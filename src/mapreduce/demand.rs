//! What a job requests of the scheduler: slots for its maps and reduces, and for its setup, cleanups and task-cleanups.

use std::collections::BTreeSet;

use crate::model::{JobId, Kind, PerKind, Violations};
use crate::scheduler::{AppSize, Scheduler};

use super::job::{Job, slowstart_maps};
use super::job_state::JobState;
use super::pending_tasks::PendingTasks;
use super::{HousekeepingQueue, JobContext, JobFact, Task, TaskState};

impl Job {
    /// Requests the maps after the setup succeeded, and the reduces when none must wait for maps.
    pub(super) fn start_work(&mut self, context: &mut JobContext<'_>) {
        if !self.enter_running(context) {
            return;
        }
        self.waiting = PerKind::new(
            PendingTasks::maps(&self.preferred_hosts, &self.racks),
            PendingTasks::reduces(self.total().reduce),
        );
        for place in &self.preferred_hosts {
            context.scheduler.request_slots(self.app, Kind::Map, place, 1);
        }
        self.refresh_reduce_requests(context);
        self.schedule_straggler_check(context);
    }

    /// Enters RUNNING after the setup succeeded; false when the job was set up before, or is over.
    pub(super) fn enter_running(&mut self, context: &mut JobContext<'_>) -> bool {
        let may = self.enter_state(JobState::Running);
        if may {
            context.facts.push(JobFact::Running { job: self.id, at_ms: context.now.wall_ms });
        }
        may
    }

    /// Whether enough maps are done for reduces to start; a map that loses its output may undo that.
    pub(super) fn are_reduces_due(&self) -> bool {
        self.finished.map + self.failed.map >= slowstart_maps(&self.spec)
    }

    /// Requests the reduces once enough maps are done, and withdraws them where too few are since maps lost their output.
    pub(super) fn refresh_reduce_requests(&mut self, context: &mut JobContext<'_>) {
        if self.state != JobState::Running || self.reduces_requested == self.are_reduces_due() {
            return;
        }
        self.reduces_requested = !self.reduces_requested;
        let waiting = u32::try_from(self.waiting.reduce.len()).unwrap_or(u32::MAX);
        if self.reduces_requested {
            context.scheduler.request_slots(self.app, Kind::Reduce, &[], waiting);
        } else {
            context.scheduler.withdraw_request(self.app, Kind::Reduce, &[], waiting);
        }
    }

    /// Updates the scheduler and the housekeeping queue after a change.
    pub(super) fn refresh(&mut self, context: &mut JobContext<'_>) {
        self.check_counts(context.violations);
        self.refresh_housekeeping(context.housekeeping);
        context.scheduler.set_pending(self.app, self.hadoop_pending());
        self.refresh_awaits_setup(context);
        context.scheduler.set_task_needs(self.app, self.task_needs(context.nodes));
        context.scheduler.set_size(self.app, self.app_size());
    }

    fn check_counts(&self, violations: &mut Violations) {
        for kind in Kind::ALL {
            let (finished, failed, running) = (self.finished[kind], self.failed[kind], self.running_tasks[kind]);
            // The tasks of a job that ends are killed one by one.
            let running = if self.is_over_or_ending() { 0 } else { running };
            let total = u64::from(finished) + u64::from(failed) + u64::from(running);
            violations.check(total <= u64::from(self.total()[kind]), || {
                format!(
                    "{} has {finished} finished, {failed} failed and {running} running {kind:?} tasks of {}",
                    self.id,
                    self.total()[kind]
                )
            });
        }
    }

    fn app_size(&self) -> AppSize {
        if self.state != JobState::Running {
            return AppSize::default();
        }
        let unfinished = |kind: Kind| self.total()[kind].saturating_sub(self.finished[kind]);
        let reduces = if self.are_reduces_due() { unfinished(Kind::Reduce) } else { 0 };
        AppSize {
            tasks: if self.ending.is_none() { self.total() } else { PerKind::default() },
            unfinished: PerKind::new(unfinished(Kind::Map), reduces),
            left: PerKind::new(self.undone(Kind::Map), self.undone(Kind::Reduce)),
        }
    }

    pub(super) fn is_work_over(&self) -> bool {
        Kind::ALL.iter().all(|kind| self.finished[*kind] + self.failed[*kind] >= self.total()[*kind])
    }

    /// Adds the job to the queues for setup, cleanup and task-cleanup, or removes it.
    pub(super) fn refresh_housekeeping(&mut self, housekeeping: &mut HousekeepingQueue) {
        let idle = |tasks: &PerKind<Task>| {
            Kind::ALL.iter().all(|kind| tasks[*kind].state == TaskState::Waiting && !tasks[*kind].has_live_attempt())
        };
        let may_begin = self.ending.is_none() && self.unknown_attempts == 0 && !self.is_paused;
        let setup = self.state == JobState::Prep && may_begin && idle(&self.setup);
        let due = self.ending.is_some() || (self.state == JobState::Running && self.is_work_over());
        let cleanup = !self.is_over() && due && idle(&self.cleanup);
        set_member(&mut housekeeping.setup, self.id, setup);
        set_member(&mut housekeeping.cleanup, self.id, cleanup);
        for kind in Kind::ALL {
            let waits = !self.is_over_or_ending() && !self.task_cleanups[kind].is_empty();
            set_member(&mut housekeeping.task_cleanup[kind], self.id, waits);
        }
        self.list_if_flaky(housekeeping);
    }

    /// Pauses it or resumes it: what runs ends, and nothing starts but cleanups.
    pub(crate) fn set_paused(
        &mut self,
        is_paused: bool,
        scheduler: &mut Scheduler,
        housekeeping: &mut HousekeepingQueue,
    ) {
        if self.is_paused == is_paused || self.is_over() {
            return;
        }
        self.is_paused = is_paused;
        scheduler.set_paused(self.app, is_paused);
        self.refresh_housekeeping(housekeeping);
        scheduler.set_awaits_setup(self.app, self.awaits_setup(housekeeping));
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    pub(super) fn refresh_awaits_setup(&self, context: &mut JobContext<'_>) {
        context.scheduler.set_awaits_setup(self.app, self.awaits_setup(context.housekeeping));
    }

    fn awaits_setup(&self, housekeeping: &HousekeepingQueue) -> bool {
        self.state == JobState::Accepted || housekeeping.setup.contains(&self.id)
    }
}

pub(super) fn set_member(set: &mut BTreeSet<JobId>, job: JobId, member: bool) {
    if member {
        set.insert(job);
    } else {
        set.remove(&job);
    }
}
