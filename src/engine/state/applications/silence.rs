//! The silence of applications: one whose program does not call for too long has failed.

use crate::api::applications::ApplicationState;
use crate::model::{ApplicationId, Now};

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
}
