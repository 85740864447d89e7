//! Whether the policy accepts a new app, before it is added.

use super::capacity::RefusedJob;
use super::{GroupId, Scheduler};

/// An app that a user wants to add.
#[derive(Clone, Copy, Debug)]
pub struct NewApp<'a> {
    /// Names it in a refusal.
    pub name: &'a str,
    /// Its group.
    pub group: GroupId,
    /// Its user.
    pub user: &'a str,
    /// All its tasks, of both kinds.
    pub tasks: u64,
}

/// Why the policy does not accept an app.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppRefusal {
    /// Its queue, or its user in the queue, has all the jobs or tasks that the Capacity scheduler allows.
    #[error(transparent)]
    Capacity(#[from] RefusedJob),
}

// === impl Scheduler ===

impl Scheduler {
    /// Whether the policy accepts an app now. Apps that were accepted before a restart are added without this check.
    ///
    /// # Errors
    /// The limit that refuses it.
    pub fn check_new_app(&self, app: &NewApp<'_>) -> Result<(), AppRefusal> {
        self.policy.check_new_app(app)
    }
}
