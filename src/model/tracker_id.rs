//! Ids of trackers, and the rack of hosts without a known one.

use std::fmt;

/// A registered tracker, which is a node to the scheduler. Assigned by the scheduler when the tracker registers, and never twice: a tracker
/// that registers again gets a new id, and the old one finds nothing. The default is the id of no tracker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackerId(u32);

impl TrackerId {
    /// The id of no tracker; precedes the first one.
    pub(crate) const NONE: TrackerId = TrackerId(0);

    /// The last id before the numbers wrap.
    pub(crate) const LAST: TrackerId = TrackerId(u32::MAX);

    /// The tracker with this number, for a test.
    #[cfg(test)]
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number: trackers are in the order in which they registered, until the numbers wrap.
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// The id to try after this one.
    #[must_use]
    pub(crate) const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

impl fmt::Display for TrackerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tracker {}", self.0)
    }
}

/// The rack of a host without a known rack (1.2.1 `NetworkTopology.DEFAULT_RACK`).
pub const DEFAULT_RACK: &str = "/default-rack";
