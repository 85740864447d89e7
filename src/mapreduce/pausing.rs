//! Jobs of which nothing starts for now: they are held, or their queue is paused.

use crate::scheduler::Scheduler;

use super::job::Job;
use super::job_state::JobState;
use super::{HousekeepingQueue, JobContext};

impl Job {
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

    /// Whether nothing of it starts for now.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Sets whether its setup waits for a slot.
    pub(super) fn refresh_awaits_setup(&self, context: &mut JobContext<'_>) {
        context.scheduler.set_awaits_setup(self.app, self.awaits_setup(context.housekeeping));
    }

    fn awaits_setup(&self, housekeeping: &HousekeepingQueue) -> bool {
        self.state == JobState::Accepted || housekeeping.setup.contains(&self.id)
    }
}
