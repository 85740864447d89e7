//! Ids of apps and groups, shared by the scheduler and its caller.

use std::fmt;

/// An app: one job, or one external application. Chosen by the caller, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(u32);

/// A group of apps: a queue. Assigned by [`Scheduler::open_group`](super::Scheduler::open_group).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(u32);

impl AppId {
    pub(super) const FIRST: AppId = AppId(0);
    pub(super) const LAST: AppId = AppId(u32::MAX);

    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    #[cfg(test)]
    pub(crate) const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for AppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "app {}", self.0)
    }
}

impl GroupId {
    /// The leaf in which a policy without queues orders every app. Never assigned to a queue.
    pub(super) const ROOT: GroupId = GroupId(0);

    /// The next id that [`Groups`](super::group::Groups) may assign.
    pub(super) const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {}", self.0)
    }
}
