//! An app that a user wants to add, and why the policy does not accept it.

use super::GroupId;
use super::capacity::RefusedJob;
use super::constraint::{RejectedJob, TimedWork};

/// An app that a user wants to add.
#[derive(Clone, Copy, Debug)]
pub struct NewApp<'a> {
    /// Names it in a refusal.
    pub name: &'a str,
    pub group: GroupId,
    pub user: &'a str,
    /// All its tasks, of both kinds.
    pub tasks: u64,
    /// Its deadline with its work, if it has one and they are known.
    pub deadline: Option<TimedWork>,
}

/// Why the policy does not accept an app.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppRefusal {
    /// Its queue, or its user in the queue, has all the jobs or tasks that the Capacity scheduler allows.
    #[error(transparent)]
    Capacity(#[from] RefusedJob),
    /// Its deadline cannot be kept.
    #[error(transparent)]
    Deadline(#[from] RejectedJob),
}
