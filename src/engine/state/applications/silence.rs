//! The silence of applications: one whose program does not call for too long has failed; one that was granted containers and
//! does not call while others wait loses those that it has not launched.

use crate::api::applications::{ApplicationState, UnlaunchedHold};
use crate::model::{ApplicationId, ContainerExit, ContainerId, Now};

use super::application::Application;
use super::table::Applications;

impl Applications {
    /// Marks an application as alive: its silence begins again.
    pub(super) fn hear(&mut self, application: ApplicationId, now: Now) {
        self.hear_until(application, now.mono_ms);
    }

    /// Marks an application as alive until a time of the monotonic clock, ms: a call of it may wait that long.
    pub(super) fn hear_until(&mut self, application: ApplicationId, mono_ms: u64) {
        let Some(calling) = self.all.get(&application).filter(|calling| !calling.is_over() && calling.has_program())
        else {
            return;
        };
        // A master in a container that has not registered is started again when it ends.
        if calling.submitted.master.is_some() && calling.standing.state == ApplicationState::Accepted {
            return;
        }
        let due_ms = mono_ms.saturating_add(calling.submitted.expiry_ms);
        self.forget_silence(application);
        self.silent_at.insert(application, due_ms);
        self.silence_due.insert((due_ms, application));
    }

    /// Forgets when an application has been silent for too long.
    pub(super) fn forget_silence(&mut self, application: ApplicationId) {
        if let Some(due_ms) = self.silent_at.remove(&application) {
            self.silence_due.remove(&(due_ms, application));
        }
    }

    /// Programs that have been silent for too long with containers to launch.
    pub(crate) fn silent_holders(&self) -> impl Iterator<Item = ApplicationId> {
        self.lapses.overdue()
    }

    /// Takes back what a silent program has not launched, since others wait. It gets nothing more until it calls.
    pub(crate) fn lapse_unlaunched(&mut self, id: ApplicationId, now: Now) {
        let patience_ms = self.lapses.patience_ms(id);
        self.lapses.disarm(id);
        let Some(silent) = self.get(id) else { return };
        let unlaunched: Vec<ContainerId> = silent.unlaunched().map(|container| container.id).collect();
        if unlaunched.is_empty() {
            return;
        }
        for container in unlaunched {
            let diagnostics =
                format!("not launched, and its application has not called for {patience_ms} ms while others wait");
            self.end_without_report(container, ContainerExit::ABORTED, diagnostics, now);
        }
        self.withhold(id);
    }

    /// What an application holds without having launched it; none: nothing.
    pub(crate) fn unlaunched_of(&self, application: &Application, now: Now) -> Option<UnlaunchedHold> {
        let slot = self.settings.slot;
        let first = application.unlaunched().next()?;
        let expires_ms = first.granted_ms.saturating_add_unsigned(self.settings.launch_expiry_ms);
        let lapses_ms = self
            .lapses
            .due_ms(application.id())
            .map(|due_ms| now.wall_ms.saturating_add_unsigned(due_ms.saturating_sub(now.mono_ms)));
        Some(UnlaunchedHold {
            applications: 1,
            containers: application.counts.unlaunched.len() as u64,
            slots: application.unlaunched().map(|one| u64::from(one.request.capability.slots(slot))).sum(),
            until: lapses_ms.map_or(expires_ms, |lapses_ms| lapses_ms.min(expires_ms)),
        })
    }

    /// What all but an application hold without having launched it; none: nothing. O(programs that hold something).
    pub(crate) fn unlaunched_of_others(&self, than: Option<ApplicationId>, now: Now) -> Option<UnlaunchedHold> {
        let holders = self.lapses.holders().filter(|id| Some(*id) != than);
        let held = holders.filter_map(|id| self.unlaunched_of(self.get(id)?, now));
        held.reduce(|sum, one| UnlaunchedHold {
            applications: sum.applications + one.applications,
            containers: sum.containers + one.containers,
            slots: sum.slots + one.slots,
            until: sum.until.max(one.until),
        })
    }

    /// What a program was granted has lapsed: it gets nothing more until it calls.
    pub(super) fn withhold(&mut self, id: ApplicationId) {
        if self.get(id).is_some_and(|one| one.has_program() && !one.is_over()) {
            self.restand(id, |standing| standing.has_lapsed = true);
        }
    }
}
