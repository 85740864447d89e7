//! What administrators have ordered.

use std::sync::Arc;

use crate::engine::state::{Pauses, SchedulerChoice};

use super::scheduler_wish::SchedulerWish;

/// What administrators have ordered, or the configuration for them.
#[derive(Debug)]
pub(crate) struct Administration {
    /// The administrator who turned safe mode on; none while it is off.
    pub(in crate::engine) safe_mode: Option<Arc<str>>,
    /// The watch over the file system of the system directory has found that it cannot be used.
    pub(in crate::engine) is_file_system_away: bool,
    /// Which scheduler rules.
    pub(in crate::engine) choice: SchedulerChoice,
    /// A switch that waits for the next tick of the market.
    pub(in crate::engine) wish: Option<Box<SchedulerWish>>,
    pub(in crate::engine) pauses: Pauses,
}

impl Administration {
    /// Under the scheduler of this choice, without safe mode.
    pub(in crate::engine) fn under(choice: SchedulerChoice, pauses: Pauses) -> Self {
        Self { safe_mode: None, is_file_system_away: false, choice, wish: None, pauses }
    }
}
