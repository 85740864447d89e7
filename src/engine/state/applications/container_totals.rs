//! Sums over the complete containers of an application.

use serde::{Deserialize, Serialize};

use crate::model::{Capability, ContainerExit};

use super::container::Container;

/// Sums over the complete containers of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerTotals {
    pub(crate) complete: u64,
    pub(crate) failed: u64,
    pub(crate) preempted: u64,
    /// Memory times the time from grant to end, MB x ms.
    pub(crate) memory_mb_ms: u64,
    /// Cores times the time from grant to end, ms.
    pub(crate) vcore_ms: u64,
}

impl ContainerTotals {
    pub(crate) fn add(&mut self, container: &Container) {
        let Some(end) = &container.end else { return };
        let held_ms = end.ended_ms.saturating_sub(container.granted_ms).max(0).cast_unsigned();
        let Capability { memory_mb, vcores } = container.request.capability;
        self.complete += 1;
        self.failed += u64::from(container.has_failed());
        self.preempted += u64::from(end.exit == ContainerExit::PREEMPTED);
        self.memory_mb_ms = self.memory_mb_ms.saturating_add(held_ms.saturating_mul(u64::from(memory_mb)));
        self.vcore_ms = self.vcore_ms.saturating_add(held_ms.saturating_mul(u64::from(vcores)));
    }
}
