//! What players submit.

use crate::model::Capability;

/// What tasks of a job do, where its submitter decides that.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct JobShape {
    pub(in crate::sim) task_ms: u64,
    pub(in crate::sim) output_bytes: i64,
}

/// One slot's worth, as players ask for it.
pub(super) const ONE_SLOT: Capability = Capability::new(1_024, 1);
