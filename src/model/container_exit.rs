//! How a container ended, in Hadoop 2's numbers (`ContainerExitStatus`) and one of ours.

use serde::{Deserialize, Serialize};

/// The exit status of a container that is complete: 0 to 255 is its process's own, the others are named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContainerExit(pub i32);

impl ContainerExit {
    /// It ended well.
    pub const SUCCESS: Self = Self(0);
    /// It never ran: a file, its folder or its program is at fault. Also what an incomplete one reports.
    pub const INVALID: Self = Self(-1000);
    /// Released or expired, or its node is lost.
    pub const ABORTED: Self = Self(-100);
    /// The node's disk failed or is full.
    pub(crate) const DISKS_FAILED: Self = Self(-101);
    /// Its slots went to a queue that had bought them.
    pub const PREEMPTED: Self = Self(-102);
    /// It used more memory than it has.
    pub const KILLED_EXCEEDED_MEMORY: Self = Self(-104);
    pub const KILLED_BY_OWNER: Self = Self(-105);
    /// Killed by an administrator, or its application was.
    pub const KILLED_BY_ADMINISTRATOR: Self = Self(-106);
    /// Killed because its application had ended.
    pub const KILLED_AFTER_APPLICATION: Self = Self(-107);
    /// It wrote more log than it may, and asked to be killed for that.
    pub(crate) const KILLED_FOR_LOGS: Self = Self(-109);
    /// It ran longer than its time limit; ours.
    pub(crate) const TIME_LIMIT: Self = Self(-200);
    /// It ended with 0, and what it wrote could not be kept; ours.
    pub(crate) const OUTPUT_LOST: Self = Self(-201);

    /// The status of a process that died of a signal that this program did not send.
    #[must_use]
    pub(crate) const fn of_signal(signal: i32) -> Self {
        Self(128 + signal)
    }

    /// Whether the command itself is to blame: only such an end counts as a failure of an item.
    #[must_use]
    pub const fn is_own_fault(self) -> bool {
        match self {
            Self::INVALID
            | Self::KILLED_EXCEEDED_MEMORY
            | Self::KILLED_FOR_LOGS
            | Self::TIME_LIMIT
            | Self::OUTPUT_LOST
            | Self(-103) => true,
            Self(status) => status > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_did_is_not_its_fault() {
        let faultless = [0, -100, -101, -102, -105, -106, -107];
        assert!(faultless.iter().all(|&status| !ContainerExit(status).is_own_fault()));
        assert!(
            [1, 255, 137, -1000, -103, -104, -109, -200, -201]
                .iter()
                .all(|&status| ContainerExit(status).is_own_fault())
        );
        assert_eq!(ContainerExit::of_signal(9), ContainerExit(137));
    }
}
