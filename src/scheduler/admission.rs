//! An app that a user wants to add, and why the policy does not accept it.

use super::GroupId;
use super::capacity::RefusedJob;

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
