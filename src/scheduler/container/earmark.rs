//! What a round of preemption earmarks for a waiting task or container.

use crate::model::{Capability, Pool};
use crate::scheduler::AppId;

/// Room of a node for one waiting task or container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Earmark {
    pub(crate) app: AppId,
    /// What it waits for.
    pub(crate) pool: Pool,
    /// Memory and cores that it takes.
    pub(crate) room: Capability,
    /// Whether it is the setup of a job, which its caller launches beside the tasks that wait.
    pub(crate) is_setup: bool,
}
